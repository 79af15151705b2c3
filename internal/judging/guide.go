package judging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"google.golang.org/protobuf/proto"

	"forager/internal/rank/backlink"
	"forager/internal/rank/contextretrain"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// Guided reports whether Guide may add to the judgements of a crawl.
func Guided(ctl *schemas.CrawlControl) bool {
	return ctl.GetRenewal() != nil || len(schemas.Guides(ctl)) > 0
}

// Guide adds to a judgement by a critic: the words of the page, if the crawl retrains a guide; the scores of its links by
// the guides of the crawl's policies; its backlinks, if a guide takes it for a target and its request allows a query. It
// reads the request and the page of parsed. Errors are those of Page.
func (j *Judge) Guide(ctx context.Context, ctl *schemas.CrawlControl, parsed *schemas.PageParsed, judged *schemas.Judgement) (err error) {
	versions, page := schemas.Guides(ctl), parsed.GetPage()
	if ctl.GetRenewal() != nil {
		if judged.Document, err = contextretrain.Document(page); err != nil {
			return err
		}
	}
	leads := len(page.GetLinks()) > 0 && !page.GetNofollow()
	if len(versions) == 0 || !leads && ctl.GetBacklinks() == nil {
		return nil
	}
	request := new(schemas.FetchRequest)
	if err := proto.Unmarshal(parsed.GetRequest(), request); err != nil {
		return fmt.Errorf("decode the request: %w", err)
	}
	path, states, err := guide.Path(request.GetPathState())
	if err != nil {
		return err
	}
	if !leads {
		if path.GetBacklinks() == "" {
			return nil
		}
		page = withoutLinks(page)
	}
	if judged.Guidance, err = j.guidance(ctx, versions, page, judged, states); err != nil || !backlink.Wanted(path, judged) {
		return err
	}
	judged.Backlinks, err = j.parents(ctx, path.GetBacklinks(), page.GetUrl())
	return err
}

// withoutLinks returns a page, none of whose links may be followed, but whose backlinks may be queried.
func withoutLinks(p *schemas.Page) *schemas.Page {
	return &schemas.Page{
		Url: p.GetUrl(), Title: p.GetTitle(), Description: p.GetDescription(), Language: p.GetLanguage(),
		Terms: p.GetTerms(), Tokens: p.GetTokens(), LeafLengths: p.GetLeafLengths(), Shapes: p.GetShapes(),
	}
}

// guidance returns the scores of guides for a page; services among them are called in parallel.
func (j *Judge) guidance(
	ctx context.Context, versions []string, page *schemas.Page, judged *schemas.Judgement, states map[string][]byte,
) ([]*schemas.Guidance, error) {
	guides := make([]guide.Guide, len(versions))
	for i, version := range versions {
		var err error
		if guides[i], err = j.Models.Guide(ctx, version); err != nil {
			return nil, err
		}
	}
	all, errs := make([]*schemas.Guidance, len(versions)), make([]error, len(versions))
	run := func(i int) error {
		g, err := guide.Run(ctx, guides[i], versions[i], &guide.View{Page: page, Judgement: judged, State: states[versions[i]]})
		all[i] = g
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		return j.Failed(OfGuide, versions[i], err)
	}
	var services sync.WaitGroup
	called := false
	for i, by := range guides {
		if asks(by) {
			called = true
			services.Go(func() { errs[i] = recovered(func() error { return run(i) }) })
		}
	}
	for i, by := range guides {
		if !asks(by) {
			errs[i] = run(i)
		}
	}
	if called {
		j.Wait(services.Wait)
	}
	return all, cmp.Or(ctx.Err(), errors.Join(errs...))
}

// recovered calls f and returns a panic as an error.
func recovered(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// parents queries the source of a version for the parents of a page.
func (j *Judge) parents(ctx context.Context, version, page string) (result *schemas.Backlinks, err error) {
	by, err := j.Models.Backlinks(ctx, version)
	if err != nil {
		return nil, err
	}
	j.wait(by, func() { result, err = backlink.Ask(ctx, by, version, page) })
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		err = j.Failed(OfBacklinks, version, err)
	}
	return result, err
}

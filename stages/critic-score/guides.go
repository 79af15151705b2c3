package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"forager/internal/classify/predicate"
	"forager/internal/platform/modelfile"
	"forager/internal/rank/backlink"
	"forager/internal/rank/guide"
	"forager/internal/rank/guides"
	"forager/internal/stream"
	"forager/schemas"
)

// newGuides returns guides that are kept in a folder; ask has the options of those that are
// services.
func newGuides(get func(ctx context.Context, key string) ([]byte, error), dir string, ask predicate.Options) *models[guide.Guide] {
	m := newModels("guide", get, dir, func(file *modelfile.Mapped) (guide.Guide, error) { return guides.OpenMapped(file, ask) })
	return &m
}

// newBacklinks returns sources of backlinks, as newGuides returns guides.
func newBacklinks(get func(ctx context.Context, key string) ([]byte, error), dir string, ask predicate.Options) *models[backlink.Source] {
	m := newModels("backlinks", get, dir, func(file *modelfile.Mapped) (backlink.Source, error) { return backlink.OpenMapped(file, ask) })
	return &m
}

// guide sets the scores of a page's links by the guides of the crawl's policies, and the backlinks of the page by its
// source. A missing guide is waited for; one that fails on the page is not.
func (s *scorer) guide(ctx context.Context, control *schemas.CrawlControl, parsed *schemas.PageParsed, j *schemas.Judgement) error {
	versions, page := schemas.Guides(control), parsed.GetPage()
	leads := len(page.GetLinks()) > 0 && !page.GetNofollow()
	if len(versions) == 0 || !leads && control.GetBacklinks() == nil {
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
	if !leads && path.GetBacklinks() == "" {
		return nil
	}
	if !leads { // none of its links may be followed, but its backlinks may be queried
		page = &schemas.Page{
			Url: page.GetUrl(), Title: page.GetTitle(), Description: page.GetDescription(), Language: page.GetLanguage(),
			Terms: page.GetTerms(), Tokens: page.GetTokens(), LeafLengths: page.GetLeafLengths(), Shapes: page.GetShapes(),
		}
	}
	if j.Guidance, err = s.guidance(ctx, versions, page, j, states); err != nil || !backlink.Wanted(path, j) {
		return err
	}
	j.Backlinks, err = s.askBacklinks(ctx, path.GetBacklinks(), page.GetUrl())
	return err
}

// guidance returns the scores of guides for a page; services among them are called in parallel.
func (s *scorer) guidance(ctx context.Context, versions []string, page *schemas.Page, j *schemas.Judgement, states map[string][]byte) ([]*schemas.Guidance, error) {
	guides := make([]guide.Guide, len(versions))
	for i, version := range versions {
		var err error
		if guides[i], err = s.guideOf(ctx, version); err != nil {
			return nil, err
		}
	}
	all, errs := make([]*schemas.Guidance, len(versions)), make([]error, len(versions))
	say := func(i int) {
		all[i] = s.guided(ctx, guides[i], versions[i], &guide.View{Page: page, Judgement: j, State: states[versions[i]]})
	}
	var asked sync.WaitGroup
	asks := 0
	for i, by := range guides {
		if waits(by) {
			asks++
			asked.Go(func() {
				errs[i] = stream.Recovered(func() error {
					say(i)
					return nil
				})
			})
		}
	}
	for i, by := range guides {
		if !waits(by) {
			say(i)
		}
	}
	if asks > 0 {
		s.turns.give()
		asked.Wait()
		s.turns.take()
	}
	return all, cmp.Or(ctx.Err(), errors.Join(errs...))
}

// waits reports whether a service is called, for which a page waits.
func waits(by any) bool {
	w, ok := by.(interface{ Asks() bool })
	return ok && w.Asks()
}

// askBacklinks queries the source of a version for the parents of a page. A missing source is waited for; one that
// fails on the page is not.
func (s *scorer) askBacklinks(ctx context.Context, version, page string) (*schemas.Backlinks, error) {
	by, err := opened(ctx, s.backlinks, version)
	if err != nil {
		return nil, err
	}
	if waits(by) {
		s.turns.give()
		defer s.turns.take()
	}
	said, err := backlink.Ask(ctx, by, version, page)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.metrics.dropped.Add(float64(said.GetDropped()))
	if err != nil {
		s.metrics.unanswered.WithLabelValues(reasonOf(err)).Inc()
	}
	return said, nil
}

// guideOf returns the guide of a version; errors are Unavailable.
func (s *scorer) guideOf(ctx context.Context, version string) (guide.Guide, error) {
	return opened(ctx, s.guides, version)
}

// opened returns the model of a version, for one worker at a time.
func opened[M any](ctx context.Context, of *models[M], version string) (M, error) {
	place := of.shelf(version)
	place.mu.Lock()
	defer place.mu.Unlock()
	return of.open(ctx, place, true)
}

// guided is guide.Say, and counts failures.
func (s *scorer) guided(ctx context.Context, by guide.Guide, version string, v *guide.View) *schemas.Guidance {
	g, err := guide.Say(ctx, by, version, v)
	if err != nil && ctx.Err() == nil {
		s.metrics.unguided.WithLabelValues(reasonOf(err)).Inc()
	}
	return g
}

// reasonOf returns the reason why a service failed, or "error".
func reasonOf(err error) string {
	if failure := (*predicate.Failure)(nil); errors.As(err, &failure) {
		return failure.Reason
	}
	return "error"
}

package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/page/dom"
	"forager/internal/platform/objects"
	"forager/internal/platform/segment"
	"forager/internal/stream"
	"forager/internal/stream/runner"
	"forager/internal/web/scope"
	"forager/schemas"
)

// ranger is the part of *segment.Ahead used here.
type ranger interface {
	Range(ctx context.Context, key string, offset, length int64) ([]byte, error)
}

// parser is the stage's logic.
type parser struct {
	crawls *controls.Cache
	store  ranger
}

// stage returns the declaration of the stage.
func (p *parser) stage(workers int) runner.Stateless {
	return runner.Stateless{
		Stage: name, Workers: workers,
		Handle: p.handle, Poison: poison,
	}
}

// handle returns the record of page.parsed for one record of page.fetched.
func (p *parser) handle(ctx context.Context, r stream.Record) ([]stream.Out, error) {
	fetched, err := decode(r)
	if err != nil {
		return nil, err
	}
	parsed := answer(fetched)
	if fetched.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
		if parsed.Page, err = p.parse(ctx, fetched); err != nil {
			return nil, err
		}
		if rule, err := p.excluded(fetched, parsed.Page); err != nil {
			return nil, err
		} else if rule != "" {
			parsed.Outcome, parsed.Page, parsed.Detail = schemas.Outcome_OUTCOME_EXCLUDED, nil, rule
		}
	}
	return send(r, parsed)
}

// excluded returns the rule of the crawl that excludes a page; "" if there is none.
func (p *parser) excluded(f *schemas.PageFetched, page *schemas.Page) (rule string, err error) {
	rules := p.crawls.Get(f.GetCrawl()).GetExcludes()
	x, err := scope.NewExcludes(&schemas.Excludes{ContentTypes: rules.GetContentTypes(), Languages: rules.GetLanguages()})
	if err != nil {
		return "", fmt.Errorf("crawl %q: %w", f.GetCrawl(), err)
	}
	return x.Page(f.GetContentType(), page.GetLanguage()), nil
}

// decode reads a record of page.fetched.
func decode(r stream.Record) (*schemas.PageFetched, error) {
	fetched := new(schemas.PageFetched)
	if err := proto.Unmarshal(r.Value, fetched); err != nil {
		return nil, fmt.Errorf("decode %s: %w", r.Topic, err)
	}
	return fetched, schemas.CheckAnswer(r.Headers, fetched.GetId(), fetched.GetCrawl())
}

// answer returns a record of page.parsed without the fields of a delivered page.
func answer(f *schemas.PageFetched) *schemas.PageParsed {
	return &schemas.PageParsed{
		Request: f.GetRequest(), Crawl: f.GetCrawl(), Id: f.GetId(), Outcome: f.GetOutcome(), Status: f.GetStatus(),
		Redirect: f.GetRedirect(), NotBefore: f.GetNotBefore(), Detail: f.GetDetail(), FetchedAt: f.GetFetchedAt(),
	}
}

// parse reads the stored page.
func (p *parser) parse(ctx context.Context, f *schemas.PageFetched) (*schemas.Page, error) {
	control := p.crawls.Get(f.GetCrawl())
	if control == nil {
		return nil, stream.Unavailable(fmt.Errorf("crawl %q has no control record yet", f.GetCrawl()))
	}
	stored, err := segment.ReadWhole(ctx, p.store, f.GetObject(), f.GetOffset(), f.GetLength(), f.GetDigest())
	switch {
	case errors.Is(err, objects.ErrUnavailable), errors.Is(err, objects.ErrDenied):
		return nil, stream.Unavailable(err)
	case err != nil:
		return nil, err
	}
	page, err := dom.Parse(stored.Body, f.GetContentType(), f.GetUrl(), dom.Settings{
		Leaves: control.GetLeaves(), TagPaths: schemas.ReadsTagPaths(control), Tree: schemas.ReadsTrees(control),
	})
	if err != nil {
		return nil, err
	}
	page.Cut = page.Cut || f.GetTruncated()
	return page, nil
}

// poison returns the record of page.parsed that ends the request of a record that could not be
// handled.
func poison(r stream.Record, cause error) ([]stream.Out, error) {
	fetched, err := decode(r)
	if err != nil {
		request, embedded, err := schemas.Embedded(r.Headers)
		if err != nil {
			return nil, err
		}
		fetched = &schemas.PageFetched{Crawl: request.GetCrawl(), Id: request.GetId(), Request: embedded}
	}
	parsed := answer(fetched)
	parsed.Outcome, parsed.Detail = schemas.Outcome_OUTCOME_FAILED_PARSE_DOM, schemas.DetailOf(cause)
	return send(r, parsed)
}

func send(r stream.Record, parsed *schemas.PageParsed) ([]stream.Out, error) {
	b, err := proto.Marshal(parsed)
	if err != nil {
		return nil, err
	}
	out := r.Onward(schemas.TopicPageParsed, parsed.GetId(), b)
	out.Partition = stream.Along(r.Partition)
	return []stream.Out{out}, nil
}

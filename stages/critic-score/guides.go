package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/guide"
	"forager/internal/guides"
	"forager/internal/modelfile"
	"forager/internal/predicate"
	"forager/schemas"
)

// newGuides keeps guides in a folder; ask is how those that ask a service do so.
func newGuides(get func(ctx context.Context, key string) ([]byte, error), dir string, ask predicate.Options) *models[guide.Guide] {
	m := newModels("guide", get, dir, func(file *modelfile.Mapped) (guide.Guide, error) { return guides.OpenMapped(file, ask) })
	return &m
}

// guidance is what the guides of the crawl's policies say of a page's links. A guide that is not there
// is waited for; one that fails on the page is not.
func (s *scorer) guidance(ctx context.Context, control *schemas.CrawlControl, parsed *schemas.PageParsed, j *schemas.Judgement) ([]*schemas.Guidance, error) {
	versions, page := schemas.Guides(control), parsed.GetPage()
	if len(versions) == 0 || page.GetNofollow() || len(page.GetLinks()) == 0 {
		return nil, nil
	}
	request := new(schemas.FetchRequest)
	if err := proto.Unmarshal(parsed.GetRequest(), request); err != nil {
		return nil, fmt.Errorf("decode the request: %w", err)
	}
	states, err := guide.States(request.GetPathState())
	if err != nil {
		return nil, err
	}
	var all []*schemas.Guidance
	for _, version := range versions {
		by, err := s.guide(ctx, version)
		if err != nil {
			return nil, err
		}
		g, err := s.guided(ctx, by, version, &guide.View{Page: page, Judgement: j, State: states[version]})
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

// guide returns the guide of a version; what keeps it from doing so is Unavailable.
func (s *scorer) guide(ctx context.Context, version string) (guide.Guide, error) {
	place := s.guides.shelf(version)
	place.mu.Lock()
	defer place.mu.Unlock()
	return s.guides.open(ctx, place, true)
}

// guided is guide.Say; one that asks a service has no turn meanwhile. An error is the end of ctx.
func (s *scorer) guided(ctx context.Context, by guide.Guide, version string, v *guide.View) (*schemas.Guidance, error) {
	if w, ok := by.(interface{ Asks() bool }); ok && w.Asks() {
		s.turns.give()
		defer s.turns.take()
	}
	g, err := guide.Say(ctx, by, version, v)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		reason := "error"
		if failure := (*predicate.Failure)(nil); errors.As(err, &failure) {
			reason = failure.Reason
		}
		s.metrics.unguided.WithLabelValues(reason).Inc()
	}
	return g, nil
}

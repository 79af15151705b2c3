package main

import (
	"context"

	"forager/internal/classify/critic"
	"forager/internal/classify/judges"
	"forager/internal/classify/predicate"
	"forager/internal/classify/taxonomy"
	"forager/internal/platform/modelfile"
	"forager/schemas"
)

// critics are those that crawls are judged by.
type critics struct{ models[*weighed] }

// weighed is a critic with what its classes weigh in crawls; its shelf's lock guards it.
type weighed struct {
	judge   critic.Judge
	weights map[string]weights // by crawl
}

// weights are those of a critic's classes under one revision of a crawl's control record, or what
// is wrong with its marking.
type weights struct {
	revision uint64
	weights  []float64
	err      error
}

// newCritics keeps critics in a folder; ask is how those that ask a service do so.
func newCritics(get func(ctx context.Context, key string) ([]byte, error), dir string, ask predicate.Options) *critics {
	return &critics{newModels("critic", get, dir, func(file *modelfile.Mapped) (*weighed, error) {
		by, err := judges.OpenMapped(file, ask)
		return &weighed{by, make(map[string]weights)}, err
	})}
}

// judge returns the critic of a version and the weights of its classes for a crawl. What keeps it
// from doing so is Unavailable, but for a marking of topics that the critic cannot follow. For
// critics that nobody waits for, a failed fetch is not repeated at once.
func (c *critics) judge(ctx context.Context, version string, control *schemas.CrawlControl, awaited bool) (critic.Judge, []float64, error) {
	place := c.shelf(version)
	place.mu.Lock()
	defer place.mu.Unlock()
	by, err := c.open(ctx, place, awaited)
	if err != nil {
		return nil, nil, err
	}
	w, ok := by.weights[control.GetCrawl()]
	if !ok || w.revision != control.GetRevision() {
		w = weights{revision: control.GetRevision()}
		w.weights, w.err = critic.Weigh(by.judge, taxonomy.MarkingOf(control))
		by.weights[control.GetCrawl()] = w
	}
	return by.judge, w.weights, w.err
}

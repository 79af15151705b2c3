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

// critics are the critics of all crawls.
type critics struct{ models[*weighed] }

// weighed is a critic with the weights of its classes in crawls; the lock of its shelf guards it.
type weighed struct {
	judge   critic.Judge
	weights map[string]weights // by crawl
}

// weights are the weights of a critic's classes under one revision of a crawl's control record, or
// the error in its marking.
type weights struct {
	revision uint64
	weights  []float64
	err      error
}

// newCritics returns critics that are kept in a folder; ask has the options of those that are
// services.
func newCritics(get func(ctx context.Context, key string) ([]byte, error), dir string, ask predicate.Options) *critics {
	return &critics{newModels("critic", get, dir, func(file *modelfile.Mapped) (*weighed, error) {
		by, err := judges.OpenMapped(file, ask)
		return &weighed{by, make(map[string]weights)}, err
	})}
}

// judge returns the critic of a version and the weights of its classes for a crawl. Errors are
// Unavailable, except for a marking with topics that the critic does not have. For critics that are
// not waited for, a failed fetch is not repeated at once.
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

package main

import (
	"context"
	"fmt"

	"forager/internal/classify/critic"
	"forager/internal/classify/criticfile"
	"forager/internal/classify/httpmodel"
	"forager/internal/classify/taxonomy"
	"forager/internal/judging"
	"forager/internal/platform/modelfile"
	"forager/schemas"
)

// critics are the critics of all crawls.
type critics struct{ *models[*weighed] }

// weighed is a critic with the weights of its classes in crawls; the lock of its slot guards it.
type weighed struct {
	critic.Classifier
	weights map[string]weights // by crawl
}

// weights are the weights of a critic's classes under one revision of a crawl's control record, or
// the error in its marking.
type weights struct {
	revision uint64
	weights  *taxonomy.Weights
	err      error
}

// newCritics returns critics that are kept in a folder.
func newCritics(get func(ctx context.Context, key string) ([]byte, error), dir string, options httpmodel.Options) *critics {
	return &critics{newModels("critic", get, dir, func(file *modelfile.Mapped) (*weighed, error) {
		by, err := criticfile.OpenMapped(file, options)
		return &weighed{by, make(map[string]weights)}, err
	})}
}

// Critic returns the critic of a version for a crawl. For one that no page needs, a failed fetch is not repeated at once.
func (c *critics) Critic(ctx context.Context, control *schemas.CrawlControl, version string, needed bool) (*judging.Critic, error) {
	place := c.slotOf(version)
	place.mu.Lock()
	defer place.mu.Unlock()
	by, err := c.open(ctx, place, needed)
	if err != nil {
		return nil, err
	}
	w, ok := by.weights[control.GetCrawl()]
	if !ok || w.revision != control.GetRevision() {
		w = weights{revision: control.GetRevision()}
		w.weights, w.err = critic.Weigh(by, taxonomy.MarkingOf(control))
		by.weights[control.GetCrawl()] = w
	}
	if w.err != nil {
		return nil, fmt.Errorf("critic %s: %w", version, w.err)
	}
	return &judging.Critic{Classifier: by.Classifier, Version: version, Weights: w.weights}, nil
}

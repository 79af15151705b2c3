package main

import (
	"context"
	"path/filepath"

	"forager/internal/classify/httpmodel"
	"forager/internal/platform/modelfile"
	"forager/internal/rank/backlink"
	"forager/internal/rank/guide"
	"forager/internal/rank/guidefile"
)

// library has the models of all crawls; it is a judging.Models. Errors are Unavailable, except for a marking with topics
// that the critic does not have.
type library struct {
	*critics
	guides    *models[guide.Guide]
	backlinks *models[backlink.Source]
}

// newLibrary returns models that are kept in folders below dir; options are those of models that are services.
func newLibrary(get func(ctx context.Context, key string) ([]byte, error), dir string, options httpmodel.Options) *library {
	folder := func(kind string) string { return filepath.Join(dir, kind) }
	return &library{
		critics: newCritics(get, folder("critics"), options),
		guides: newModels("guide", get, folder("guides"), func(file *modelfile.Mapped) (guide.Guide, error) {
			return guidefile.OpenMapped(file, options)
		}),
		backlinks: newModels("backlinks", get, folder("backlinks"), func(file *modelfile.Mapped) (backlink.Source, error) {
			return backlink.OpenMapped(file, options)
		}),
	}
}

// Guide returns the guide of a version.
func (l *library) Guide(ctx context.Context, version string) (guide.Guide, error) {
	return l.guides.await(ctx, version)
}

// Backlinks returns the source of backlinks of a version.
func (l *library) Backlinks(ctx context.Context, version string) (backlink.Source, error) {
	return l.backlinks.await(ctx, version)
}

// published reads a record of model.published.
func (l *library) published(key, value []byte) error {
	if err := l.critics.take(key, value); err != nil {
		return err
	}
	if err := l.guides.take(key, value); err != nil {
		return err
	}
	return l.backlinks.take(key, value)
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/modelfile"
	"forager/internal/stream"
	"forager/schemas"
)

const (
	// keep is the number of models of a kind held in memory.
	keep = 6
	// retry is the pause between two tries to fetch a model that nobody waits for.
	retry = 30 * time.Second
)

// models fetches models of one kind by version and keeps those used last. It is safe for concurrent
// use.
type models[M any] struct {
	kind   string
	get    func(ctx context.Context, key string) ([]byte, error)
	folder folder[M]

	mu        sync.Mutex
	published map[string]*schemas.ModelPublished // by version
	loaded    []*shelf[M]                        // used last comes last
}

// shelf is the place of one model; its lock lets one worker fetch it and the others wait.
type shelf[M any] struct {
	version string
	mu      sync.Mutex
	model   M
	there   bool
	// failed is why it could not be fetched, retryAt when that may be otherwise.
	failed  error
	retryAt time.Time
}

// newModels keeps models of a kind in a folder, where read opens them.
func newModels[M any](kind string, get func(ctx context.Context, key string) ([]byte, error), dir string, read func(*modelfile.Mapped) (M, error)) models[M] {
	return models[M]{kind: kind, get: get, folder: folder[M]{dir, read}, published: make(map[string]*schemas.ModelPublished)}
}

// take reads a record of model.published.
func (c *models[M]) take(key, value []byte) error {
	if value == nil {
		return nil // the version may be in use
	}
	m := new(schemas.ModelPublished)
	if err := proto.Unmarshal(value, m); err != nil {
		return fmt.Errorf("announcement of model %q: %w", key, err)
	}
	if m.GetKind() == c.kind {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.published[m.GetVersion()] = m
	}
	return nil
}

// open returns the model of a shelf, which the caller has locked. What keeps it from doing so is
// Unavailable. For models that nobody waits for, a failed fetch is not repeated at once.
func (c *models[M]) open(ctx context.Context, place *shelf[M], awaited bool) (none M, err error) {
	if place.there {
		return place.model, nil
	}
	if !awaited && time.Now().Before(place.retryAt) {
		return none, place.failed
	}
	if place.model, err = c.fetch(ctx, place.version); err != nil {
		if ctx.Err() != nil {
			return none, ctx.Err()
		}
		place.failed, place.retryAt = stream.Unavailable(fmt.Errorf("%s %s: %w", c.kind, place.version, err)), time.Now().Add(retry)
		return none, place.failed
	}
	place.there = true
	return place.model, nil
}

func (c *models[M]) shelf(version string) *shelf[M] {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.loaded, func(s *shelf[M]) bool { return s.version == version })
	s := &shelf[M]{version: version}
	if i >= 0 {
		s = c.loaded[i]
		c.loaded = slices.Delete(c.loaded, i, i+1)
	} else if len(c.loaded) == keep {
		c.loaded = slices.Delete(c.loaded, 0, 1)
	}
	c.loaded = append(c.loaded, s)
	return s
}

func (c *models[M]) fetch(ctx context.Context, version string) (m M, err error) {
	c.mu.Lock()
	published := c.published[version]
	c.mu.Unlock()
	object, digest := published.GetObject(), published.GetDigest()
	if published == nil {
		at := strings.LastIndexByte(version, '/')
		object, digest = schemas.ModelObject(c.kind, version), "sha256:"+version[at+1:]
	}
	digest = strings.TrimPrefix(digest, "sha256:")
	if published == nil && len(digest) < 12 {
		return m, fmt.Errorf("it was not announced, and %q is no 12 digits of a digest", digest)
	}
	m, err = c.folder.open(ctx, digest, func(ctx context.Context) ([]byte, error) { return c.get(ctx, object) })
	switch {
	case err == nil:
		return m, nil
	case published == nil:
		return m, fmt.Errorf("it was not announced; object %s: %w", object, err)
	}
	return m, fmt.Errorf("object %s: %w", object, err)
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/critic"
	"forager/internal/predicate"
	"forager/internal/stream"
	"forager/internal/taxonomy"
	"forager/schemas"
)

const (
	// keep is the number of critics held in memory.
	keep = 6
	// retry is the pause between two tries to fetch a critic that nobody waits for.
	retry = 30 * time.Second
)

// critics fetches critics by version and keeps those used last. It is safe for concurrent use.
type critics struct {
	get    func(ctx context.Context, key string) ([]byte, error)
	folder folder

	mu        sync.Mutex
	published map[string]*schemas.ModelPublished // by version
	loaded    []*shelf                           // used last comes last
}

// shelf is the place of one critic; its lock lets one worker fetch it and the others wait.
type shelf struct {
	version string
	mu      sync.Mutex
	judge   critic.Judge
	weights map[string]weights // by crawl
	// failed is why it could not be fetched, retryAt when that may be otherwise.
	failed  error
	retryAt time.Time
}

// weights are those of a critic's classes under one revision of a crawl's control record, or what
// is wrong with its marking.
type weights struct {
	revision uint64
	weights  []float64
	err      error
}

// newCritics keeps critics in a folder; ask is how those that ask a service do so.
func newCritics(get func(context.Context, string) ([]byte, error), dir string, ask predicate.Options) *critics {
	return &critics{get: get, folder: folder{dir, ask}, published: make(map[string]*schemas.ModelPublished)}
}

// take reads a record of model.published.
func (c *critics) take(key, value []byte) error {
	if value == nil {
		return nil // the version may be in use
	}
	m := new(schemas.ModelPublished)
	if err := proto.Unmarshal(value, m); err != nil {
		return fmt.Errorf("announcement of model %q: %w", key, err)
	}
	if m.GetKind() == "critic" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.published[m.GetVersion()] = m
	}
	return nil
}

// judge returns the critic of a version and the weights of its classes for a crawl. What keeps it
// from doing so is Unavailable, but for a marking of topics that the critic cannot follow. For
// critics that nobody waits for, a failed fetch is not repeated at once.
func (c *critics) judge(ctx context.Context, version string, control *schemas.CrawlControl, awaited bool) (critic.Judge, []float64, error) {
	place := c.shelf(version)
	place.mu.Lock()
	defer place.mu.Unlock()
	if place.judge == nil {
		if !awaited && time.Now().Before(place.retryAt) {
			return nil, nil, place.failed
		}
		by, err := c.fetch(ctx, version)
		if err != nil {
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			place.failed, place.retryAt = stream.Unavailable(fmt.Errorf("critic %s: %w", version, err)), time.Now().Add(retry)
			return nil, nil, place.failed
		}
		place.judge, place.weights = by, make(map[string]weights)
	}
	w, ok := place.weights[control.GetCrawl()]
	if !ok || w.revision != control.GetRevision() {
		w = weights{revision: control.GetRevision()}
		w.weights, w.err = critic.Weigh(place.judge, taxonomy.MarkingOf(control))
		place.weights[control.GetCrawl()] = w
	}
	return place.judge, w.weights, w.err
}

func (c *critics) shelf(version string) *shelf {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.loaded, func(s *shelf) bool { return s.version == version })
	s := &shelf{version: version}
	if i >= 0 {
		s = c.loaded[i]
		c.loaded = slices.Delete(c.loaded, i, i+1)
	} else if len(c.loaded) == keep {
		c.loaded = slices.Delete(c.loaded, 0, 1)
	}
	c.loaded = append(c.loaded, s)
	return s
}

func (c *critics) fetch(ctx context.Context, version string) (critic.Judge, error) {
	c.mu.Lock()
	published := c.published[version]
	c.mu.Unlock()
	object, digest := published.GetObject(), published.GetDigest()
	if published == nil {
		at := strings.LastIndexByte(version, '/')
		object, digest = schemas.ModelObject("critic", version), "sha256:"+version[at+1:]
	}
	digest = strings.TrimPrefix(digest, "sha256:")
	if published == nil && len(digest) < 12 {
		return nil, fmt.Errorf("it was not announced, and %q is no 12 digits of a digest", digest)
	}
	m, err := c.folder.open(ctx, digest, func(ctx context.Context) ([]byte, error) { return c.get(ctx, object) })
	switch {
	case err == nil:
		return m, nil
	case published == nil:
		return nil, fmt.Errorf("it was not announced; object %s: %w", object, err)
	}
	return nil, fmt.Errorf("object %s: %w", object, err)
}

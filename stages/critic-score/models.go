package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/modelfile"
	"forager/internal/stream"
	"forager/schemas"
)

const (
	// keep is the number of models of a kind in memory.
	keep = 6
	// retry is the pause between two tries to fetch a model, longRetry that for a model that is not waited
	// for.
	retry     = 2 * time.Second
	longRetry = 30 * time.Second
	// grace is how long a page waits for the first try to fetch a model; then its crawl is parked.
	grace = 2 * time.Second
	// fetchTimeout is the time of one try.
	fetchTimeout = 2 * time.Minute
)

// models fetches models of one kind by version and keeps the most recently used. It is safe for
// concurrent use.
type models[M any] struct {
	kind   string
	get    func(ctx context.Context, key string) ([]byte, error)
	folder folder[M]
	// retry is the pause between two tries to fetch a model.
	retry time.Duration

	mu        sync.Mutex
	published map[string]*schemas.ModelPublished // by version
	loaded    []*slot[M]                         // used last comes last
}

// slot is the place of one model. It is fetched in the background, so that a store that does not respond
// delays no other crawl.
type slot[M any] struct {
	version string
	mu      sync.Mutex
	model   M
	there   bool
	// fetching is closed when the current try ends; nil = there is none.
	fetching chan struct{}
	// failed is the error of the try at triedAt.
	failed  error
	triedAt time.Time
}

// newModels returns models of a kind that are kept in a folder; read opens one.
func newModels[M any](kind string, get func(ctx context.Context, key string) ([]byte, error), dir string, read func(*modelfile.Mapped) (M, error)) *models[M] {
	return &models[M]{kind: kind, get: get, folder: folder[M]{dir, read}, retry: retry, published: make(map[string]*schemas.ModelPublished)}
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

// await returns the model of a version that pages need. Errors are Unavailable.
func (c *models[M]) await(ctx context.Context, version string) (M, error) {
	place := c.slotOf(version)
	place.mu.Lock()
	defer place.mu.Unlock()
	return c.open(ctx, place, true)
}

// open returns the model of a slot, which the caller has locked. Errors are Unavailable. A caller
// that starts a try waits for it for a short time, and all callers wait for the first one; a failed
// try is repeated after a pause.
func (c *models[M]) open(ctx context.Context, place *slot[M], awaited bool) (none M, err error) {
	pause := longRetry
	if awaited {
		pause = c.retry
	}
	begin := !place.there && place.fetching == nil && (place.failed == nil || time.Since(place.triedAt) >= pause)
	if begin {
		fetching := make(chan struct{})
		place.fetching = fetching
		go func() {
			defer close(fetching)
			c.fill(place)
		}()
	}
	if fetching := place.fetching; fetching != nil && (begin || place.failed == nil) {
		place.mu.Unlock()
		wait := time.NewTimer(grace)
		select {
		case <-fetching:
		case <-wait.C:
		case <-ctx.Done():
		}
		wait.Stop()
		place.mu.Lock()
	}
	switch {
	case place.there:
		return place.model, nil
	case ctx.Err() != nil:
		return none, ctx.Err()
	case place.failed != nil:
		return none, place.failed
	}
	return none, stream.Missing(c.kind+" "+place.version, errors.New("the object store has not answered yet"))
}

// fill tries to fetch the model of a slot.
func (c *models[M]) fill(place *slot[M]) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	var model M
	err := stream.Recovered(func() (err error) {
		model, err = c.fetch(ctx, place.version)
		return err
	})
	place.mu.Lock()
	defer place.mu.Unlock()
	place.fetching, place.triedAt = nil, time.Now()
	if err != nil {
		// The store's error may be that of a context, which is not the page's.
		place.failed = stream.Missing(c.kind+" "+place.version, err)
		return
	}
	place.model, place.there, place.failed = model, true, nil
}

func (c *models[M]) slotOf(version string) *slot[M] {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.loaded, func(s *slot[M]) bool { return s.version == version })
	s := &slot[M]{version: version}
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

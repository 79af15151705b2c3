package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"forager/internal/critic"
	"forager/internal/judges"
	"forager/internal/stream"
	"forager/schemas"
)

// keep is the number of critics held in memory.
const keep = 4

// critics fetches critics by version and keeps those used last. It is safe for concurrent use.
type critics struct {
	get func(ctx context.Context, key string) ([]byte, error)

	mu        sync.Mutex
	published map[string]*schemas.ModelPublished // by version
	loaded    []*shelf                           // used last comes last
}

// shelf is the place of one critic; its lock lets one worker fetch it and the others wait.
type shelf struct {
	version string
	mu      sync.Mutex
	model   critic.Judge
}

func newCritics(get func(context.Context, string) ([]byte, error)) *critics {
	return &critics{get: get, published: make(map[string]*schemas.ModelPublished)}
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

// model returns the critic of a version. What keeps it from doing so is Unavailable.
func (c *critics) model(ctx context.Context, version string) (critic.Judge, error) {
	place := c.shelf(version)
	place.mu.Lock()
	defer place.mu.Unlock()
	if place.model == nil {
		m, err := c.fetch(ctx, version)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, stream.Unavailable(fmt.Errorf("critic %s: %w", version, err))
		}
		place.model = m
	}
	return place.model, nil
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
	b, err := c.get(ctx, object)
	if err != nil {
		if published == nil {
			return nil, fmt.Errorf("it was not announced: %w", err)
		}
		return nil, err
	}
	sum := sha256.Sum256(b)
	got := "sha256:" + hex.EncodeToString(sum[:])
	if got != digest && (published != nil || len(digest) < len("sha256:")+12 || !strings.HasPrefix(got, digest)) {
		return nil, fmt.Errorf("object %s has the digest %s, it should be %s", object, got, digest)
	}
	m, err := judges.Open(b)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", object, err)
	}
	return m, nil
}

package snapshot

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"forager/internal/platform/objects"
)

// bucket is an object store with a clock. before is called at the beginning of every request; its error is that of the request.
type bucket struct {
	mu      sync.Mutex
	now     time.Time
	objects map[string]stored
	before  func(call, key string) error
}

type stored struct {
	body     []byte
	modified time.Time
}

func newBucket() *bucket {
	return &bucket{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), objects: make(map[string]stored)}
}

func (b *bucket) begin(call, key string) error {
	if b.before != nil {
		return b.before(call, key)
	}
	return nil
}

func (b *bucket) Get(_ context.Context, key string) ([]byte, error) {
	if err := b.begin("get", key); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	o, ok := b.objects[key]
	if !ok {
		return nil, fmt.Errorf("%s: %w", key, objects.ErrNotFound)
	}
	return slices.Clone(o.body), nil
}

func (b *bucket) Put(_ context.Context, key string, r io.Reader, _ int64) error {
	if err := b.begin("put", key); err != nil {
		return err
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.objects[key]; ok {
		return fmt.Errorf("%s: %w", key, objects.ErrExists)
	}
	b.objects[key] = stored{body, b.now.Truncate(time.Second)}
	return nil
}

func (b *bucket) Delete(_ context.Context, key string) error {
	if err := b.begin("delete", key); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.objects, key)
	return nil
}

func (b *bucket) List(_ context.Context, prefix string) iter.Seq2[objects.Object, error] {
	return func(yield func(objects.Object, error) bool) {
		if err := b.begin("list", prefix); err != nil {
			yield(objects.Object{}, err)
			return
		}
		b.mu.Lock()
		all := maps.Clone(b.objects)
		b.mu.Unlock()
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if o := all[key]; strings.HasPrefix(key, prefix) && !yield(objects.Object{Key: key, Size: int64(len(o.body)), Modified: o.modified}, nil) {
				return
			}
		}
	}
}

// keys are the last parts of the names of what is stored of a kind, sorted.
func (b *bucket) keys(prefix string) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(b.objects)) {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			all = append(all, name)
		}
	}
	return all
}

package memory

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"forager/internal/platform/objects"
)

// Bucket has objects by key. It is not safe for concurrent use.
type Bucket map[string][]byte

// Get returns an object, or objects.ErrNotFound.
func (b Bucket) Get(_ context.Context, key string) ([]byte, error) {
	if o, ok := b[key]; ok {
		return o, nil
	}
	return nil, fmt.Errorf("%s: %w", key, objects.ErrNotFound)
}

// Put stores an object of size bytes. If it exists the error is objects.ErrExists.
func (b Bucket) Put(_ context.Context, key string, r io.Reader, size int64) error {
	if _, ok := b[key]; ok {
		return fmt.Errorf("%s: %w", key, objects.ErrExists)
	}
	o, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if int64(len(o)) != size {
		return fmt.Errorf("%s: %d bytes were to come, %d came", key, size, len(o))
	}
	b[key] = o
	return nil
}

// List iterates over the keys that begin with a prefix, in order.
func (b Bucket) List(_ context.Context, prefix string) iter.Seq2[objects.Object, error] {
	return func(yield func(objects.Object, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(b)) {
			if strings.HasPrefix(key, prefix) && !yield(objects.Object{Key: key, Size: int64(len(b[key]))}, nil) {
				return
			}
		}
	}
}

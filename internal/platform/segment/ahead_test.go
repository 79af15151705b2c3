package segment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/platform/objects"
	"forager/internal/platform/segment"
)

// parts is a store that counts requests.
type parts struct {
	*memory
	asked atomic.Int64
	fail  atomic.Bool
}

func (p *parts) Range(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	p.asked.Add(1)
	b, err := p.whole(ctx, key)
	if err != nil {
		return nil, err
	}
	if offset < 0 || length <= 0 || offset+length > int64(len(b)) {
		return nil, errors.New("fewer bytes in the range")
	}
	return b[offset : offset+length], nil
}

func (p *parts) RangeUpTo(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	p.asked.Add(1)
	b, err := p.whole(ctx, key)
	if err != nil {
		return nil, err
	}
	if offset >= int64(len(b)) {
		return nil, errors.New("nothing in the range")
	}
	return b[offset:min(offset+length, int64(len(b)))], nil
}

func (p *parts) whole(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.fail.Load() {
		return nil, objects.ErrUnavailable
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b, ok := p.stored[key]
	if !ok {
		return nil, objects.ErrNotFound
	}
	return b, nil
}

// Whatever is kept, every range has the bytes and the errors that the store itself gives.
func TestAheadGivesWhatTheStoreGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := &parts{memory: newMemory()}
		for i := range 3 {
			b := make([]byte, rapid.IntRange(1, 3<<20).Draw(t, "size"))
			for j := 0; j < len(b); j += 1 + i {
				b[j] = byte(j * (i + 7) >> 5)
			}
			store.stored[fmt.Sprint(i)] = b
		}
		a := segment.NewAhead(store, int64(rapid.IntRange(0, 5).Draw(t, "blocks"))<<20)
		for range rapid.IntRange(1, 40).Draw(t, "reads") {
			key := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "object")) // 3 is not there
			offset := rapid.Int64Range(-1, 3<<20).Draw(t, "offset")
			length := rapid.Int64Range(0, 1<<20+5).Draw(t, "length")
			store.fail.Store(rapid.IntRange(0, 9).Draw(t, "away") == 0)
			got, err := a.Range(t.Context(), key, offset, length)
			store.fail.Store(false)
			want, wantErr := store.Range(t.Context(), key, offset, length)
			if err == nil && !bytes.Equal(got, want) {
				t.Fatalf("object %s, %d+%d: other bytes", key, offset, length)
			}
			if (err == nil) != (wantErr == nil) && !errors.Is(err, objects.ErrUnavailable) {
				t.Fatalf("object %s, %d+%d: %v, the store has %v", key, offset, length, err, wantErr)
			}
		}
	})
}

func TestAheadAsksOnceForASegment(t *testing.T) {
	store := &parts{memory: newMemory()}
	store.stored["a"] = bytes.Repeat([]byte("abcdefgh"), 4000)
	a := segment.NewAhead(store, 2<<20)
	var wg sync.WaitGroup
	for i := range int64(100) {
		wg.Go(func() {
			if b, err := a.Range(t.Context(), "a", 8*i, 8); err != nil || string(b) != "abcdefgh" {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
	wg.Wait()
	if n := store.asked.Load(); n != 1 {
		t.Errorf("%d requests for the pages of one segment", n)
	}
}

// What is kept is bounded: the block used longest ago goes.
func TestAheadDropsPages(t *testing.T) {
	store := &parts{memory: newMemory()}
	read := func(a *segment.Ahead, key string) int64 {
		before := store.asked.Load()
		if _, err := a.Range(t.Context(), key, 0, 1); err != nil {
			t.Fatal(err)
		}
		return store.asked.Load() - before
	}
	for _, key := range []string{"a", "b", "c"} {
		store.stored[key] = []byte("x")
	}
	a := segment.NewAhead(store, 2<<20)
	for i, k := range []struct {
		key  string
		asks int64
	}{{"a", 1}, {"b", 1}, {"a", 0}, {"c", 1}, {"a", 0}, {"b", 1}, {"c", 1}} {
		if n := read(a, k.key); n != k.asks {
			t.Errorf("read %d, of %s: %d requests, want %d", i, k.key, n, k.asks)
		}
	}
	none := segment.NewAhead(store, 1<<20-1)
	for range 2 {
		if read(none, "a") != 1 {
			t.Error("a block is kept in less memory than it has bytes")
		}
	}
}

// A failure is not kept, and that of another's request is not passed on.
func TestAheadAfterAFailure(t *testing.T) {
	store := &parts{memory: newMemory()}
	store.stored["a"] = []byte("xyz")
	a := segment.NewAhead(store, 1<<20)
	store.fail.Store(true)
	if _, err := a.Range(t.Context(), "a", 0, 3); !errors.Is(err, objects.ErrUnavailable) {
		t.Error(err)
	}
	store.fail.Store(false)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Range(ended, "a", 0, 3); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if b, err := a.Range(t.Context(), "a", 0, 3); err != nil || string(b) != "xyz" {
		t.Errorf("%q, %v", b, err)
	}
}

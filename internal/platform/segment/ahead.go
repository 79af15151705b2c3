package segment

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"forager/internal/platform/objects"
)

// aheadBlock is the size of a read: most segments are read whole.
const aheadBlock = 1 << 20

// aheadStore is the part of *objects.Store used here.
type aheadStore interface {
	ranger
	RangeUpTo(ctx context.Context, key string, offset, length int64) ([]byte, error)
}

var _ aheadStore = (*objects.Store)(nil)

// Ahead reads ranges of segments in blocks of 1 MiB and keeps those that were used last: the pages
// of a segment are announced together, and a request to the store costs more than the page. It is
// safe for concurrent use.
type Ahead struct {
	store aheadStore
	most  int // blocks kept

	mu     sync.Mutex
	blocks []*block // used last comes last
}

// block is a part of an object, read or being read.
type block struct {
	object string
	number int64
	read   chan struct{} // closed when bytes or err is set
	bytes  []byte        // shorter than aheadBlock at the object's end
	err    error
}

// NewAhead returns an Ahead that keeps up to so many bytes; with less than a block it keeps nothing
// and every range is a request.
func NewAhead(store aheadStore, bytes int64) *Ahead {
	return &Ahead{store: store, most: int(bytes / aheadBlock)}
}

// Range returns length bytes of an object from offset on; fewer are an error. They must not be
// changed.
func (a *Ahead) Range(ctx context.Context, object string, offset, length int64) ([]byte, error) {
	number := offset / aheadBlock
	if a.most == 0 || offset < 0 || length <= 0 || (offset+length-1)/aheadBlock != number {
		return a.store.Range(ctx, object, offset, length)
	}
	b, first := a.block(object, number)
	if first {
		b.bytes, b.err = a.store.RangeUpTo(ctx, object, number*aheadBlock, aheadBlock)
		if b.err != nil {
			a.forget(b)
		}
		close(b.read)
	}
	select {
	case <-b.read:
	case <-ctx.Done():
		return nil, fmt.Errorf("read %s at %d: %w", object, offset, ctx.Err())
	}
	at := offset - number*aheadBlock
	if b.err != nil && first {
		return nil, b.err
	}
	if b.err != nil || at+length > int64(len(b.bytes)) {
		// Another caller's request failed, perhaps with its context, or the range does not exist:
		// ask the store.
		return a.store.Range(ctx, object, offset, length)
	}
	return b.bytes[at : at+length : at+length], nil
}

// block returns a block, which is added if it is missing; first: the caller has to read it.
func (a *Ahead) block(object string, number int64) (b *block, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.blocks, func(b *block) bool { return b.number == number && b.object == object })
	if i >= 0 {
		b = a.blocks[i]
		a.blocks = append(slices.Delete(a.blocks, i, i+1), b)
		return b, false
	}
	if len(a.blocks) >= a.most {
		a.blocks = slices.Delete(a.blocks, 0, 1)
	}
	b = &block{object: object, number: number, read: make(chan struct{})}
	a.blocks = append(a.blocks, b)
	return b, true
}

func (a *Ahead) forget(b *block) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.blocks = slices.DeleteFunc(a.blocks, func(x *block) bool { return x == b })
}

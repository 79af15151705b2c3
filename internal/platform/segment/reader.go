package segment

import (
	"context"
	"errors"
	"fmt"

	"forager/internal/web/warc"
)

// ErrDamaged reports that the bytes in the store are not the announced record.
var ErrDamaged = errors.New("stored page is damaged")

// maxRecord bounds the block of a record that is read, bytes.
const maxRecord = 256 << 20

// ranger is the part of *objects.Store used here.
type ranger interface {
	Range(ctx context.Context, key string, offset, length int64) ([]byte, error)
}

// Page is a page that was read from a segment.
type Page struct {
	// Record is the WARC record; its Block has been read.
	Record *warc.Record
	// Response is the HTTP response with the body as stored.
	*warc.Response
}

// Read reads the page at a place that page.fetched has, and checks its digests. Errors of the store
// keep their class (objects.ErrNotFound, objects.ErrUnavailable); ErrDamaged is permanent.
func Read(ctx context.Context, store ranger, object string, offset, length uint64) (*Page, error) {
	if offset > 1<<62 || length > 1<<62 {
		return nil, fmt.Errorf("%w: %s at %d+%d", ErrDamaged, object, offset, length)
	}
	b, err := store.Range(ctx, object, int64(offset), int64(length))
	if err != nil {
		return nil, err
	}
	record, block, err := warc.ReadOne(b, warc.Limits{Block: maxRecord})
	if err != nil {
		return nil, fmt.Errorf("%w: %s at %d+%d: %w", ErrDamaged, object, offset, length, err)
	}
	answer, err := warc.ParseResponse(block)
	if err != nil {
		return nil, fmt.Errorf("%w: %s at %d+%d: %w", ErrDamaged, object, offset, length, err)
	}
	return &Page{record, answer}, nil
}

// ReadWhole is Read of a page whose body must have the digest that page.fetched has.
func ReadWhole(ctx context.Context, store ranger, object string, offset, length uint64, digest string) (*Page, error) {
	p, err := Read(ctx, store, object, offset, length)
	if err != nil {
		return nil, err
	}
	if found := warc.Digest(p.Body); found != digest {
		return nil, fmt.Errorf("%w: %s at %d+%d holds a body of digest %s, page.fetched has %q", ErrDamaged, object, offset, length, found, digest)
	}
	return p, nil
}

package operate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"forager/internal/crawl/crawlfile"
	"forager/internal/platform/objects"
	"forager/internal/platform/registry"
)

// Start creates a crawl and sends its seeds; checkOnly makes the checks alone.
func Start(ctx context.Context, b *Topics, store registry.Store, crawl *crawlfile.Crawl, checkOnly bool) error {
	if err := Create(ctx, b, store, crawl, checkOnly); err != nil || checkOnly {
		return err
	}
	_, err := SendSeeds(ctx, b, crawl.Control.GetCrawl(), crawl.Seeds)
	return err
}

// Create is Start without seeds: it adds the values that depend on the pipeline to the control record, stores the URL list and sends the
// record. The error wraps ErrRefused if there was a crawl of the name.
func Create(ctx context.Context, b *Topics, store registry.Store, crawl *crawlfile.Crawl, checkOnly bool) error {
	ctl := crawl.Control
	name := ctl.GetCrawl()
	old, seen := b.Newest(name)
	if old != nil {
		return refusef("crawl %q exists already (started %s); a name is never used again, choose another",
			name, time.UnixMilli(old.GetCreatedAt()).Format(time.RFC3339))
	}
	if err := Settle(ctx, b, store, nil, ctl); err != nil || checkOnly {
		return err
	}
	ctl.Revision = 1
	ctl.CreatedAt = time.Now().UnixMilli()
	if crawl.URLList != nil {
		var list []byte
		ctl.Scope.UrlList, list = crawlfile.ListObject(name, crawl.URLList)
		// Its name is derived from its content: an existing object is the same.
		if err := store.Put(ctx, ctl.Scope.UrlList, bytes.NewReader(list), int64(len(list))); err != nil && !errors.Is(err, objects.ErrExists) {
			return fmt.Errorf("store the URL list: %w", err)
		}
	}
	// The control record is sent first: prioritize waits for the seeds of a known crawl, and never holds up a
	// partition for an unknown one.
	winner, err := b.Place(ctx, ctl, seen)
	if err == nil && winner != nil {
		err = refusef("crawl %q was started by somebody else at the same moment; choose another name", name)
	}
	return err
}

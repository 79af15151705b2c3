package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/progress"
	"forager/internal/platform/segment"
	"forager/schemas"
)

// Deletion is what was deleted of a crawl.
type Deletion struct {
	Crawl string `json:"crawl"`
	// Rows that were deleted, by table.
	Rows     map[string]uint64 `json:"rows"`
	Segments int               `json:"segments_deleted"`
	Bytes    int64             `json:"segment_bytes_deleted"`
	Models   int               `json:"models_deleted"`
	// Kept are objects that other crawls need.
	KeptSegments []string `json:"segments_kept"`
	KeptModels   []string `json:"models_kept"`
}

// Deleter deletes crawls.
type Deleter struct {
	Topics *Topics
	Store  *objects.Store
	DB     *analytics.DB
	// Stop stops a crawl that has not finished; without it such a crawl is refused.
	Stop bool
	// Wait is the longest wait for each stage to process the deletion.
	Wait time.Duration
}

// Delete deletes a crawl. Interrupted, it may be called again and goes on. seen is the revision from which the change was derived; 0 =
// that in force.
func (x Deleter) Delete(ctx context.Context, crawl string, seen uint64) (*Deletion, error) {
	if err := x.mark(ctx, crawl, seen); err != nil {
		return nil, err
	}
	d, err := x.erase(ctx, crawl)
	if err != nil {
		return nil, fmt.Errorf("%w; crawl %q is deleted, but not all that it left is: call forager crawl delete %s again", err, crawl, crawl)
	}
	return d, nil
}

// mark marks the crawl as deleted and waits until no stage works on it.
func (x Deleter) mark(ctx context.Context, crawl string, seen uint64) error {
	b := x.Topics
	if ctl, _ := b.Newest(crawl); !Deleted(ctl) {
		if err := x.end(ctx, crawl, seen); err != nil {
			return err
		}
		if err := Loaded(ctx, b, x.Wait); err != nil {
			return err
		}
		if _, err := b.Update(ctx, crawl, func(next *schemas.CrawlControl) { next.State = schemas.CrawlState_CRAWL_STATE_DELETED }); err != nil {
			return err
		}
	}
	gone := func() (bool, error) {
		return b.everyShard(crawl, func(st *schemas.CrawlStatus) bool { return Ended(st) && st.GetEndReason() == "deleted" }), nil
	}
	if ok, err := Poll(ctx, x.Wait, gone); err != nil {
		return err
	} else if !ok {
		return late("crawl %q is to be deleted, but prioritize has not dropped it after %s; does it run? (forager up starts it) Then call forager crawl delete %s again", crawl, x.Wait, crawl)
	}
	return Loaded(ctx, b, x.Wait)
}

// end requires that a crawl has finished, or stops it.
func (x Deleter) end(ctx context.Context, crawl string, seen uint64) error {
	b := x.Topics
	from, err := b.begin(crawl, seen)
	st := b.Status(crawl)
	switch {
	case err != nil || Ended(st):
		return err
	case !x.Stop:
		return refusef("crawl %q is %s; only a crawl that has finished can be deleted: wait for it (forager crawl watch %s), stop it (forager crawl stop %s), or call this with --stop",
			crawl, b.Summarize(crawl, st, nil).State, crawl, crawl)
	}
	ctl := from.ctl
	if ctl.GetState() != schemas.CrawlState_CRAWL_STATE_STOPPED {
		if ctl, err = b.updateFrom(ctx, from, func(next *schemas.CrawlControl) { next.State = schemas.CrawlState_CRAWL_STATE_STOPPED }); err != nil {
			return err
		}
	}
	return Await(ctx, b, ctl, x.Wait, Ended)
}

// erase removes the objects and rows of a deleted crawl. Rows are removed last, as they name the segments (docs/decisions/0501).
func (x Deleter) erase(ctx context.Context, crawl string) (*Deletion, error) {
	d := &Deletion{Crawl: crawl, KeptSegments: []string{}, KeptModels: []string{}}
	gone := slices.DeleteFunc(x.Topics.Crawls(), func(crawl string) bool { return !x.Topics.Controls.Deleted(crawl) }) // sorted
	if err := d.segments(ctx, x.Store, x.DB, gone); err != nil {
		return nil, err
	}
	// A version is a digest, so that others may have made the same guide.
	guides, err := x.DB.GuidesOf(ctx, crawl, gone)
	if err != nil {
		return nil, err
	}
	if err := d.named(ctx, x.Store, guides, needed(x.Topics, crawl)); err != nil {
		return nil, err
	}
	d.Rows, err = x.DB.DeleteCrawl(ctx, crawl)
	return d, err
}

// segments deletes the segments that contain pages of deleted crawls only. The crawl of a page is read from its
// record (segment.Holds): rows of other crawls may not be loaded yet.
func (d *Deletion) segments(ctx context.Context, store *objects.Store, db *analytics.DB, gone []string) error {
	names, shared, err := db.SegmentsOf(ctx, d.Crawl, gone)
	if err != nil {
		return err
	}
	d.KeptSegments = append(d.KeptSegments, shared...)
	ctx, end := progress.Start(ctx, "deleting segments", int64(len(names)))
	defer end()
	for _, name := range names {
		if err := progress.Add(ctx, 1); err != nil {
			return err
		}
		data, err := store.Get(ctx, name)
		if errors.Is(err, objects.ErrNotFound) {
			continue // an earlier call was interrupted
		}
		if err != nil {
			return err
		}
		if !segment.Holds(data, gone) {
			d.KeptSegments = append(d.KeptSegments, name)
			continue
		}
		if err := store.Delete(ctx, name); err != nil {
			return err
		}
		d.Segments++
		d.Bytes += int64(len(data))
	}
	return nil
}

// named deletes the objects that belong to the crawl by their names: URL lists, and models except those needed by others.
func (d *Deletion) named(ctx context.Context, store *objects.Store, guides []string, needed map[string]bool) error {
	if err := d.models(ctx, store, "apprentice", d.Crawl+"/", needed); err != nil {
		return err
	}
	for _, version := range guides {
		if err := d.models(ctx, store, "guide", version, needed); err != nil {
			return err
		}
	}
	for o, err := range store.List(ctx, "scopes/"+d.Crawl+"/") {
		if err == nil {
			err = store.Delete(ctx, o.Key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// models deletes those of a kind whose versions have the prefix begin.
func (d *Deletion) models(ctx context.Context, store *objects.Store, kind, begin string, needed map[string]bool) error {
	for o, err := range store.List(ctx, schemas.ModelObject(kind, begin)) {
		if err != nil {
			return err
		}
		if version := strings.TrimPrefix(o.Key, schemas.ModelObject(kind, "")); needed[version] {
			d.KeptModels = append(d.KeptModels, version)
			continue
		}
		if err := store.Delete(ctx, o.Key); err != nil {
			return err
		}
		d.Models++
	}
	return nil
}

// needed returns the versions of models that other crawls start from or are pinned to, and of guides that they rank by.
func needed(b *Topics, crawl string) map[string]bool {
	needed := make(map[string]bool)
	for _, name := range b.Crawls() {
		if name == crawl || b.Controls.Deleted(name) {
			continue
		}
		ctl := b.Controls.Get(name)
		for _, version := range append(schemas.Guides(ctl), ctl.GetLearning().GetPrior(), ctl.GetLearning().GetPinned()) {
			needed[version] = true
		}
	}
	return needed
}

// everyShard reports whether ok holds for the status of every shard of a crawl.
func (b *Topics) everyShard(crawl string, ok func(*schemas.CrawlStatus) bool) bool {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	for shard := range schemas.ShardsOf(b.Controls.Get(crawl)) {
		if !ok(b.Statuses[crawl][shard]) {
			return false
		}
	}
	return true
}

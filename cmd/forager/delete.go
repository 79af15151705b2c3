package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/segment"
	"forager/schemas"
)

type crawlDelete struct {
	Crawl string        `arg:"" help:"Name of the crawl."`
	Stop  bool          `help:"Stop it first, if it has not finished."`
	Wait  time.Duration `help:"How long each stage may take to come along." default:"60s"`
}

func (c *crawlDelete) Help() string {
	return `Removes a crawl that has finished: its frontier and its training, its rows in ClickHouse, its models, the
guides that it made for itself, its URL list and its pages in the object store. There is no way back.

What stays: its name, which is never used again; its records in the shared topics until their retention
ends, which nothing reads any more; segments that also hold pages of other crawls, until the last of these
is deleted; models that another crawl begins with or is pinned to, and guides that another one ranks by;
archived files; its critic.

Interrupted, it may be called again and goes on.

  forager crawl delete chemistry
  forager crawl delete chemistry --stop`
}

// deletion is the result of crawl delete.
type deletion struct {
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

func (c *crawlDelete) Run(s *session) error {
	cfg, b, err := s.openBooks()
	if err != nil {
		return err
	}
	defer b.close()
	if err := c.tell(s, b); err != nil {
		return leaving(err, "crawl %q may be told to be deleted already: call forager crawl delete %s again", c.Crawl, c.Crawl)
	}
	d, err := erase(s, cfg, b, c.Crawl)
	if err != nil {
		left := fmt.Sprintf("crawl %q is deleted, but not all that it left is: call forager crawl delete %s again", c.Crawl, c.Crawl)
		return leaving(fmt.Errorf("%w; %s", err, left), "%s", left)
	}
	return s.print(d, func(w io.Writer) {
		rows := uint64(0)
		for _, n := range d.Rows {
			rows += n
		}
		fmt.Fprintf(w, "%s is deleted: %d rows, %d segments (%s), %d models\n", c.Crawl, rows, d.Segments, size(uint64(d.Bytes)), d.Models)
		if n := len(d.KeptSegments); n > 0 {
			fmt.Fprintf(w, "%d segments stay: they hold pages of other crawls, too\n", n)
		}
		for _, m := range d.KeptModels {
			fmt.Fprintf(w, "%s stays: another crawl needs it\n", m)
		}
	})
}

// tell marks the crawl as deleted and waits until no stage works on it.
func (c *crawlDelete) tell(s *session, b *books) error {
	ctl, _ := b.newest(c.Crawl)
	if !deleted(ctl) {
		ctl, err := b.control(c.Crawl)
		if err != nil {
			return err
		}
		if err := c.end(s, b, ctl); err != nil {
			return err
		}
		if err := b.loaded(s, c.Wait); err != nil {
			return err
		}
		if _, err := b.revise(s, c.Crawl, func(next *schemas.CrawlControl) { next.State = schemas.CrawlState_CRAWL_STATE_DELETED }); err != nil {
			return err
		}
	}
	gone := func() (bool, error) {
		return b.statusOf(c.Crawl, func(st *schemas.CrawlStatus) bool { return ended(st) && st.GetEndReason() == "deleted" }), nil
	}
	if ok, err := poll(s, c.Wait, gone); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("crawl %q is told to be deleted, but prioritize has not let go of it after %s; does it run? (forager up starts it) Then call forager crawl delete %s again", c.Crawl, c.Wait, c.Crawl)
	}
	return b.loaded(s, c.Wait)
}

// end requires that a crawl has finished, or stops it.
func (c *crawlDelete) end(s *session, b *books, ctl *schemas.CrawlControl) error {
	switch st := b.status(c.Crawl); {
	case ended(st):
		return nil
	case !c.Stop:
		return fmt.Errorf("crawl %q is %s; only a crawl that has finished can be deleted: wait for it (forager crawl watch %s), stop it (forager crawl stop %s), or call this with --stop",
			c.Crawl, stand(c.Crawl, st).State, c.Crawl, c.Crawl)
	}
	if ctl.GetState() != schemas.CrawlState_CRAWL_STATE_STOPPED {
		var err error
		if ctl, err = b.revise(s, c.Crawl, func(next *schemas.CrawlControl) { next.State = schemas.CrawlState_CRAWL_STATE_STOPPED }); err != nil {
			return err
		}
	}
	return b.await(s, ctl, c.Wait, ended)
}

// loaded waits until load-clickhouse has read all records that are in the topics now.
func (b *books) loaded(ctx context.Context, wait time.Duration) error {
	const stage = "load-clickhouse"
	ends, err := b.client.Ends(ctx, append([]string{schemas.TopicModelPublished}, stageInputs[stage]...)...)
	if err != nil {
		return err
	}
	var behind int64
	ok, err := poll(ctx, wait, func() (bool, error) {
		behind, err = b.client.LagTo(ctx, stage, ends)
		return behind == 0, err
	})
	if err == nil && !ok {
		err = fmt.Errorf("%d records still wait before %s after %s; does it run? (forager up starts it)", behind, stage, wait)
	}
	return err
}

// poll calls done until it returns true, or until wait is over (false).
func poll(ctx context.Context, wait time.Duration, done func() (bool, error)) (bool, error) {
	deadline := time.Now().Add(wait)
	for {
		if ok, err := done(); err != nil || ok {
			return ok, err
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// erase removes the objects and rows of a deleted crawl. Rows are removed last, as they name the segments (docs/decisions/0501).
func erase(ctx context.Context, cfg *pipeline.Config, b *books, crawl string) (*deletion, error) {
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return nil, err
	}
	db, err := analytics.Open(cfg.ClickHouse)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	d := &deletion{Crawl: crawl, KeptSegments: []string{}, KeptModels: []string{}}
	gone := b.deletedCrawls()
	if err := d.segments(ctx, store, db, gone); err != nil {
		return nil, err
	}
	guides, err := d.guides(ctx, db, gone)
	if err != nil {
		return nil, err
	}
	if err := d.named(ctx, store, guides, b.needed(crawl)); err != nil {
		return nil, err
	}
	d.Rows, err = db.DeleteCrawl(ctx, crawl)
	return d, err
}

// segments deletes the segments that contain pages of deleted crawls only. The crawl of a page is read from its
// record (segment.Holds): rows of other crawls may not be loaded yet.
func (d *deletion) segments(ctx context.Context, store *objects.Store, db *analytics.DB, gone []string) error {
	var names, shared []string
	err := db.Each(ctx, `SELECT object, max(crawl NOT IN {gone:Array(String)}) FROM fetches_rows
		WHERE object IN (SELECT object FROM fetches_rows WHERE crawl = {crawl:String} AND object != '') GROUP BY object ORDER BY object`,
		analytics.Params{"crawl": d.Crawl, "gone": gone}, func(row []any) error {
			if others := fmt.Sprint(row[1]) != "0" && fmt.Sprint(row[1]) != "false"; others {
				shared = append(shared, row[0].(string))
			} else {
				names = append(names, row[0].(string))
			}
			return nil
		})
	if err != nil {
		return err
	}
	d.KeptSegments = append(d.KeptSegments, shared...)
	for _, name := range names {
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
func (d *deletion) named(ctx context.Context, store *objects.Store, guides []string, needed map[string]bool) error {
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
func (d *deletion) models(ctx context.Context, store *objects.Store, kind, begin string, needed map[string]bool) error {
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

// guides returns the versions of guides that the crawl made of its own pages and that no other crawl or
// operator announced: a version is a digest, so that others may have made the same guide.
func (d *deletion) guides(ctx context.Context, db *analytics.DB, gone []string) (versions []string, err error) {
	err = db.Each(ctx, `SELECT model FROM models_rows WHERE kind = 'guide' GROUP BY model
		HAVING has(groupArray(crawl), {crawl:String}) AND max(crawl NOT IN {gone:Array(String)}) = 0 ORDER BY model`,
		analytics.Params{"crawl": d.Crawl, "gone": gone}, func(row []any) error {
			versions = append(versions, row[0].(string))
			return nil
		})
	return versions, err
}

// deletedCrawls returns the names of all deleted crawls, sorted.
func (b *books) deletedCrawls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := slices.Sorted(maps.Keys(b.controls))
	return slices.DeleteFunc(names, func(n string) bool { return !deleted(b.controls[n]) })
}

// needed returns the versions of models that other crawls start from or are pinned to, and of guides that they rank by.
func (b *books) needed(crawl string) map[string]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	needed := make(map[string]bool)
	for name, ctl := range b.controls {
		if name == crawl || deleted(ctl) {
			continue
		}
		for _, version := range append(schemas.Guides(ctl), ctl.GetLearning().GetPrior(), ctl.GetLearning().GetPinned()) {
			needed[version] = true
		}
	}
	return needed
}

// statusOf reports whether ok holds for the status of every shard of a crawl.
func (b *books) statusOf(crawl string, ok func(*schemas.CrawlStatus) bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for shard := range max(1, b.controls[crawl].GetShards()) {
		if !ok(b.statuses[crawl][shard]) {
			return false
		}
	}
	return true
}

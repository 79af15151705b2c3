package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/progress"
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

// Deletion is the result of crawl delete.
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

func (c *crawlDelete) Run(s *cli.Session) error {
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	defer b.Close()
	if err := c.markDeleted(s, b); err != nil {
		return cli.Leaving(err, "crawl %q may be marked as deleted already: call forager crawl delete %s again", c.Crawl, c.Crawl)
	}
	d, err := erase(s, cfg, b, c.Crawl)
	if err != nil {
		left := fmt.Sprintf("crawl %q is deleted, but not all that it left is: call forager crawl delete %s again", c.Crawl, c.Crawl)
		return cli.Leaving(fmt.Errorf("%w; %s", err, left), "%s", left)
	}
	return s.Print(d, func(w io.Writer) {
		rows := uint64(0)
		for _, n := range d.Rows {
			rows += n
		}
		fmt.Fprintf(w, "%s is deleted: %d rows, %d segments (%s), %d models\n", c.Crawl, rows, d.Segments, cli.Size(uint64(d.Bytes)), d.Models)
		if n := len(d.KeptSegments); n > 0 {
			fmt.Fprintf(w, "%d segments stay: they hold pages of other crawls, too\n", n)
		}
		for _, m := range d.KeptModels {
			fmt.Fprintf(w, "%s stays: another crawl needs it\n", m)
		}
	})
}

// markDeleted marks the crawl as deleted and waits until no stage works on it.
func (c *crawlDelete) markDeleted(s *cli.Session, b *cli.Topics) error {
	ctl, _ := b.Newest(c.Crawl)
	if !operate.Deleted(ctl) {
		ctl, err := b.Control(c.Crawl)
		if err != nil {
			return err
		}
		if err := c.end(s, b, ctl); err != nil {
			return err
		}
		if err := crawls.Loaded(s, b, c.Wait); err != nil {
			return err
		}
		if _, err := b.Update(s, c.Crawl, func(next *schemas.CrawlControl) { next.State = schemas.CrawlState_CRAWL_STATE_DELETED }); err != nil {
			return err
		}
	}
	gone := func() (bool, error) {
		return statusOf(b, c.Crawl, func(st *schemas.CrawlStatus) bool { return operate.Ended(st) && st.GetEndReason() == "deleted" }), nil
	}
	if ok, err := crawls.Poll(s, c.Wait, gone); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("crawl %q is to be deleted, but prioritize has not dropped it after %s; does it run? (forager up starts it) Then call forager crawl delete %s again", c.Crawl, c.Wait, c.Crawl)
	}
	return crawls.Loaded(s, b, c.Wait)
}

// end requires that a crawl has finished, or stops it.
func (c *crawlDelete) end(s *cli.Session, b *cli.Topics, ctl *schemas.CrawlControl) error {
	switch st := b.Status(c.Crawl); {
	case operate.Ended(st):
		return nil
	case !c.Stop:
		return fmt.Errorf("crawl %q is %s; only a crawl that has finished can be deleted: wait for it (forager crawl watch %s), stop it (forager crawl stop %s), or call this with --stop",
			c.Crawl, crawls.Summarize(b, c.Crawl, st, nil).State, c.Crawl, c.Crawl)
	}
	if ctl.GetState() != schemas.CrawlState_CRAWL_STATE_STOPPED {
		var err error
		if ctl, err = b.Update(s, c.Crawl, func(next *schemas.CrawlControl) { next.State = schemas.CrawlState_CRAWL_STATE_STOPPED }); err != nil {
			return err
		}
	}
	return await(s, b, ctl, c.Wait, operate.Ended)
}

// erase removes the objects and rows of a deleted crawl. Rows are removed last, as they name the segments (docs/decisions/0501).
func erase(ctx context.Context, cfg *pipeline.Config, b *cli.Topics, crawl string) (*Deletion, error) {
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return nil, err
	}
	db, err := analytics.Open(cfg.ClickHouse)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	d := &Deletion{Crawl: crawl, KeptSegments: []string{}, KeptModels: []string{}}
	gone := deletedCrawls(b)
	if err := d.segments(ctx, store, db, gone); err != nil {
		return nil, err
	}
	// A version is a digest, so that others may have made the same guide.
	guides, err := db.GuidesOf(ctx, crawl, gone)
	if err != nil {
		return nil, err
	}
	if err := d.named(ctx, store, guides, needed(b, crawl)); err != nil {
		return nil, err
	}
	d.Rows, err = db.DeleteCrawl(ctx, crawl)
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

// deletedCrawls returns the names of all deleted crawls, sorted.
func deletedCrawls(b *cli.Topics) []string {
	return slices.DeleteFunc(b.Crawls(), func(crawl string) bool { return !b.Controls.Deleted(crawl) })
}

// needed returns the versions of models that other crawls start from or are pinned to, and of guides that they rank by.
func needed(b *cli.Topics, crawl string) map[string]bool {
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

// statusOf reports whether ok holds for the status of every shard of a crawl.
func statusOf(b *cli.Topics, crawl string, ok func(*schemas.CrawlStatus) bool) bool {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	for shard := range schemas.ShardsOf(b.Controls.Get(crawl)) {
		if !ok(b.Statuses[crawl][shard]) {
			return false
		}
	}
	return true
}

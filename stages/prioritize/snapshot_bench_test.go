package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forager/internal/frontier"
	"forager/internal/platform/objects/objectstest"
	"forager/internal/stream/snapshot"
	"forager/internal/stream/state"
	"forager/internal/stream/stateful"
)

// BenchmarkRecovery grows a frontier to FORAGER_BENCH_URLS URLs (200,000 if not set) with a snapshot at half of them and one at the end, and
// restores the last one into an empty directory, from an S3 server on this machine. It reports the ratio of applying all records, as a replay
// does, to restoring; the time of pages while a snapshot is uploaded at the shipped rate, as a ratio to that of pages without; and how long the steps
// pause for a checkpoint.
func BenchmarkRecovery(b *testing.B) {
	urls, memory := number(b, urlsVar, 200_000), benchBudget(b)
	bucket := objectstest.Start(b).Store(b)
	for i := 0; b.Loop(); i++ {
		c := newGrowth(b, memory, false)
		maker := snapshot.Maker{Bucket: bucket, Of: snapshot.Of{Stage: name, Topic: fmt.Sprint("bench", i)}, Limit: snapshot.NewLimit(32 << 20)}
		making := c.web.cost(b, urls/newLinks)
		began := time.Now()
		c.grow(b, urls/2)
		replay := time.Since(began)

		const pages = 2000
		timed := func(f func()) time.Duration {
			made := c.web.cost(b, pages)
			began := time.Now()
			f()
			return time.Since(began) - made
		}
		without := timed(func() { c.pages(b, pages, 0) })
		first := c.snapshot(b, &maker, "first", false)
		with := timed(func() { c.pages(b, pages, 0) })
		select {
		case <-first.done:
			b.Logf("the upload ended before the pages")
		default:
		}
		<-first.done

		began = time.Now()
		c.grow(b, urls)
		replay += time.Since(began) + without + with - making
		last := c.snapshot(b, &maker, "last", true)
		<-last.done
		queued := c.shard.Status(c.now).GetQueued()
		if err := c.store.Close(); err != nil {
			b.Fatal(err)
		}

		began = time.Now()
		var phases []string
		after := func(phase string) {
			phases = append(phases, fmt.Sprintf("%s after %v", phase, time.Since(began).Round(time.Millisecond)))
		}
		dir := filepath.Join(b.TempDir(), "restored")
		options := state.Options{Dir: dir, Identity: "bench", Cache: c.cache, MemTable: memTable(memory.frontier), Hits: true}
		if _, err := snapshot.Restore(b.Context(), snapshot.RestoreOptions{
			Bucket: bucket, Of: maker.Of, FS: vfs.Default, Dir: dir,
			Check: func(context.Context, *snapshot.Manifest) error { return nil },
			Open: func(*snapshot.Manifest) error {
				after("downloaded")
				check := options
				check.ReadOnly = true
				store, err := stateful.OpenStore(check)
				if err != nil {
					return err
				}
				return store.Close()
			},
			Skipped: func(key, reason string, err error) { b.Error(key, reason, err) },
			Wait:    func(_ context.Context, err error) error { return err }, Over: func() {},
		}); err != nil {
			b.Fatal(err)
		}
		after("checked")
		store, err := stateful.OpenStore(options)
		if err != nil {
			b.Fatal(err)
		}
		c.store = store
		if c.shard, err = frontier.Open(store, "bench", 0); err != nil {
			b.Fatal(err)
		}
		after("opened")
		c.configure(b, c.ranker)
		c.newModel(b)
		after("with a model")
		if _, err := c.shard.Dispatch(c.now, 256); err != nil {
			b.Fatal(err)
		}
		restore := time.Since(began)
		if now := c.shard.Status(c.now).GetQueued(); now+256 < queued || now > queued {
			b.Errorf("%d URLs in the restored frontier, %d before", now, queued)
		}
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
		c.cache.Close()
		b.ReportMetric(float64(replay)/float64(restore), "replay/restore")
		b.ReportMetric(float64(with)/float64(without), "pages-with/without")
		b.ReportMetric(float64(max(first.pause, last.pause))/1e6, "pause-ms")
		b.Logf("%d URLs: replay %v, restore %v of %d MiB; the second snapshot sent %d MiB; pauses %v and %v", c.web.urls,
			replay.Round(time.Millisecond), restore.Round(time.Millisecond), last.report.Bytes>>20, last.report.Sent>>20, first.pause, last.pause)
		b.Log("the frontier is ", strings.Join(phases, ", "))
	}
}

// made is a snapshot: how long the steps paused for it, and what was sent.
type made struct {
	pause  time.Duration
	done   chan struct{}
	report snapshot.Report
}

// snapshot uploads the state of the crawl.
func (c *growth) snapshot(b *testing.B, maker *snapshot.Maker, name string, fast bool) *made {
	b.Helper()
	x := &made{done: make(chan struct{})}
	c.commit(b)
	began := time.Now()
	flushed, err := c.store.Flush()
	if err != nil {
		b.Fatal(err)
	}
	x.pause = time.Since(began)
	<-flushed
	dir := filepath.Join(b.TempDir(), name)
	began = time.Now()
	if err := c.store.Checkpoint(dir); err != nil {
		b.Fatal(err)
	}
	x.pause += time.Since(began)
	m := snapshot.Manifest{Marks: c.store.Marks().String()}
	go func() {
		defer close(x.done)
		var err error
		if x.report, err = maker.Upload(context.Background(), vfs.Default, dir, m, fast); err != nil {
			b.Error(err)
		}
	}()
	return x
}

// TestMain makes the test binary the server of the benchmark, too.
func TestMain(m *testing.M) { objectstest.Main(m) }

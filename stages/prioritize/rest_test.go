package main

import (
	"fmt"
	"testing"
	"time"

	"forager/internal/stream"
	"forager/schemas"
)

// TestRestBetweenPasses: while entries are scored again, and for twice that time afterwards, a
// newer model waits; then the newest one of all is taken. With learn.sync every model is taken
// at once.
func TestRestBetweenPasses(t *testing.T) {
	for _, sync := range []bool{false, true} {
		t.Run(fmt.Sprint("sync ", sync), func(t *testing.T) {
			d := newDesk(t)
			d.conf.rescoreBatch = 10
			d.open()
			ctl := apprenticeCrawl("c")
			ctl.Window, ctl.Learning.Sync = 1, sync
			d.control(ctl)
			publish := func(pages uint64) string {
				version := fmt.Sprintf("c/%d-x", pages)
				d.objects[schemas.ModelObject("apprentice", version)] = version
				d.publish(&schemas.ModelPublished{Kind: "apprentice", Crawl: "c", Version: version, Pages: pages, Leaps: 1})
				return version
			}
			urls := pagesUpTo(1000)
			d.step(d.record(seedsOf("c", urls...)))
			d.step(d.record(delivered(d.requests[0])))
			first := publish(1)
			step := func(records ...stream.Record) string {
				d.now = d.now.Add(time.Second)
				d.step(records...)
				return d.p.crawls["c"].model
			}
			if got := step(); got != first {
				t.Fatalf("model %q, want the first one", got)
			}
			begun := d.now
			for d.p.crawls["c"].slices < longPass && !sync {
				if step() != first {
					t.Fatalf("model %q in the middle of a pass", d.p.crawls["c"].model)
				}
			}
			newest := publish(2)
			if got := step(); sync != (got == newest) {
				t.Fatalf("model %q in the middle of a pass", got)
			}
			if sync {
				return
			}
			for !d.p.crawls["c"].scoring.IsZero() {
				if step() != first {
					t.Fatalf("model %q in the middle of a pass", d.p.crawls["c"].model)
				}
			}
			ended := d.now
			newest = publish(3)
			for d.p.crawls["c"].model == first {
				if d.wake.IsZero() {
					t.Fatal("it is not woken")
				}
				if !d.wake.After(d.now) {
					d.wake = d.now.Add(100 * time.Millisecond)
				}
				d.now = d.wake
				d.step()
			}
			if got, want := d.now.Sub(ended), 2*ended.Sub(begun); got < want || got > want+time.Second {
				t.Errorf("rested for %s after a pass of %s, want %s", got, ended.Sub(begun), want)
			}
			if got := d.p.crawls["c"].model; got != newest {
				t.Errorf("model %q, want the newest", got)
			}
		})
	}
}

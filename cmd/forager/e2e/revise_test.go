package e2e

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/stream"
	"forager/schemas"
)

// controlNow returns the control record that a stage reads at its start: from all records of the topic, and
// from those that compaction would leave.
func (r *rig) controlNow(t *testing.T, crawl string) (whole, compacted *schemas.CrawlControl) {
	t.Helper()
	all, last := controls.New(), controls.New()
	r.all(t, schemas.TopicCrawlControl, func(rec stream.Record) {
		if string(rec.Key) != crawl {
			return
		}
		last = controls.New()
		for _, b := range []*controls.Cache{all, last} {
			if err := b.Take(rec.Key, rec.Value); err != nil {
				t.Fatal(err)
			}
		}
	})
	return all.Get(crawl), last.Get(crawl)
}

// testTwoOperators lets two operators change the crawl idle, while no stage runs, from the same state.
func (r *rig) testTwoOperators(t *testing.T) {
	const crawl = "idle"
	ctl, seen := r.books.Newest(crawl)
	change := func(window uint32) (winner *schemas.CrawlControl) {
		next := proto.CloneOf(ctl)
		next.Revision++
		next.Window = window
		winner, err := r.books.Place(r.s, next, seen)
		if err != nil {
			t.Fatal(err)
		}
		return winner
	}
	if winner := change(11); winner != nil {
		t.Errorf("the first change lost to %v", winner)
	}
	if winner := change(22); winner.GetWindow() != 11 {
		t.Errorf("the second change lost to %v, want the first one", winner)
	}
	if winner := change(11); winner != nil {
		t.Errorf("the same change as the one in force lost to %v", winner)
	}
	if winner := change(33); winner.GetWindow() != 11 {
		t.Errorf("the third change lost to %v, want the first one", winner)
	}
	whole, compacted := r.controlNow(t, crawl)
	if whole.GetWindow() != 11 || compacted.GetWindow() != 11 {
		t.Errorf("in force is window %d, after compaction %d, want 11", whole.GetWindow(), compacted.GetWindow())
	}

	// A crawl whose name another operator has just used.
	other := proto.CloneOf(ctl)
	other.Crawl, other.Revision, other.Window = "taken", 1, 44
	if _, err := r.books.SendControl(r.s, other); err != nil {
		t.Fatal(err)
	}
	late := proto.CloneOf(other)
	late.Window = 55
	if winner, err := r.books.Place(r.s, late, seen); err != nil || winner.GetWindow() != 44 {
		t.Errorf("the later start lost to %v (%v)", winner, err)
	}
	if _, compacted := r.controlNow(t, "taken"); compacted.GetWindow() != 44 {
		t.Errorf("compaction leaves window %d, want 44", compacted.GetWindow())
	}
}

package frontier

import (
	"fmt"
	"testing"

	"forager/internal/frontier/place"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/schemas"
)

// TestAheadScoresAsOneByOne compares the scores of a pass, made on several processors from pages
// that are mostly not in memory, with the model's score of each link's features. The pass takes
// several stretches, each of them several slices, between which pages are applied; of the store that commits, what is read
// concurrently with the slices is out of date by up to two of them.
func TestAheadScoresAsOneByOne(t *testing.T) {
	for _, memory := range []int{1, 500 << 10, DefaultMemory} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) { testAhead(t, storage.NewMemory(), memory) })
	}
	t.Run("committed", func(t *testing.T) { testAhead(t, shippedFor(t), 500<<10) })
}

func testAhead(t *testing.T, store storage.Store, memory int) {
	b := newBench(t, store, schemas.Ranker_RANKER_APPRENTICE)
	b.shard.SetMemory(memory)
	for range 800 {
		b.page(t)
	}
	commit(t, store)
	slices, meanwhile := 0, 0
	for _, version := range []string{"a", "b"} {
		m := b.model(t)
		if err := b.shard.SetModel(version, m, b.shard.rescorer.Newest.Pages+1); err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			var err error
			if more, err = b.shard.Rescore(400); err != nil {
				t.Fatal(err)
			}
			if at := b.shard.rescorer.Batch; at != nil && at.Next != nil && at.Next.Done > 0 {
				meanwhile++
			}
			if slices++; slices%4 == 0 {
				b.page(t)
			}
			if slices%3 == 0 {
				commit(t, store)
			}
		}
		compareScores(t, b.shard, m)
	}
	if memory == 500<<10 && meanwhile < 10 {
		t.Errorf("after %d slices a stretch was scored during another one", meanwhile)
	}
}

// compareScores compares the scores of all queued entries with those of their links scored one by one.
func compareScores(t *testing.T, s *Shard, m place.Model) {
	queued, several := 0, 0
	for ordinal := uint64(1); ordinal <= s.state.Counters.Entries; ordinal++ {
		e, err := s.state.Entry(ordinal)
		if err != nil {
			t.Fatal(err)
		}
		if e.State != state.Queued || e.Places[0].Pinned {
			continue
		}
		links, err := s.state.Links(e)
		if err != nil {
			t.Fatal(err)
		}
		best := -1.
		for i := range links {
			p, err := s.pages.PageOf(&links[i])
			if err != nil {
				t.Fatal(err)
			}
			features, err := s.places.Features(p, &links[i])
			if err != nil {
				t.Fatal(err)
			}
			best = max(best, m.Score(features))
		}
		queued++
		if len(links) > 1 {
			several++
		}
		if e.Places[0].Score != best {
			t.Fatalf("%s scores %v in the pass and %v by its links", e.URL, e.Places[0].Score, best)
		}
	}
	if queued < 100 || several < 20 {
		t.Fatalf("%d entries, %d of several links: the test is void", queued, several)
	}
}

// TestSweepPlacesAhead: of the entries that have all links in their values, none is left to be scored when it is moved.
func TestSweepPlacesAhead(t *testing.T) {
	b := newBench(t, storage.NewMemory(), schemas.Ranker_RANKER_APPRENTICE)
	for range 100 {
		b.page(t)
	}
	s := b.shard
	s.SetMemory(500 << 10)
	if err := s.SetModel("a", b.model(t), 1); err != nil {
		t.Fatal(err)
	}
	for several := 0; s.state.Counters.Scanned < s.state.Counters.Entries; {
		if _, err := s.rescorer.ReadyBatch(); err != nil {
			t.Fatal(err)
		}
		behind := s.state.Counters.Scanned
		moves, err := s.rescorer.ScanEntries(100)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range moves {
			if m.Value == nil && !m.Entry.More {
				t.Fatalf("entry %d with %d links was not placed ahead", m.Entry.Ordinal, len(m.Entry.Links))
			}
			if len(m.Entry.Links) > 1 {
				several++
			}
		}
		if err := s.rescorer.MoveMeanwhile(moves, behind); err != nil {
			t.Fatal(err)
		}
		if s.state.Counters.Scanned == s.state.Counters.Entries && several < 100 {
			t.Fatalf("%d entries of several links: the test is void", several)
		}
	}
}

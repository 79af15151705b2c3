package frontier

import (
	"fmt"
	"testing"

	"forager/schemas"
)

// TestAheadScoresAsOneByOne compares the scores of a pass, made on several processors from pages
// that are mostly not in memory, with the model's score of each link's features. The pass takes
// several stretches, each of them several slices, between which pages are applied; of the store that commits, what is read
// concurrently with the slices is out of date by up to two of them.
func TestAheadScoresAsOneByOne(t *testing.T) {
	for _, memory := range []int{1, 500 << 10, DefaultMemory} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) { testAhead(t, NewMemory(), memory) })
	}
	t.Run("committed", func(t *testing.T) { testAhead(t, shippedFor(t), 500<<10) })
}

func testAhead(t *testing.T, store Store, memory int) {
	b := newBench(t, store, schemas.Ranker_RANKER_APPRENTICE)
	b.shard.SetMemory(memory)
	for range 800 {
		b.page(t)
	}
	commit(t, store)
	slices, beside := 0, 0
	for _, version := range []string{"a", "b"} {
		m := b.model(t)
		if err := b.shard.SetModel(version, m, b.shard.newest.pages+1); err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			var err error
			if more, err = b.shard.Rescore(400); err != nil {
				t.Fatal(err)
			}
			if at := b.shard.stretch; at != nil && at.next != nil && at.next.done > 0 {
				beside++
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
	if memory == 500<<10 && beside < 10 {
		t.Errorf("after %d slices a stretch was scored beside another one", beside)
	}
}

// compareScores compares the scores of all queued entries with those of their links scored one by one.
func compareScores(t *testing.T, s *Shard, m Model) {
	queued, several := 0, 0
	for ordinal := uint64(1); ordinal <= s.c.entries; ordinal++ {
		e, err := s.entry(ordinal)
		if err != nil {
			t.Fatal(err)
		}
		if e.state != stateQueued || e.places[0].Pinned {
			continue
		}
		links, err := s.links(e)
		if err != nil {
			t.Fatal(err)
		}
		best := -1.
		for i := range links {
			p, err := s.pageOf(&links[i])
			if err != nil {
				t.Fatal(err)
			}
			features, err := s.features(p, &links[i])
			if err != nil {
				t.Fatal(err)
			}
			best = max(best, m.Score(features))
		}
		queued++
		if len(links) > 1 {
			several++
		}
		if e.places[0].Score != best {
			t.Fatalf("%s scores %v in the pass and %v by its links", e.url, e.places[0].Score, best)
		}
	}
	if queued < 100 || several < 20 {
		t.Fatalf("%d entries, %d of several links: the test says nothing", queued, several)
	}
}

// TestSweepPlacesAhead: of the entries that have all links in their values, none is left to be scored when it is moved.
func TestSweepPlacesAhead(t *testing.T) {
	b := newBench(t, NewMemory(), schemas.Ranker_RANKER_APPRENTICE)
	for range 100 {
		b.page(t)
	}
	s := b.shard
	s.SetMemory(500 << 10)
	if err := s.SetModel("a", b.model(t), 1); err != nil {
		t.Fatal(err)
	}
	for several := 0; s.c.swept < s.c.entries; {
		if _, err := s.readyStretch(); err != nil {
			t.Fatal(err)
		}
		behind := s.c.swept
		moves, err := s.sweepEntries(100)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range moves {
			if m.value == nil && !m.e.more {
				t.Fatalf("entry %d with %d links was not placed ahead", m.e.ordinal, len(m.e.links))
			}
			if len(m.e.links) > 1 {
				several++
			}
		}
		if err := s.moveBeside(moves, behind); err != nil {
			t.Fatal(err)
		}
		if s.c.swept == s.c.entries && several < 100 {
			t.Fatalf("%d entries of several links: the test says nothing", several)
		}
	}
}

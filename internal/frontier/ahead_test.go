package frontier

import (
	"testing"

	"forager/schemas"
)

// TestAheadScoresAsOneByOne compares the scores of a pass, made on several processors from pages
// that are mostly not in memory, with the model's score of each link's features. The pass takes
// several stretches, each of them several slices, between which pages are applied.
func TestAheadScoresAsOneByOne(t *testing.T) {
	for _, memory := range []int{1, 6 << 20, DefaultMemory} {
		b := newBench(t, NewMemory(), schemas.Ranker_RANKER_APPRENTICE)
		b.shard.SetMemory(memory)
		for range 800 {
			b.page(t)
		}
		slices := 0
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
				if slices++; slices%4 == 0 {
					b.page(t)
				}
			}
			queued, several := 0, 0
			for ordinal := uint64(1); ordinal <= b.shard.c.entries; ordinal++ {
				e, err := b.shard.entry(ordinal)
				if err != nil {
					t.Fatal(err)
				}
				if e.state != stateQueued || e.places[0].Pinned {
					continue
				}
				links, err := b.shard.links(e)
				if err != nil {
					t.Fatal(err)
				}
				best := -1.
				for i := range links {
					p, err := b.shard.pageOf(&links[i])
					if err != nil {
						t.Fatal(err)
					}
					features, err := b.shard.features(p, &links[i])
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
					t.Fatalf("memory %d, model %s: %s scores %v in the pass and %v by its links", memory, version, e.url, e.places[0].Score, best)
				}
			}
			if queued < 100 || several < 20 {
				t.Fatalf("%d entries, %d of several links: the test says nothing", queued, several)
			}
		}
	}
}

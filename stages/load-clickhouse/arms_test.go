package main

import (
	"fmt"
	"testing"

	"forager/internal/crawl/controls"
	"forager/internal/stream"
	"forager/schemas"
)

// TestArmsAreKeptOverTime loads, twice, the statuses of two shards with a mixture whose second arm is replaced and comes back.
func TestArmsAreKeptOverTime(t *testing.T) {
	l := &loader{db: database(t), crawls: controls.New()}
	var rs []stream.Record
	status := func(shard uint32, epoch uint64, at int64, arms ...*schemas.Arm) {
		rs = append(rs, message(schemas.TopicCrawlStatus, 0, int64(len(rs)), &schemas.CrawlStatus{Crawl: "mixed", Shard: shard, Epoch: epoch, At: at, Arms: arms}, nil))
	}
	arm := func(policy string, chosen, credited uint64, reward float64) *schemas.Arm {
		return &schemas.Arm{Policy: policy, Chosen: chosen, Credited: credited, Reward: reward}
	}
	status(0, 1, 1_000, arm("a", 4, 2, 1), arm("b", 1, 1, .5))
	status(1, 1, 1_500, arm("a", 3, 3, 3))
	status(0, 2, 2_000, arm("a", 6, 5, 1.5)) // by the next owner, after a change of the ranker
	status(0, 2, 3_000, arm("a", 6, 6, 2), arm("b", 0, 0, 0))
	status(1, 1, 3_500, arm("a", 4, 3, 3))
	status(0, 2, 4_000, arm("a", 7, 6, 2), arm("b", 2, 1, .25))
	for range 2 {
		if err := l.load(t.Context(), rs); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.db.Report("mixed").ArmPoints(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sums, dispatched := make(map[string][3]float64), uint64(0)
	for _, p := range got {
		if p.Dispatched < dispatched {
			t.Errorf("out of order: %+v", got)
		}
		s := sums[p.Policy]
		sums[p.Policy], dispatched = [3]float64{s[0] + float64(p.Chosen), s[1] + float64(p.Credited), s[2] + p.Reward}, p.Dispatched
	}
	if want := "map[a:[11 9 5] b:[3 2 0.75]]"; fmt.Sprint(sums) != want || dispatched != 14 {
		t.Errorf("%v by %d requests, want %s: %+v", sums, dispatched, want, got)
	}
	if other, err := l.db.Report("another").ArmPoints(t.Context()); err != nil || len(other) != 0 {
		t.Errorf("of a crawl that is none: %v, %v", other, err)
	}
}

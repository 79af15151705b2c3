package experiment

import (
	"context"
	"testing"
	"time"

	"forager/internal/lab/experiment/worldtest"
	"forager/internal/lab/taskfile"
	"forager/schemas"
)

// BenchmarkCrawls makes crawls of a web that is parsed and judged: fetches in a second of one core, and the ratio of each
// ranker's CPU to that of first in, first out.
func BenchmarkCrawls(b *testing.B) {
	g := env(b, worldtest.Random(7, 400))
	rankers := []string{"unfocused", "soft-focus", "apprentice"}
	spent, fetches := make(map[string]time.Duration), make(map[string]uint64)
	bench := &Bench{Tasks: []*taskfile.Task{g.task}, Draws: []int{0, 1}, Environments: map[*taskfile.Task]*Environment{g.task: g},
		Done: func(j Job, r *Result, cpu time.Duration, _, _ int) error {
			spent[r.Ranker] += cpu
			fetches[r.Ranker] += r.Requests
			return nil
		}}
	for _, r := range rankers {
		bench.Variants = append(bench.Variants, Variant{Name: r, Ranker: r, Learning: &schemas.Learning{DMax: 5}})
	}
	if _, err := bench.Run(context.Background()); err != nil { // what is made once
		b.Fatal(err)
	}
	clear(spent)
	clear(fetches)
	for b.Loop() {
		if _, err := bench.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	each := func(ranker string) float64 { return spent[ranker].Seconds() / float64(fetches[ranker]) }
	for _, ranker := range rankers {
		b.ReportMetric(1/each(ranker), ranker+"-fetches/s·core")
		b.ReportMetric(each(ranker)/each(rankers[0]), ranker+"/"+rankers[0])
	}
}

package main

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"forager/internal/crawl/controls"
	"forager/internal/stream"
	"forager/schemas"
)

// BenchmarkLoad loads 12,000 pages with 20 links each in batches: of 300 pages for each second that a batch waits, as at 300 pages a second. The CPU time
// is that of the stage and the engine, merges included.
func BenchmarkLoad(b *testing.B) {
	const total, links = 12_000, 20
	for _, seconds := range []float64{.5, 1, 2, 4} {
		b.Run(fmt.Sprint("flush=", seconds), func(b *testing.B) {
			pages := int(300 * seconds)
			l := &loader{db: database(b), crawls: controls.New()}
			batch := func(round int) (rs []stream.Record) {
				for i := range pages {
					url := fmt.Sprintf("http://h%d.example/%d/%d", i%100, round, i)
					id := schemas.RequestID("c", url, 1)
					m := &schemas.LinkFound{Id: id.Bytes(), Crawl: "c", Url: url, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: .5}}
					for j := range links {
						m.Links = append(m.Links, &schemas.Link{Url: fmt.Sprintf("%s/%d", url, j), Position: uint32(j)})
					}
					offset := int64(round*pages + i)
					rs = append(rs,
						message(schemas.TopicFetchRequested, 0, offset, &schemas.FetchRequest{Id: id.Bytes(), Crawl: "c", Url: url, Host: "h", Attempt: 1}, nil),
						message(schemas.TopicPageFetched, 0, offset, &schemas.PageFetched{Id: id.Bytes(), Crawl: "c", Url: url, Outcome: schemas.Outcome_OUTCOME_DELIVERED}, nil),
						message(schemas.TopicLinkFound, 0, offset, m, nil))
				}
				return rs
			}
			var loading, used, decoding time.Duration
			round := 0
			for b.Loop() {
				for range total / pages {
					rs := batch(round)
					round++
					begin := spent(b)
					var floor rows
					for i := range rs {
						if err := floor.add(&rs[i]); err != nil {
							b.Fatal(err)
						}
					}
					decoded, at := spent(b), time.Now()
					if err := l.load(b.Context(), rs); err != nil {
						b.Fatal(err)
					}
					loading += time.Since(at)
					decoding += decoded - begin
					used += spent(b) - decoded
				}
			}
			loaded := float64(round * pages * (links + 3))
			b.ReportMetric(loaded/loading.Seconds(), "rows/s")
			b.ReportMetric(float64(used.Nanoseconds())/loaded, "cpu-ns/row")
			b.ReportMetric(float64(decoding.Nanoseconds())/loaded, "cpu-ns/row-decoding")
		})
	}
}

// spent is the CPU time of the process.
func spent(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

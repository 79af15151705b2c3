package main

import (
	"fmt"
	"testing"
	"time"

	"forager/internal/crawl/controls"
	"forager/internal/stream"
	"forager/schemas"
)

// BenchmarkLoad loads batches of 1,000 pages with 20 links each; the floor is decoding them.
func BenchmarkLoad(b *testing.B) {
	const pages, links = 1_000, 20
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
	var loading, decoding time.Duration
	round := 0
	for b.Loop() {
		rs := batch(round)
		round++
		begin := time.Now()
		var floor rows
		for i := range rs {
			if err := floor.add(&rs[i]); err != nil {
				b.Fatal(err)
			}
		}
		decoded := time.Now()
		if err := l.load(b.Context(), rs); err != nil {
			b.Fatal(err)
		}
		decoding += decoded.Sub(begin)
		loading += time.Since(decoded)
	}
	b.ReportMetric(float64(round*pages*(links+3))/loading.Seconds(), "rows/s")
	b.ReportMetric(loading.Seconds()/decoding.Seconds(), "x-decoding")
}

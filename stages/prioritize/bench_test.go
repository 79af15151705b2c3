package main

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier"
	"forager/internal/stream"
	"forager/internal/stream/state"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// BenchmarkVerdicts passes verdicts of pages with 60 links, 20 of them new, to a crawl whose state
// is on disk, 16 a step, and commits every step. It reports the ratio to reading the records.
func BenchmarkVerdicts(b *testing.B) {
	store, err := stateful.OpenStore(state.Options{Dir: b.TempDir(), Identity: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	const perStep = 16
	s := settings{
		book: newCache(), partitions: 1, retryDelay: time.Minute, rescoreBatch: shippedBatch, disk: roomy, log: slog.New(slog.DiscardHandler),
		library: newLibrary(nil, nil, func() {}, slog.New(slog.DiscardHandler)),
	}
	ctl := crawlOf("c")
	ctl.Budget.Pages, ctl.Window, ctl.HostWindow = 1<<40, 2*perStep, 2*perStep
	ctl.Policies[0].Ranker = schemas.Ranker_RANKER_SOFT_FOCUS
	value, err := proto.Marshal(ctl)
	if err != nil {
		b.Fatal(err)
	}
	if err := s.book.control(stream.Record{Key: []byte("c"), Value: value}); err != nil {
		b.Fatal(err)
	}
	p, err := s.open(0, 1, frontier.Store(store))
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	urls := 0
	url := func() string {
		n := r.IntN(urls + 1)
		if r.IntN(3) == 0 {
			urls++
			n = urls
		}
		return fmt.Sprintf("http://host-%d.example/section-%d/page-%d.html", n%97, n%13, n)
	}
	var flying []*schemas.FetchRequest
	now := time.Unix(1_000_000, 0)
	offset := int64(0)
	var reading time.Duration
	step := func(recs []*schemas.LinkFound) {
		var records []stream.Record
		for _, rec := range recs {
			value, err := proto.Marshal(rec)
			if err != nil {
				b.Fatal(err)
			}
			records = append(records, stream.Record{Topic: schemas.TopicLinkFound, Offset: offset, Value: value})
			offset++
		}
		b.StartTimer()
		res, err := p.Step(b.Context(), stateful.Work{Records: records, Now: now})
		if err == nil {
			err = p.Acked(res.Outs, make([]stream.Position, len(res.Outs)))
		}
		if err == nil {
			err = store.Commit(state.Marks{Input: offset})
		}
		b.StopTimer()
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		for _, rec := range records {
			if err := proto.Unmarshal(rec.Value, new(schemas.LinkFound)); err != nil {
				b.Fatal(err)
			}
		}
		reading += time.Since(began)
		for _, out := range res.Outs {
			if out.Topic == schemas.TopicFetchRequested {
				req := new(schemas.FetchRequest)
				if err := proto.Unmarshal(out.Value, req); err != nil {
					b.Fatal(err)
				}
				flying = append(flying, req)
			}
		}
		now = now.Add(50 * time.Millisecond)
	}
	var first []string
	for range 100 {
		first = append(first, url())
	}
	b.StopTimer()
	step([]*schemas.LinkFound{seedsOf("c", first...)})
	reading = 0
	b.ResetTimer()
	for n := 0; n < b.N; {
		var recs []*schemas.LinkFound
		for len(recs) < perStep && len(flying) > 0 {
			req := flying[0]
			flying = flying[1:]
			var links []string
			for range 60 {
				links = append(links, url())
			}
			rec := delivered(req, links...)
			rec.Judgement.Raw = r.Float64()
			rec.Table = &schemas.LeafTable{Terms: []string{"alpha", "beta", "gamma"}}
			for i := range uint32(180) {
				rec.Table.Leaves = append(rec.Table.Leaves, i)
				rec.Table.LeafLengths = append(rec.Table.LeafLengths, 3)
				rec.Table.Tokens = append(rec.Table.Tokens, 0, 1, 2)
			}
			for i, l := range rec.Links {
				l.FirstLeaf, l.LastLeaf = uint32(3*i), uint32(3*i)
			}
			recs = append(recs, rec)
		}
		n += len(recs)
		step(recs)
	}
	b.ReportMetric(float64(b.Elapsed())/float64(reading), "x-reading")
}

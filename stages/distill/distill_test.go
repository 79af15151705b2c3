package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/frontier"
	"forager/internal/platform/objects/objectstest/memory"
	"forager/internal/rank/distill"
	"forager/internal/stream"
	"forager/internal/stream/crashtest"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// every is the number of pages between two rankings of the crawls here.
const every = 3

// drawVerdicts returns random verdicts of a shard: pages that link to one another, redirects, failures.
func drawVerdicts(r *rand.Rand, crawl string, shard uint32, n int) (all []*schemas.LinkFound) {
	url := func() string { return fmt.Sprintf("http://h%d.test/%d", r.IntN(4), r.IntN(6)) }
	for i := range n {
		u := url()
		rec := &schemas.LinkFound{
			Id: schemas.RequestID(crawl, u, uint32(i+1)).Bytes(), Crawl: crawl, Shard: shard, Url: u,
			Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: float64(r.IntN(5)) / 4},
		}
		switch r.IntN(6) {
		case 0:
			rec.Outcome, rec.Judgement, rec.Redirect = schemas.Outcome_OUTCOME_REDIRECTED, nil, url()
		case 1:
			rec.Outcome, rec.Judgement = schemas.Outcome_OUTCOME_TIMEOUT, nil
		default:
			for range r.IntN(6) {
				rec.Links = append(rec.Links, &schemas.Link{Url: url()})
			}
		}
		all = append(all, rec)
	}
	return all
}

func verdictOut(rec *schemas.LinkFound) stream.Out {
	value, err := proto.Marshal(rec)
	if err != nil {
		panic(err)
	}
	return stream.Out{
		Topic: schemas.TopicLinkFound, Partition: 0, Key: []byte(schemas.ShardKey(rec.GetCrawl(), rec.GetShard())), Value: value,
		Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: rec.GetCrawl()},
	}
}

func control(crawl string, revision uint64, raise bool, state schemas.CrawlState) []byte {
	b, err := proto.Marshal(&schemas.CrawlControl{
		Crawl: crawl, Revision: revision, State: state, Distiller: &schemas.Distiller{Every: every},
		Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS, Raise: raise}},
	})
	if err != nil {
		panic(err)
	}
	return b
}

// ranking is what a plain graph makes of a shard's records up to an offset.
func ranking(records []stream.Record, crawl string, shard uint32, through int64) (*schemas.HubRanked, error) {
	g, err := distill.OpenGraph(frontier.NewMemory(), []byte("g"))
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		rec := new(schemas.LinkFound)
		if err := proto.Unmarshal(r.Value, rec); err != nil {
			return nil, err
		}
		if rec.GetCrawl() == crawl && rec.GetShard() == shard && r.Offset <= through {
			if err := g.Note(rec, r.Offset); err != nil {
				return nil, err
			}
		}
	}
	s := distill.Default
	return g.Hubs(context.Background(), crawl, shard, s)
}

// simulate runs successive owners of a partition, which crash at every point and start again, while verdicts,
// some of them twice, and control records come. Every ranking is that of a plain graph, and the last boundary
// of each shard has one; a crawl without a distiller has none.
func simulate(seed uint64) error {
	w := crashtest.New(seed, map[string]int{schemas.TopicLinkFound: 1, schemas.TopicHubRanked: 1, schemas.TopicDeadLetter: 1},
		crashtest.Faults{Double: .03, Late: .03, Sync: .3})
	type unit struct {
		crawl string
		shard uint32
	}
	units := []unit{{"a", 0}, {"b", 0}, {"c", 0}, {"c", 1}}
	var all []*schemas.LinkFound
	for i, u := range units {
		all = append(all, drawVerdicts(rand.New(rand.NewPCG(seed, uint64(i))), u.crawl, u.shard, 30)...)
	}
	w.Rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	sent := 0
	send := func() {
		if sent > 0 && w.Rand.IntN(8) == 0 {
			w.Append(verdictOut(all[w.Rand.IntN(sent)]))
		}
		if sent < len(all) {
			w.Append(verdictOut(all[sent]))
			sent++
		}
	}
	cache := controls.New()
	owners := &crashtest.Owners{
		World: w, Stage: name, Input: schemas.TopicLinkFound,
		Open: func(s *stateful.Store) (stateful.Processor, error) {
			return newDistiller(s, cache, memory.Bucket{}, slog.New(slog.DiscardHandler))
		},
	}
	defer owners.End()
	tell := func(crawl string) error {
		owners.News()
		return cache.Take([]byte(crawl), control(crawl, 1, crawl != "b", schemas.CrawlState_CRAWL_STATE_RUNNING))
	}
	const chaos = 800
	for turn := 0; ; turn++ {
		if turn > 20_000 {
			return errors.New("no end")
		}
		if turn == chaos {
			for sent < len(all) {
				send()
			}
			for _, crawl := range []string{"a", "b", "c"} {
				if err := tell(crawl); err != nil {
					return err
				}
			}
		}
		switch roll := w.Rand.IntN(100); {
		case owners.Alive() == 0 || roll < 2 && turn < chaos && owners.Alive() < 3:
			owners.Spawn()
		case roll < 5 && turn < chaos:
			owners.Kill()
		case roll < 20:
			send()
		case roll < 23 && turn < chaos:
			if err := tell([]string{"a", "b", "c"}[w.Rand.IntN(3)]); err != nil {
				return err
			}
		default:
			if err := owners.Run(); err != nil {
				return err
			}
		}
		if turn > chaos && owners.AtRest() {
			break
		}
	}
	for w.Late() > 0 {
		w.Deliver()
	}
	input := w.Records(schemas.TopicLinkFound, 0)
	last := map[unit]uint64{}
	for _, r := range w.Records(schemas.TopicHubRanked, 0) {
		m := new(schemas.HubRanked)
		if err := proto.Unmarshal(r.Value, m); err != nil {
			return err
		}
		u := unit{m.GetCrawl(), m.GetShard()}
		want, err := ranking(input, u.crawl, u.shard, m.GetThrough())
		if err != nil {
			return err
		}
		if !proto.Equal(want, m) {
			return fmt.Errorf("the hubs of %v behind %d pages are %v, those of a plain graph %v", u, m.GetPages(), m, want)
		}
		if string(r.Key) != schemas.ShardKey(u.crawl, u.shard) || r.Headers[schemas.HeaderCrawl] != u.crawl {
			return fmt.Errorf("hubs of %v with the key %s and the headers %v", u, r.Key, r.Headers)
		}
		last[u] = max(last[u], m.GetPages())
	}
	for _, u := range units {
		whole, err := ranking(input, u.crawl, u.shard, int64(len(input)))
		if err != nil {
			return err
		}
		due := distill.Boundary(whole.GetPages(), every)
		if u.crawl == "b" {
			due = 0
		}
		if last[u] < due || due == 0 && last[u] > 0 {
			return fmt.Errorf("the last hubs of %v stand behind %d pages, want %d", u, last[u], due)
		}
	}
	if n := len(w.Records(schemas.TopicDeadLetter, 0)); n > 0 {
		return fmt.Errorf("%d dead letters", n)
	}
	return nil
}

func TestRankingSurvivesCrashes(t *testing.T) {
	crashtest.Seeds(t, 30, simulate)
}

// bench is a distiller without a broker.
type bench struct {
	t         *testing.T
	store     frontier.Store
	distiller *distiller
	cache     *controls.Cache
	offset    int64
	revision  uint64
	log       bytes.Buffer
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, store: frontier.NewMemory(), cache: controls.New()}
	b.open()
	return b
}

func (b *bench) open() {
	b.t.Helper()
	var err error
	if b.distiller, err = newDistiller(b.store, b.cache, memory.Bucket{}, slog.New(slog.NewTextHandler(&b.log, nil))); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) control(raise bool, state schemas.CrawlState) {
	b.t.Helper()
	b.revision++
	if err := b.cache.Take([]byte("c"), control("c", b.revision, raise, state)); err != nil {
		b.t.Fatal(err)
	}
}

// step passes so many pages and returns after how many pages hubs were ranked.
func (b *bench) step(pages int, replaying bool) (ranked []uint64) {
	b.t.Helper()
	var records []stream.Record
	for range pages {
		out := verdictOut(&schemas.LinkFound{
			Id: schemas.RequestID("c", fmt.Sprint(b.offset), 1).Bytes(), Crawl: "c", Url: fmt.Sprintf("http://h%d.test/", b.offset),
			Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: 1},
		})
		records = append(records, stream.Record{Topic: out.Topic, Offset: b.offset, Key: out.Key, Value: out.Value, Headers: out.Headers})
		b.offset++
	}
	return b.give(records, replaying)
}

func (b *bench) give(records []stream.Record, replaying bool) (ranked []uint64) {
	b.t.Helper()
	res, err := b.distiller.Step(b.t.Context(), stateful.Work{Records: records, Now: time.Unix(1000, 0), Replaying: replaying})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, out := range res.Outs {
		m := new(schemas.HubRanked)
		if err := proto.Unmarshal(out.Value, m); err != nil {
			b.t.Fatal(err)
		}
		ranked = append(ranked, m.GetPages())
	}
	return ranked
}

func (b *bench) want(got []uint64, pages ...uint64) {
	b.t.Helper()
	if !slices.Equal(got, pages) {
		b.t.Fatalf("ranked behind %v pages, want %v", got, pages)
	}
}

// keys counts what is stored.
func (b *bench) keys() (n int) {
	b.t.Helper()
	if err := b.store.Scan([]byte{0}, []byte{0xff}, func(_, _ []byte) (bool, error) { n++; return true, nil }); err != nil {
		b.t.Fatal(err)
	}
	return n
}

const running = schemas.CrawlState_CRAWL_STATE_RUNNING

func TestBoundariesAreAnswered(t *testing.T) {
	b := newBench(t)
	b.want(b.step(4, false)) // it is not known yet what the crawl has
	b.control(true, running)
	b.want(b.step(0, false), 4)
	b.want(b.step(5, false), 6, 9)
	b.open()
	b.want(b.step(7, true)) // a replay: nothing, and then the newest
	b.want(b.step(0, false), 16)
	b.control(false, running) // another ranker for a while
	b.want(b.step(4, false))
	b.open()
	b.control(true, running)
	b.want(b.step(0, false), 20)
	b.give([]stream.Record{{Topic: schemas.TopicLinkFound, Value: []byte{0xff}, Headers: map[string]string{schemas.HeaderCrawl: "c"}}}, false)
	if !bytes.Contains(b.log.Bytes(), []byte("left out")) {
		t.Errorf("it does not report a record that cannot be read: %s", b.log.String())
	}
	b.control(true, schemas.CrawlState_CRAWL_STATE_DELETED)
	b.want(b.step(3, false))
	if n := b.keys(); n != 0 {
		t.Errorf("%d keys of a deleted crawl", n)
	}
}

func TestCrawlsWithoutADistillerCostNothing(t *testing.T) {
	b := newBench(t)
	b.step(4, false)
	b.control(false, running)
	b.want(b.step(4, false))
	b.want(b.step(4, false))
	if n := b.keys(); n != 0 {
		t.Errorf("%d keys of a crawl without a distiller", n)
	}
	b.give([]stream.Record{{Topic: schemas.TopicLinkFound, Value: []byte{0xff}, Headers: map[string]string{schemas.HeaderCrawl: "c"}}}, false)
	if b.log.Len() > 0 {
		t.Errorf("its records are read: %s", b.log.String())
	}
	b.control(true, running) // it has one now: by the pages from here on
	b.want(b.step(4, false), 3)
}

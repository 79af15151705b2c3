package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream/state"
	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// chain is a crawl of pages of which each links to the next one, and to many pages that are never fetched. It
// is generated while it is read.
type chain struct {
	Case
	pages, links int
	// broken is a leap that differs between ClickHouse and the topic; -1 = none.
	broken int
	// open are leaps that are not settled.
	open map[int]bool
	// live are sizes of the live heap, in bytes, measured at every lookEvery-th call; 0 = never.
	live      []uint64
	lookEvery int
	calls     int
	rows      int
}

func (c *chain) url(i int) string { return fmt.Sprintf("http://h%d.example/%d", i%50, i) }

func (c *chain) id(i int) []byte { return schemas.RequestID("c", c.url(i), 1).Bytes() }

func (c *chain) request(i int) *schemas.FetchRequest {
	return &schemas.FetchRequest{
		Id: c.id(i), Crawl: "c", Url: c.url(i), Host: fmt.Sprintf("h%d.example", i%50), Attempt: 1, Ordinal: uint64(i + 1), Clock: uint64(i + 1), Depth: uint32(i),
	}
}

func (c *chain) fetched(i int) *schemas.PageFetched {
	return &schemas.PageFetched{
		Id: c.id(i), Crawl: "c", Url: c.url(i), Outcome: schemas.Outcome_OUTCOME_DELIVERED, Status: 200, Digest: "sha1:" + c.url(i), Object: fmt.Sprint("segments/", i/100), Offset: uint64(i),
	}
}

func (c *chain) judgement(i int) *schemas.Judgement {
	return &schemas.Judgement{Raw: float64(i%7) / 7, Tempered: float64(i%5) / 5, Critic: "k/1"}
}

func (c *chain) judged(i int) *schemas.PageJudged {
	return &schemas.PageJudged{Id: c.id(i), Crawl: "c", Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: c.judgement(i)}
}

func (c *chain) verdict(i int) *schemas.LinkFound {
	v := &schemas.LinkFound{Id: c.id(i), Crawl: "c", Url: c.url(i), Outcome: schemas.Outcome_OUTCOME_DELIVERED, Status: 200, Judgement: c.judgement(i)}
	if i+1 < c.pages {
		v.Links = append(v.Links, &schemas.Link{Url: c.url(i + 1)})
	}
	for k := range c.links {
		v.Links = append(v.Links, &schemas.Link{Url: fmt.Sprintf("http://far.example/a/somewhat/longer/path/%d/%d", i, k)})
	}
	return v
}

// leap returns that from page i to the next one.
func (c *chain) leap(i int) *schemas.LeapSettled {
	u, v := c.judgement(i), c.judgement(i+1)
	return &schemas.LeapSettled{
		Id: schemas.LeapID("c", c.url(i), c.url(i+1)).Bytes(), Crawl: "c", U: c.url(i), V: c.url(i + 1), Outcome: schemas.Outcome_OUTCOME_DELIVERED,
		TargetRaw: v.Raw, TargetTempered: v.Tempered, SourceRaw: u.Raw, SourceTempered: u.Tempered, Request: c.id(i + 1), Forward: true,
	}
}

func newChain(t *testing.T, pages, links int) *chain {
	t.Helper()
	s := &schemas.Scope{Prefixes: []string{"http://"}}
	sc, err := scope.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &chain{pages: pages, links: links, broken: -1}
	st := &schemas.CrawlStatus{
		Crawl: "c", State: schemas.ShardState_SHARD_STATE_FINISHED, Dispatched: uint64(pages), Pages: uint64(pages), Requests: uint64(pages), Leaps: uint64(pages - 1),
		Outcomes: map[string]uint64{"delivered": uint64(pages)}, Spans: make(map[string]*schemas.TopicSpan),
	}
	c.Case = Case{Control: &schemas.CrawlControl{Crawl: "c", Scope: s, Window: 1}, Scope: sc, Statuses: []*schemas.CrawlStatus{st}}
	for _, topic := range Audited {
		span := &schemas.TopicSpan{Xor: make([]byte, 16)}
		err := c.Records(t.Context(), topic, func(r *Record) error {
			id := r.ID
			if r.Message != nil {
				id = schemas.ID(idOf(r.Message))
			}
			span.Count, span.Xor = span.Count+1, id.Xor(span.Xor)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		st.Spans[topic] = span
	}
	for i := range pages {
		st.RelevanceRaw += c.judgement(i).Raw
	}
	return c
}

// look measures the live heap: after a collection during which the audit waits, as what is allocated during one
// counts as live.
func (c *chain) look() {
	if c.calls++; c.lookEvery > 0 && c.calls%c.lookEvery == 0 {
		runtime.GC()
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		c.live = append(c.live, sample[0].Value.Uint64())
	}
}

func (c *chain) Way(_ context.Context, topic string) (Topic, error) {
	return Topic{Topic: topic, Way: ByRecords}, nil
}

func (c *chain) Records(_ context.Context, topic string, f func(*Record) error) error {
	give := func(i int, m proto.Message) error {
		c.look()
		return f(&Record{Place: uint64(i + 1), Message: m, Counted: true})
	}
	if topic == schemas.TopicLinkFound {
		if err := f(&Record{Message: schemas.SeedPage("c", []string{c.url(0)}), Counted: true}); err != nil {
			return err
		}
	}
	for i := range c.pages {
		var err error
		switch topic {
		case schemas.TopicFetchRequested:
			err = give(i, c.request(i))
		case schemas.TopicPageFetched:
			err = give(i, c.fetched(i))
		case schemas.TopicPageParsed:
			err = f(&Record{ID: schemas.ID(c.id(i)), Counted: true})
		case schemas.TopicPageJudged:
			err = give(i, c.judged(i))
		case schemas.TopicLinkFound:
			err = give(i, c.verdict(i))
		case schemas.TopicLeapSettled:
			if i+1 < c.pages && !c.open[i] {
				err = give(i, c.leap(i))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *chain) Rows(_ context.Context, table Table, sample *Sample, f func(at Place, row []string) error) error {
	give := func(row []string) error {
		if !sample.HasRow(row) {
			return nil
		}
		c.look()
		c.rows++
		return f(Place{}, row)
	}
	if table.Name == "books" {
		for topic, s := range c.Statuses[0].Spans {
			if err := f(Place{}, []string{topic, strconv.FormatUint(s.Count, 10), schemas.ID(s.Xor).String()}); err != nil {
				return err
			}
		}
		return nil
	}
	seeds := schemas.SeedPage("c", []string{c.url(0)})
	var err error
	for i := -1; i < c.pages && err == nil; i++ {
		v := seeds
		if i >= 0 {
			v = c.verdict(i)
		}
		switch {
		case table.Name == "found":
			err = give(foundRow(v, len(v.GetLinks())))
		case table.Name == "links":
			for _, l := range v.GetLinks() {
				err = errors.Join(err, give(LinkRow(v, l)))
			}
		case i < 0:
		case table.Name == "requests":
			err = give(requestRow(c.request(i)))
		case table.Name == "fetches":
			err = give(fetchRow(c.fetched(i)))
		case table.Name == "judgements":
			err = give(judgementRow(c.judged(i)))
		case table.Name == "leaps" && i+1 < c.pages && !c.open[i]:
			l := c.leap(i)
			if i == c.broken {
				l.Score++
			}
			err = give(leapRow(l))
		}
	}
	return err
}

func (c *chain) Segment(context.Context, string) (Segment, error) {
	c.look()
	return Segment{Records: 100}, nil
}

func (c *chain) Page(_ context.Context, f *schemas.PageFetched) StoredPage {
	c.look()
	return StoredPage{URL: f.GetUrl(), Digest: f.GetDigest()}
}

func (c *chain) Objects(context.Context, func(string) error) error { return nil }

// onDisk is the store of a real audit.
type onDisk struct{ *state.Store }

func (s onDisk) Commit() error { return s.Store.Commit(state.Marks{}) }

func (c *chain) audit(t *testing.T) *Result {
	t.Helper()
	cache := state.NewCache(2 << 20) // so small that a tenth of the pages fill it
	defer cache.Close()
	store, err := state.Open(state.Options{Dir: t.TempDir(), Identity: "verify", Cache: cache, MemTable: 512 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	r, err := Audit(t.Context(), c.Case, c, onDisk{store})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLinksBetweenShardsMayBeUnderWay: in a running crawl of several shards a link to another shard may wait to be settled,
// a link within a shard may not.
func TestLinksBetweenShardsMayBeUnderWay(t *testing.T) {
	const shards = 4
	c := newChain(t, 60, 0)
	c.Control.Shards, c.open = shards, make(map[int]bool)
	c.Taken = func(uint64) bool { return true }
	shard := func(i int) uint32 { return schemas.ShardOf(weburl.Host(c.url(i)), shards) }
	within := -1
	for i := range c.pages - 1 {
		if shard(i) != shard(i+1) {
			c.open[i] = true
		} else {
			within = i
		}
	}
	if len(c.open) < 10 || within < 0 {
		t.Fatalf("%d links between shards, link %d within one", len(c.open), within)
	}
	if r := c.audit(t); strings.Contains(Problems(r), "never settled") {
		t.Errorf("between shards: %s", Problems(r))
	}
	c.open[within] = true
	want := "the link from " + c.url(within) + " to " + c.url(within+1) + " was never settled"
	if r := c.audit(t); strings.Count(Problems(r), "never settled") != 1 || !strings.Contains(Problems(r), want) {
		t.Errorf("within a shard: no %q in %s", want, Problems(r))
	}
	c.Taken = nil
	if r := c.audit(t); strings.Count(Problems(r), "never settled")+int(r.More) < 10 {
		t.Errorf("of a finished crawl: %s", Problems(r))
	}
}

// TestMemoryDoesNotGrowWithPages audits a crawl that fills the buffers of the store, and one of four times as many pages: a set of the ids
// of its further rows would take 12 MiB. Each is measured equally often, as the store's buffers and compactions come and go.
func TestMemoryDoesNotGrowWithPages(t *testing.T) {
	most := func(pages int) float64 {
		c := newChain(t, pages, 60)
		c.lookEvery = 2 * pages
		if r := c.audit(t); !r.OK {
			t.Fatalf("%d pages: %s", pages, Problems(r))
		}
		most := slices.Max(c.live)
		t.Logf("%d pages, %d rows: at most %.1f MiB alive in %d measurements", pages, c.rows, float64(most)/(1<<20), len(c.live))
		return float64(most)
	}
	small, large := most(1000), most(4000)
	if large > 1.3*small {
		t.Errorf("%.0f bytes are alive, %.0f with a quarter of the pages", large, small)
	}
}

// TestSampleFindsDamageWithItsStatedProbability damages one row, and audits with many samples.
func TestSampleFindsDamageWithItsStatedProbability(t *testing.T) {
	const runs, share = 200, .3
	found := 0
	for i := range runs {
		c := newChain(t, 40, 3)
		c.broken = 17
		c.Sample = &Sample{Share: share, From: uint32(i) * (1 << 32 / runs)}
		r, err := Audit(t.Context(), c.Case, c, NewMemoryStore())
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(r.Detects(1)-share) > 1e-9 || r.Sampled == nil {
			t.Fatalf("stated %g", r.Detects(1))
		}
		if !r.OK {
			found++
			if !strings.Contains(Problems(r), "ClickHouse: leaps row") || len(r.Problems) != 1 {
				t.Fatalf("problems: %s", Problems(r))
			}
		}
	}
	if n := float64(found) / runs; n < share-.01 || n > share+.01 {
		t.Errorf("damage was found in %g of the samples, want %g", n, share)
	}
}

package frontier

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/internal/web/scope"
	"forager/schemas"
)

// bench is a crawl of made-up pages: linksPerPage links each, one in three to a new URL, 16
// hosts, leaves of three words from a thousand.
type bench struct {
	store   storage.Store
	shard   *Shard
	rnd     *rand.Rand
	urls    []string
	table   *schemas.LeafTable
	now     time.Time
	flights []*schemas.FetchRequest
	leaps   []*schemas.LeapSettled
}

const linksPerPage = 30

func newBench(tb testing.TB, store storage.Store, ranker schemas.Ranker) *bench {
	b := &bench{store: store, rnd: rand.New(rand.NewPCG(1, 2)), now: time.Unix(1000, 0)}
	shard, err := Open(store, "bench", 0)
	if err != nil {
		tb.Fatal(err)
	}
	b.shard = shard
	sc, err := scope.New(nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	ctl := &schemas.CrawlControl{
		Crawl: "bench", State: schemas.CrawlState_CRAWL_STATE_RUNNING, Budget: &schemas.Budget{Pages: 1 << 40},
		Policies: []*schemas.Policy{{Name: "p", Ranker: ranker}}, Window: 64, HostWindow: 8,
		Learning: &schemas.Learning{DMax: 5, SwitchPages: 1 << 40},
	}
	if err := shard.Configure(ctl, sc, Options{}); err != nil {
		tb.Fatal(err)
	}
	for i := range 1000 {
		b.urls = append(b.urls, b.url(i))
	}
	b.table = new(schemas.LeafTable)
	for i := range 1000 {
		b.table.Terms = append(b.table.Terms, fmt.Sprintf("word%d", i))
	}
	var seeds []*schemas.Link
	for _, u := range b.urls[:64] {
		seeds = append(seeds, &schemas.Link{Url: u})
	}
	if _, err := shard.Apply(seedPage("bench", 0, seeds), b.now); err != nil {
		tb.Fatal(err)
	}
	return b
}

func (b *bench) url(n int) string {
	return fmt.Sprintf("http://www%d.site.example/section-%d/page-%d.html", n%16, n%97, n)
}

func (b *bench) verdict(r *schemas.FetchRequest) *schemas.LinkFound {
	rec := &schemas.LinkFound{
		Id: r.GetId(), Crawl: "bench", Url: r.GetUrl(), Outcome: schemas.Outcome_OUTCOME_DELIVERED,
		Judgement: &schemas.Judgement{Raw: b.rnd.Float64(), Tempered: b.rnd.Float64()},
		Table:     &schemas.LeafTable{Terms: b.table.Terms},
	}
	for leaf := range uint32(4 * linksPerPage) {
		rec.Table.Leaves = append(rec.Table.Leaves, leaf)
		rec.Table.LeafLengths = append(rec.Table.LeafLengths, 3)
		for range 3 {
			rec.Table.Tokens = append(rec.Table.Tokens, b.rnd.Uint32N(1000))
		}
	}
	for i := range uint32(linksPerPage) {
		if i%3 == 0 {
			b.urls = append(b.urls, b.url(len(b.urls)))
			rec.Links = append(rec.Links, &schemas.Link{Url: b.urls[len(b.urls)-1], FirstLeaf: 4 * i, LastLeaf: 4*i + 1})
		} else {
			rec.Links = append(rec.Links, &schemas.Link{Url: b.urls[b.rnd.IntN(len(b.urls))], FirstLeaf: 4 * i, LastLeaf: 4 * i})
		}
	}
	return rec
}

// page dispatches and applies the verdict on one page, prepared as the stage does.
func (b *bench) page(tb testing.TB) {
	rs, err := b.shard.Dispatch(b.now, 64)
	if err != nil {
		tb.Fatal(err)
	}
	b.flights = append(b.flights, rs...)
	b.now = b.now.Add(time.Millisecond)
	r := b.flights[0]
	b.flights = b.flights[1:]
	rec := b.verdict(r)
	if err := b.shard.Prepare([]*schemas.LinkFound{rec}); err != nil {
		tb.Fatal(err)
	}
	effects, err := b.shard.Apply(rec, b.now)
	if err != nil {
		tb.Fatal(err)
	}
	b.leaps = effects.Settled
}

// model makes an apprentice of made-up leaps.
func (b *bench) model(tb testing.TB) *apprentice.Model {
	counts := apprentice.NewCounts()
	for range 300 {
		rec := b.verdict(&schemas.FetchRequest{})
		features := linkfeature.Features(rec.GetTable(), rec.GetLinks()[b.rnd.IntN(linksPerPage)], 5)
		if err := counts.Add(features, b.rnd.Float64()); err != nil {
			tb.Fatal(err)
		}
	}
	return counts.Model()
}

func stores(b *testing.B, run func(b *testing.B, store func() storage.Store)) {
	b.Run("memory", func(b *testing.B) { run(b, func() storage.Store { return storage.NewMemory() }) })
	b.Run("pebble", func(b *testing.B) { run(b, func() storage.Store { return shippedFor(b) }) })
}

// BenchmarkCrawl measures pages through Dispatch and Apply, 30 links each, with a floor: the
// writes that every frontier needs, four keys a new URL (seen, entry, link, queue), one
// a known one (link), and four a page (its facts, its leaves, the dispatch, the verdict).
func BenchmarkCrawl(b *testing.B) {
	for _, ranker := range []schemas.Ranker{schemas.Ranker_RANKER_SOFT_FOCUS, schemas.Ranker_RANKER_APPRENTICE} {
		name := map[schemas.Ranker]string{2: "soft-focus", 3: "apprentice"}[ranker]
		b.Run(name, func(b *testing.B) {
			stores(b, func(b *testing.B, store func() storage.Store) {
				floor := measureFloor(b, store())
				s := newBench(b, store(), ranker)
				if err := s.shard.SetModel("m", s.model(b), 1); err != nil {
					b.Fatal(err)
				}
				for range 200 { // off the seeds
					s.page(b)
				}
				for i := 0; b.Loop(); i++ {
					s.page(b)
					if i%16 == 0 {
						commit(b, s.store)
					}
				}
				perPage := b.Elapsed() / time.Duration(b.N)
				b.ReportMetric(float64(time.Second/perPage), "pages/s")
				b.ReportMetric(linksPerPage*float64(time.Second/perPage), "links/s")
				b.ReportMetric(float64(perPage)/float64(floor), "×floor")
			})
		})
	}
}

func measureFloor(b *testing.B, store storage.Store) time.Duration {
	const pages = 300
	leaves := make([]byte, 2500)
	begin := time.Now()
	for page := range pages {
		for i := range linksPerPage/3*4 + linksPerPage*2/3 + 3 {
			key := fmt.Appendf(nil, "%c%030d", 'a'+i%7, (page*linksPerPage+i)*7919%1_000_003)
			if err := store.Set(key, leaves[:80]); err != nil {
				b.Fatal(err)
			}
		}
		if err := store.Set(fmt.Appendf(nil, "t%030d", page), leaves); err != nil {
			b.Fatal(err)
		}
		if page%16 == 0 {
			commit(b, store)
		}
	}
	return time.Since(begin) / pages
}

// BenchmarkRescore measures entries scored again under a new model; its floor is scoring
// their links alone.
func BenchmarkRescore(b *testing.B) {
	stores(b, func(b *testing.B, store func() storage.Store) {
		s := newBench(b, store(), schemas.Ranker_RANKER_APPRENTICE)
		for len(s.urls) < 21_000 {
			s.page(b)
		}
		commit(b, s.store)
		models := []*apprentice.Model{s.model(b), s.model(b)}
		entries, links := 0, 0
		for i := 0; b.Loop(); i++ {
			if err := s.shard.SetModel(fmt.Sprint(i), models[i%2], uint64(i+1)); err != nil {
				b.Fatal(err)
			}
			entries += int(s.shard.state.Generations[0].Keys[state.SlotOld])
			for more := true; more; {
				var err error
				if more, err = s.shard.Rescore(512); err != nil {
					b.Fatal(err)
				}
				commit(b, s.store)
			}
		}
		elapsed := b.Elapsed()
		pages := storedPages(b, s.shard)
		for _, p := range pages {
			links += int(p.Pending)
		}
		begin := time.Now()
		scored := 0
		for _, p := range pages {
			if p.Seeds {
				continue
			}
			for i := range p.Pending {
				if _, err := s.shard.places.High(p, &state.Link{First: 4 * i, Last: 4 * i}); err != nil {
					b.Fatal(err)
				}
				scored++
			}
		}
		floor := float64(time.Since(begin)) / float64(scored) * float64(links) * float64(b.N)
		b.ReportMetric(float64(entries)/elapsed.Seconds(), "entries/s")
		b.ReportMetric(float64(entries)/float64(b.N), "entries")
		b.ReportMetric(float64(links)/float64(entries)*float64(b.N), "links/entry")
		b.ReportMetric(float64(elapsed)/floor, "×floor")
	})
}

// BenchmarkOpen measures opening a shard that holds some 20,000 queued entries; its floor is
// reading all keys of the store.
func BenchmarkOpen(b *testing.B) {
	stores(b, func(b *testing.B, store func() storage.Store) {
		s := newBench(b, store(), schemas.Ranker_RANKER_SOFT_FOCUS)
		for len(s.urls) < 21_000 {
			s.page(b)
		}
		commit(b, s.store)
		for b.Loop() {
			if _, err := Open(s.store, "bench", 0); err != nil {
				b.Fatal(err)
			}
		}
		perOpen := b.Elapsed() / time.Duration(b.N)
		begin, keys := time.Now(), 0
		err := s.store.Scan([]byte{1}, []byte{0xff}, func(_, _ []byte) (bool, error) { keys++; return true, nil })
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(perOpen)/float64(time.Since(begin)), "×floor")
		b.ReportMetric(float64(s.shard.hosts.Backlog()), "entries")
	})
}

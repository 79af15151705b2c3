package frontier

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"forager/internal/frontier/place"
	"forager/internal/frontier/rescore"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/internal/rank/policy"
	"forager/internal/web/scope"
	"forager/schemas"
)

// fakeModel scores a link by a hash of its features, in eighths, so that ties happen.
type fakeModel string

func (m fakeModel) Score(features []*schemas.Feature) float64 {
	h := fnv.New32a()
	h.Write([]byte(m))
	for _, f := range features {
		fmt.Fprint(h, f.GetTerm(), f.GetOffset(), f.GetCount(), ";")
	}
	return float64(h.Sum32()%9) / 8
}

// moody is a ranker that changes its scores.
type moody map[string]float64

func (m moody) Score(v string, s *policy.Source) float64 {
	return 3*m[v] - 1 + s.Raw/8 + float64(len(s.URL)%2)/16
}

// universe lists the URLs that links of a test name: of a number of hosts, and two out of scope.
func universe(hosts, paths int) []string {
	var urls []string
	for h := range hosts {
		for p := range paths {
			urls = append(urls, fmt.Sprintf("http://h%d.example/%d", h, p))
		}
	}
	return append(urls, "http://elsewhere.test/", "http://h1.example/"+strings.Repeat("a/", 30))
}

func drawUniverse(t *rapid.T) []string {
	sizes := [][2]int{{4, 4}, {4, 12}, {4, 200}, {30, 2}, {30, 20}, {200, 4}}
	size := rapid.SampledFrom(sizes).Draw(t, "hosts and paths")
	return universe(size[0], size[1])
}

var eighths = rapid.Map(rapid.IntRange(0, 8), func(n int) float64 { return float64(n) / 8 })

func drawPolicy(t *rapid.T, name string) *schemas.Policy {
	gate := &schemas.Gate{
		Condition: schemas.GateCondition(rapid.IntRange(0, 2).Draw(t, "gate")),
		Action:    schemas.GateAction(rapid.IntRange(1, 2).Draw(t, "action")),
		Threshold: eighths.Draw(t, "threshold"),
	}
	p := &schemas.Policy{
		Name: name, Gate: gate,
		Ranker:    schemas.Ranker(rapid.SampledFrom([]int{1, 2, 3, 3, 3, 4, 5, 5, 6, 6}).Draw(t, "ranker")),
		Combine:   schemas.Combine(rapid.IntRange(0, 6).Draw(t, "combine")),
		Posterior: schemas.Posterior(rapid.IntRange(0, 3).Draw(t, "posterior")),
		Tiers:     rapid.SampledFrom([]uint32{0, 0, 3, 10}).Draw(t, "tiers"),
		Raise:     rapid.Bool().Draw(t, "raise"),
	}
	if p.Ranker == schemas.Ranker_RANKER_GUIDE {
		p.Raise = false
		p.Guide = rapid.SampledFrom(guideNames).Draw(t, "guide")
		p.Combine = rapid.SampledFrom([]schemas.Combine{0, schemas.Combine_COMBINE_FROZEN, schemas.Combine_COMBINE_MAXIMUM}).Draw(t, "combine")
		p.Expand = schemas.Expand(rapid.IntRange(0, 1).Draw(t, "expand"))
	}
	return p
}

func drawMixture(t *rapid.T) *schemas.Mixture {
	if rapid.Bool().Draw(t, "first leads") {
		return nil
	}
	return &schemas.Mixture{Keep: rapid.SampledFrom([]float64{0, .5, 1}).Draw(t, "keep")}
}

func drawPolicies(t *rapid.T) (ps []*schemas.Policy) {
	for _, name := range []string{"one", "two", "three"}[:rapid.IntRange(1, 3).Draw(t, "policies")] {
		ps = append(ps, drawPolicy(t, name))
	}
	return ps
}

// drawExcludes draws rules against URLs of universe.
func drawExcludes(t *rapid.T) *schemas.Excludes {
	return rapid.SampledFrom([]*schemas.Excludes{
		nil, nil, {Urls: []string{"[02468]$"}}, {Urls: []string{"[13]$", "7"}}, {Hosts: []string{"h0.example"}}, {Urls: []string{"."}},
	}).Draw(t, "excludes")
}

// drawPriority draws an order of hosts of universe.
func drawPriority(t *rapid.T) *schemas.HostPriority {
	return rapid.SampledFrom([]*schemas.HostPriority{
		nil, nil, {Last: []string{"h0.example"}}, {First: []string{"example"}, Last: []string{"h1.example"}}, {First: []string{"h0.example", "h2.example"}},
	}).Draw(t, "priority")
}

func drawShadows(t *rapid.T) (ps []*schemas.Policy) {
	for _, name := range []string{"four", "five"}[:rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "shadows")] {
		ps = append(ps, drawPolicy(t, name))
	}
	return ps
}

func drawControl(t *rapid.T, crawl string) *schemas.CrawlControl {
	ctl := &schemas.CrawlControl{
		Crawl: crawl, Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING,
		Policies: drawPolicies(t), Mixture: drawMixture(t), RankerShadows: drawShadows(t),
		Budget: &schemas.Budget{
			Pages:    rapid.SampledFrom([]uint64{4, 40, 4000, 4000}).Draw(t, "pages"),
			Requests: rapid.SampledFrom([]uint64{0, 0, 0, 5, 50}).Draw(t, "requests"),
		},
		Scope: &schemas.Scope{
			Hosts:    []string{"example"},
			MaxDepth: rapid.SampledFrom([]uint32{0, 0, 2, 3}).Draw(t, "depth"),
			HostCap:  rapid.SampledFrom([]uint32{0, 0, 1, 4}).Draw(t, "host cap"),
		},
		Window:     rapid.SampledFrom([]uint32{0, 0, 1, 3, 10}).Draw(t, "window"),
		HostWindow: rapid.Uint32Range(0, 3).Draw(t, "host window"),
		Politeness: &schemas.Politeness{DelayMs: 7, UserAgent: "test"},
		Distiller:  &schemas.Distiller{Every: rapid.Uint64Range(1, 6).Draw(t, "every")},
		Learning: &schemas.Learning{
			Active:   rapid.SampledFrom([]float64{0, 0, .25}).Draw(t, "active"),
			Features: rapid.SampledFrom(featureFamilies).Draw(t, "features"),
			DMax:     rapid.Uint32Range(0, 2).Draw(t, "d_max"), SwitchPages: rapid.Uint64Range(1, 5).Draw(t, "switch"),
			RefitPages: rapid.Uint64Range(1, 4).Draw(t, "refit"), Sync: rapid.IntRange(0, 3).Draw(t, "sync") == 0,
			Pairs:             schemas.Pairs(rapid.IntRange(0, 2).Draw(t, "pairs")),
			MaxPairsPerTarget: rapid.Uint32Range(0, 2).Draw(t, "a target"),
		},
		Excludes:      drawExcludes(t),
		Priority:      drawPriority(t),
		HostPatienceS: rapid.SampledFrom([]uint32{0, 1, 60}).Draw(t, "host patience"),
		MaxAttempts:   rapid.Uint32Range(0, 4).Draw(t, "attempts"), RandomSeed: 5,
	}
	if rapid.Bool().Draw(t, "backlinks") {
		ctl.Backlinks = &schemas.BacklinkSource{Source: "engine/1", Ration: rapid.SampledFrom([]uint64{0, 3, 1000}).Draw(t, "ration")}
	}
	if ctl.Budget.Requests > 0 && rapid.Bool().Draw(t, "no page limit") {
		ctl.Budget.Pages = 0
	}
	return ctl
}

// dice draws details from one drawn number, which is much faster than drawing each of them.
type dice struct{ *rand.Rand }

func drawDice(t *rapid.T) dice {
	return dice{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "dice"), 0))}
}

func (d dice) url(urls []string) string { return urls[d.IntN(len(urls))] }

func (d dice) eighth() float64 { return float64(d.IntN(9)) / 8 }

func (d dice) table() *schemas.LeafTable {
	table := &schemas.LeafTable{Terms: []string{"a", "b", strings.Repeat("long", 9)}} // the last one is in no dictionary
	for leaf := range uint32(6) {
		n := d.Uint32N(3)
		if n == 0 {
			continue
		}
		table.Leaves = append(table.Leaves, leaf)
		table.LeafLengths = append(table.LeafLengths, n)
		for range n {
			table.Tokens = append(table.Tokens, d.Uint32N(3))
		}
	}
	return table
}

func (d dice) links(urls []string) (links []*schemas.Link) {
	n := d.IntN(8)
	if d.IntN(40) == 0 {
		n = 300 // more than the front of a queue holds
	}
	for range n {
		first := d.Uint32N(6)
		links = append(links, &schemas.Link{Url: d.url(urls), FirstLeaf: first, LastLeaf: first + d.Uint32N(3)})
	}
	if d.IntN(4) == 0 {
		links = append(links, &schemas.Link{Url: d.url(urls), FirstLeaf: schemas.NoLeaf, LastLeaf: schemas.NoLeaf, Backlink: true})
	}
	return links
}

func seedPage(crawl string, n int, links []*schemas.Link) *schemas.LinkFound {
	id := schemas.RequestID(crawl, fmt.Sprintf("seeds:%d", n), 0)
	return &schemas.LinkFound{Id: id.Bytes(), Crawl: crawl, Outcome: schemas.Outcome_OUTCOME_SEEDS, Links: links}
}

// replayOf makes a record that requests another attempt.
func replayOf(r *schemas.FetchRequest) *schemas.LinkFound {
	id := schemas.RequestID(r.GetCrawl(), "replay:"+schemas.ID(r.GetId()).String(), 0)
	return &schemas.LinkFound{Id: id.Bytes(), Crawl: r.GetCrawl(), Url: r.GetUrl(), Outcome: schemas.Outcome_OUTCOME_REPLAY, Replay: r.GetId()}
}

// anchors draws scores of the texts of n links, or none.
func (d dice) anchors(n int) (anchors []uint32) {
	if d.IntN(3) == 0 {
		return nil
	}
	for range n {
		anchors = append(anchors, []uint32{0, 1, 20_000, schemas.AnchorSteps}[d.IntN(4)])
	}
	return anchors
}

// encoded is a request as its verdict contains it.
func encoded(r *schemas.FetchRequest) []byte {
	b, err := proto.Marshal(r)
	if err != nil {
		panic(err)
	}
	return b
}

// verdict draws a verdict on r.
func (d dice) verdict(r *schemas.FetchRequest, urls []string, now int64) *schemas.LinkFound {
	rec := &schemas.LinkFound{Id: r.GetId(), Crawl: r.GetCrawl(), Url: r.GetUrl(), Request: encoded(r)}
	outcomes := []schemas.Outcome{
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 7, 7, 7, 7, 8, 8, 8, 9, 10, 11, 12, 13, 14, 15, 15, 17,
		19, 20, 20, 23,
	}
	rec.Outcome = outcomes[d.IntN(len(outcomes))]
	switch rec.Outcome {
	case schemas.Outcome_OUTCOME_DELIVERED:
		rec.Judgement = &schemas.Judgement{Raw: d.eighth(), Tempered: d.eighth(), Calibrated: d.eighth(), BestIsFocus: d.IntN(2) == 0}
		rec.Table = d.table()
		rec.Links = d.links(urls)
		rec.Judgement.Anchors = d.anchors(len(rec.Links))
		rec.Judgement.Guidance = d.guidance(len(rec.Links))
		if may, err := allows(r); err == nil && may {
			rec.Judgement.Backlinks = &schemas.Backlinks{Queries: d.Uint32N(2)}
		}
	case schemas.Outcome_OUTCOME_REDIRECTED:
		rec.Redirect = d.url(append([]string{"", "not a URL"}, urls...))
	case schemas.Outcome_OUTCOME_NETWORK_UNREACHABLE, schemas.Outcome_OUTCOME_HOST_UNREACHABLE:
		rec.Detail, rec.NotBefore = "no network", []int64{0, now - 5, now, now + 7_000, math.MaxInt64 / 2}[d.IntN(5)]
		rec.FetchedAt = []int64{0, now - 500, now, now + 500}[d.IntN(4)]
	case schemas.Outcome_OUTCOME_CLIENT_ERROR:
		rec.Status, rec.FetchedAt = 404, now
	case schemas.Outcome_OUTCOME_DEFERRED, schemas.Outcome_OUTCOME_SERVER_ERROR, schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE:
		if rec.Outcome == schemas.Outcome_OUTCOME_DEFERRED {
			rec.Status = []uint32{0, 0, 429, 503}[d.IntN(4)]
		}
		rec.NotBefore = []int64{0, now - 5, now, now + 7_000, now + 60_000, math.MaxInt64}[d.IntN(6)]
	}
	return rec
}

// machine drives a Shard and the naive frontier with the same calls.
type machine struct {
	store   storage.Store
	shard   *Shard
	naive   *naive
	scope   *scope.Scope
	ctl     *schemas.CrawlControl
	options Options
	moods   moody
	now     int64
	urls    []string
	seeds   int
	models  int
	newest  nModel
	// announced: SetModel was called.
	announced bool
	old       []*schemas.LinkFound
}

func must[T any](t *rapid.T, what string) func(T, error) T {
	return func(v T, err error) T {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return v
	}
}

func (m *machine) configure(t *rapid.T) {
	m.scope = must[*scope.Scope](t, "scope")(scope.New(m.ctl.GetScope(), nil))
	if err := m.shard.Configure(m.ctl, m.scope, m.options); err != nil {
		t.Fatalf("configure: %v", err)
	}
}

func (m *machine) compare(t *rapid.T, what string, got, want any) {
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Fatalf("%s (− naive, + shard):\n%s", what, d)
	}
}

func (m *machine) check(t *rapid.T) {
	status := m.shard.Status(time.UnixMilli(m.now))
	if u := status.GetUnreachable(); u != nil {
		if h := m.naive.hosts[u.GetHost()]; u.GetHost() != "" && (h.failingSince == 0 || u.GetCause() != "no network") {
			t.Fatalf("the unreachable host of the status is %s: %q", u.GetHost(), u.GetCause())
		}
		u.Host, u.Cause = "", ""
	}
	for _, w := range status.GetWaits() {
		if h := m.naive.hosts[w.GetObject()]; h != nil {
			if h.rest != w.GetCause() && h.failingSince == 0 {
				t.Fatalf("%v: %s waits for %v", w, w.GetObject(), h.rest)
			}
			w.Object = ""
		}
	}
	m.compare(t, "status", status, m.naive.status(m.now))
	reason, ended := m.shard.Finished()
	wantReason, wantEnded := m.naive.finished()
	if reason != wantReason || ended != wantEnded {
		t.Fatalf("finished: %q %t, want %q %t", reason, ended, wantReason, wantEnded)
	}
	m.checkStore(t)
	at, ok := m.shard.Wake(time.UnixMilli(m.now))
	wantAt, wantOK := m.naive.wake(m.now)
	if ok != wantOK || !at.Equal(wantAt) {
		t.Fatalf("wake: %v %t, want %v %t", at, ok, wantAt, wantOK)
	}
}

// checkStore compares the state that no call returns with the naive frontier.
func (m *machine) checkStore(t *rapid.T) {
	count := func(kind byte) (n int) {
		from := append([]byte(nil), m.shard.state.Keys.Kind(kind)...)
		err := m.store.Scan(from, state.After(from), func(key, _ []byte) (bool, error) {
			if kind != state.KindQueue || !leftBehind(t, m.shard, key) {
				n++
			}
			return true, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var keys, links, waiting int
	pages := map[uint64]uint32{}
	for _, e := range m.naive.entries {
		for _, p := range e.places {
			if e.state == state.Queued && !e.unranked && p.in {
				keys++
			}
		}
		if e.state == state.Waiting {
			waiting++
		}
		links += max(0, len(e.links)-state.InlineLinks)
		for _, l := range e.links {
			pages[l.page.number]++
		}
	}
	tables, guided := 0, 0
	stored := storedPages(t, m.shard)
	for n, pending := range pages {
		if p := stored[n]; p == nil || p.Pending != pending {
			t.Fatalf("page %d has %+v, want %d pending links", n, p, pending)
		} else if !p.Seeds {
			tables++
			if p.Guided {
				guided++
			}
		}
	}
	for kind, want := range map[byte]int{
		state.KindQueue: keys, state.KindLink: links, state.KindWaiting: waiting, state.KindFlight: len(m.naive.flights),
		state.KindPage: len(pages), state.KindTable: tables, state.KindGuidance: guided,
		state.KindEntry: len(m.naive.entries), state.KindSeen: len(m.naive.entries),
	} {
		if got := count(kind); got != want {
			t.Fatalf("%d keys of kind %c, want %d", got, kind, want)
		}
	}
	for ordinal := range m.shard.state.Entries.At {
		kept, _ := m.shard.state.Entries.Get(ordinal)
		b, _, err := m.store.Get(m.shard.state.Keys.U64(state.KindEntry, ordinal))
		if err != nil || !bytes.Equal(b, kept.Append(nil)) {
			t.Fatalf("entry %+v is not what is stored: %x, %v", kept, b, err)
		}
	}
	checkHosts(t, m.shard)
	if _, outside := m.naive.backlog(); m.shard.state.Counters.Outside != outside || len(stored) != len(pages) {
		t.Fatalf("%d entries outside, want %d; %d pages, want %d", m.shard.state.Counters.Outside, outside, len(stored), len(pages))
	}
}

// leftBehind reports whether a sweep of the pass under way has moved the entry of a queue key.
func leftBehind(t *rapid.T, s *Shard, key []byte) bool {
	k, err := s.state.Keys.ParseQueue(key)
	if err != nil {
		t.Fatal(err)
	}
	g := s.state.Generations[k.Policy]
	return g.Passing() && k.Generation == g.Current && k.Order.Ordinal <= s.state.Counters.Scanned
}

// storedPages reads every page with pending links.
func storedPages(t interface{ Fatal(...any) }, s *Shard) map[uint64]*state.Page {
	var numbers []uint64
	from := append([]byte(nil), s.state.Keys.Kind(state.KindPage)...)
	err := s.state.Store.Scan(from, state.After(from), func(key, _ []byte) (bool, error) {
		n, err := s.state.Keys.ParseU64(key)
		numbers = append(numbers, n)
		return true, err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages := make(map[uint64]*state.Page)
	for _, n := range numbers {
		p, ok, err := s.pages.Page(n)
		if err != nil || !ok {
			t.Fatal("page ", n, ok, err)
		}
		pages[n] = p
	}
	return pages
}

// forget makes memory so small that almost nothing stays, or large again, and lets the shard take a URL for
// another.
func (m *machine) forget(t *rapid.T) {
	m.shard.SetMemory(rapid.SampledFrom([]int{1, 1 << 14, 1 << 15, DefaultMemory}).Draw(t, "memory"))
	if m.shard.state.Counters.Entries > 0 && rapid.Bool().Draw(t, "mistakes") {
		url := rapid.SampledFrom(m.urls).Draw(t, "url")
		m.shard.state.Known.Ordinals.Put(schemas.URLID(url), rapid.Uint64Range(1, m.shard.state.Counters.Entries).Draw(t, "ordinal"))
	}
}

// apply applies the records of a step, which mostly are prepared together, with some that are not applied.
func (m *machine) apply(t *rapid.T, recs ...*schemas.LinkFound) {
	if ahead := rapid.IntRange(0, 3).Draw(t, "prepared"); ahead > 0 {
		if err := m.shard.Prepare(append(slices.Clone(m.old[max(0, len(m.old)-ahead):]), recs...)); err != nil {
			t.Fatalf("prepare: %v", err)
		}
		if rapid.Bool().Draw(t, "at once") { // before anything is applied, not concurrently
			m.shard.prefetch.Wait()
		}
	}
	for i, rec := range recs {
		if i > 0 && rapid.IntRange(0, 7).Draw(t, "between") == 0 {
			m.rescore(t, rapid.IntRange(0, 4).Draw(t, "n"))
		}
		if rapid.IntRange(0, 3).Draw(t, "forgets") == 0 {
			m.forget(t)
		}
		m.applyOne(t, rec)
	}
}

func (m *machine) applyOne(t *rapid.T, rec *schemas.LinkFound) {
	effects := must[Effects](t, "apply")(m.shard.Apply(rec, time.UnixMilli(m.now)))
	settled, duplicate := m.naive.apply(rec, m.now)
	if effects.Duplicate != duplicate {
		t.Fatalf("duplicate: %t, want %t", effects.Duplicate, duplicate)
	}
	m.compare(t, "settled", effects.Settled, settled)
	if !duplicate {
		m.old = append(m.old, rec)
	}
}

func (m *machine) dispatch(t *rapid.T, most int) {
	got := must[[]*schemas.FetchRequest](t, "dispatch")(m.shard.Dispatch(time.UnixMilli(m.now), most))
	m.compare(t, "dispatch", got, m.naive.dispatch(m.now, most))
	for _, r := range got {
		if m.naive.excluded(r.GetUrl()) {
			t.Fatalf("%s is dispatched and excluded", r.GetUrl())
		}
	}
}

func (m *machine) reopen(t *rapid.T) {
	m.shard = must[*Shard](t, "open")(Open(m.store, m.ctl.GetCrawl(), 0))
	m.shard.state.Known.Slice = rapid.SampledFrom([]int{1, 3, 1024}).Draw(t, "ids in the filter with a record")
	m.shard.rescorer.RerankFirst = m.naive.rerankFirst
	m.configure(t)
	if m.announced {
		if err := m.shard.SetModel(m.newest.version, m.newest.model, m.newest.pages); err != nil {
			t.Fatalf("set model: %v", err)
		}
	}
	m.naive.reopened()
}

func (m *machine) setModel(t *rapid.T, version string, model place.Model, pages uint64) {
	if err := m.shard.SetModel(version, model, pages); err != nil {
		t.Fatalf("set model: %v", err)
	}
	m.announced = true
	m.naive.setModel(version, model, pages)
	if m.naive.newest.pages == pages {
		m.newest = m.naive.newest
	}
}

// newModel announces a made-up model, or one that an apprentice trained on made-up leaps.
func (m *machine) newModel(t *rapid.T, pages uint64) {
	m.models++
	version := fmt.Sprintf("m%d", m.models)
	if rapid.Bool().Draw(t, "made up") {
		m.setModel(t, version, fakeModel(version), pages)
		return
	}
	d, counts := drawDice(t), apprentice.NewCounts()
	for range 1 + d.IntN(5) {
		first := d.Uint32N(6)
		table := must[*linkfeature.Table](t, "table")(linkfeature.Open(d.table()))
		families := must[linkfeature.Families](t, "families")(linkfeature.FamiliesOf(m.ctl.GetLearning().GetFeatures()))
		features := table.FeaturesOf(&schemas.Link{FirstLeaf: first, LastLeaf: first}, 2, families)
		if err := counts.Add(features, d.eighth()); err != nil {
			t.Fatal(err)
		}
	}
	m.setModel(t, version, counts.Model(), pages)
}

func (m *machine) rescore(t *rapid.T, n int) {
	got := must[bool](t, "rescore")(m.shard.Rescore(n))
	if want := m.naive.rescore(n); got != want {
		t.Fatalf("rescore: more %t, want %t", got, want)
	}
}

// flying lists the requests in flight in the order of their dispatch.
func (m *machine) flying() []*schemas.FetchRequest {
	var rs []*schemas.FetchRequest
	for _, r := range m.naive.log {
		if m.naive.flights[schemas.ID(r.GetId())] != nil {
			rs = append(rs, r)
		}
	}
	return rs
}

func (m *machine) step(t *rapid.T) {
	switch op := rapid.SampledFrom([]string{
		"dispatch", "dispatch", "verdict", "verdict", "verdict", "crawl", "crawl", "seeds", "replay", "retry failed", "duplicate", "time",
		"model", "model", "models", "empty model", "raise", "raise", "rescore", "configure", "policies", "reopen", "mood",
	}).Draw(t, "op"); op {
	case "dispatch":
		m.dispatch(t, rapid.IntRange(0, 6).Draw(t, "most"))
	case "verdict":
		if rs := m.flying(); len(rs) > 0 {
			m.apply(t, drawDice(t).verdict(rapid.SampledFrom(rs).Draw(t, "request"), m.urls, m.now))
		}
	case "crawl":
		d := drawDice(t)
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			m.dispatch(t, 100)
			m.now += d.Int64N(2_000)
			var recs []*schemas.LinkFound
			for _, r := range m.flying() {
				recs = append(recs, d.verdict(r, m.urls, m.now))
			}
			m.apply(t, recs...)
		}
	case "seeds":
		m.seeds++
		m.apply(t, seedPage(m.ctl.GetCrawl(), m.seeds, drawDice(t).links(m.urls)))
	case "replay": // of any request, also of one that did not fail, or was replayed
		if len(m.naive.log) > 0 {
			m.apply(t, replayOf(rapid.SampledFrom(m.naive.log).Draw(t, "request")))
		}
	case "retry failed":
		m.apply(t, schemas.RetryFailed(m.ctl.GetCrawl(), 0, rapid.Uint64Range(0, 50).Draw(t, "revision")))
	case "duplicate":
		if len(m.old) > 0 {
			m.apply(t, rapid.SampledFrom(m.old).Draw(t, "again"))
		}
	case "time":
		m.now += rapid.SampledFrom([]int64{0, 1, 20, 3_000, 60_000, 1e7, 1e9}).Draw(t, "ms")
	case "model":
		m.newModel(t, m.naive.pages-min(m.naive.pages, rapid.Uint64Range(0, 1).Draw(t, "late")))
	case "models": // the second comes while the first one's pass is under way, and then a restart
		m.newModel(t, m.naive.pages)
		m.rescore(t, rapid.IntRange(0, 4).Draw(t, "n"))
		m.newModel(t, m.naive.pages)
		if rapid.Bool().Draw(t, "reopen") {
			m.reopen(t)
		}
	case "empty model":
		if m.newest.model == nil {
			m.setModel(t, "empty", nil, m.naive.pages)
		} else if rapid.IntRange(0, 9).Draw(t, "untrained") == 0 {
			if err := m.shard.SetModel("untrained", apprentice.NewCounts().Model(), m.naive.pages); err != nil {
				t.Fatal(err)
			}
			m.naive.setModel("", nil, m.naive.pages)
			m.newest = m.naive.newest
		}
	case "raise":
		pages := m.naive.pages + 1 - min(m.naive.pages+1, rapid.SampledFrom([]uint64{0, 1, 1, 1, 2}).Draw(t, "early"))
		urls := rapid.SliceOfN(rapid.SampledFrom(m.urls), 0, 8).Draw(t, "raised")
		var ids []schemas.ID
		for _, u := range urls {
			ids = append(ids, schemas.URLID(u))
		}
		got := must[bool](t, "raise")(m.shard.Raise(pages, ids))
		if want := m.naive.raise(pages, urls); got != want {
			t.Fatalf("raised behind %d pages of %d: %t, want %t", pages, m.naive.pages, got, want)
		}
	case "rescore":
		m.rescore(t, rapid.IntRange(0, 12).Draw(t, "n"))
	case "configure":
		m.ctl = proto.CloneOf(m.ctl)
		m.ctl.Revision++
		m.ctl.State = schemas.CrawlState(rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3}).Draw(t, "state"))
		m.ctl.Window = rapid.SampledFrom([]uint32{0, 1, 3, 10}).Draw(t, "window")
		m.ctl.Scope.HostCap = rapid.SampledFrom([]uint32{0, 0, 2, 5}).Draw(t, "host cap")
		m.ctl.Budget.Pages += rapid.Uint64Range(0, 20).Draw(t, "more")
		m.ctl.Budget.Requests += rapid.Uint64Range(0, 20).Draw(t, "more")
		m.ctl.Excludes = drawExcludes(t)
		m.configure(t)
		m.naive.configure(m.ctl, m.scope, m.options)
	case "policies":
		m.ctl = proto.CloneOf(m.ctl)
		m.ctl.Revision++
		m.ctl.Policies, m.ctl.Mixture, m.ctl.RankerShadows = drawPolicies(t), drawMixture(t), drawShadows(t)
		m.ctl.Priority = drawPriority(t)
		m.drawOverride(t)
		m.configure(t)
		m.naive.configure(m.ctl, m.scope, m.options)
	case "reopen":
		m.reopen(t)
	case "mood":
		var changed []string
		for _, u := range rapid.SliceOfN(rapid.SampledFrom(m.urls), 1, 5).Draw(t, "changed") {
			m.moods[u] = eighths.Draw(t, "mood")
			changed = append(changed, u)
		}
		if err := m.shard.Reconsider(changed...); err != nil {
			t.Fatalf("reconsider: %v", err)
		}
		for _, u := range changed {
			if e := m.naive.byURL[u]; e != nil && e.state == state.Queued {
				m.naive.place(e)
			}
		}
	}
}

// drawOverride gives one of the policies a ranker of its own, sometimes.
func (m *machine) drawOverride(t *rapid.T) {
	m.options.Rankers = nil
	if rapid.IntRange(0, 2).Draw(t, "override") == 0 {
		p := rapid.SampledFrom(m.ctl.GetPolicies()).Draw(t, "whose")
		m.options.Rankers = map[string]policy.Ranker{p.GetName(): m.moods}
	}
}

func newMachine(t *rapid.T, store storage.Store) *machine {
	m := &machine{
		store: store, naive: newNaive("c"), ctl: drawControl(t, "c"), now: 1_000_000, urls: drawUniverse(t), moods: moody{},
		// With almost no memory everything is read repeatedly.
		options: Options{Epoch: 3, Owner: 1, RetryDelay: 10 * time.Second, Memory: rapid.SampledFrom([]int{0, 1, 4 << 10, 32 << 10, 1 << 20}).Draw(t, "memory")},
	}
	m.drawOverride(t)
	m.shard = must[*Shard](t, "open")(Open(store, "c", 0))
	m.naive.rerankFirst = rapid.SampledFrom([]int{0, 1, 3, rescore.RerankFirst}).Draw(t, "placed at once")
	m.shard.rescorer.RerankFirst = m.naive.rerankFirst
	m.configure(t)
	m.naive.configure(m.ctl, m.scope, m.options)
	return m
}

// TestShardAgreesWithTheNaiveFrontier applies random operations to a Shard, which is opened
// again over its store at random points, and to the naive frontier; the store commits at others: dispatches, settled
// leaps, status, wake-up times and the end must be the same.
func TestShardAgreesWithTheNaiveFrontier(t *testing.T) {
	onStores(t, func(t *rapid.T, store committer) {
		m := newMachine(t, store)
		m.apply(t, seedPage("c", 0, drawDice(t).links(m.urls)))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			m.step(t)
			if rapid.Bool().Draw(t, "commit") {
				store.commit(t)
			}
			m.check(t)
		}
	})
}

func TestRefitByBudget(t *testing.T) {
	for pages, want := range map[uint64]uint64{1: 10, 400: 10, 2000: 50, 4000: 100, 20_000: 100, 200_000: 1000} {
		l, err := newLimits(&schemas.CrawlControl{Budget: &schemas.Budget{Pages: pages}})
		if err != nil || l.refitPages != want {
			t.Errorf("a budget of %d pages: a model every %d, want %d (%v)", pages, l.refitPages, want, err)
		}
	}
}

var featureFamilies = [][]schemas.FeatureFamily{
	nil,
	{schemas.FeatureFamily_FEATURE_FAMILY_NEAR_TEXT, schemas.FeatureFamily_FEATURE_FAMILY_ANCHOR},
}

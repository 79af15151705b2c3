package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/crawlfile"
	"forager/internal/frontier"
	"forager/internal/platform/process"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/internal/stream/state"
	"forager/internal/stream/stateful"
	"forager/internal/web/scope"
	"forager/schemas"
)

// budget is memory, bytes: the frontier's, Pebble's block cache, and all of the process's.
type budget struct{ frontier, cache, process int64 }

// shipped is the memory of pipeline.yaml.
var shipped = budget{frontier: 160 << 20, cache: 64 << 20, process: 768 << 20}

// shippedBatch is rescore_batch of pipeline.yaml.
const shippedBatch = 2048

// benchBudget is memory in the proportions that are shipped, for FORAGER_BENCH_MEMORY MiB of the frontier.
func benchBudget(b *testing.B) budget {
	frontier := int64(number(b, memoryVar, int(shipped.frontier>>20))) << 20
	return budget{frontier, shipped.cache * frontier / shipped.frontier, shipped.process * frontier / shipped.frontier}
}

// Environment variables of BenchmarkFrontier: the number of URLs or hosts, one of crawlfile.Rankers, and the memory.
const (
	urlsVar   = "FORAGER_BENCH_URLS"
	hostsVar  = "FORAGER_BENCH_HOSTS"
	rankerVar = "FORAGER_BENCH_RANKER"
	memoryVar = "FORAGER_BENCH_MEMORY"
)

// number is the value of an environment variable, or a default.
func number(b *testing.B, variable string, without int) int {
	text := os.Getenv(variable)
	if text == "" {
		return without
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		b.Fatalf("%s is %q, must be a number of at least 1", variable, text)
	}
	return n
}

// BenchmarkFrontier grows the frontier of one crawl, on disk as in the stage, to
// FORAGER_BENCH_URLS URLs (200,000 if not set) by FORAGER_BENCH_RANKER (the apprentice), with FORAGER_BENCH_MEMORY MiB
// (those of pipeline.yaml) for the frontier and the rest of the process's memory in proportion, and reports what one
// URL costs when the frontier holds a tenth of them, after each doubling, and when it holds all. A URL includes
// its share of all else: per page of 30 links, 10 of which are new, one dispatch, one verdict, 30
// look-ups, 30 scores, a leaf table of some 500 tokens, and the leaps that it settles. So two links of three lead
// to URLs that are known; of the pages of two frozen webs that many do: webkb 25 %, webplatform 89 %. At a
// tenth of the URLs all entries are scored again under a new model, pages are applied while that goes on and while
// it does not, and the crawl is switched to other policies and back. Costs are CPU time of the process, user and
// system, with Pebble's compactions and the garbage collector; what making the pages costs is taken off.
//
// With FORAGER_BENCH_HOSTS there are as many URLs as that, each on a host of its own, as a site with wildcard subdomains has
// them, ranked by the mixture; and the process must stay within its memory.
func BenchmarkFrontier(b *testing.B) {
	urls, memory := number(b, urlsVar, 200_000), benchBudget(b)
	hosts := number(b, hostsVar, 0)
	urls = cmp.Or(hosts, urls)
	for b.Loop() {
		limit := debug.SetMemoryLimit(process.GoMemory(memory.process))
		c := newGrowth(b, memory, hosts > 0)
		c.rate(b, urls/20) // off the seeds
		tenth := c.rate(b, urls/10)
		tenth.report(b, "tenth")
		if c.learns {
			c.rescore(b)
		}
		c.switchPolicies(b)
		for n := urls / 5; n < urls*9/10; n *= 2 {
			if n > c.web.urls+urls/100 { // re-scoring has added some
				c.rate(b, n).log(b)
			}
		}
		whole := c.rate(b, urls)
		whole.report(b, "whole")
		b.ReportMetric(float64(whole.cpu)/float64(tenth.cpu), "whole/tenth")
		if hosts > 0 && whole.peak > whole.bound {
			b.Errorf("%d hosts take %d MiB of memory, of %d", hosts, whole.peak>>20, whole.bound>>20)
		}
		if err := c.store.Close(); err != nil {
			b.Fatal(err)
		}
		c.cache.Close()
		debug.SetMemoryLimit(limit)
	}
}

// growth is a crawl that only grows.
type growth struct {
	dir     string
	memory  budget
	cache   *state.Cache
	store   *stateful.Store
	shard   *frontier.Shard
	web     *madeUp
	now     time.Time
	flights []*schemas.FetchRequest
	offset  int64
	models  int
	ctl     *schemas.CrawlControl
	scope   *scope.Scope
	ranker  string
	// learns: a policy ranks by the apprentice. slice is the longest slice of work other than verdicts, sliced the CPU time of
	// all slices.
	learns        bool
	slice, sliced time.Duration
}

func newGrowth(b *testing.B, memory budget, wildcard bool) *growth {
	c := &growth{ranker: cmp.Or(os.Getenv(rankerVar), "apprentice"), dir: b.TempDir(), memory: memory, cache: state.NewCache(memory.cache), web: newMadeUp(b), now: time.Unix(1_000_000, 0)}
	if c.web.wildcard = wildcard; wildcard {
		c.ranker = cmp.Or(os.Getenv(rankerVar), "mixture")
	}
	var err error
	if c.store, err = stateful.OpenStore(state.Options{
		Dir: c.dir, Identity: "bench", Cache: c.cache, MemTable: memTable(memory.frontier), Hits: true,
	}); err != nil {
		b.Fatal(err)
	}
	if c.shard, err = frontier.Open(c.store, "bench", 0); err != nil {
		b.Fatal(err)
	}
	if c.scope, err = scope.New(nil, nil); err != nil {
		b.Fatal(err)
	}
	c.ctl = &schemas.CrawlControl{
		Crawl: "bench", State: schemas.CrawlState_CRAWL_STATE_RUNNING, Budget: &schemas.Budget{Pages: 1 << 40},
		Window: 256, HostWindow: 8, Learning: &schemas.Learning{DMax: 5, SwitchPages: 1 << 40},
	}
	c.configure(b, c.ranker)
	c.learns = schemas.Learns(c.ctl)
	c.newModel(b)
	var seeds []string
	for range 256 {
		seeds = append(seeds, c.web.fresh())
	}
	if _, err := c.shard.Apply(seedsOf("bench", seeds...), c.now); err != nil {
		b.Fatal(err)
	}
	return c
}

// configure sets the policies of a ranker.
func (c *growth) configure(b *testing.B, ranker string) {
	ranking, err := crawlfile.Rank(ranker)
	if err != nil {
		b.Fatalf("%s: %v", rankerVar, err)
	}
	c.ctl.Revision++
	c.ctl.Policies, c.ctl.Mixture = ranking.Policies, ranking.Mixture
	if err := c.shard.Configure(c.ctl, c.scope, frontier.Options{Memory: int(c.memory.frontier)}); err != nil {
		b.Fatal(err)
	}
}

func (c *growth) newModel(b *testing.B) {
	c.models++
	if err := c.shard.SetModel(fmt.Sprint("m", c.models), c.web.model(b, uint64(c.models)), uint64(c.models)); err != nil {
		b.Fatal(err)
	}
}

// pages applies n verdicts, perStep a commit, as the stage does, and dispatches.
func (c *growth) pages(b *testing.B, n int, rescore int) (more bool) {
	for n > 0 {
		c.commit(b)
		if rescore > 0 {
			more = c.rescoreSlice(b, rescore)
		}
		rs, err := c.shard.Dispatch(c.now, 256)
		if err != nil {
			b.Fatal(err)
		}
		c.flights = append(c.flights, rs...)
		step := min(n, perStep, len(c.flights))
		var recs []*schemas.LinkFound
		for _, r := range c.flights[:step] {
			recs = append(recs, c.web.verdict(r))
		}
		if err := c.shard.Prepare(recs); err != nil {
			b.Fatal(err)
		}
		for _, rec := range recs {
			c.now = c.now.Add(time.Millisecond)
			if _, err := c.shard.Apply(rec, c.now); err != nil {
				b.Fatal(err)
			}
		}
		c.flights, n = c.flights[step:], n-step
	}
	return more
}

// rescoreSlice does a slice of work on entries that are placed again.
func (c *growth) rescoreSlice(b *testing.B, n int) (more bool) {
	cpu, began := cpuOf(b), time.Now()
	more, err := c.shard.Rescore(n)
	if err != nil {
		b.Fatal(err)
	}
	c.slice, c.sliced = max(c.slice, time.Since(began)), c.sliced+cpuOf(b)-cpu
	return more
}

func (c *growth) commit(b *testing.B) {
	c.offset++
	if err := c.store.Commit(state.Marks{Input: c.offset}); err != nil {
		b.Fatal(err)
	}
}

func (c *growth) grow(b *testing.B, urls int) {
	if n := (urls - c.web.urls) / newLinks; n > 0 {
		c.pages(b, n, 0)
	}
}

// cost is what a URL costs.
type cost struct {
	cpu, wall time.Duration // of one
	peak      int64         // bytes of memory
	bound     int64         // of it
	disk      int64
	urls      int
}

// rate grows the crawl to a number of URLs; what it reports is of the second half at most, of
// 500,000 URLs at most.
func (c *growth) rate(b *testing.B, urls int) cost {
	window := min(500_000, urls/2, urls-c.web.urls)
	c.grow(b, urls-window)
	n := window / newLinks
	making := c.web.cost(b, n)
	cpu, began := cpuOf(b), time.Now()
	c.pages(b, n, 0)
	took, wall := cpuOf(b)-cpu-making, time.Since(began)-making
	return cost{
		cpu: took / time.Duration(n*newLinks), wall: wall / time.Duration(n*newLinks),
		peak: peakMemory(b), disk: diskUse(b, c.dir), urls: c.web.urls, bound: c.memory.process,
	}
}

func (x cost) report(b *testing.B, name string) {
	b.ReportMetric(float64(x.cpu)/1e3, name+"-cpu-µs/url")
	b.ReportMetric(1/x.wall.Seconds(), name+"-urls/s")
	b.ReportMetric(linksPerURL/x.wall.Seconds(), name+"-links/s")
	b.ReportMetric(float64(x.peak)/(1<<20), name+"-peak-MiB")
	x.log(b)
}

func (x cost) log(b *testing.B) {
	b.Logf("%9d URLs: %.1f µs of CPU a new URL; by the clock %.0f new URLs and %.0f links a second, %.0f and %.0f a CPU second; peak RSS %d of %d MiB, %d bytes on disk a URL",
		x.urls, float64(x.cpu)/1e3, 1/x.wall.Seconds(), linksPerURL/x.wall.Seconds(), 1/x.cpu.Seconds(), linksPerURL/x.cpu.Seconds(),
		x.peak>>20, x.bound>>20, x.disk/int64(x.urls))
}

// rescore scores every entry again, and measures how much slower pages are meanwhile.
func (c *growth) rescore(b *testing.B) {
	const pages = 2000
	making := c.web.cost(b, pages)
	cpu, began := cpuOf(b), time.Now()
	c.pages(b, pages, 0)
	without, cpuWithout := time.Since(began)-making, cpuOf(b)-cpu-making
	c.newModel(b)
	c.sliced = 0
	cpu, began = cpuOf(b), time.Now()
	c.pages(b, pages, shippedBatch)
	with, cpuWith := time.Since(began)-making, cpuOf(b)-cpu-making-c.sliced
	b.ReportMetric(float64(with)/float64(without), "with-pass/without")
	b.ReportMetric(float64(cpuWith)/float64(cpuWithout), "page-cpu-with-pass/without")
	c.finishScoring(b)
	c.newModel(b)
	entries := c.shard.Status(c.now).GetQueued()
	runtime.GC()
	c.slice = 0
	before := cpuOf(b)
	began = time.Now()
	c.finishScoring(b)
	took, wall := cpuOf(b)-before, time.Since(began)
	b.ReportMetric(float64(entries)/took.Seconds(), "rescored/cpu-s")
	b.ReportMetric(float64(entries)/wall.Seconds(), "rescored/s")
	b.Logf("%9d entries scored again in %v of CPU (%.0f a CPU second), %v by the clock (%.0f a second), in slices of %v at most; pages meanwhile take %.2f times as long, and %.2f times the CPU besides the slices; peak RSS %d MiB",
		entries, took.Round(time.Millisecond), float64(entries)/took.Seconds(), wall.Round(time.Millisecond), float64(entries)/wall.Seconds(),
		c.slice.Round(time.Millisecond), float64(with)/float64(without), float64(cpuWith)/float64(cpuWithout), peakMemory(b)>>20)
}

// finishScoring scores until no entry is left to be placed.
func (c *growth) finishScoring(b *testing.B) {
	for c.rescoreSlice(b, shippedBatch) {
		c.commit(b)
	}
	c.commit(b)
}

// switchPolicies changes the crawl to another ranker, and back.
func (c *growth) switchPolicies(b *testing.B) {
	for _, ranker := range []string{"soft-focus", c.ranker} {
		entries := c.shard.Status(c.now).GetQueued()
		c.slice = 0
		began := time.Now()
		c.configure(b, ranker)
		c.commit(b)
		blocked := time.Since(began)
		c.finishScoring(b)
		wall := time.Since(began)
		b.Logf("%9d entries placed by %s in %v by the clock (%.0f a second); nothing else went on for %v at the switch, and for slices of %v at most then",
			entries, ranker, wall.Round(time.Millisecond), float64(entries)/wall.Seconds(), blocked.Round(time.Millisecond), c.slice.Round(time.Millisecond))
	}
}

// madeUp is an endless web: every page has 30 links, 10 to new URLs and 20 to known ones, most of
// them found not long ago; seven of ten new URLs are on a host of some 60 pages, where the page
// is.
type madeUp struct {
	r    *rand.Rand
	urls int
	// wildcard: each URL is on a host of its own.
	wildcard bool
	tables   []*schemas.LeafTable
	opened   []*linkfeature.Table
}

// perStep is the number of verdicts of a step; a step of the stage takes up to 256 at full speed.
const perStep = 32

const (
	newLinks, knownLinks = 10, 20
	linksPerURL          = float64(newLinks+knownLinks) / newLinks
	pageLeaves           = 120
)

func newMadeUp(b *testing.B) *madeUp {
	w := &madeUp{r: rand.New(rand.NewPCG(1, 2))}
	zipf := rand.NewZipf(w.r, 1.1, 5, 60_000)
	for range 500 {
		t := new(schemas.LeafTable)
		number := make(map[uint64]uint32)
		for leaf := range uint32(pageLeaves) {
			n := w.r.Uint32N(9)
			t.Leaves, t.LeafLengths = append(t.Leaves, leaf), append(t.LeafLengths, n)
			for range n {
				word := zipf.Uint64()
				term, ok := number[word]
				if !ok {
					term = uint32(len(t.Terms))
					number[word] = term
					t.Terms = append(t.Terms, fmt.Sprintf("word%d", word))
				}
				t.Tokens = append(t.Tokens, term)
			}
		}
		open, err := linkfeature.Open(t)
		if err != nil {
			b.Fatal(err)
		}
		w.tables, w.opened = append(w.tables, t), append(w.opened, open)
	}
	return w
}

func (w *madeUp) model(b *testing.B, seed uint64) *apprentice.Model {
	r := rand.New(rand.NewPCG(seed, 3))
	counts := apprentice.NewCounts()
	for range 20_000 {
		leaf := r.Uint32N(pageLeaves)
		features := w.opened[r.IntN(len(w.opened))].Features(&schemas.Link{FirstLeaf: leaf, LastLeaf: leaf}, 5)
		if err := counts.Add(features, r.Float64()); err != nil {
			b.Fatal(err)
		}
	}
	return counts.Model()
}

// url is the URL of a number.
func (w *madeUp) url(n int) string {
	host := n / 60
	if w.wildcard {
		host = n
	} else if mixed := uint64(n) * 0x9e3779b97f4a7c15; mixed>>32%10 < 3 {
		host = int(mixed % uint64(host+1))
	}
	return string(fmt.Appendf(make([]byte, 0, 64), "http://www.site-%d.example/section-%d/page-%d.html", host, n%7, n))
}

func (w *madeUp) fresh() string {
	w.urls++
	return w.url(w.urls - 1)
}

// known is a URL that was found before: as likely among the last 10 as among the 100 before them.
func (w *madeUp) known() string {
	back := int(math.Exp(w.r.Float64() * math.Log(float64(w.urls))))
	return w.url(max(0, w.urls-back))
}

func (w *madeUp) verdict(r *schemas.FetchRequest) *schemas.LinkFound {
	rec := &schemas.LinkFound{
		Id: r.GetId(), Crawl: r.GetCrawl(), Url: r.GetUrl(), Outcome: schemas.Outcome_OUTCOME_DELIVERED,
		Judgement: &schemas.Judgement{
			Raw: w.r.Float64(), Tempered: w.r.Float64(), Calibrated: w.r.Float64(), BestIsFocus: w.r.IntN(3) == 0,
		},
		Table: w.tables[w.r.IntN(len(w.tables))],
	}
	rec.Request, _ = proto.Marshal(r) // leaps have features if its schedule of models has any
	links := make([]schemas.Link, newLinks+knownLinks)
	for i := range links {
		l := &links[i]
		l.FirstLeaf = uint32(i * pageLeaves / len(links))
		l.LastLeaf = l.FirstLeaf + uint32(i%2)
		if i%(len(links)/newLinks) == 0 {
			l.Url = w.fresh()
		} else {
			l.Url = w.known()
		}
		rec.Links = append(rec.Links, l)
		rec.Judgement.Anchors = append(rec.Judgement.Anchors, w.r.Uint32N(schemas.AnchorSteps))
	}
	return rec
}

// cost is the CPU time of making n verdicts.
func (w *madeUp) cost(b *testing.B, n int) time.Duration {
	other := &madeUp{r: rand.New(rand.NewPCG(4, 5)), urls: w.urls, wildcard: w.wildcard, tables: w.tables}
	before := cpuOf(b)
	for range n {
		other.verdict(&schemas.FetchRequest{})
	}
	return cpuOf(b) - before
}

// cpuOf is the CPU time of the process, user and system.
func cpuOf(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory is the most memory that the process has held (VmHWM), bytes.
func peakMemory(b *testing.B) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib << 10
}

func diskUse(b *testing.B, dir string) (size int64) {
	files, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil { // Pebble deletes some meanwhile
			size += info.Size()
		}
	}
	return size
}

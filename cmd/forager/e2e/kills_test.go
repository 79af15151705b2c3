//go:build endurance

package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"forager/cmd/forager/deploy"
	"forager/cmd/internal/cli"
	"forager/infra/simweb"
	"forager/internal/audit"
	"forager/internal/crawl/crawlfile"
	"forager/schemas"
)

// embedded are the parts, each in a process of its own.
var embedded = []string{"kafka", "s3", "clickhouse"}

// TestEnduranceKilledStages kills every stage at critical points while records wait, restarts it, and checks that the
// crawl is complete, the audit finds no difference, and duplicates occurred and were dropped.
func TestEnduranceKilledStages(t *testing.T) {
	t.Parallel()
	g, _ := simulated(t)
	r := newRig(t, g.Handler)
	r.parts()
	failpoints := map[string]string{
		"fetch": "segment-before-record:3", "parse-dom": "acked-before-commit:3", "critic-score": "acked-before-commit:3",
		"feature-extract": "acked-before-commit:3", "prioritize": "owner-acked-before-batch:8",
		"apprentice-train": "owner-acked-before-batch:3", "distill": "owner-acked-before-batch:2", "load-clickhouse": "inserted-before-commit:2",
		"archive-parquet": "archived-a-part:3",
	}
	for _, stage := range cli.StageNames {
		if failpoints[stage] == "" {
			t.Fatalf("%s has no failpoint here", stage)
		}
		r.start([]string{stage}, "FORAGER_FAILPOINT="+failpoints[stage])
	}
	r.begin(r.crawl(g, "killed", "apprentice", 300, func(ctl *schemas.CrawlControl) {
		both := ranked(t, "apprentice+soft-focus-distilled", nil) // so that every stage has output
		ctl.Policies, ctl.Mixture, ctl.Distiller = both.Policies, both.Mixture, &schemas.Distiller{Every: 10}
	}))
	for _, stage := range cli.StageNames {
		if err := r.gone(stage+"-0", 3*time.Minute); err != nil {
			t.Fatalf("its failpoint was never reached: %v", err)
		}
		r.start([]string{stage})
	}
	// Again, each at an arbitrary moment.
	for _, stage := range cli.StageNames {
		// Not while it joins: the embedded broker never removes a member that dies between its join and its
		// sync (a real one does after the session timeout).
		r.until("killed", stage+" in its group", time.Minute, func(*schemas.CrawlStatus) bool { return r.joined(stage + "-0") })
		r.kill(stage + "-0")
		r.start([]string{stage})
	}
	st := r.until("killed", "finished", 3*time.Minute, finished)
	if st.GetPages() != 300 {
		t.Errorf("%d pages, want 300", st.GetPages())
	}
	if st.GetDuplicates() == 0 {
		t.Error("no duplicate came: the kills proved nothing")
	}
	figures := r.verified("killed").Figures
	if i := slices.IndexFunc(figures, func(f audit.Figure) bool { return strings.HasPrefix(f.Name, "segments of the store that no record") }); figures[i].Value == 0 {
		t.Error("fetch was killed behind a segment and before its records, and there is no orphan")
	}
}

// TestEnduranceKills crawls a web, of whose hosts three of ten are hostile, for FORAGER_MINUTES (1), of which the first quarter is quiet. Then random
// processes are killed, the parts are away in turns, and crawls are started, paused and deleted. Pauses between kills are 30 to 90 s, and
// less in a run of less than half an hour. No process may end by itself, crawls go on after each outage, and everything agrees in the end. In a
// run of ten minutes or more memory, files and goroutines do not grow, and no stage takes more memory than it may. The rate outside the times without a part is reported.
func TestEnduranceKills(t *testing.T) {
	minutes := 1.
	if text := os.Getenv("FORAGER_MINUTES"); text != "" {
		var err error
		if minutes, err = strconv.ParseFloat(text, 64); err != nil || minutes <= 0 {
			t.Fatalf("FORAGER_MINUTES is %q, want a number of minutes", text)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("%g minutes, seed %d", minutes, seed)
	k := newKills(t, rand.New(rand.NewPCG(seed, 0)), minutes)
	k.start("main", func(c *schemas.CrawlControl) {})
	k.start("sharded", func(c *schemas.CrawlControl) { c.Shards = 3 })
	k.goOn("at first")
	k.watch(k.length / 4)
	quiet := k.rate()
	k.pages, k.seconds = 0, 0
	for end := time.Now().Add(k.length * 3 / 4); time.Now().Before(end); {
		k.watch(k.pause())
		k.event()
	}
	if r := k.rate(); quiet > 0 {
		t.Logf("%d kills, %d outages, %d crawls: %.0f pages/s outside outages, %.0f when quiet: %.2f", k.killed, k.outages, len(k.crawls)+k.deleted, r, quiet, r/quiet)
	}
	k.flat()
	for _, crawl := range slices.Sorted(maps.Keys(k.crawls)) {
		k.mustRun("crawl", "stop", crawl)
		k.until(crawl, "finished", 2*time.Minute, finished)
	}
	for _, crawl := range slices.Sorted(maps.Keys(k.crawls)) {
		k.verified(crawl)
	}
}

// kills is a crawl under kills and outages.
type kills struct {
	*rig
	draw   *rand.Rand
	length time.Duration
	scale  float64
	make   func(name string, change func(*schemas.CrawlControl))
	// crawls are those that exist, and whether they are paused.
	crawls                           map[string]bool
	events, killed, outages, deleted int
	// pages were fetched in so many seconds without an outage; last are the pages of each crawl at the last look.
	pages   uint64
	seconds float64
	last    map[string]uint64
	began   time.Time
	loads   map[string][]load
}

// load is what a process takes.
type load struct {
	at                        time.Duration
	memory, files, goroutines int
}

func newKills(t *testing.T, draw *rand.Rand, minutes float64) *kills {
	c := simweb.Default(9)
	c.Pages, c.Hazards = 20_000_000, simweb.AllHazards() // more than are fetched in a day: a crawl that has fetched all does not go on
	c.Hazards.Throttled, c.Hazards.Slow, c.Hazards.Stalled, c.Hazards.RetryAfter = .12, .12, .06, time.Second
	w, err := simweb.New(c)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := simulated(t)
	r := newRig(t, simweb.Handler(w), "replicas: 1", "metrics: 127.0.0.1:0\n        replicas: 1", "retry_delay: 30s", "retry_delay: 200ms",
		"header_timeout: 20s", "header_timeout: 2s", "body_timeout: 60s", "body_timeout: 3s", "\nkafka:\n", "\nsnapshots:\n    every: 5s\nkafka:\n")
	r.s.Context = t.Context()
	k := &kills{
		rig: r, draw: draw, length: time.Duration(minutes * float64(time.Minute)), scale: min(1, max(.1, minutes/30)),
		crawls: make(map[string]bool), last: make(map[string]uint64), began: time.Now(), loads: make(map[string][]load),
	}
	for _, part := range embedded {
		k.serve(part)
	}
	wait(t, "the parts answer", func() bool {
		return deploy.Answers(r.cfg.Kafka.Brokers[0]) && deploy.Answers(strings.TrimPrefix(r.cfg.S3.Endpoint, "http://")) && deploy.Answers(strings.TrimPrefix(r.cfg.ClickHouse.URL, "http://"))
	})
	r.parts()
	r.start(cli.StageNames)
	seeds := func() (list []string) {
		for range 20 {
			list = append(list, w.URL(draw.Uint64N(w.Size())))
		}
		return list
	}
	k.make = func(name string, change func(*schemas.CrawlControl)) {
		c := r.crawl(g, name, []string{"mixture", crawlfile.DefaultRanker}[draw.IntN(2)], 10_000_000, change)
		c.Seeds = seeds()
		r.begin(c)
	}
	return k
}

// serve starts the process of a part.
func (k *kills) serve(part string) {
	k.t.Helper()
	err := k.stack.Processes.Start(part, k.stack.Logs(), nil, filepath.Join(k.stack.Bin, "local"), "-config", k.folder(part), "-parts", part)
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *kills) start(name string, change func(*schemas.CrawlControl)) {
	k.make(name, change)
	k.crawls[name] = false
}

// pause draws the time to the next event.
func (k *kills) pause() time.Duration {
	return time.Duration(k.scale * (30 + 60*k.draw.Float64()) * float64(time.Second))
}

// event kills a process; every third also changes a crawl, and every fourth takes a part away, one after another.
func (k *kills) event() {
	k.t.Helper()
	k.events++
	victims := append(slices.Clone(cli.StageNames), embedded...)
	k.kills(victims[k.draw.IntN(len(victims))], 0)
	if k.events%4 == 0 {
		k.outages++
		k.kills(embedded[k.outages%len(embedded)], time.Duration(k.scale*float64(time.Minute)))
	}
	if k.events%3 == 0 {
		k.change()
	}
}

// kills kills a process and starts it again after a time, and waits until the crawls go on.
func (k *kills) kills(name string, away time.Duration) {
	k.t.Helper()
	k.killed++
	part := slices.Contains(embedded, name)
	if !part {
		name = replica(name, 0)
	}
	k.t.Logf("%6.1f s: kill %s, away for %s", time.Since(k.began).Seconds(), name, away)
	k.kill(name)
	if away > 0 {
		select {
		case <-k.s.Done():
			k.t.Fatal(k.s.Err())
		case <-time.After(away):
		}
	}
	if part {
		k.serve(name)
	} else {
		k.rig.start(cli.StageNames)
	}
	if part {
		k.goOn("after " + name + " was away")
		k.look(false)
	}
}

// goOn waits until the crawls that run have fetched more.
func (k *kills) goOn(when string) {
	k.t.Helper()
	for _, crawl := range slices.Sorted(maps.Keys(k.crawls)) {
		if !k.crawls[crawl] {
			at := k.books.Status(crawl).GetPages()
			k.until(crawl, "going on "+when, 2*time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > at+10 })
		}
	}
}

// change starts a crawl, pauses it, resumes it, or deletes it, in turns.
func (k *kills) change() {
	k.t.Helper()
	n := k.events/3 - 1
	crawl := fmt.Sprint("crawl-", n/4)
	k.t.Logf("%6.1f s: change %d of %s", time.Since(k.began).Seconds(), n%4, crawl)
	switch n % 4 {
	case 0:
		k.start(crawl, func(c *schemas.CrawlControl) { c.Shards = 1 + uint32(n/4%2) })
		k.goOn("with " + crawl)
	case 1:
		k.mustRun("crawl", "pause", crawl)
		k.crawls[crawl] = true
	case 2:
		k.mustRun("crawl", "resume", crawl)
		k.crawls[crawl] = false
		k.goOn("with " + crawl + " resumed")
	case 3:
		if n/4%2 == 0 { // the others remain
			k.mustRun("crawl", "delete", "--stop", crawl)
			delete(k.crawls, crawl)
			delete(k.last, crawl)
			k.deleted++
		}
	}
	k.look(false)
}

// watch lets the crawls run for a time.
func (k *kills) watch(d time.Duration) {
	k.t.Helper()
	k.look(false)
	at := time.Now()
	for end := time.After(d); ; {
		select {
		case <-k.s.Done():
			k.t.Fatal(k.s.Err())
		case <-time.After(min(d, time.Second)):
			k.measure()
			continue
		case <-end:
		}
		break
	}
	if err := k.stack.Ended(); err != nil {
		k.t.Fatal(err)
	}
	k.look(true)
	k.seconds += time.Since(at).Seconds()
}

// look notes the pages of the crawls; those that came since the last look count, or not.
func (k *kills) look(count bool) {
	for crawl := range k.crawls {
		now := k.books.Status(crawl).GetPages()
		if count {
			k.pages += now - min(now, k.last[crawl])
		}
		k.last[crawl] = now
	}
}

func (k *kills) rate() float64 { return float64(k.pages) / max(1e-9, k.seconds) }

// measure notes what every process takes.
func (k *kills) measure() {
	k.t.Helper()
	for _, p := range k.stack.Processes.List {
		x := load{at: time.Since(k.began)}
		memory, err := deploy.Memory(p.PID, "VmRSS")
		if err != nil {
			k.t.Fatal(err)
		}
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID))
		if err != nil {
			k.t.Fatal(err)
		}
		x.memory, x.files = int(memory>>20), len(files)
		if !slices.Contains(embedded, p.Name) {
			if x.goroutines, err = k.metric(p.Name, "go_goroutines "); err != nil {
				k.t.Logf("goroutines of %s: %v", p.Name, err)
			}
		}
		k.loads[p.Name] = append(k.loads[p.Name], x)
	}
}

// cachesFill is the length of a run in whose second third caches are full, and merges of ClickHouse have been at work.
const cachesFill = 10 * time.Minute

// flat compares the medians of the last third with those of the second, in runs in which caches are full by then, and the peaks of stages with
// the memory that they may take. Peaks are no sign of growth: in outages each record in flight waits in a goroutine, and after them
// stages read topics again, whose pages Go keeps until its next collection.
func (k *kills) flat() {
	k.t.Helper()
	third := time.Since(k.began) / 3
	for _, name := range slices.Sorted(maps.Keys(k.loads)) {
		var thirds [3][]load
		peak := 0
		for _, x := range k.loads[name] {
			i := min(2, int(x.at/third))
			thirds[i], peak = append(thirds[i], x), max(peak, x.memory)
		}
		second, last := medians(thirds[1]), medians(thirds[2])
		k.t.Logf("%-20s %4d MiB, %3d files, %4d goroutines, then %4d, %3d, %4d; at most %4d MiB", name, second.memory, second.files, second.goroutines, last.memory, last.files, last.goroutines, peak)
		if k.length >= cachesFill && (last.memory > second.memory*5/4+32 || last.files > second.files*3/2+32 || last.goroutines > second.goroutines*3/2+32) {
			k.t.Errorf("%s grows", name)
		}
		if limit := int(k.cfg.Stages.Common(strings.TrimSuffix(name, "-0")).MemoryBytes >> 20); limit > 0 && peak > limit {
			k.t.Errorf("%s took %d MiB, and may take %d", name, peak, limit)
		}
	}
}

// medians returns the median of each of the loads; 0 without loads.
func medians(all []load) load {
	of := func(value func(load) int) int {
		if len(all) == 0 {
			return 0
		}
		slices.SortFunc(all, func(a, b load) int { return cmp.Compare(value(a), value(b)) })
		return value(all[(len(all)-1)/2])
	}
	return load{
		memory: of(func(x load) int { return x.memory }), files: of(func(x load) int { return x.files }),
		goroutines: of(func(x load) int { return x.goroutines }),
	}
}

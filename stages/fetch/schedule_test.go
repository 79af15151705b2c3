package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forager/schemas"
)

// world is a set of hosts under virtual time that notes the requests to them.
type world struct {
	t     *testing.T
	s     *scheduler
	asks  []ask
	idles int
	settl map[*fakeJob][]string
}

// ask is one request to a host.
type ask struct {
	host, crawl string
	begin, end  time.Time
	pause       time.Duration // that the crawl sets
	job         *fakeJob
}

// fakeJob takes a time to visit.
type fakeJob struct {
	w           *world
	task        *task
	takes       time.Duration
	robots      time.Duration // the host's first visit is for robots.txt, which has this crawl-delay
	refuses     int           // visits that are refused (429)
	timesOut    bool
	arrived     time.Time
	begun       time.Time
	until       time.Time
	unanswered  bool // the visit makes no request
	blocksUntil chan struct{}
}

func newWorld(t *testing.T, slots int, hold time.Duration) *world {
	w := &world{t: t, settl: map[*fakeJob][]string{}}
	none := newPlaces(0, func(*schemas.FetchTurn) {})
	w.s = newScheduler(slots, 1000, hold, func() { w.s.mu.Lock(); w.idles++; w.s.mu.Unlock() }, none)
	return w
}

// seen is what the hosts saw until now.
func (w *world) seen() []ask {
	synctest.Wait()
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return slices.Clone(w.asks)
}

// settled is what became of a job until now.
func (w *world) settled(j *fakeJob) []string {
	synctest.Wait()
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return slices.Clone(w.settl[j])
}

// idled returns how often no request was in progress until now.
func (w *world) idled() int {
	synctest.Wait()
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.idles
}

func (w *world) note(j *fakeJob, how string) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.settl[j] = append(w.settl[j], how)
}

func (j *fakeJob) visit(pause time.Duration, _ string) report {
	begin := time.Now()
	if j.begun.IsZero() {
		j.begun = begin
	}
	if j.unanswered {
		j.w.note(j, "unasked")
		return report{}
	}
	if j.blocksUntil != nil {
		<-j.blocksUntil
	}
	if j.robots > pause {
		// The crawl-delay of robots.txt was known from an earlier visit, or becomes known now.
		if known := j.w.robotsKnown(j.task.host); known {
			return report{again: true, crawlDelay: j.robots}
		}
		time.Sleep(j.takes)
		j.w.asked(j, begin, pause)
		return report{asked: true, again: true, crawlDelay: j.robots}
	}
	time.Sleep(j.takes)
	j.w.asked(j, begin, pause)
	if j.refuses > 0 {
		j.until, _ = j.w.s.refused(j.task.host, 0)
		j.w.note(j, "refused")
		return report{asked: true, crawlDelay: j.robots}
	}
	if j.timesOut {
		j.w.s.timedOut(j.task.host)
	} else {
		j.w.s.answered(j.task.host, j.takes)
	}
	j.w.note(j, "visited")
	return report{asked: true, crawlDelay: j.robots}
}

func (w *world) robotsKnown(host string) bool {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return slices.ContainsFunc(w.asks, func(a ask) bool { return a.host == host })
}

func (w *world) asked(j *fakeJob, begin time.Time, pause time.Duration) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.asks = append(w.asks, ask{j.task.host, j.task.crawl, begin, time.Now(), pause, j})
}

func (j *fakeJob) deferred(until time.Time, why string) {
	if why == "" {
		j.w.t.Error("deferred without a reason")
	}
	j.until = until
	j.w.note(j, "deferred")
}
func (j *fakeJob) cancelled() { j.w.note(j, "cancelled") }
func (j *fakeJob) calledOff() { j.w.note(j, "called off") }

// add gives the scheduler a job.
func (w *world) add(ctx context.Context, j *fakeJob, crawl, host string, delay time.Duration) *fakeJob {
	j.w, j.arrived = w, time.Now()
	if j.task == nil {
		j.task = &task{}
	}
	j.task.job, j.task.ctx, j.task.crawl, j.task.host, j.task.delay = j, ctx, crawl, host, delay
	w.s.add(j.task)
	return j
}

// Politeness and the rest as properties, over random loads. Whatever comes when: requests to a
// host with a pause never overlap and keep it; every job is settled once; none waits longer than
// it may; the slots are never exceeded.
func TestSchedulerProperties(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { properties(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func properties(t *testing.T, rng *rand.Rand) {
	hold := time.Duration(rng.IntN(30)) * time.Second
	slots := 1 + rng.IntN(8)
	w := newWorld(t, slots, hold)
	hosts, crawls := 1+rng.IntN(6), 1+rng.IntN(3)
	crawlDelays := make([]time.Duration, crawls)
	for i := range crawlDelays {
		crawlDelays[i] = []time.Duration{0, 0, time.Millisecond, time.Second, 5 * time.Second}[rng.IntN(5)]
	}
	robots := make([]time.Duration, hosts)
	for i := range robots {
		robots[i] = []time.Duration{0, 0, 0, 2 * time.Second, 40 * time.Second}[rng.IntN(5)]
	}
	contexts := make([]context.Context, 2)
	cancels := make([]context.CancelFunc, 2)
	for i := range contexts {
		contexts[i], cancels[i] = context.WithCancel(t.Context())
		defer cancels[i]()
	}
	var jobs []*fakeJob
	for range 20 + rng.IntN(60) {
		h, c := rng.IntN(hosts), rng.IntN(crawls)
		j := &fakeJob{takes: time.Duration(rng.IntN(3000)) * time.Millisecond, robots: robots[h], task: &task{}}
		switch rng.IntN(12) {
		case 0:
			j.refuses = 1
		case 1:
			j.unanswered = true
		case 2:
			j.task.notBefore = time.Now().Add(time.Duration(rng.IntN(40)) * time.Second)
		case 3:
			j.task.since = time.Now()
		case 4:
			j.task.since, j.task.quiet = time.Now(), time.Now().Add(10*time.Second)
		}
		jobs = append(jobs, w.add(contexts[rng.IntN(2)], j, fmt.Sprint("crawl", c), fmt.Sprint("host", h), crawlDelays[c]))
		switch rng.IntN(40) {
		case 0:
			cancels[0]()
		case 1:
			w.s.cancel(fmt.Sprint("crawl", rng.IntN(crawls)))
		}
		time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
	}
	time.Sleep(hold + time.Hour)
	synctest.Wait()
	_, waiting, underWay := w.s.counts()
	if waiting != 0 || underWay != 0 {
		t.Fatalf("%d waiting, %d under way at the end", waiting, underWay)
	}
	w.s.close()
	for i, j := range jobs {
		if len(w.settled(j)) != 1 {
			t.Fatalf("job %d was settled as %q", i, w.settled(j))
		}
		how := w.settled(j)[0]
		if !j.begun.IsZero() && j.begun.Sub(j.arrived) > hold {
			t.Errorf("job %d was held for %v, may be for %v", i, j.begun.Sub(j.arrived), hold)
		}
		if !j.begun.IsZero() && j.begun.Before(j.task.notBefore) {
			t.Errorf("job %d began %v before its time", i, j.task.notBefore.Sub(j.begun))
		}
		if how == "called off" && j.task.ctx.Err() == nil {
			t.Errorf("job %d was called off while its partition is here", i)
		}
	}
	for _, a := range w.seen() {
		if held := a.begin.Sub(a.job.arrived); held > hold {
			t.Errorf("%s was asked for a job held for %v, may be for %v", a.host, held, hold)
		}
		if since := a.job.task.since; !since.IsZero() && a.begin.Sub(since) < a.pause {
			t.Errorf("%s was asked %v after its partition came, pause %v", a.host, a.begin.Sub(since), a.pause)
		}
	}
	checkPolite(t, w.seen())
	checkSlots(t, w.seen(), slots)
}

// checkPolite is the oracle of politeness, from what the hosts saw alone.
func checkPolite(t *testing.T, asks []ask) {
	t.Helper()
	byHost := map[string][]ask{}
	for _, a := range asks {
		byHost[a.host] = append(byHost[a.host], a)
	}
	for host, all := range byHost {
		slices.SortStableFunc(all, func(a, b ask) int { return a.begin.Compare(b.begin) })
		for i, b := range all {
			for _, a := range all[:i] {
				// a began before b. The pause of either must be between them.
				if pause := max(a.pause, b.pause); pause > 0 && b.begin.Sub(a.end) < pause {
					t.Errorf("%s: asked by %s %v after the end of %s, pause %v", host, b.crawl, b.begin.Sub(a.end), a.crawl, pause)
				}
			}
			// For pages: the crawl-delay of robots.txt.
			if i > 0 && b.pause < b.job.robots && all[i-1].end.After(all[0].begin) && i > 1 {
				t.Errorf("%s: asked with a pause of %v, robots.txt asks for %v", host, b.pause, b.job.robots)
			}
			if b.job.task.quiet.After(b.begin) && b.job.task.delay > 0 {
				t.Errorf("%s: asked %v before it may be", host, b.job.task.quiet.Sub(b.begin))
			}
		}
		// A refusal is followed by a wait.
		for i, a := range all {
			if a.job.refuses == 0 || a.pause < a.job.robots {
				continue
			}
			for _, b := range all[i+1:] {
				if b.begin.After(a.end) && b.begin.Sub(a.end) < firstWait {
					t.Errorf("%s: asked %v after a refusal", host, b.begin.Sub(a.end))
				}
			}
		}
	}
}

func checkSlots(t *testing.T, asks []ask, slots int) {
	t.Helper()
	for _, a := range asks {
		n := 0
		for _, b := range asks {
			if !b.begin.After(a.begin) && b.end.After(a.begin) {
				n++
			}
		}
		if n > slots {
			t.Fatalf("%d under way, %d slots", n, slots)
		}
	}
}

// A crawl with one page on each of many hosts gets its turns next to one with thousands, and a slow
// host delays no other.
func TestSchedulerIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2, 30*time.Second)
		defer w.s.close()
		for i := range 1000 {
			w.add(t.Context(), &fakeJob{takes: time.Second}, "large", fmt.Sprint("large", i), time.Second)
		}
		time.Sleep(1500 * time.Millisecond)
		begin := time.Now()
		for i := range 5 {
			w.add(t.Context(), &fakeJob{takes: time.Second}, "small", fmt.Sprint("small", i), time.Second)
		}
		time.Sleep(10 * time.Second)
		for _, crawl := range []string{"small", "large"} {
			n := 0
			for _, a := range w.seen() {
				if a.crawl == crawl && a.begin.After(begin) && a.begin.Sub(begin) < 5*time.Second {
					n++
				}
			}
			if n < 4 {
				t.Errorf("%s was asked %d times in 5 s of two slots", crawl, n)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for j, how := range w.settl {
			if len(how) != 1 {
				t.Fatalf("%s settled as %q", j.task.host, how)
			}
		}
		if len(w.settl) != 1005 {
			t.Errorf("%d of 1005 settled", len(w.settl))
		}
	})
}

// However many hosts of a crawl stall, another finds slots at once; crawls that all stall come to
// have about as many each, and one that is alone gets most.
func TestStallingCrawlLeavesSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 63, time.Hour)
		defer w.s.close()
		stall := func(crawl string) {
			for i := range 200 {
				w.add(t.Context(), &fakeJob{takes: time.Minute}, crawl, fmt.Sprint(crawl, i), time.Second)
			}
		}
		slots := func() (n []int) {
			synctest.Wait()
			w.s.mu.Lock()
			defer w.s.mu.Unlock()
			for _, c := range w.s.crawls {
				n = append(n, c.underWay)
			}
			slices.Sort(n)
			return n
		}
		stall("first")
		if n := slots(); n[0] != 56 {
			t.Errorf("a crawl alone has %d of 63 slots, want 56", n)
		}
		j := w.add(t.Context(), &fakeJob{takes: time.Millisecond}, "fast", "fast", 0)
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if !slices.Equal(w.settled(j), []string{"visited"}) {
			t.Errorf("the fast crawl's request: %q", w.settled(j))
		}
		stall("second")
		stall("third")
		time.Sleep(90 * time.Second) // what the first took has come back
		if n := slots(); n[1] < 15 || n[3] > 26 {
			t.Errorf("three stalling crawls have %v of 63 slots", n[1:])
		}
		time.Sleep(time.Hour)
	})
}

// Only requests to hosts that may be requested now wait for a slot.
func TestUnslotted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2, time.Hour)
		defer w.s.close()
		check := func(want int) {
			t.Helper()
			synctest.Wait()
			if got := w.s.unslotted(); got != want {
				t.Errorf("%d requests wait for a slot, want %d", got, want)
			}
		}
		add := func(host string, pause time.Duration) {
			w.add(t.Context(), &fakeJob{takes: time.Minute}, "crawl", host, pause)
		}
		check(0)
		add("a", time.Second)
		add("a", time.Second)
		add("b", time.Second)
		check(0) // the second for a waits for the first
		add("c", time.Second)
		add("c", time.Second)
		add("d", time.Second)
		check(2) // c and d
		time.Sleep(time.Minute + time.Millisecond)
		check(0) // c and d have the slots; a keeps its pause
		time.Sleep(time.Second)
		check(1) // a
		time.Sleep(time.Hour)
		check(0)
	})
}

// Nor does a crawl take all the places in which requests wait for slow hosts.
func TestBacklogKeepsReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4, 30*time.Second) // and places for 1000
		defer w.s.close()
		given := func(crawl string, n int) (deferred int) {
			for range n {
				j := w.add(t.Context(), &fakeJob{takes: time.Hour}, crawl, "host of "+crawl, time.Second)
				if slices.Equal(w.settled(j), []string{"deferred"}) {
					deferred++
					if until := j.until.Sub(j.arrived); until != 30*time.Second {
						t.Errorf("deferred for %v", until)
					}
				}
			}
			return deferred
		}
		if n := given("large", 5000); n < 4499 || n > 4500 {
			t.Errorf("of 5000 requests of one crawl for one host %d were given back, want all but 500", n)
		}
		if n := given("small", 200); n != 0 {
			t.Errorf("%d requests of another were given back", n)
		}
		if n := given("third", 60); n != 0 {
			t.Errorf("%d requests of a third were given back", n)
		}
		time.Sleep(2 * time.Hour)
	})
}

// A crawl without requests in progress does not wait with its pages for those of others.
func TestIdleByCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4, 30*time.Second)
		defer w.s.close()
		w.add(t.Context(), &fakeJob{takes: time.Minute}, "slow", "slow", 0)
		for i := range 3 {
			w.add(t.Context(), &fakeJob{takes: time.Duration(i+1) * time.Second}, "fast", fmt.Sprint("fast", i), 0)
		}
		time.Sleep(10 * time.Second)
		w.seen()
		if w.idled() != 1 {
			t.Errorf("idle %d times after the fast crawl's last request, want once", w.idled())
		}
		time.Sleep(2 * time.Minute)
	})
}

func TestSlowHostDoesNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2, 30*time.Second)
		defer w.s.close()
		blocked := make(chan struct{})
		for range 50 {
			w.add(t.Context(), &fakeJob{blocksUntil: blocked, takes: time.Millisecond}, "crawl", "slow", time.Second)
		}
		for range 10 {
			w.add(t.Context(), &fakeJob{takes: time.Millisecond}, "crawl", "fast", time.Second)
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		n := 0
		for _, a := range w.seen() {
			if a.host == "fast" {
				n++
			}
		}
		if n != 10 {
			t.Errorf("the fast host was asked %d times in 15 s", n)
		}
		time.Sleep(20 * time.Second)
		close(blocked)
		time.Sleep(time.Minute)
		synctest.Wait()
		deferred := 0
		for j, how := range w.settl {
			if how[0] == "deferred" {
				deferred++
				if j.until.Before(j.arrived.Add(30 * time.Second)) {
					t.Errorf("deferred until %v after its arrival", j.until.Sub(j.arrived))
				}
			}
		}
		if deferred != 49 {
			t.Errorf("%d deferred, want 49", deferred)
		}
	})
}

// What cannot be done in time is given back at once, not held first.
func TestDeferredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4, 30*time.Second)
		defer w.s.close()
		later := w.add(t.Context(), &fakeJob{task: &task{notBefore: time.Now().Add(time.Minute)}}, "c", "a", 0)
		w.add(t.Context(), &fakeJob{takes: time.Second, robots: time.Hour}, "c", "b", time.Second)
		time.Sleep(3 * time.Second)
		second := w.add(t.Context(), &fakeJob{takes: time.Second, robots: time.Hour}, "c", "b", time.Second)
		synctest.Wait()
		if how := w.settled(later); fmt.Sprint(how) != "[deferred]" || !later.until.Equal(later.task.notBefore) {
			t.Errorf("%v until %v", how, later.until)
		}
		if how := w.settled(second); fmt.Sprint(how) != "[deferred]" || time.Until(second.until) < 59*time.Minute {
			t.Errorf("%v for %v", how, time.Until(second.until))
		}
	})
}

// Requests to a host without a pause run side by side, once its robots.txt is known.
func TestNoPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 16, 30*time.Second)
		defer w.s.close()
		begin := time.Now()
		for range 9 {
			w.add(t.Context(), &fakeJob{takes: time.Second}, "c", "a", 0)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(w.seen()); n != 9 {
			t.Fatalf("%d asked", n)
		}
		if last := w.seen()[8].end.Sub(begin); last != 2*time.Second {
			t.Errorf("nine pages of one second took %v: the first alone, the others together", last)
		}
		if w.idled() != 1 {
			t.Errorf("idle %d times, want once", w.idled())
		}
	})
}

func TestRefusalsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, time.Hour)
		defer w.s.close()
		w.add(t.Context(), &fakeJob{}, "c", "a", 0)
		synctest.Wait()
		var waits []time.Duration
		for range 5 {
			until, times := w.s.refused("a", 0)
			if times != len(waits)+1 {
				t.Errorf("%d refusals counted", times)
			}
			waits = append(waits, time.Until(until))
			time.Sleep(time.Until(until))
		}
		if fmt.Sprint(waits) != "[10s 20s 40s 1m20s 2m40s]" {
			t.Errorf("waits %v", waits)
		}
		if until, _ := w.s.refused("a", 7*time.Minute); time.Until(until) != 7*time.Minute {
			t.Errorf("Retry-After is kept as %v", time.Until(until))
		}
		w.s.mu.Lock()
		slower := w.s.hosts["a"].pace.least
		w.s.mu.Unlock()
		if slower < 16*time.Second {
			t.Errorf("the pause grew by %v", slower)
		}
		time.Sleep(7 * time.Minute)
		for range 3 {
			w.add(t.Context(), &fakeJob{}, "c", "a", time.Millisecond)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if second := w.seen()[2].begin.Sub(w.seen()[1].end); second < slower*9/10 || second > slower {
			t.Errorf("a pause of %v was kept as %v after one answer", slower, second)
		}
		for range 60 {
			w.s.answered("a", 0)
		}
		w.s.mu.Lock()
		defer w.s.mu.Unlock()
		if h := w.s.hosts["a"]; h.pace.slowed() {
			t.Errorf("after sixty answers: %+v", h.pace)
		}
	})
}

// TestHostsAreForgotten: a host is known while it has requests, while its pause or the time for which it is to be left alone
// lasts, and for a while after it has refused; and no longer.
func TestHostsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 10, 30*time.Second)
		defer w.s.close()
		known := func() string {
			synctest.Wait()
			w.s.mu.Lock()
			defer w.s.mu.Unlock()
			w.s.sweep()
			return strings.Join(slices.Sorted(maps.Keys(w.s.hosts)), " ")
		}
		w.add(t.Context(), &fakeJob{}, "c", "asked", time.Second)
		w.add(t.Context(), &fakeJob{robots: 20 * time.Second}, "c", "delay", time.Second)
		w.add(t.Context(), &fakeJob{refuses: 1}, "c", "refused", time.Second)
		w.add(t.Context(), &fakeJob{takes: 40 * time.Second}, "d", "slow", 0)
		sleeping := &fakeJob{task: &task{notBefore: time.Now().Add(25 * time.Second)}}
		w.add(t.Context(), sleeping, "c", "sleeping", time.Second)
		for _, x := range []struct {
			after time.Duration
			want  string
		}{
			{500 * time.Millisecond, "asked delay refused sleeping slow"},
			{2 * time.Second, "delay refused sleeping slow"}, // delay has two requests, for robots.txt and the page
			{17 * time.Second, "delay refused sleeping slow"},
			{26 * time.Second, "delay refused sleeping slow"},
			{38 * time.Second, "delay refused slow"},
			{45 * time.Second, "refused"},
			{forgetHost - time.Second, "refused"},
			{forgetHost + 15*time.Second, ""},
		} {
			time.Sleep(x.after - time.Since(sleeping.arrived))
			if got := known(); got != x.want {
				t.Errorf("after %v %q are known, want %q", x.after, got, x.want)
			}
		}
		if len(w.settled(sleeping)) != 1 {
			t.Errorf("the request that slept: %v", w.settled(sleeping))
		}
	})
}

// TestHostsAreBounded: a site with a host for every page does not fill the memory.
func TestHostsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond = 100
		w := newWorld(t, 10, 30*time.Second)
		defer w.s.close()
		most := 0
		for i := range 20_000 {
			w.add(t.Context(), &fakeJob{}, "c", fmt.Sprint(i), time.Second)
			time.Sleep(time.Second / perSecond)
			hosts, _, _ := w.s.counts()
			most = max(most, hosts)
		}
		if bound := 10 + 1000 + 2*perSecond; most > bound {
			t.Errorf("%d hosts were known at once, more than %d", most, bound)
		}
		if asked := len(w.seen()); asked != 20_000 {
			t.Errorf("%d hosts were asked", asked)
		}
	})
}

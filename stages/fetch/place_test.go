package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/turns"
	"forager/schemas"
)

// sharedWeb is hosts at addresses under virtual time, and several schedulers that share a log of turns.
type sharedWeb struct {
	mu    sync.Mutex
	rng   *rand.Rand
	log   []*schemas.FetchTurn
	asks  []addressed
	procs []*process
	// latency is the longest time that a record is under way, of each writer and of each reader.
	latency time.Duration
	longest time.Duration
}

// process is one replica; records that it writes and reads keep their order.
type process struct {
	web   *sharedWeb
	s     *scheduler
	out   chan *schemas.FetchTurn
	in    chan *schemas.FetchTurn
	ended chan struct{} // the process is dead: nothing is read or written any more
}

// addressed is one request as the web servers saw it.
type addressed struct {
	address, host, crawl string
	begin, end           time.Time
	limits               turns.Limits
}

func (w *sharedWeb) delay() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng.Int64N(int64(w.latency) + 1))
}

func (w *sharedWeb) begin(slots int, hold time.Duration) *process {
	p := &process{web: w, out: make(chan *schemas.FetchTurn, 1<<16), in: make(chan *schemas.FetchTurn, 1<<16), ended: make(chan struct{})}
	p.s = newScheduler(slots, 1000, hold, func() {}, newPlaces(w.longest, func(r *schemas.FetchTurn) { p.out <- proto.CloneOf(r) }))
	w.mu.Lock()
	for _, r := range w.log {
		p.in <- r
	}
	w.procs = append(w.procs, p)
	w.mu.Unlock()
	go p.carry(p.out, func(r *schemas.FetchTurn) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.log = append(w.log, r)
		for _, q := range w.procs {
			q.in <- r
		}
	})
	go p.carry(p.in, func(r *schemas.FetchTurn) { _ = p.s.takeTurn(time.Now(), r) })
	return p
}

func (p *process) carry(from chan *schemas.FetchTurn, to func(*schemas.FetchTurn)) {
	for {
		select {
		case <-p.ended:
			return
		case r := <-from:
			time.Sleep(p.web.delay())
			select {
			case <-p.ended:
				return
			default:
				to(r)
			}
		}
	}
}

// pageAt is a request for a page at an address, which its first visit finds out.
type pageAt struct {
	process *process
	task    *task
	address string
	takes   time.Duration
	robots  int // requests for robots.txt before it
	refuses bool
	settled []string
	until   time.Time
}

func (j *pageAt) visit(_ time.Duration, address string) report {
	w := j.process.web
	if j.task.limits != (turns.Limits{}) && address == "" {
		time.Sleep(w.delay() / 10)
		return report{again: true, address: j.address}
	}
	begin := time.Now()
	time.Sleep(j.takes)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asks = append(w.asks, addressed{j.address, j.task.host, j.task.crawl, begin, time.Now(), j.task.limits})
	if j.refuses {
		j.process.s.refused(j.task.host, 0)
	}
	if j.robots > 0 {
		j.robots--
		return report{asked: true, again: true, address: j.address}
	}
	j.settled = append(j.settled, "visited")
	return report{asked: true}
}

func (j *pageAt) settle(how string) {
	j.process.web.mu.Lock()
	defer j.process.web.mu.Unlock()
	j.settled = append(j.settled, how)
}

func (j *pageAt) deferred(until time.Time, _ string) { j.until = until; j.settle("deferred") }
func (j *pageAt) cancelled()                         { j.settle("cancelled") }
func (j *pageAt) calledOff()                         { j.settle("called off") }

func (p *process) add(ctx context.Context, j *pageAt, crawl, host string, limits turns.Limits) *pageAt {
	j.process = p
	j.task = &task{job: j, ctx: ctx, crawl: crawl, host: host, limits: limits, delay: max(limits.Address, limits.Network)}
	p.s.add(j.task)
	return j
}

// checkAddresses is the oracle: of two requests that are limited at one address, or in one network, one ends a pause before
// the other begins.
func checkAddresses(t *testing.T, asks []addressed) {
	t.Helper()
	pause := func(a, b addressed) (longest time.Duration) {
		if a.address == b.address && a.limits.Address > 0 && b.limits.Address > 0 {
			longest = max(a.limits.Address, b.limits.Address)
		}
		if turns.Network(a.address) == turns.Network(b.address) && a.limits.Network > 0 && b.limits.Network > 0 {
			longest = max(longest, a.limits.Network, b.limits.Network)
		}
		return longest
	}
	slices.SortStableFunc(asks, func(a, b addressed) int { return a.begin.Compare(b.begin) })
	for i, b := range asks {
		for _, a := range asks[:i] {
			if p := pause(a, b); p > 0 && b.begin.Sub(a.end) < p {
				t.Errorf("%s of %s at %s was asked %v after the end of %s of %s at %s, pause %v", b.host, b.crawl, b.address, b.begin.Sub(a.end), a.host, a.crawl, a.address, p)
			}
		}
	}
}

// However hosts are spread over addresses and replicas, records delayed and processes lost: no limit is exceeded, every request
// is settled in time, and nothing waits for ever.
func TestAddressesAreSharedByReplicas(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { shared(t, rand.New(rand.NewPCG(seed, 2))) })
		})
	}
}

func shared(t *testing.T, rng *rand.Rand) {
	w := &sharedWeb{rng: rand.New(rand.NewPCG(rng.Uint64(), 3)), latency: []time.Duration{0, 10 * time.Millisecond, 5 * time.Second}[rng.IntN(3)], longest: 3 * time.Second}
	hold, slots := time.Duration(rng.IntN(40))*time.Second, 1+rng.IntN(6)
	addresses := []string{"192.0.2.1", "192.0.2.2", "198.51.100.7", "2001:db8::1", "2001:db8:0:ffff::2"}[:1+rng.IntN(5)]
	crawls := make([]turns.Limits, 1+rng.IntN(3))
	for i := range crawls {
		pauses := []time.Duration{0, 100 * time.Millisecond, time.Second, 7 * time.Second}
		crawls[i] = turns.Limits{Address: pauses[rng.IntN(4)], Network: pauses[rng.IntN(4)]}
	}
	hosts := 1 + rng.IntN(12)
	for range 1 + rng.IntN(3) {
		w.begin(slots, hold)
	}
	alive := slices.Clone(w.procs)
	var jobs []*pageAt
	for range 20 + rng.IntN(80) {
		h, c := rng.IntN(hosts), rng.IntN(len(crawls))
		p := alive[h%len(alive)] // hosts are partitioned
		j := &pageAt{address: addresses[h%len(addresses)], takes: time.Duration(rng.IntN(3000)) * time.Millisecond, robots: rng.IntN(6) / 5}
		jobs = append(jobs, p.add(t.Context(), j, fmt.Sprint("crawl", c), fmt.Sprint("host", h), crawls[c]))
		time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
		if rng.IntN(40) == 0 && len(alive) > 1 { // one dies, whatever it does
			i := rng.IntN(len(alive))
			close(alive[i].ended)
			alive = slices.Delete(alive, i, i+1)
			alive = append(alive, w.begin(slots, hold))
		}
	}
	time.Sleep(time.Hour)
	synctest.Wait()
	w.mu.Lock()
	dead := map[*process]bool{}
	for _, p := range w.procs {
		dead[p] = !slices.Contains(alive, p)
	}
	visits := 0
	for i, j := range jobs {
		if len(j.settled) != 1 && !dead[j.process] {
			t.Errorf("job %d was settled as %q", i, j.settled)
		}
		if slices.Equal(j.settled, []string{"visited"}) {
			visits++
		}
	}
	if visits == 0 {
		t.Errorf("nothing was fetched of %d requests", len(jobs))
	}
	checkAddresses(t, w.asks)
	w.mu.Unlock()
	for _, p := range w.procs {
		if !dead[p] {
			if n := len(p.s.places.all) + len(p.s.places.byTurn); n > 0 {
				t.Errorf("%d places and turns are left", n)
			}
			close(p.ended)
		}
		p.s.close()
	}
}

// Fifty hosts on one address are asked as one, while a host elsewhere is not delayed; those that would wait too long go back
// at once, with dates that follow one another.
func TestOneAddressDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &sharedWeb{rng: rand.New(rand.NewPCG(1, 1)), latency: time.Millisecond, longest: time.Minute}
		p := w.begin(4, 20*time.Second)
		limits := turns.Limits{Address: time.Second}
		var jobs []*pageAt
		for i := range 50 {
			jobs = append(jobs, p.add(t.Context(), &pageAt{address: "192.0.2.1", takes: 10 * time.Millisecond}, "crawl", fmt.Sprint("host", i), limits))
		}
		time.Sleep(3 * time.Second)
		begin := time.Now()
		other := p.add(t.Context(), &pageAt{address: "192.0.2.2", takes: 10 * time.Millisecond}, "crawl", "other", limits)
		time.Sleep(time.Minute)
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(other.settled) != 1 || other.settled[0] != "visited" {
			t.Errorf("the host elsewhere: %q", other.settled)
		}
		visited, last := 0, time.Time{}
		for _, j := range jobs {
			if j.settled[0] == "visited" {
				visited++
			} else if j.until.After(last) {
				last = j.until
			}
		}
		if visited < 15 || visited > 22 {
			t.Errorf("%d of 50 were fetched in 20 s", visited)
		}
		if last.Sub(begin) < 15*time.Second {
			t.Errorf("the last date is %v ahead", last.Sub(begin))
		}
		for _, a := range w.asks {
			if a.host == "other" && a.begin.Sub(begin) > 100*time.Millisecond {
				t.Errorf("the host elsewhere was asked after %v", a.begin.Sub(begin))
			}
		}
		checkAddresses(t, w.asks)
		close(p.ended)
		p.s.close()
	})
}

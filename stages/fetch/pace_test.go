package main

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"forager/internal/crawl/turns"
	"forager/schemas"
)

// Whatever a host does, its pause is never shorter than that of its crawls and never longer by more than mostSlower; what is bad
// never shortens it, a response shortens it by a tenth at most, and responses as usual bring it back.
func TestPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pause := time.Duration(rapid.IntRange(0, 100_000).Draw(t, "pause, ms")) * time.Millisecond
		latency := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, 30_000).Draw(t, "latency, ms")) * time.Millisecond
		})
		var p pace
		for range rapid.IntRange(0, 200).Draw(t, "events") {
			before := p.of(pause)
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				if p = p.refused(); p.of(pause) < before || p.least < min(2*before, time.Second) || p.refusals == 0 {
					t.Fatalf("pause %v after a refusal, %v before", p.of(pause), before)
				}
			case 1:
				if p = p.timedOut(); p.of(pause) < before || p.of(pause) < min(2*pause, pause+mostSlower) {
					t.Fatalf("pause %v after a time-out, %v before, that of the crawl %v", p.of(pause), before, pause)
				}
			default:
				p = p.responded(latency.Draw(t, "latency"))
				if least := time.Duration(easing*float64(before)) - negligible - pause/20; p.of(pause) < least || p.refusals > 0 {
					t.Fatalf("pause %v after a response, %v before", p.of(pause), before)
				}
			}
			if got := p.of(pause); got < pause || got > max(pause+mostSlower, mostSlower) {
				t.Fatalf("pause %v, that of the crawl %v", got, pause)
			}
		}
		usual := latency.Draw(t, "usual latency")
		for range 600 {
			p = p.responded(usual)
		}
		if p.of(pause) != pause || p.slowed() {
			t.Fatalf("pause %v after 600 responses, that of the crawl %v: %+v", p.of(pause), pause, p)
		}
	})
}

// Latency that varies within a factor of two does not slow a host down, and neither does a single slow response; several do, in proportion.
func TestPaceFollowsLatency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pace
		usual := time.Duration(rapid.IntRange(1, 5000).Draw(t, "usual, ms")) * time.Millisecond
		for range rapid.IntRange(8, 200).Draw(t, "responses") {
			p = p.responded(usual + time.Duration(rapid.IntRange(0, 99).Draw(t, "more"))*usual/100)
		}
		if p.stretch != 0 {
			t.Fatalf("stretched by %v", p.stretch)
		}
		for range 200 {
			p = p.responded(usual)
		}
		slow := time.Duration(rapid.IntRange(5, 1000).Draw(t, "times")) * max(usual, fast)
		one := p.responded(slow)
		if one.stretch != 0 {
			t.Fatalf("stretched by %v after one slow response", one.stretch)
		}
		for range 8 {
			one = one.responded(slow)
		}
		if one.stretch < 1 || one.stretch > mostGrowth {
			t.Fatalf("stretched by %v after nine slow responses", one.stretch)
		}
	})
}

// The pauses before requests to a host grow with its time-outs and refusals and shrink slowly after them; those of another host do not change.
func TestHostsSetThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pause, bad, all = 2 * time.Second, 5, 80
		w := newWorld(t, 4, 24*time.Hour)
		defer w.s.close()
		for i := range all {
			w.add(t.Context(), &fakeJob{takes: 10 * time.Millisecond, timesOut: i > 0 && i <= bad}, "c", "slow", pause)
			w.add(t.Context(), &fakeJob{takes: 10 * time.Millisecond}, "c", "well", pause)
		}
		time.Sleep(time.Hour)
		gaps := func(host string) (list []time.Duration) {
			var last time.Time
			for _, a := range w.seen() {
				if a.host != host {
					continue
				}
				if !last.IsZero() {
					list = append(list, a.begin.Sub(last))
				}
				last = a.end
			}
			return list
		}
		if slow, well := gaps("slow"), gaps("well"); len(slow) != all-1 || len(well) != all-1 || slices.Max(well) != pause {
			t.Fatalf("gaps: %v, of the other host %v", slow, well)
		}
		slow := gaps("slow")
		want := []time.Duration{pause, 2 * pause, 3 * pause, 5 * pause, 9 * pause, 16 * pause}
		for i, w := range want {
			if slow[i] != w {
				t.Errorf("gap %d: %v, want %v", i, slow[i], w)
			}
		}
		for i := len(want); i < len(slow); i++ {
			if slow[i] > slow[i-1] || slow[i] < slow[i-1]*9/10-negligible-pause/20 {
				t.Errorf("gap %d: %v after %v", i, slow[i], slow[i-1])
			}
		}
		if last := slow[len(slow)-1]; last != pause {
			t.Errorf("the last gap is %v", last)
		}
	})
}

// Time-outs and latencies of requests on sockets lengthen the pauses after them.
func TestRequestsSetThePace(t *testing.T) {
	const pause, timeout = 200 * time.Millisecond, 300 * time.Millisecond
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/hangs") {
			<-r.Context().Done()
			return
		}
		page(w, r)
	})
	b.cfg.Stages.Fetch.HeaderTimeout, b.cfg.Stages.Fetch.Concurrency = timeout, 1
	b.run()
	var requests []*schemas.FetchRequest
	for _, path := range []string{"/hangs/0", "/hangs/1", "/2", "/3"} {
		requests = append(requests, b.request("c", "http://a.test"+path, 1, pause))
	}
	b.send(requests...)
	b.fetched(len(requests))
	seen := b.seen("a.test")
	seen = slices.DeleteFunc(seen, func(v visited) bool { return strings.HasSuffix(v.url, "/robots.txt") })
	if len(seen) != len(requests) {
		t.Fatalf("%d requests: %v", len(seen), seen)
	}
	for i, least := range []time.Duration{timeout + 2*pause, timeout + 3*pause, pause + pause*9/5} {
		// The server gets a request later than fetch sends it, by a time that differs from one to the next.
		if gap := seen[i+1].begin.Sub(seen[i].begin); gap < least-pause/2 {
			t.Errorf("request %d began %v after the one before, want some %v at least", i+1, gap, least)
		}
	}
}

// A host that refuses lengthens the turns at its address: other hosts of it wait, too, and those of other addresses do not.
func TestRefusalsLengthenTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pause = 100 * time.Millisecond
		w := &sharedWeb{rng: rand.New(rand.NewPCG(1, 1)), longest: time.Second}
		a, b := w.begin(4, time.Minute), w.begin(4, time.Minute)
		limits := turns.Limits{Address: pause}
		refusing := a.add(t.Context(), &pageAt{address: "192.0.2.1", refuses: true}, "c", "refuses", limits)
		synctest.Wait()
		other := b.add(t.Context(), &pageAt{address: "192.0.2.1"}, "c", "other", limits)
		elsewhere := b.add(t.Context(), &pageAt{address: "192.0.2.2"}, "c", "elsewhere", limits)
		time.Sleep(10 * time.Second)
		for _, p := range w.procs {
			p.s.close()
			close(p.ended)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		at := map[string]addressed{}
		for _, x := range w.asks {
			at[x.host] = x
		}
		if len(refusing.settled) != 1 || len(other.settled) != 1 || len(elsewhere.settled) != 1 || len(at) != 3 {
			t.Fatalf("asked: %+v", w.asks)
		}
		end := at["refuses"].end
		if got := at["other"].begin.Sub(end); got != time.Second {
			t.Errorf("the other host was asked %v after the refusal", got)
		}
		if got := at["elsewhere"].begin.Sub(end); got >= time.Second {
			t.Errorf("the host at another address was asked %v after the refusal", got)
		}
		if last := w.log[len(w.log)-1]; last.AddressDelayMs != uint32(pause.Milliseconds()) {
			t.Errorf("the last turn ends with a pause of %d ms", last.AddressDelayMs)
		}
	})
}

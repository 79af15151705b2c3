package why

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"forager/schemas"
)

// drawCauses draws a crawl in which URLs may wait for anything.
func drawCauses(t *rapid.T) *crawl {
	return newCrawl(t, func(ctl *schemas.CrawlControl) {
		ctl.Budget = &schemas.Budget{Pages: rapid.SampledFrom([]uint64{5, 20, 10_000}).Draw(t, "pages"), Requests: rapid.SampledFrom([]uint64{0, 9}).Draw(t, "requests")}
		ctl.HostWindow, ctl.HostPatienceS = rapid.SampledFrom([]uint32{1, 2, 100}).Draw(t, "host window"), 60
		ctl.Scope.HostCap = rapid.SampledFrom([]uint32{0, 1, 2}).Draw(t, "cap")
		if rapid.Bool().Draw(t, "gate") {
			ctl.Policies[0].Gate = &schemas.Gate{Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE, Action: schemas.GateAction_GATE_ACTION_DROP, Threshold: .5}
		}
	})
}

// act takes a step of a crawl.
func (c *crawl) act(t *rapid.T, urls map[string]bool, flying map[string]bool) {
	draw := func() (links []string) {
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 99), 0, 12).Draw(t, "links") {
			u := page(fmt.Sprint("h", n%6), fmt.Sprint(n))
			urls[u] = true
			links = append(links, u)
		}
		return links
	}
	switch rapid.IntRange(0, 9).Draw(t, "step") {
	case 0:
		c.now = c.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "time"))
	case 1:
		c.ctl.Revision++
		c.ctl.State = rapid.SampledFrom([]schemas.CrawlState{schemas.CrawlState_CRAWL_STATE_RUNNING, schemas.CrawlState_CRAWL_STATE_PAUSED}).Draw(t, "state")
		c.ctl.Policies[0].Ranker = rapid.SampledFrom([]schemas.Ranker{schemas.Ranker_RANKER_SOFT_FOCUS, schemas.Ranker_RANKER_UNFOCUSED}).Draw(t, "ranker")
		c.configure()
	case 2, 3, 4:
		for _, u := range c.dispatch(rapid.IntRange(1, 4).Draw(t, "requests")) {
			flying[u] = true
		}
	default:
		if len(flying) == 0 {
			s := page("seed", fmt.Sprint(len(urls)))
			urls[s] = true
			c.seed(append([]string{s}, draw()...)...)
			return
		}
		u := rapid.SampledFrom(slices.Sorted(maps.Keys(flying))).Draw(t, "verdict")
		delete(flying, u)
		o := rapid.SampledFrom([]schemas.Outcome{1, 1, 1, 5, 8, 19, 20, 23}).Draw(t, "outcome")
		var links []string
		if o == schemas.Outcome_OUTCOME_DELIVERED {
			links = draw()
		}
		c.end(u, o, func(r *schemas.LinkFound) {
			r.FetchedAt = c.now.UnixMilli()
			if o == schemas.Outcome_OUTCOME_DEFERRED {
				r.Status = rapid.SampledFrom([]uint32{0, 429}).Draw(t, "status")
			}
			if r.Judgement != nil {
				r.Judgement.Raw = float64(rapid.IntRange(0, 4).Draw(t, "relevance")) / 4
			}
		}, links...)
	}
}

// TestCausesAreThoseOfEveryURL: the causes in the status of a crawl are the count of those of its URLs, asked one by one.
func TestCausesAreThoseOfEveryURL(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCauses(t)
		urls, flying := make(map[string]bool), make(map[string]bool)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			c.act(t, urls, flying)
		}
		got, hold := make(map[string]uint64), schemas.WaitCause(0)
		st := c.shard.Status(c.now)
		for _, w := range st.GetWaits() {
			if w.GetUrls() > 0 {
				got[schemas.WaitName(w.GetCause())] = w.GetUrls()
			}
			if schemas.Holds(w.GetCause()) {
				hold = w.GetCause()
			}
		}
		want := make(map[string]uint64)
		for u := range urls {
			a := c.ask(u, 1)
			if asked := a.State == Queued || a.State == Waiting; asked != (a.Cause != "") {
				t.Fatalf("%s is %s and waits for %q", u, a.State, a.Cause)
			}
			if cause := CauseUnder(a.Cause, hold); cause != "" {
				want[cause]++
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("the status has %v, the URLs %v", got, want)
		}
	})
}

// TestEachCause: what is done to a crawl is the cause that its status names at once, of all its URLs and of each of them.
func TestEachCause(t *testing.T) {
	const rest = 3
	var links []string
	for i := range rest {
		links = append(links, page("b", fmt.Sprint(i)))
	}
	seed := page("a", "s")
	failed := func(o schemas.Outcome, change func(*schemas.LinkFound)) func(*crawl) {
		return func(c *crawl) {
			c.dispatch(2)
			c.end(links[0], o, func(r *schemas.LinkFound) {
				r.FetchedAt = c.now.UnixMilli()
				if change != nil {
					change(r)
				}
			})
			c.end(links[1], schemas.Outcome_OUTCOME_DEFERRED, func(r *schemas.LinkFound) { r.NotBefore = c.now.Add(time.Hour).UnixMilli() })
		}
	}
	for _, k := range []struct {
		cause  schemas.WaitCause
		object string
		change func(*schemas.CrawlControl)
		do     func(*crawl)
		urls   uint64
	}{
		{cause: schemas.WaitCause_WAIT_CAUSE_WINDOW, urls: rest},
		{cause: schemas.WaitCause_WAIT_CAUSE_GATE, urls: rest, change: func(ctl *schemas.CrawlControl) {
			ctl.Policies[0].Gate = &schemas.Gate{Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE, Action: schemas.GateAction_GATE_ACTION_DROP, Threshold: .9}
		}},
		{cause: schemas.WaitCause_WAIT_CAUSE_HOST_CAP, urls: rest - 1, change: func(ctl *schemas.CrawlControl) { ctl.Scope.HostCap = 1 }, do: func(c *crawl) { c.dispatch(1) }},
		{cause: schemas.WaitCause_WAIT_CAUSE_STOPPED, urls: rest, do: func(c *crawl) { c.state(schemas.CrawlState_CRAWL_STATE_STOPPED) }},
		{cause: schemas.WaitCause_WAIT_CAUSE_BUDGET, urls: rest, change: func(ctl *schemas.CrawlControl) { ctl.Budget.Pages = 1 }},
		{cause: schemas.WaitCause_WAIT_CAUSE_PAUSED, urls: rest, do: func(c *crawl) { c.state(schemas.CrawlState_CRAWL_STATE_PAUSED) }},
		{cause: schemas.WaitCause_WAIT_CAUSE_OUTAGE, urls: rest, do: failed(schemas.Outcome_OUTCOME_NETWORK_UNREACHABLE, nil)},
		{cause: schemas.WaitCause_WAIT_CAUSE_STAGE, object: "apprentice-train", urls: rest, change: func(ctl *schemas.CrawlControl) {
			ctl.Policies[0].Ranker, ctl.Learning = schemas.Ranker_RANKER_APPRENTICE, &schemas.Learning{Sync: true, SwitchPages: 1, RefitPages: 1}
		}},
		{cause: schemas.WaitCause_WAIT_CAUSE_HOST_UNREACHABLE, object: "b.example", urls: rest, do: failed(schemas.Outcome_OUTCOME_HOST_UNREACHABLE, nil)},
		{cause: schemas.WaitCause_WAIT_CAUSE_RETRY, urls: 1, do: failed(schemas.Outcome_OUTCOME_TIMEOUT, nil)},
		{cause: schemas.WaitCause_WAIT_CAUSE_HOST_REFUSED, object: "b.example", urls: rest, do: failed(schemas.Outcome_OUTCOME_DEFERRED, func(r *schemas.LinkFound) { r.Status = 429 })},
		{cause: schemas.WaitCause_WAIT_CAUSE_ROBOTS, object: "b.example", urls: rest, do: failed(schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE, nil)},
		{cause: schemas.WaitCause_WAIT_CAUSE_HOST_PAUSE, object: "b.example", urls: rest, do: failed(schemas.Outcome_OUTCOME_DEFERRED, nil)},
		{cause: schemas.WaitCause_WAIT_CAUSE_HOST_PAUSE, urls: rest - 1, change: func(ctl *schemas.CrawlControl) { ctl.HostWindow = 1 }, do: func(c *crawl) { c.dispatch(1) }},
		{cause: schemas.WaitCause_WAIT_CAUSE_RANK, urls: rest - 1, change: func(ctl *schemas.CrawlControl) { ctl.Budget.Pages = 2 }},
	} {
		t.Run(schemas.WaitName(k.cause), func(t *testing.T) {
			c := newCrawl(t, k.change)
			c.seed(seed)
			c.dispatch(1)
			c.end(seed, schemas.Outcome_OUTCOME_DELIVERED, nil, links...)
			if k.do != nil {
				k.do(c)
			}
			st := c.shard.Status(c.now)
			i := slices.IndexFunc(st.GetWaits(), func(w *schemas.Wait) bool { return w.GetCause() == k.cause })
			if i < 0 || st.GetWaits()[i].GetUrls() != k.urls || st.GetWaits()[i].GetObject() != k.object {
				t.Fatalf("waits %v", st.GetWaits())
			}
			hold := schemas.WaitCause(0)
			if schemas.Holds(k.cause) {
				hold = k.cause
			}
			n := uint64(0)
			for _, u := range links {
				if CauseUnder(c.ask(u, 1).Cause, hold) == schemas.WaitName(k.cause) {
					n++
				}
			}
			if n != k.urls {
				t.Errorf("%d of the URLs wait for it, want %d", n, k.urls)
			}
		})
	}
}

// state changes the state of the crawl.
func (c *crawl) state(s schemas.CrawlState) {
	c.ctl.Revision++
	c.ctl.State = s
	c.configure()
}

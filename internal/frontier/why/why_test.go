package why

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/internal/frontier"
	"forager/internal/frontier/storage"
	"forager/internal/rank/apprentice"
	"forager/internal/web/scope"
	"forager/schemas"
)

// crawl drives a shard step by step.
type crawl struct {
	t     rapid.TB
	store storage.Store
	ctl   *schemas.CrawlControl
	scope *scope.Scope
	shard *frontier.Shard
	now   time.Time
	last  map[string]*schemas.FetchRequest // by URL
}

func newCrawl(t rapid.TB, change func(*schemas.CrawlControl)) *crawl {
	c := &crawl{t: t, store: frontier.NewMemory(), now: time.Unix(1000, 0), last: map[string]*schemas.FetchRequest{}, ctl: &schemas.CrawlControl{
		Crawl: "c", Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Budget: &schemas.Budget{Pages: 10_000}, Window: 1000, HostWindow: 100,
		Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}}, Learning: &schemas.Learning{}, Scope: &schemas.Scope{},
	}}
	if change != nil {
		change(c.ctl)
	}
	var err error
	if c.shard, err = frontier.Open(c.store, "c", 0); err != nil {
		t.Fatal(err)
	}
	c.configure()
	return c
}

func (c *crawl) configure() {
	c.t.Helper()
	var err error
	if c.scope, err = scope.New(c.ctl.GetScope(), nil); err != nil {
		c.t.Fatal(err)
	}
	if err := c.shard.Configure(c.ctl, c.scope, frontier.Options{RetryDelay: 10 * time.Second}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *crawl) apply(rec *schemas.LinkFound, links ...string) {
	c.t.Helper()
	for _, u := range links {
		rec.Links = append(rec.Links, &schemas.Link{Url: u, FirstLeaf: 1, LastLeaf: 1})
	}
	rec.Crawl = "c"
	if effects, err := c.shard.Apply(rec, c.now); err != nil || effects.Duplicate {
		c.t.Fatalf("%v, %v", effects, err)
	}
}

func (c *crawl) seed(links ...string) {
	c.t.Helper()
	c.apply(&schemas.LinkFound{Id: schemas.RequestID("c", "seeds:"+links[0], 0).Bytes(), Outcome: schemas.Outcome_OUTCOME_SEEDS}, links...)
}

// dispatch returns the URLs chosen, best first.
func (c *crawl) dispatch(most int) (urls []string) {
	c.t.Helper()
	requests, err := c.shard.Dispatch(c.now, most)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, r := range requests {
		urls = append(urls, r.GetUrl())
		c.last[r.GetUrl()] = r
	}
	return urls
}

// end applies a verdict on the last request for a URL.
func (c *crawl) end(url string, o schemas.Outcome, change func(*schemas.LinkFound), links ...string) {
	c.t.Helper()
	r := c.last[url]
	b, err := proto.Marshal(r)
	if err != nil || r == nil {
		c.t.Fatalf("%s: %v, %v", url, r, err)
	}
	rec := &schemas.LinkFound{Id: r.GetId(), Url: url, Request: b, Outcome: o}
	if o == schemas.Outcome_OUTCOME_DELIVERED {
		rec.Judgement = &schemas.Judgement{Raw: .5, Tempered: .5, Calibrated: .5}
		rec.Table = &schemas.LeafTable{Terms: []string{"read", "this"}, Leaves: []uint32{1}, LeafLengths: []uint32{2}, Tokens: []uint32{0, 1}}
	}
	if change != nil {
		change(rec)
	}
	c.apply(rec, links...)
}

func (c *crawl) ask(url string, depth uint32) *Answer {
	c.t.Helper()
	a, err := Ask(c.store, Question{Control: c.ctl, Scope: c.scope, URL: url, Depth: depth, Now: c.now})
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

// refused decides about a URL between two others.
func (c *crawl) refused(url string, depth uint32) *Refusal {
	c.t.Helper()
	other := Target{URL: page("never", "linked")}
	all, err := Refused(c.store, Question{Control: c.ctl, Scope: c.scope, Now: c.now}, []Target{other, {url, depth}, other})
	if err != nil || len(all) != 3 {
		c.t.Fatalf("%v, %v", all, err)
	}
	return all[1]
}

func page(host, name string) string { return "http://" + host + ".example/" + name }

// TestDecisions meets every decision once.
func TestDecisions(t *testing.T) {
	const delivered = schemas.Outcome_OUTCOME_DELIVERED
	s, x, y := page("a", "s"), page("a", "x"), page("b", "y")
	fetched := func(c *crawl, links ...string) {
		c.seed(s)
		c.dispatch(1)
		c.end(s, delivered, nil, links...)
	}
	failed := func(o schemas.Outcome, tries int) func(c *crawl) {
		return func(c *crawl) {
			fetched(c, y)
			for range tries {
				c.dispatch(1)
				c.end(y, o, nil)
				c.now = c.now.Add(time.Hour)
			}
		}
	}
	for _, k := range []struct {
		name   string
		change func(*schemas.CrawlControl)
		do     func(*crawl)
		url    string
		depth  uint32
		state  State
		rule   string // of the decision; empty = none
		words  string // in the sentence
	}{
		{name: "never linked", do: func(c *crawl) { fetched(c, x) }, url: y, depth: 1, state: Unknown, words: "would be queued"},
		{name: "no crawl yet", url: y, depth: 1, state: Unknown, words: "would be queued"},
		{name: "another host", change: func(c *schemas.CrawlControl) { c.Scope.Hosts = []string{"a.example"} }, do: func(c *crawl) { fetched(c, y) }, url: y, depth: 1, state: Unknown, rule: "scope", words: "scope.hosts"},
		{name: "another prefix", change: func(c *schemas.CrawlControl) { c.Scope.Prefixes = []string{"http://a."} }, url: y, depth: 1, state: Unknown, rule: "scope", words: "scope.prefixes"},
		{name: "too deep", change: func(c *schemas.CrawlControl) { c.Scope.MaxDepth = 1 }, url: y, depth: 2, state: Unknown, rule: "depth", words: "max_depth): 2"},
		{name: "not too deep", change: func(c *schemas.CrawlControl) { c.Scope.MaxDepth = 1 }, url: y, depth: 1, state: Unknown},
		{name: "long", url: page("a", strings.Repeat("x", 2050)), state: Unknown, rule: "trap", words: "2,048 bytes"},
		{name: "segments", url: page("a", strings.Repeat("a/b/c/d/e/f/", 4)), state: Unknown, rule: "trap", words: "24 segments"},
		{name: "repeats", url: page("a", strings.Repeat("a/b/", 5)), state: Unknown, rule: "trap", words: "repeated"},
		{name: "parameters", url: page("a", "?"+strings.Repeat("a=1&", 12)+"b"), state: Unknown, rule: "trap", words: "12 parameters"},
		{name: "excluded, unknown", change: func(c *schemas.CrawlControl) { c.Excludes = &schemas.Excludes{Urls: []string{"y$"}} }, url: y, depth: 1, state: Unknown, rule: "exclude", words: "exclude.urls: y$"},
		{name: "excluded", change: func(c *schemas.CrawlControl) { c.Excludes = &schemas.Excludes{Urls: []string{"y$"}} }, do: func(c *crawl) { fetched(c, y) }, url: y, state: Excluded, rule: "exclude", words: "exclude.urls: y$"},
		{name: "a full host, unknown", change: func(c *schemas.CrawlControl) { c.Scope.HostCap = 1 }, do: func(c *crawl) { fetched(c, x) }, url: x, depth: 1, state: Unknown, rule: "host-cap", words: "1 of 1 requests"},
		{name: "a full host", change: func(c *schemas.CrawlControl) { c.Scope.HostCap = 1 }, do: func(c *crawl) { c.seed(s, x); c.dispatch(1) }, url: x, state: Queued, rule: "host-cap", words: "1 of 1 requests"},
		{name: "gate", change: func(c *schemas.CrawlControl) {
			c.Policies[0].Gate = &schemas.Gate{Condition: schemas.GateCondition_GATE_CONDITION_BEST_TOPIC, Action: schemas.GateAction_GATE_ACTION_DROP}
		}, do: func(c *crawl) { fetched(c, y) }, url: y, state: Queued, rule: "gate", words: "not relevant enough"},
		{name: "queued", do: func(c *crawl) { fetched(c, x, y) }, url: y, state: Queued, words: "1 before it under p"},
		{name: "in flight", do: func(c *crawl) { fetched(c, y); c.dispatch(1) }, url: y, state: InFlight, words: "attempt 1"},
		{name: "waits", do: func(c *crawl) { fetched(c, y); c.dispatch(1); c.end(y, schemas.Outcome_OUTCOME_TIMEOUT, nil) }, url: y, state: Waiting, rule: "tries", words: "1 failed"},
		{name: "excluded after a request", do: func(c *crawl) {
			fetched(c, y)
			c.dispatch(1)
			c.end(y, schemas.Outcome_OUTCOME_TIMEOUT, nil)
			c.ctl.Revision, c.ctl.Excludes = 2, &schemas.Excludes{Urls: []string{"y$"}}
		}, url: y, state: Waiting, rule: "exclude", words: "1 failed"},
		{name: "its host waits", do: func(c *crawl) {
			fetched(c, y)
			c.dispatch(1)
			c.end(y, schemas.Outcome_OUTCOME_DEFERRED, func(r *schemas.LinkFound) { r.NotBefore = c.now.Add(time.Hour).UnixMilli() })
		}, url: y, state: Queued, rule: "pause", words: "left alone until"},
		{name: "its host does not answer", do: func(c *crawl) { fetched(c, y); c.dispatch(1); c.end(y, schemas.Outcome_OUTCOME_HOST_UNREACHABLE, nil) }, url: y, state: Queued, rule: "unreachable", words: "next try"},
		{name: "its host was given up", change: func(c *schemas.CrawlControl) { c.HostPatienceS = 60 }, do: failed(schemas.Outcome_OUTCOME_HOST_UNREACHABLE, 2), url: y, state: Queued, rule: "unreachable", words: "given up"},
		{name: "delivered", do: func(c *crawl) { fetched(c) }, url: s, state: Final, words: "delivered"},
		{name: "robots", do: failed(schemas.Outcome_OUTCOME_ROBOTS_DISALLOWED, 1), url: y, state: Final, rule: "robots", words: "robots-disallowed"},
		{name: "tries used up", do: failed(schemas.Outcome_OUTCOME_TIMEOUT, 3), url: y, state: Final, rule: "tries", words: "timeout"},
		{name: "a stage failed", do: failed(schemas.Outcome_OUTCOME_FAILED_PARSE_DOM, 1), url: y, state: Final, rule: "outcome", words: "failed:parse-dom"},
		{name: "its type is excluded", do: failed(schemas.Outcome_OUTCOME_EXCLUDED, 1), url: y, state: Final, rule: "exclude", words: "excluded"},
		{name: "redirects", do: func(c *crawl) {
			fetched(c, y)
			c.dispatch(1)
			c.end(y, schemas.Outcome_OUTCOME_REDIRECTED, func(r *schemas.LinkFound) { r.Redirect = x })
		}, url: y, state: Queued, words: "0 before it"},
		{name: "redirects to an excluded one", change: func(c *schemas.CrawlControl) { c.Excludes = &schemas.Excludes{Urls: []string{"x$"}} }, do: func(c *crawl) {
			fetched(c, y)
			c.dispatch(1)
			c.end(y, schemas.Outcome_OUTCOME_REDIRECTED, func(r *schemas.LinkFound) { r.Redirect = x })
		}, url: y, state: Excluded, rule: "exclude", words: "exclude.urls: x$"},
		{name: "redirects out of scope", change: func(c *schemas.CrawlControl) { c.Scope.Hosts = []string{"b.example", "a.example"} }, do: func(c *crawl) {
			fetched(c, y)
			c.dispatch(1)
			c.end(y, schemas.Outcome_OUTCOME_REDIRECTED, func(r *schemas.LinkFound) { r.Redirect = page("c", "z") })
		}, url: y, state: Final, rule: "redirect", words: "redirected"},
	} {
		t.Run(k.name, func(t *testing.T) {
			c := newCrawl(t, k.change)
			if k.do != nil {
				k.do(c)
			}
			a := c.ask(k.url, k.depth)
			rule, change := "", "none"
			if d := a.Deciding(); d != nil {
				rule, change = d.Rule, d.Change
			}
			if a.State != k.state || rule != k.rule || !strings.Contains(a.Sentence(), k.words) {
				t.Errorf("%s, rule %q: %s\n%+v", a.State, rule, a.Sentence(), a)
			}
			if change == "" && rule != "exclude" && rule != "redirect" {
				t.Error("the answer has nothing that would change it")
			}
			refused := a.Attempts == 0 && len(a.Redirects) == 0 && slices.Contains([]string{"exclude", "scope", "depth", "trap", "host-cap", "gate"}, rule)
			if r := c.refused(k.url, k.depth); (r != nil) != refused || refused && *r != (Refusal{k.state, a.Depth, rule, a.Deciding().Reason}) {
				t.Errorf("among others refused is %+v", r)
			}
		})
	}
}

// TestPriorityIsNamed: the rule that puts a queued URL after the others is among the decisions.
func TestPriorityIsNamed(t *testing.T) {
	c := newCrawl(t, func(ctl *schemas.CrawlControl) { ctl.Priority = &schemas.HostPriority{Last: []string{"b.example"}} })
	x, y := page("a", "x"), page("b", "y")
	c.seed(y, x)
	for url, want := range map[string]bool{x: false, y: true} {
		a := c.ask(url, 0)
		named := slices.ContainsFunc(a.Decisions, func(d Decision) bool {
			return d.Rule == "priority" && d.Passed && strings.Contains(d.Reason, "priority.last: b.example")
		})
		if before := a.Places[0].Before; named != want || (before == 1) != want {
			t.Errorf("%s: %d before it, %+v", url, before, a.Decisions)
		}
	}
}

// TestLinks: the pages that link to a queued URL, with the words of the links.
func TestLinks(t *testing.T) {
	c := newCrawl(t, nil)
	x, named := page("b", "x"), page("b", "named")
	var pages []string
	for i := range 30 {
		pages = append(pages, page("a", fmt.Sprint(i)))
	}
	c.seed(append(pages, x)...)
	c.dispatch(30)
	for i, p := range pages[:2] {
		c.end(p, schemas.Outcome_OUTCOME_DELIVERED, func(r *schemas.LinkFound) { r.Judgement.Raw = float64(i+1) / 4 }, x, named)
	}
	a := c.ask(x, 0)
	want := []Link{{}, {From: pages[0], Relevance: .25, Words: "read this"}, {From: pages[1], Relevance: .5, Words: "read this"}}
	for i := range a.Links {
		a.Links[i].Best = false
	}
	if !slices.Equal(a.Links, want) || a.MoreLinks {
		t.Errorf("links %+v", a.Links)
	}
	if a := c.ask(named, 0); len(a.Links) != 2 || !a.Links[1].Best || a.Links[0].Best {
		t.Errorf("links %+v", a.Links)
	}
	for _, p := range pages[2:] {
		c.end(p, schemas.Outcome_OUTCOME_DELIVERED, nil, x)
	}
	if a := c.ask(x, 0); len(a.Links) != mostLinks || !a.MoreLinks {
		t.Errorf("%d links, more %t", len(a.Links), a.MoreLinks)
	}
}

// TestPlace: of a queue that is read whole the number of entries before a place is that of the requests before it; of a large one it is near.
func TestPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCrawl(t, func(ctl *schemas.CrawlControl) { ctl.Policies[0].Ranker = schemas.Ranker_RANKER_SOFT_FOCUS })
		seeds := []string{page("s", "1"), page("s", "2"), page("s", "3")}
		c.seed(seeds...)
		c.dispatch(3)
		urls := make(map[string]bool)
		for _, s := range seeds {
			var links []string
			for _, n := range rapid.SliceOfDistinct(rapid.IntRange(0, 400), rapid.ID).Draw(t, "links") {
				links = append(links, page(fmt.Sprint("h", n%23), fmt.Sprint(n)))
				urls[links[len(links)-1]] = true
			}
			c.end(s, schemas.Outcome_OUTCOME_DELIVERED, func(r *schemas.LinkFound) {
				r.Judgement.Raw = float64(rapid.IntRange(0, 3).Draw(t, "relevance")) / 4
			}, links...)
		}
		before := make(map[string]Place)
		for u := range urls {
			before[u] = c.ask(u, 0).Places[0]
		}
		for i, u := range c.dispatch(len(urls) + 1) {
			if p := before[u]; !p.Exact || p.Before != uint64(i) {
				t.Fatalf("%s was requested after %d others, foretold %+v", u, i, p)
			}
		}
	})
}

// TestPlaceInALargeQueue: the estimate from some of the hosts is near the number.
func TestPlaceInALargeQueue(t *testing.T) {
	const hosts, each = 6000, 12
	c := newCrawl(t, nil)
	c.seed(page("s", ""))
	c.dispatch(1)
	var links []string
	for i := range hosts * each {
		links = append(links, page(fmt.Sprint("h", i%hosts), fmt.Sprint(i)))
	}
	c.end(page("s", ""), schemas.Outcome_OUTCOME_DELIVERED, nil, links...)
	for _, at := range []int{hosts * each / 2, hosts*each - 1} {
		p := c.ask(links[at], 0).Places[0]
		if p.Exact || float64(p.Before) < .9*float64(at) || float64(p.Before) > 1.1*float64(at) {
			t.Errorf("%d are before it, estimated %+v", at, p)
		}
	}
}

// TestDeciding: what refuses a URL comes before what holds it back, and an outage of all before the pause of a host.
func TestDeciding(t *testing.T) {
	failed := func(rules ...string) *Answer {
		a := &Answer{State: Unknown, Decisions: []Decision{{Rule: "exclude", Passed: true}}}
		for _, r := range rules {
			a.Decisions = append(a.Decisions, Decision{Rule: r, Reason: "by " + r})
		}
		return a
	}
	for _, c := range []struct{ rules, want, sentence string }{
		{"pause crawl", "crawl", "wait: by crawl"}, {"pause scope crawl", "scope", "would refuse it: by scope"}, {"pause", "pause", "wait: by pause"},
		{"unreachable pause", "unreachable", "wait: by unreachable"}, {"host-cap gate", "host-cap", "would refuse it: by host-cap"},
	} {
		a := failed(strings.Fields(c.rules)...)
		if d := a.Deciding(); d.Rule != c.want || !strings.Contains(a.Sentence(), c.sentence) {
			t.Errorf("%s: %s; %s", c.rules, d.Rule, a.Sentence())
		}
	}
	if a := failed(); a.Deciding() != nil {
		t.Errorf("nothing failed, and %v decides", a.Deciding())
	}
}

// TestATierThatWaitsForItsScores: a URL of a tier that no model has scored yet is explained without a model.
func TestATierThatWaitsForItsScores(t *testing.T) {
	c := newCrawl(t, func(ctl *schemas.CrawlControl) {
		ctl.Policies = []*schemas.Policy{{Name: "gated", Ranker: schemas.Ranker_RANKER_APPRENTICE, Gate: &schemas.Gate{
			Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE, Action: schemas.GateAction_GATE_ACTION_DEFER, Threshold: .6,
		}}}
		ctl.Learning = &schemas.Learning{Sync: true, SwitchPages: 50}
	})
	good, x, y := page("a", "good"), page("a", "x"), page("b", "y")
	c.seed(good, page("b", "bad"))
	for _, u := range c.dispatch(2) {
		if u == good {
			c.end(u, schemas.Outcome_OUTCOME_DELIVERED, func(r *schemas.LinkFound) { r.Judgement.Raw = .9 }, x)
		} else {
			c.end(u, schemas.Outcome_OUTCOME_DELIVERED, nil, y)
		}
	}
	counts := apprentice.NewCounts()
	if err := counts.Add([]*schemas.Feature{{Term: "read", Offset: schemas.NoOffset, Count: 1}}, 1); err != nil {
		t.Fatal(err)
	}
	if err := c.shard.SetModel("m/1", counts.Model(), 2); err != nil {
		t.Fatal(err)
	}
	if got := c.dispatch(1); !slices.Equal(got, []string{x}) {
		t.Fatalf("chosen is %v", got)
	}
	if a := c.ask(y, 1); a.State != Queued || len(a.Places) != 1 || a.Places[0].Model != "" {
		t.Errorf("why is y queued: %+v", a)
	}
}

// TestValue: the score under a ranker that learns is explained by what it has learned, by the pages that link to the URL.
func TestValue(t *testing.T) {
	c := newCrawl(t, func(ctl *schemas.CrawlControl) {
		ctl.Policies = append([]*schemas.Policy{{Name: "value", Ranker: schemas.Ranker_RANKER_LINK_VALUE}}, ctl.Policies...)
		ctl.Mixture = new(schemas.Mixture)
	})
	x := page("b", "x")
	var pages []string
	for i := range 12 {
		pages = append(pages, page("a", fmt.Sprint(i)))
	}
	c.seed(pages...)
	c.dispatch(12)
	for i, p := range pages {
		c.end(p, schemas.Outcome_OUTCOME_DELIVERED, func(r *schemas.LinkFound) { r.Judgement.Calibrated = float64(i) / 12 }, page("b", fmt.Sprint(i)), x)
	}
	a := c.ask(x, 0)
	v := a.Places[0].Value
	if v == nil || a.Places[1].Value != nil {
		t.Fatalf("places %+v", a.Places)
	}
	worth := v.Relevance + v.Behind/2
	if score := a.Places[0].Score; score != worth/(1+worth) {
		t.Errorf("the score is %v, explained by %+v", score, v)
	}
	for _, p := range v.Parts {
		if p.Feature == "relevance" && (p.From != pages[11] || p.Amount != 11./12) {
			t.Errorf("part %+v", p)
		}
		if p.Feature == "sources" && p.From != "" {
			t.Errorf("part %+v", p)
		}
	}
	if a := c.ask(pages[0], 0); len(a.Places) > 0 {
		t.Errorf("places of a fetched page %+v", a.Places)
	}
}

package audit_test

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/internal/audit"
	"forager/internal/audit/audittest"
	"forager/internal/frontier"
	"forager/internal/rank/distill"
	"forager/internal/web/scope"
	"forager/schemas"
)

// crawled is the evidence of a small crawl of a random web: the frontier decides, responses come in any order.
// Everything is consistent: every difference that the audit reports is an error of the audit.
func crawled(t *rapid.T) *audittest.Evidence {
	c := newCrawl(t)
	for range 10_000 {
		requests, err := c.shard.Dispatch(c.now, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range requests {
			c.e.Requests = append(c.e.Requests, proto.CloneOf(r))
		}
		c.flying = append(c.flying, requests...)
		if len(c.flying) == 0 {
			if _, over := c.shard.Finished(); over {
				if failed := c.failed(); len(failed) > 0 && rapid.Bool().Draw(t, "replay") {
					c.apply(replayOf(rapid.SampledFrom(failed).Draw(t, "replayed")))
					continue
				}
				return c.evidence()
			}
			at, ok := c.shard.Wake(c.now)
			if !ok {
				t.Fatal("nothing is in flight, nothing waits, and the crawl has not finished")
			}
			c.now = at
			continue
		}
		i := rapid.IntRange(0, len(c.flying)-1).Draw(t, "answered")
		r := c.flying[i]
		c.flying = append(c.flying[:i], c.flying[i+1:]...)
		c.apply(c.answer(r))
	}
	t.Fatal("the crawl does not end")
	return nil
}

// open is a scope that contains everything.
var open = func() *scope.Scope {
	s, err := scope.New(new(schemas.Scope), nil)
	if err != nil {
		panic(err)
	}
	return s
}()

func known(topic string) bool { return slices.Contains(audit.Audited, topic) }

type crawl struct {
	t      *rapid.T
	e      *audittest.Evidence
	shard  *frontier.Shard
	now    time.Time
	flying []*schemas.FetchRequest
	pages  map[string]*webPage
	urls   []string
}

// webPage responds with its outcomes one after another, and repeats the last one.
type webPage struct {
	outcomes []schemas.Outcome
	target   string
	links    []string
	raw      float64
}

func newCrawl(t *rapid.T) *crawl {
	c := &crawl{t: t, now: time.UnixMilli(1_000_000), pages: make(map[string]*webPage)}
	hosts := rapid.IntRange(1, 4).Draw(t, "hosts")
	for i := range rapid.IntRange(2, 25).Draw(t, "urls") {
		c.urls = append(c.urls, fmt.Sprintf("http://h%d.example/%d", i%hosts, i))
	}
	url := rapid.SampledFrom(c.urls)
	for _, u := range c.urls {
		p := &webPage{raw: rapid.Float64Range(0, 1).Draw(t, "R")}
		for range rapid.IntRange(0, 2).Draw(t, "bad answers") {
			p.outcomes = append(p.outcomes, rapid.SampledFrom([]schemas.Outcome{
				schemas.Outcome_OUTCOME_TIMEOUT, schemas.Outcome_OUTCOME_DEFERRED, schemas.Outcome_OUTCOME_SERVER_ERROR, schemas.Outcome_OUTCOME_FAILED_PARSE_DOM,
			}).Draw(t, "bad answer"))
		}
		last := rapid.SampledFrom([]schemas.Outcome{
			schemas.Outcome_OUTCOME_DELIVERED, schemas.Outcome_OUTCOME_DELIVERED, schemas.Outcome_OUTCOME_REDIRECTED, schemas.Outcome_OUTCOME_REDIRECTED,
			schemas.Outcome_OUTCOME_CLIENT_ERROR, schemas.Outcome_OUTCOME_FAILED_PARSE_DOM, schemas.Outcome_OUTCOME_TIMEOUT,
		}).Draw(t, "answer")
		p.outcomes = append(p.outcomes, last)
		switch last {
		case schemas.Outcome_OUTCOME_REDIRECTED:
			if p.target = url.Draw(t, "target"); rapid.IntRange(0, 9).Draw(t, "away") == 0 {
				p.target = "http://elsewhere.example/"
			}
		case schemas.Outcome_OUTCOME_DELIVERED:
			p.links = rapid.SliceOfNDistinct(url, 0, min(6, len(c.urls)), rapid.ID).Draw(t, "links")
		}
		c.pages[u] = p
	}
	ctl := &schemas.CrawlControl{
		Crawl: "c", Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Focus: []string{"x"}, Critic: "k/1",
		Budget:   &schemas.Budget{Pages: uint64(rapid.IntRange(1, 40).Draw(t, "pages")), Requests: uint64(rapid.IntRange(0, 40).Draw(t, "requests"))},
		Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}},
		Scope: &schemas.Scope{
			Prefixes: []string{"http://h"}, MaxDepth: uint32(rapid.IntRange(0, 3).Draw(t, "depth")), HostCap: uint32(rapid.SampledFrom([]int{0, 0, 3, 6}).Draw(t, "cap")),
		},
		Window: uint32(rapid.IntRange(0, 5).Draw(t, "window")), HostWindow: uint32(rapid.IntRange(0, 2).Draw(t, "host window")),
		Learning:    &schemas.Learning{Pairs: rapid.SampledFrom([]schemas.Pairs{schemas.Pairs_PAIRS_BOTH, schemas.Pairs_PAIRS_FORWARD}).Draw(t, "pairs")},
		MaxAttempts: uint32(rapid.IntRange(0, 3).Draw(t, "attempts")),
	}
	if rapid.Bool().Draw(t, "shadowed") {
		gate := &schemas.Gate{Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE, Action: schemas.GateAction_GATE_ACTION_DROP, Threshold: .5}
		ctl.RankerShadows = []*schemas.Policy{
			{Name: "dropping", Ranker: schemas.Ranker_RANKER_UNFOCUSED, Gate: gate}, {Name: "random", Ranker: schemas.Ranker_RANKER_RANDOM},
		}
	}
	sc, err := scope.New(ctl.GetScope(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.shard, err = frontier.Open(frontier.NewMemory(), "c", 0); err != nil {
		t.Fatal(err)
	}
	if err := c.shard.Configure(ctl, sc, frontier.Options{Epoch: 1, RetryDelay: time.Second}); err != nil {
		t.Fatal(err)
	}
	c.e = &audittest.Evidence{Case: audit.Case{Control: ctl, Scope: sc}, Pages: make(map[schemas.ID]audit.StoredPage), Tables: make(audittest.Tables)}
	for _, seeds := range rapid.SliceOfN(rapid.SliceOfN(url, 1, 3), 1, 2).Draw(t, "seeds") {
		c.apply(schemas.SeedPage("c", seeds))
	}
	return c
}

// failed returns the requests that no stage could handle and that were not replayed.
func (c *crawl) failed() []*schemas.FetchRequest {
	asked := make(map[string]bool)
	for _, v := range c.e.Verdicts {
		asked[string(v.GetReplay())] = true
	}
	var failed []*schemas.FetchRequest
	for _, r := range c.e.Requests {
		i := slices.IndexFunc(c.e.Verdicts, func(v *schemas.LinkFound) bool { return string(v.GetId()) == string(r.GetId()) })
		if i >= 0 && schemas.Failed(c.e.Verdicts[i].GetOutcome()) && !asked[string(r.GetId())] {
			failed = append(failed, r)
		}
	}
	return failed
}

// replayOf requests one more attempt at a request.
func replayOf(r *schemas.FetchRequest) *schemas.LinkFound {
	id := schemas.LeapID("c", "replay", audit.HexOf(r.GetId()))
	return &schemas.LinkFound{Id: id.Bytes(), Crawl: "c", Url: r.GetUrl(), Outcome: schemas.Outcome_OUTCOME_REPLAY, Replay: r.GetId()}
}

// answer makes the verdict on a request and the records of the stages before it.
func (c *crawl) answer(r *schemas.FetchRequest) *schemas.LinkFound {
	p := c.pages[r.GetUrl()]
	outcome := p.outcomes[min(int(r.GetAttempt()), len(p.outcomes))-1]
	request, err := proto.Marshal(r)
	if err != nil {
		c.t.Fatal(err)
	}
	v := &schemas.LinkFound{Id: r.GetId(), Crawl: "c", Request: request, Url: r.GetUrl(), Outcome: outcome, FetchedAt: 5}
	f := &schemas.PageFetched{Id: r.GetId(), Crawl: "c", Url: r.GetUrl(), Outcome: outcome}
	switch outcome {
	case schemas.Outcome_OUTCOME_DELIVERED:
		v.Judgement = &schemas.Judgement{Raw: p.raw, Tempered: p.raw / 2, Calibrated: p.raw / 4, BestIsFocus: p.raw > .5, Critic: "k/1", Marking: 3}
		if p.raw > .5 {
			v.Judgement.Degraded, v.Judgement.Shadows = "timeout", []*schemas.Shadow{{Critic: "l/1", Raw: p.raw / 3}, {Critic: "m/1", Failure: "away"}}
		}
		for _, l := range p.links {
			v.Links = append(v.Links, &schemas.Link{Url: l})
		}
		f.Object, f.Digest, f.Length = "segments/x", "sha1:"+r.GetUrl(), 10
		c.e.Pages[schemas.ID(r.GetId())] = audit.StoredPage{URL: r.GetUrl(), Digest: f.Digest}
	case schemas.Outcome_OUTCOME_REDIRECTED:
		v.Redirect, f.Redirect = p.target, p.target
	}
	c.e.Fetched = append(c.e.Fetched, f)
	c.e.Judged = append(c.e.Judged, &schemas.PageJudged{Id: r.GetId(), Crawl: "c", Outcome: outcome, Judgement: v.Judgement})
	return v
}

func (c *crawl) apply(v *schemas.LinkFound) {
	c.e.Verdicts = append(c.e.Verdicts, proto.CloneOf(v))
	effects, err := c.shard.Apply(v, c.now)
	if err != nil {
		c.t.Fatal(err)
	}
	c.e.Leaps = append(c.e.Leaps, effects.Settled...)
}

// evidence adds the contents of ClickHouse and crawl.status.
func (c *crawl) evidence() *audittest.Evidence {
	st := c.shard.Status(c.now)
	for _, topic := range []string{schemas.TopicPageFetched, schemas.TopicPageParsed, schemas.TopicPageJudged} {
		st.Spans[topic] = spanOf(c.e.Fetched)
	}
	for _, f := range c.e.Fetched {
		c.e.Parsed = append(c.e.Parsed, schemas.ID(f.GetId()))
	}
	c.e.Statuses = []*schemas.CrawlStatus{st}
	for _, topic := range audit.Audited {
		s := st.GetSpans()[topic]
		c.e.Topics = append(c.e.Topics, audit.Topic{Topic: topic, Way: audit.ByRecords})
		c.e.Tables["books"] = append(c.e.Tables["books"], []string{topic, strconv.FormatUint(s.GetCount(), 10), schemas.ID(s.GetXor()).String()})
	}
	c.rank()
	c.rejudge()
	c.e.Tables = rowsOf(c.e)
	return c.e
}

// rowsOf returns ClickHouse's rows of the records.
func rowsOf(e *audittest.Evidence) audittest.Tables {
	t := audittest.Tables{"books": e.Tables["books"]}
	seen := make(map[string]bool)
	add := func(table string, row []string) {
		if !seen[table+row[0]] {
			seen[table+row[0]] = true
			t[table] = append(t[table], row)
		}
	}
	for _, r := range e.Requests {
		add("requests", audit.RequestRow(r))
	}
	for _, f := range e.Fetched {
		add("fetches", audit.FetchRow(f))
	}
	for _, r := range e.Judged {
		add("judgements", audit.JudgementRow(r))
	}
	for _, v := range e.Verdicts {
		add("found", audit.FoundRow(v, len(v.GetLinks())))
		for _, l := range v.GetLinks() {
			add("links", audit.LinkRow(v, l))
		}
	}
	for _, l := range e.Leaps {
		if !l.GetBoundary() {
			add("leaps", audit.LeapRow(l))
		}
	}
	for _, h := range e.Rankings {
		for _, row := range audit.HubRows(h) {
			add("hubs", row)
		}
	}
	for _, m := range e.Rejudged {
		add("rejudgements", audit.RejudgedRow(m))
	}
	return t
}

func judged(t interface{ Fatal(...any) }, e *audittest.Evidence) *audit.Result {
	r, err := e.Judge(audit.NewMemoryStore())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rank adds the rankings of hubs that the topic retains.
func (c *crawl) rank() {
	g, err := distill.OpenGraph(frontier.NewMemory(), []byte("hubs"))
	if err != nil {
		c.t.Fatal(err)
	}
	settings := distill.Default
	settings.ByHost, settings.Marked = true, 2
	for i, v := range c.e.Verdicts {
		before := g.Pages()
		if err := g.Note(v, int64(i)); err != nil {
			c.t.Fatal(err)
		}
		if g.Pages() == before || rapid.Bool().Draw(c.t, "compacted") {
			continue
		}
		h, err := g.Hubs(c.t.Context(), "c", 0, settings)
		if err != nil {
			c.t.Fatal(err)
		}
		c.e.Rankings = append(c.e.Rankings, h)
	}
}

// rejudge adds judgements of pages by two further critics, some of them twice.
func (c *crawl) rejudge() {
	for _, f := range c.e.Fetched {
		if f.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED {
			continue
		}
		for range rapid.IntRange(0, 3).Draw(c.t, "judged again") {
			r := rapid.Float64Range(0, 1).Draw(c.t, "relevance")
			c.e.Rejudged = append(c.e.Rejudged, &schemas.PageRejudged{
				Request: f.GetId(), Crawl: "c", Focus: rapid.SampledFrom([]string{"A/B", "A/B, C d"}).Draw(c.t, "focus"),
				Judgement: &schemas.Judgement{
					Critic: rapid.SampledFrom([]string{"k/1", "k/2"}).Draw(c.t, "critic"), Raw: r, Tempered: r / 2, Calibrated: r / 3, BestIsFocus: r > .5,
					Topics: []*schemas.TopicScore{{Topic: "A/B", Tempered: r}, {Topic: "C d", Tempered: 1 - r}},
				},
			})
		}
	}
}

func spanOf(all []*schemas.PageFetched) *schemas.TopicSpan {
	s := &schemas.TopicSpan{Xor: make([]byte, 16)}
	for _, f := range all {
		s.Count++
		s.Xor = schemas.ID(f.GetId()).Xor(s.Xor)
	}
	return s
}

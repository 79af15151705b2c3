package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/progress"
	"forager/schemas"
)

// Result is the result of an audit.
type Result struct {
	Crawl string `json:"crawl"`
	OK    bool   `json:"ok"`
	// Figures in the order in which they were computed.
	Figures []Figure `json:"figures"`
	// Ways describe how each topic was checked.
	Ways []Topic `json:"ways"`
	// Running: the crawl runs, and the audit covers the topics up to the ends in Ways.
	Running bool `json:"running,omitempty"`
	// Sampled is the sample of pages, rows and leaps that was compared; nil = all.
	Sampled *Sample `json:"sampled,omitempty"`
	// Themselves are the tables that were compared with themselves, as no other copy of their contents is retained.
	Themselves []string `json:"compared_with_themselves,omitempty"`
	// Problems are the differences, each naming its record; at most MaxProblems, More are left out.
	Problems []string `json:"problems,omitempty"`
	More     int      `json:"more_problems,omitempty"`
}

// Figure is a number computed by an audit.
type Figure struct {
	Name  string `json:"name"`
	Value int    `json:"value"`
}

// MaxProblems is the largest number of differences that are described.
const MaxProblems = 50

func (r *Result) figure(name string, value int) {
	r.Figures = append(r.Figures, Figure{name, value})
}

// Detects is the probability that an audit by samples finds damage to n records of one kind.
func (r *Result) Detects(n int) float64 {
	if r.Sampled == nil {
		return 1
	}
	return 1 - math.Pow(1-r.Sampled.Share, float64(n))
}

func (r *Result) problem(format string, args ...any) {
	r.OK = false
	if len(r.Problems) < MaxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	} else {
		r.More++
	}
}

// judge is the state of an audit.
type judge struct {
	Case
	*Result
	scratch
	src Source
	// found and unreadable count records by topic; books has ClickHouse's counts.
	found, unreadable, books map[string]Count
	distinct, copies, rows   map[string]int
	void                     int
	// tally is the recount of the verdicts.
	tally tally
	fates *fates
	end   func() // of the task whose progress is shown
}

// expectedReads estimates the number of records and rows to read.
func (c *Case) expectedReads() (n int64) {
	for _, st := range c.Statuses {
		n += int64(st.GetLinks())
		for _, span := range st.GetSpans() {
			n += 2 * int64(span.GetCount())
		}
	}
	return n
}

// tally is a recount of verdicts.
type tally struct {
	dispatched, pages, requests, queries, settled uint64
	relevance                                     float64
	outcomes                                      map[string]uint64
}

// Audit compares the data of a source. store must be empty, and is left empty.
func Audit(ctx context.Context, c Case, src Source, store Store) (*Result, error) {
	j := &judge{
		end: func() {}, Case: c, Result: &Result{Crawl: c.Control.GetCrawl(), OK: true, Sampled: c.Sample, Running: c.Taken != nil}, scratch: scratch{ctx: ctx, kv: store}, src: src,
		found: make(map[string]Count), unreadable: make(map[string]Count), books: make(map[string]Count),
		distinct: make(map[string]int), copies: make(map[string]int), rows: make(map[string]int),
		tally: tally{outcomes: make(map[string]uint64)},
	}
	j.ctx, j.end = progress.Start(ctx, "reading topics and tables", j.expectedReads())
	defer func() { j.end() }()
	if err := j.load(); err != nil {
		return nil, err
	}
	j.end()
	j.ctx, j.end = progress.Start(ctx, "comparing", 0)
	j.dispatches()
	j.journeys()
	j.recount()
	if err := j.store(); err != nil {
		return nil, err
	}
	j.limits()
	j.flights()
	j.fates = newFates(&j.Case, &j.scratch)
	j.fates.read()
	j.ledger()
	j.hubs()
	j.status()
	j.counts()
	j.tables()
	if j.err = cmp.Or(j.err, ctx.Err()); j.err != nil {
		return nil, j.err
	}
	slices.Sort(j.Problems)
	others := j.Figures
	j.Figures = nil
	j.readFigures()
	j.Figures = append(j.Figures, others...)
	return j.Result, nil
}

// journeys checks that every request has a verdict, and each journey.
func (j *judge) journeys() {
	open := 0
	j.each(kindRequest).all(func(e entry) {
		r := new(schemas.FetchRequest)
		j.decode(e.value, r)
		id := e.id()
		j.tally.dispatched++
		v := j.answer(id)
		deferred := v != nil && schemas.Deferred(v.GetOutcome())
		j.put(keyOf(kindHost, named(r.GetHost()), id[:]), fmt.Append(nil, deferred))
		if reason := j.Scope.Check(r.GetUrl(), r.GetDepth()); reason != "" {
			j.problem("%s was asked for at depth %d, which the scope refuses: %s", r.GetUrl(), r.GetDepth(), reason)
		}
		if v == nil {
			open++
			if j.finished() {
				j.problem("request %s for %s has no verdict in link.found", id, r.GetUrl())
			}
			return
		}
		j.journey(id, r, v)
	})
	for topic, kind := range map[string]byte{
		schemas.TopicPageFetched: kindFetched, schemas.TopicPageJudged: kindJudged, schemas.TopicLinkFound: kindVerdict,
	} {
		j.each(kind).all(func(e entry) {
			id := e.id()
			if !j.has(keyOf(kindRequest, id[:])) && (kind != kindVerdict || j.answer(id) != nil) {
				j.problem("%s: record %s answers no request", topic, id)
			}
		})
	}
	j.figure("requests without a verdict", open)
}

// journey checks the records of a request that has a verdict.
func (j *judge) journey(id schemas.ID, r *schemas.FetchRequest, v *schemas.LinkFound) {
	if v.GetUrl() != r.GetUrl() {
		j.problem("request %s is for %s, its verdict is on %s", id, r.GetUrl(), v.GetUrl())
	}
	f, g := j.fetched(id), j.judged(id)
	switch {
	case f == nil:
		j.problem("request %s for %s has a verdict, but no record in page.fetched", id, r.GetUrl())
		return
	case g == nil:
		j.problem("request %s for %s has a verdict, but no record in page.judged", id, r.GetUrl())
		return
	}
	if !follows(f.GetOutcome(), g.GetOutcome()) || !follows(g.GetOutcome(), v.GetOutcome()) {
		j.problem("request %s for %s is %s in page.fetched, %s in page.judged and %s in link.found", id, r.GetUrl(),
			schemas.OutcomeName(f.GetOutcome()), schemas.OutcomeName(g.GetOutcome()), schemas.OutcomeName(v.GetOutcome()))
	}
	if v.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
		if !j.sameJudgement(v.GetJudgement(), g.GetJudgement()) {
			j.problem("request %s for %s: its judgement in link.found is not that of page.judged", id, r.GetUrl())
		}
		j.put(keyOf(kindDelivered, []byte(r.GetUrl())), id[:])
	}
	if v.GetStatus() != f.GetStatus() || v.GetRedirect() != f.GetRedirect() {
		j.problem("request %s for %s: status or redirect of link.found is not that of page.fetched", id, r.GetUrl())
	}
}

// delivered returns the verdict on a delivered page; nil if there is none.
func (j *judge) delivered(url string) *schemas.LinkFound {
	id, ok := j.get(keyOf(kindDelivered, []byte(url)))
	if !ok {
		return nil
	}
	return j.verdict(schemas.ID(id))
}

// recount adds up the verdicts.
func (j *judge) recount() {
	asked := 0
	t := &j.tally
	j.each(kindVerdict).all(func(e entry) {
		v := new(schemas.LinkFound)
		j.decode(e.value[8:], v)
		switch schemas.FoundIn(v).(type) {
		case schemas.Replay:
			asked++
			return
		case schemas.Seeds, schemas.Retry:
			return
		}
		t.outcomes[schemas.OutcomeName(v.GetOutcome())]++
		c := schemas.Outcomes[v.GetOutcome()]
		if c.Page {
			t.pages++
			t.relevance += v.GetJudgement().GetRaw()
		}
		if c.Request {
			t.requests++
		}
		t.queries += uint64(v.GetJudgement().GetBacklinks().GetQueries())
	})
	j.figure("replays asked for", asked)
}

// sameJudgement compares two judgements, as far as both are complete.
func (j *judge) sameJudgement(found, judged *schemas.Judgement) bool {
	if j.byCounts(schemas.TopicPageJudged) || j.byCounts(schemas.TopicLinkFound) {
		return found.GetRaw() == judged.GetRaw() && found.GetTempered() == judged.GetTempered() && found.GetCalibrated() == judged.GetCalibrated() && found.GetBestIsFocus() == judged.GetBestIsFocus()
	}
	return proto.Equal(found, judged)
}

// follows reports whether outcome next of a later stage is possible after outcome before of an earlier one.
func follows(before, next schemas.Outcome) bool {
	switch next {
	case schemas.Outcome_OUTCOME_FAILED_PARSE_DOM, schemas.Outcome_OUTCOME_FAILED_CRITIC_SCORE, schemas.Outcome_OUTCOME_FAILED_FEATURE_EXTRACT:
		return true
	case schemas.Outcome_OUTCOME_EXCLUDED: // parse-dom excludes pages
		return before == next || before == schemas.Outcome_OUTCOME_DELIVERED
	}
	return before == next
}

// finished reports whether every shard has ended.
func (c *Case) finished() bool {
	return !slices.ContainsFunc(c.Statuses, func(s *schemas.CrawlStatus) bool { return s.GetState() != schemas.ShardState_SHARD_STATE_FINISHED })
}

// sum adds up the statuses of the shards.
func sum(shards []*schemas.CrawlStatus) *schemas.CrawlStatus {
	all := &schemas.CrawlStatus{Outcomes: make(map[string]uint64)}
	for _, s := range shards {
		all.Dispatched += s.GetDispatched()
		all.InFlight += s.GetInFlight()
		all.Pages += s.GetPages()
		all.Requests += s.GetRequests()
		all.Leaps += s.GetLeaps()
		all.RelevanceRaw += s.GetRelevanceRaw()
		for name, n := range s.GetOutcomes() {
			all.Outcomes[name] += n
		}
	}
	return all
}

// status compares crawl.status with a recount.
func (j *judge) status() {
	if len(j.Statuses) == 0 {
		j.problem("crawl.status has no record of this crawl")
		return
	}
	if !j.finished() || j.Running {
		return // its counts change
	}
	s := sum(j.Statuses)
	t := &j.tally
	compare := func(what string, stated, counted uint64) {
		if stated != counted {
			j.problem("crawl.status has %d %s, a recount gives %d", stated, what, counted)
		}
	}
	compare("dispatched", s.GetDispatched(), t.dispatched)
	compare("in flight", s.GetInFlight(), 0)
	compare("pages", s.GetPages(), t.pages)
	compare("requests", s.GetRequests(), t.requests+t.queries)
	compare("leaps", s.GetLeaps(), t.settled)
	for name, n := range t.outcomes {
		compare("requests "+name, s.GetOutcomes()[name], n)
	}
	if math.Abs(s.GetRelevanceRaw()-t.relevance) > 1e-6*max(1, t.relevance) {
		j.problem("crawl.status has %g as the sum of R, a recount gives %g", s.GetRelevanceRaw(), t.relevance)
	}
}

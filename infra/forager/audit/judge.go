package audit

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// Result is what an audit found.
type Result struct {
	Crawl string `json:"crawl"`
	OK    bool   `json:"ok"`
	// Figures in the order in which they were taken.
	Figures []Figure `json:"figures"`
	// Ways say how each topic was checked.
	Ways []Topic `json:"ways"`
	// Problems are the differences, each naming its record; at most MaxProblems, More are left out.
	Problems []string `json:"problems,omitempty"`
	More     int      `json:"more_problems,omitempty"`
}

// Figure is one number of an audit.
type Figure struct {
	Name  string `json:"name"`
	Value int    `json:"value"`
}

// MaxProblems is the number of differences that are described.
const MaxProblems = 50

func (r *Result) figure(name string, value int) {
	r.Figures = append(r.Figures, Figure{name, value})
}

func (r *Result) problem(format string, args ...any) {
	r.OK = false
	if len(r.Problems) < MaxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	} else {
		r.More++
	}
}

// judge holds the first record of each id.
type judge struct {
	*Evidence
	*Result
	requests map[schemas.ID]*schemas.FetchRequest
	fetched  map[schemas.ID]*schemas.PageFetched
	judged   map[schemas.ID]*schemas.PageJudged
	verdicts map[schemas.ID]*schemas.LinkFound
	// seeds are the records of link.found that answer no request: seeds, and asks for a replay.
	seeds map[schemas.ID]*schemas.LinkFound
	leaps map[schemas.ID]*schemas.LeapSettled
	// rankings of hubs that the topic holds.
	rankings map[schemas.ID]*schemas.HubRanked
	// applied are the first records of link.found of each id, in the order of their partitions, which
	// is that in which prioritize took them; place is where each stands among them.
	applied []*schemas.LinkFound
	place   map[*schemas.LinkFound]int
	// sent are the links that shards sent one another; ticks are these and applied, in their order:
	// what moved a shard's clock.
	sent  map[schemas.ID]*schemas.LinkFound
	ticks []*schemas.LinkFound
	// delivered are the verdicts on pages by URL.
	delivered map[string]*schemas.LinkFound
}

// Judge compares the evidence.
func (e *Evidence) Judge() *Result {
	j := newJudge(e)
	j.figure("dispatches of replaced owners, void", e.Void)
	j.dispatches()
	j.journeys()
	j.store()
	j.limits()
	j.flights()
	j.ledger()
	j.hubs()
	j.status()
	j.counts()
	j.tables()
	slices.Sort(j.Problems) // maps have no order
	return j.Result
}

// newJudge takes the first record of each id.
func newJudge(e *Evidence) *judge {
	j := &judge{
		Evidence: e, Result: &Result{Crawl: e.Control.GetCrawl(), OK: true, Ways: e.Topics},
		seeds: make(map[schemas.ID]*schemas.LinkFound), place: make(map[*schemas.LinkFound]int),
		delivered: make(map[string]*schemas.LinkFound),
	}
	j.requests = firsts(j, schemas.TopicFetchRequested, e.Requests, sameDispatch)
	j.fetched = firsts(j, schemas.TopicPageFetched, e.Fetched, nil)
	j.judged = firsts(j, schemas.TopicPageJudged, e.Judged, nil)
	verdicts, sent := bySender(e.Verdicts)
	j.verdicts = firsts(j, schemas.TopicLinkFound, verdicts, nil)
	if len(sent) > 0 {
		j.sent = firsts(j, "links sent to other shards", sent, nil)
	}
	j.leaps = firsts(j, schemas.TopicLeapSettled, e.Leaps, nil)
	j.rankings = firsts(j, schemas.TopicHubRanked, e.Rankings, nil)
	for _, v := range e.Verdicts {
		id, err := schemas.ParseID(v.GetId())
		if err == nil && j.verdicts[id] == v {
			j.place[v] = len(j.applied)
			j.applied = append(j.applied, v)
		}
		if err == nil && (j.verdicts[id] == v || j.sent[id] == v) {
			j.ticks = append(j.ticks, v)
		}
	}
	for id, v := range j.verdicts {
		if schemas.Virtual(v.GetOutcome()) {
			j.seeds[id] = v
			delete(j.verdicts, id)
		}
	}
	return j
}

// bySender parts verdicts, and what comes with them from outside, from what shards sent one another.
func bySender(all []*schemas.LinkFound) (verdicts, sent []*schemas.LinkFound) {
	for _, v := range all {
		if v.GetRole() == schemas.LinkRole_LINK_ROLE_VERDICT {
			verdicts = append(verdicts, v)
		} else {
			sent = append(sent, v)
		}
	}
	return verdicts, sent
}

// record is what every audited record has.
type record interface {
	proto.Message
	GetId() []byte
}

// firsts keeps the first record of each id and counts the copies. same says whether a copy is
// harmless; nil = it always is.
func firsts[R record](j *judge, topic string, all []R, same func(a, b R) bool) map[schemas.ID]R {
	out := make(map[schemas.ID]R, len(all))
	copies := 0
	for _, r := range all {
		id, err := schemas.ParseID(r.GetId())
		if err != nil {
			j.problem("%s: a record has no usable id: %v", topic, err)
			continue
		}
		first, known := out[id]
		if !known {
			out[id] = r
			continue
		}
		copies++
		if same != nil && !same(first, r) {
			j.problem("%s: %s stands there twice and the two differ", topic, id)
		}
	}
	j.figure(topic+": distinct records", len(out))
	j.figure(topic+": copies", copies)
	return out
}

func sameDispatch(a, b *schemas.FetchRequest) bool { return proto.Equal(a, b) }

// dispatches checks ids and that attempts follow one another.
func (j *judge) dispatches() {
	attempts := make(map[string]map[uint32]bool)
	for id, r := range j.requests {
		if want := schemas.RequestID(r.GetCrawl(), r.GetUrl(), r.GetAttempt()); want != id {
			j.problem("request %s for %s attempt %d should have the id %s", id, r.GetUrl(), r.GetAttempt(), want)
		}
		if attempts[r.GetUrl()] == nil {
			attempts[r.GetUrl()] = make(map[uint32]bool)
		}
		attempts[r.GetUrl()][r.GetAttempt()] = true
	}
	for url, set := range attempts {
		for n := uint32(1); int(n) <= len(set); n++ {
			if !set[n] {
				j.problem("%s was dispatched %d times, but never as attempt %d", url, len(set), n)
				break
			}
		}
	}
}

// journeys follows every request to its verdict.
func (j *judge) journeys() {
	open := 0
	for id, r := range j.requests {
		v := j.verdicts[id]
		if v == nil {
			open++
			if j.finished() {
				j.problem("request %s for %s has no verdict in link.found", id, r.GetUrl())
			}
			continue
		}
		if v.GetUrl() != r.GetUrl() {
			j.problem("request %s is for %s, its verdict is on %s", id, r.GetUrl(), v.GetUrl())
		}
		f, g := j.fetched[id], j.judged[id]
		switch {
		case f == nil:
			j.problem("request %s for %s has a verdict, but no record in page.fetched", id, r.GetUrl())
			continue
		case g == nil:
			j.problem("request %s for %s has a verdict, but no record in page.judged", id, r.GetUrl())
			continue
		}
		if !follows(f.GetOutcome(), g.GetOutcome()) || !follows(g.GetOutcome(), v.GetOutcome()) {
			j.problem("request %s for %s is %s in page.fetched, %s in page.judged and %s in link.found", id, r.GetUrl(),
				schemas.OutcomeName(f.GetOutcome()), schemas.OutcomeName(g.GetOutcome()), schemas.OutcomeName(v.GetOutcome()))
		}
		if v.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
			if !j.sameJudgement(v.GetJudgement(), g.GetJudgement()) {
				j.problem("request %s for %s: its judgement in link.found is not that of page.judged", id, r.GetUrl())
			}
			j.delivered[r.GetUrl()] = v
		}
		if v.GetStatus() != f.GetStatus() || v.GetRedirect() != f.GetRedirect() {
			j.problem("request %s for %s: status or redirect of link.found is not that of page.fetched", id, r.GetUrl())
		}
	}
	for topic, ids := range map[string][]schemas.ID{
		schemas.TopicPageFetched: keys(j.fetched), schemas.TopicPageJudged: keys(j.judged), schemas.TopicLinkFound: keys(j.verdicts),
	} {
		for _, id := range ids {
			if j.requests[id] == nil {
				j.problem("%s: record %s answers no request", topic, id)
			}
		}
	}
	asked := 0
	for _, v := range j.seeds {
		if v.GetOutcome() == schemas.Outcome_OUTCOME_REPLAY {
			asked++
		}
	}
	j.figure("requests without a verdict", open)
	j.figure("replays asked for", asked)
}

// sameJudgement compares as much of two judgements as there is.
func (j *judge) sameJudgement(found, judged *schemas.Judgement) bool {
	if j.byCounts(schemas.TopicPageJudged) || j.byCounts(schemas.TopicLinkFound) {
		return found.GetRaw() == judged.GetRaw() && found.GetTempered() == judged.GetTempered() && found.GetCalibrated() == judged.GetCalibrated() && found.GetBestIsFocus() == judged.GetBestIsFocus()
	}
	return proto.Equal(found, judged)
}

func keys[V any](m map[schemas.ID]V) []schemas.ID {
	out := make([]schemas.ID, 0, len(m))
	for id := range m {
		out = append(out, id)
	}
	return out
}

// follows says whether a later stage may say next of what an earlier one called before.
func follows(before, next schemas.Outcome) bool {
	switch next {
	case schemas.Outcome_OUTCOME_FAILED_PARSE_DOM, schemas.Outcome_OUTCOME_FAILED_CRITIC_SCORE, schemas.Outcome_OUTCOME_FAILED_FEATURE_EXTRACT:
		return true
	}
	return before == next
}

// store compares delivered pages with what was read by range.
func (j *judge) store() {
	read, records := 0, 0
	for id, f := range j.fetched {
		if f.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED {
			continue
		}
		p, ok := j.Pages[id]
		switch {
		case !ok:
			j.problem("page %s (%s) was not read from the store", id, f.GetUrl())
		case p.Err != nil:
			j.problem("page %s (%s) cannot be read from %s at %d: %v", id, f.GetUrl(), f.GetObject(), f.GetOffset(), p.Err)
		case p.URL != f.GetUrl():
			j.problem("page %s (%s): the record in %s at %d is of %s", id, f.GetUrl(), f.GetObject(), f.GetOffset(), p.URL)
		case p.Digest != f.GetDigest():
			j.problem("page %s (%s): the stored bytes have digest %s, announced was %s", id, f.GetUrl(), p.Digest, f.GetDigest())
		default:
			read++
		}
	}
	for _, name := range sorted(j.Segments) {
		s := j.Segments[name]
		records += s.Records
		for _, err := range s.Errs {
			j.problem("segment %s: %v", name, err)
		}
	}
	j.figure("pages read by range with their digest", read)
	j.figure("segments", len(j.Segments))
	j.figure("WARC records read", records)
	j.figure("segments of the store that no record of any crawl names (orphans, or still under way)", j.Orphans)
}

// finished says whether every shard has ended.
func (j *judge) finished() bool {
	return !slices.ContainsFunc(j.Statuses, func(s *schemas.CrawlStatus) bool { return s.GetState() != schemas.ShardState_SHARD_STATE_FINISHED })
}

// sum adds up what the shards say of themselves.
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
		j.problem("crawl.status says nothing of this crawl")
		return
	}
	if !j.finished() {
		return // its numbers move
	}
	s := sum(j.Statuses)
	outcomes := make(map[string]uint64)
	var pages, requests, settled uint64
	var relevance float64
	for _, v := range j.verdicts {
		outcomes[schemas.OutcomeName(v.GetOutcome())]++
		c := schemas.Outcomes[v.GetOutcome()]
		if c.Page {
			pages++
			relevance += v.GetJudgement().GetRaw()
		}
		if c.Request {
			requests++
		}
		requests += uint64(v.GetJudgement().GetBacklinks().GetQueries())
	}
	for _, l := range j.leaps {
		if !l.GetBoundary() {
			settled++
		}
	}
	compare := func(what string, said, counted uint64) {
		if said != counted {
			j.problem("crawl.status says %d %s, a recount gives %d", said, what, counted)
		}
	}
	compare("dispatched", s.GetDispatched(), uint64(len(j.requests)))
	compare("in flight", s.GetInFlight(), 0)
	compare("pages", s.GetPages(), pages)
	compare("requests", s.GetRequests(), requests)
	compare("leaps", s.GetLeaps(), settled)
	for name, n := range outcomes {
		compare("requests "+name, s.GetOutcomes()[name], n)
	}
	if math.Abs(s.GetRelevanceRaw()-relevance) > 1e-6*max(1, relevance) {
		j.problem("crawl.status says the sum of R is %g, a recount gives %g", s.GetRelevanceRaw(), relevance)
	}
}

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
	// final are the first final verdicts by URL: a request that a stage could not handle may be
	// replayed, and its URL has two. delivered are the verdicts on pages by URL.
	final     map[string]*schemas.LinkFound
	delivered map[string]*schemas.LinkFound
}

// Judge compares the evidence.
func (e *Evidence) Judge() *Result {
	j := &judge{
		Evidence: e, Result: &Result{Crawl: e.Control.GetCrawl(), OK: true},
		seeds: make(map[schemas.ID]*schemas.LinkFound), final: make(map[string]*schemas.LinkFound),
		delivered: make(map[string]*schemas.LinkFound),
	}
	j.requests = firsts(j, schemas.TopicFetchRequested, e.Requests, sameDispatch)
	j.fetched = firsts(j, schemas.TopicPageFetched, e.Fetched, nil)
	j.judged = firsts(j, schemas.TopicPageJudged, e.Judged, nil)
	j.verdicts = firsts(j, schemas.TopicLinkFound, e.Verdicts, nil)
	j.leaps = firsts(j, schemas.TopicLeapSettled, e.Leaps, nil)
	for id, v := range j.verdicts {
		if schemas.Virtual(v.GetOutcome()) {
			j.seeds[id] = v
			delete(j.verdicts, id)
		}
	}
	j.figure("dispatches of replaced owners, void", e.Void)
	j.dispatches()
	j.journeys()
	j.store()
	j.limits()
	j.ledger()
	j.status()
	j.tables()
	slices.Sort(j.Problems) // maps have no order
	return j.Result
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
	attempts := make(map[*schemas.LinkFound]uint32)
	for id, r := range j.requests {
		v := j.verdicts[id]
		if v == nil {
			open++
			if j.Status.GetState() == schemas.ShardState_SHARD_STATE_FINISHED {
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
			if !proto.Equal(v.GetJudgement(), g.GetJudgement()) {
				j.problem("request %s for %s: its judgement in link.found is not that of page.judged", id, r.GetUrl())
			}
			j.delivered[r.GetUrl()] = v
		}
		if v.GetStatus() != f.GetStatus() || v.GetRedirect() != f.GetRedirect() {
			j.problem("request %s for %s: status or redirect of link.found is not that of page.fetched", id, r.GetUrl())
		}
		if schemas.Outcomes[v.GetOutcome()].Final {
			if first := j.final[r.GetUrl()]; first == nil || r.GetAttempt() < attempts[first] {
				j.final[r.GetUrl()], attempts[v] = v, r.GetAttempt()
			}
		}
	}
	j.unplayed()
	for topic, ids := range map[string][]schemas.ID{
		schemas.TopicPageFetched: keys(j.fetched), schemas.TopicPageJudged: keys(j.judged), schemas.TopicLinkFound: keys(j.verdicts),
	} {
		for _, id := range ids {
			if j.requests[id] == nil {
				j.problem("%s: record %s answers no request", topic, id)
			}
		}
	}
	j.figure("requests without a verdict", open)
}

// unplayed takes the URLs off final that were to be replayed when the crawl ended: links to them
// that were found since wait for the next attempt.
func (j *judge) unplayed() {
	asked := 0
	for _, rec := range j.seeds {
		if rec.GetOutcome() != schemas.Outcome_OUTCOME_REPLAY {
			continue
		}
		asked++
		id, err := schemas.ParseID(rec.GetReplay())
		r, v := j.requests[id], j.verdicts[id]
		if err != nil || r == nil || !schemas.Failed(v.GetOutcome()) {
			continue
		}
		if j.requests[schemas.RequestID(r.GetCrawl(), r.GetUrl(), r.GetAttempt()+1)] == nil {
			delete(j.final, r.GetUrl())
		}
	}
	j.figure("replays asked for", asked)
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
}

// limits recounts what was charged.
func (j *judge) limits() {
	pages, requests := 0, 0
	hosts := make(map[string]int)
	for id, r := range j.requests {
		v := j.verdicts[id]
		c := schemas.Outcomes[v.GetOutcome()]
		if v != nil && c.Page {
			pages++
		}
		if v != nil && c.Request {
			requests++
		}
		if v == nil || v.GetOutcome() != schemas.Outcome_OUTCOME_DEFERRED {
			hosts[r.GetHost()]++
		}
	}
	b, hostCap := j.Control.GetBudget(), int(j.Control.GetScope().GetHostCap())
	if b.GetPages() > 0 && pages > int(b.GetPages()) {
		j.problem("%d pages were delivered, the budget is %d", pages, b.GetPages())
	}
	if b.GetRequests() > 0 && requests > int(b.GetRequests()) {
		j.problem("%d requests were charged, the budget is %d", requests, b.GetRequests())
	}
	for _, host := range sorted(hosts) {
		if hostCap > 0 && hosts[host] > hostCap {
			j.problem("host %s was asked %d times, its cap is %d", host, hosts[host], hostCap)
		}
	}
	j.figure("pages delivered", pages)
	j.figure("requests charged", requests)
	j.figure("hosts", len(hosts))
}

// ledger checks every settled leap, and that every link is settled whose target is final. Under
// PAIRS_FORWARD a link to a page that was final already is no leap (package frontier).
func (j *judge) ledger() {
	forward := j.Control.GetLearning().GetPairs() == schemas.Pairs_PAIRS_FORWARD
	place := make(map[*schemas.LinkFound]int, len(j.Verdicts)) // in the order of the verdicts
	for i, v := range j.Verdicts {
		place[v] = i
	}
	links := make(map[schemas.ID]bool)
	for u, v := range j.delivered {
		for _, l := range v.GetLinks() {
			links[schemas.LeapID(j.Crawl, u, l.GetUrl())] = true
		}
	}
	settled, boundaries := 0, 0
	for id, l := range j.leaps {
		if l.GetBoundary() {
			boundaries++
			continue
		}
		settled++
		name := fmt.Sprintf("leap %s from %s to %s", id, l.GetU(), l.GetV())
		if schemas.LeapID(j.Crawl, l.GetU(), l.GetV()) != id {
			j.problem("%s has another's id", name)
		}
		if !links[id] {
			j.problem("%s is no link of a delivered page", name)
			continue
		}
		u := j.delivered[l.GetU()].GetJudgement()
		if l.GetSourceRaw() != u.GetRaw() || l.GetSourceTempered() != u.GetTempered() {
			j.problem("%s says R(u) = %g, the verdict on u said %g", name, l.GetSourceRaw(), u.GetRaw())
		}
		rid, err := schemas.ParseID(l.GetRequest())
		r, v := j.requests[rid], j.verdicts[rid]
		if err != nil || r == nil || v == nil {
			j.problem("%s was settled by request %x, which is not known", name, l.GetRequest())
			continue
		}
		if l.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
			if t := v.GetJudgement(); v.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED || l.GetTargetRaw() != t.GetRaw() || l.GetTargetTempered() != t.GetTempered() {
				j.problem("%s says R(v) = %g, the verdict on v said %g", name, l.GetTargetRaw(), t.GetRaw())
			}
		}
		if l.GetTrains() && l.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED {
			j.problem("%s trains, but its target was %s", name, schemas.OutcomeName(l.GetOutcome()))
		}
		if l.GetScore() != r.GetScore() || l.GetPolicy() != r.GetPolicy() || l.GetModel() != r.GetModel() {
			j.problem("%s says score %g by %s %s, the dispatch said %g by %s %s", name,
				l.GetScore(), l.GetPolicy(), l.GetModel(), r.GetScore(), r.GetPolicy(), r.GetModel())
		}
	}
	missing := 0
	for u, rec := range j.delivered {
		for _, l := range rec.GetLinks() {
			v := l.GetUrl()
			if v == u || j.final[v] == nil || j.leaps[schemas.LeapID(j.Crawl, u, v)] != nil {
				continue
			}
			if forward && place[j.final[v]] < place[rec] {
				continue
			}
			missing++
			j.problem("the link from %s to %s was never settled, though the target is final", u, v)
		}
	}
	j.figure("leaps settled", settled)
	j.figure("boundaries of models", boundaries)
	j.figure("links not settled though their target is final", missing)
}

// status compares crawl.status with a recount.
func (j *judge) status() {
	s := j.Status
	if s == nil {
		j.problem("crawl.status says nothing of this crawl")
		return
	}
	if s.GetState() != schemas.ShardState_SHARD_STATE_FINISHED {
		return // its numbers move
	}
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

package audit

import (
	"fmt"
	"slices"

	"forager/internal/weburl"
	"forager/schemas"
)

// ledger checks every settled leap, and that every link is settled whose target has come to its
// end, by itself or through redirects. Under PAIRS_FORWARD a link to a page that was final already
// is no leap (package frontier).
func (j *judge) ledger() {
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
		told := len(l.GetShadows()) > 0 || l.GetForward() && j.ordered() && l.GetV() == r.GetUrl()
		if said := placeTexts(l.GetShadows()); told && !j.byCounts(schemas.TopicFetchRequested) && said != placeTexts(r.GetShadows()) {
			j.problem("%s says that shadows placed it %q, the dispatch %q", name, said, placeTexts(r.GetShadows()))
		}
	}
	missing := 0
	fates := j.fates()
	forward := j.Control.GetLearning().GetPairs() == schemas.Pairs_PAIRS_FORWARD
	unordered := forward && !j.ordered() // who came first, a link or its target's end?
	for u, rec := range j.delivered {
		for _, l := range rec.GetLinks() {
			v := l.GetUrl()
			id := schemas.LeapID(j.Crawl, u, v)
			target, settled := fates.settles(v, j.place[rec], forward)
			if unordered || v == u || target == u || !settled || j.leaps[id] != nil || fates.refused[id] || fates.mayBeCapped(v) {
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

// maxHops and defaultAttempts are what every crawl keeps to (package frontier, CrawlControl).
const (
	maxHops         = 10
	defaultAttempts = 3
)

// fate is what became of a URL: nothing yet, its end, or another URL in its place.
type fate struct {
	tries uint32
	// ends and reopened are the places of the verdicts that ended it and of the replays that began
	// it again, in turn; last is its last request, failed that no stage could handle it.
	ends, reopened []int
	last           schemas.ID
	failed         bool
	// alias is where it redirected to, since the place of a verdict.
	alias string
	since int
}

// over says whether the URL was at its end when the n-th verdict was applied.
func (f *fate) over(n int) bool {
	ends, _ := slices.BinarySearch(f.ends, n)
	reopened, _ := slices.BinarySearch(f.reopened, n)
	return ends > reopened
}

// fates are what became of every URL that was asked for, read from the verdicts in their order.
type fates struct {
	of map[string]*fate
	// depth is the hops from a seed, as far as the verdicts read so far say.
	depth map[string]uint32
	// refused are the links out of the crawl's scope, or beyond its depth.
	refused map[schemas.ID]bool
	// capped are hosts that may have been at their cap for a while: a request came back.
	capped map[string]bool
}

func (j *judge) fates() *fates {
	f := &fates{of: make(map[string]*fate), depth: make(map[string]uint32), refused: make(map[schemas.ID]bool), capped: j.capped()}
	for at, v := range j.applied {
		id := schemas.ID(v.GetId())
		switch r := j.requests[id]; {
		case v.GetOutcome() == schemas.Outcome_OUTCOME_REPLAY:
			f.replay(v, at)
		case r != nil:
			j.follow(f, r, v, at)
			j.deepen(f, v)
		case j.seeds[id] != nil:
			j.deepen(f, v)
		}
	}
	return f
}

// ordered says whether the verdicts stand in the order in which they were applied: those of several
// shards have none.
func (j *judge) ordered() bool { return schemas.ShardsOf(j.Control) <= 1 }

// follow takes one verdict.
func (j *judge) follow(f *fates, r *schemas.FetchRequest, v *schemas.LinkFound, at int) {
	url := r.GetUrl()
	own := f.of[url]
	if own == nil {
		own = new(fate)
		f.of[url] = own
	}
	if own.alias != "" || own.over(at) {
		return
	}
	c := schemas.Outcomes[v.GetOutcome()]
	attempts := j.Control.GetMaxAttempts()
	if attempts == 0 {
		attempts = defaultAttempts
	}
	ended := true
	switch {
	case c.Retry && c.Request:
		own.tries++
		ended = own.tries >= attempts
	case c.Retry:
		ended = false
	case v.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED:
		if ended = j.deadEnd(f, r, v.GetRedirect()); !ended {
			f.nearer(f.target(v.GetRedirect()), f.depth[url])
			own.alias, own.since = v.GetRedirect(), at
		}
	}
	own.last, own.failed = schemas.ID(r.GetId()), schemas.Failed(v.GetOutcome())
	if ended {
		own.ends = append(own.ends, at)
	}
}

// replay takes an ask for another attempt; rows of it do not say of which request.
func (f *fates) replay(v *schemas.LinkFound, at int) {
	own := f.of[v.GetUrl()]
	if own == nil || !own.failed || !own.over(at) {
		return
	}
	if id, err := schemas.ParseID(v.GetReplay()); err != nil || id == own.last {
		own.reopened = append(own.reopened, at)
	}
}

// deadEnd says whether a redirect is not followed: there is no target, it is one too many, it
// leads back, or it leads out of the crawl's scope.
func (j *judge) deadEnd(f *fates, r *schemas.FetchRequest, redirect string) bool {
	if _, err := weburl.Parse(redirect); err != nil || r.GetHops() >= maxHops {
		return true
	}
	target := f.target(redirect)
	_, known := f.depth[target]
	depth := f.depth[r.GetUrl()]
	if !j.ordered() {
		depth = 0 // what may be deeper was perhaps refused, and is not missed
	}
	return target == r.GetUrl() || !known && j.Scope.Check(redirect, depth) != ""
}

// target follows redirects to the URL in whose place others stand. They close no circle: a redirect
// that would is an end.
func (f *fates) target(url string) string {
	for f.of[url] != nil && f.of[url].alias != "" {
		url = f.of[url].alias
	}
	return url
}

// settles says whether a link to the URL, found with the n-th verdict, must have been settled, and
// where its redirects lead. A link waits for the end of its URL, or of the one that this redirects
// to; where that had ended before the link was found, there is no leap under PAIRS_FORWARD.
func (f *fates) settles(url string, n int, forward bool) (target string, settled bool) {
	waited := false
	for own := f.of[url]; own != nil; own = f.of[url] {
		if own.over(n) {
			return url, waited || !forward
		}
		if len(own.ends) > 0 && own.ends[len(own.ends)-1] >= n {
			return url, true
		}
		if own.alias == "" {
			return url, false
		}
		if own.since > n {
			waited, n = true, own.since
		}
		url = own.alias
	}
	return url, false
}

// deepen notes how far from the seeds the links of a page lead, and which of them are refused.
func (j *judge) deepen(f *fates, v *schemas.LinkFound) {
	depth := uint32(0)
	switch r := j.requests[schemas.ID(v.GetId())]; {
	case r == nil: // seeds
	case j.ordered():
		depth = f.depth[v.GetUrl()] + 1
	default:
		depth = r.GetDepth() + 1 // as of its dispatch; a nearer link may have been found since
	}
	for _, l := range v.GetLinks() {
		if j.Scope.Check(l.GetUrl(), depth) != "" {
			f.refused[schemas.LeapID(j.Crawl, v.GetUrl(), l.GetUrl())] = true
			continue
		}
		f.nearer(f.target(l.GetUrl()), depth)
	}
}

func (f *fates) nearer(url string, depth uint32) {
	if d, ok := f.depth[url]; !ok || depth < d {
		f.depth[url] = depth
	}
}

// capped are the hosts that reached their cap and came below it again as a request was deferred:
// links found meanwhile were refused where nobody had linked there before.
func (j *judge) capped() map[string]bool {
	most := int(j.Control.GetScope().GetHostCap())
	all, deferred := make(map[string]int), make(map[string]bool)
	for id, r := range j.requests {
		all[r.GetHost()]++
		if j.verdicts[id].GetOutcome() == schemas.Outcome_OUTCOME_DEFERRED {
			deferred[r.GetHost()] = true
		}
	}
	capped := make(map[string]bool)
	for host := range deferred {
		capped[host] = most > 0 && all[host] >= most
	}
	return capped
}

// mayBeCapped says whether a link to the URL may have been refused for its host's cap, though the
// URL was fetched later.
func (f *fates) mayBeCapped(url string) bool { return f.capped[weburl.Host(url)] }

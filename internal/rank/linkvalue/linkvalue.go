package linkvalue

import (
	"cmp"
	"math"
	"slices"

	"forager/internal/rank/policy"
	"forager/internal/web/weburl"
	"forager/schemas"
)

const (
	// seedScore is that of seeds, more than any other.
	seedScore = 1
	// unknownShare of R(u) is the score of a URL that is not known here: its sources are pages of other shards, or it was
	// forgotten.
	unknownShare = .02

	// mostSources of a URL that waits and mostLinks of a page are kept, the first ones.
	mostSources, mostLinks = 16, 2000
	// best is the number of URLs whose values are published. As many others are if they are among the bestOfHost of their host: hosts of better ones
	// may be slow, or excluded.
	best, bestOfHost = 256, 16
	// rescored is the number of values that are computed after a verdict, at most, because a source of theirs has changed.
	rescored = 128
	// firstFit, fitEvery: pages before the first fit, and between two at least; one for each waitingPerPage that wait, some best at most.
	firstFit, fitEvery, waitingPerPage = 5, 20, 100
)

// Ranker is what was learned from a crawl so far. Score may be called concurrently, but not during Observe.
type Ranker struct {
	waiting map[string]*target
	known   uint64 // URLs that waited at any time
	past    past
	sources []*source // that have waiting links
	ranks   ranks
	prior   prior
	seen    examples
	rewards rewards
	// parts are learned from if urls is set.
	parts parts
	urls  bool
	// value is the R of a URL, behind the gain of what is first found on it.
	value, behind regression
	pages         uint64 // delivered
	next          uint64 // pages at the next fit
	cut           float64
	// held is what URLs that wait and their sources take, bytes, and most its bound. What was dropped counts until the next
	// measure.
	held, most int
	changed    []string
}

// target is a URL that waits.
type target struct {
	url    string
	number uint64 // URLs known before it
	edges  []edge
	// published is its score.
	published float64
}

// edge is a link to a target.
type edge struct {
	from *source
	// index of the link on its page, and log odds of its words by the critic, 0 if it was not judged.
	index  int
	anchor float64
}

// New returns a ranker that has learned nothing. It compares URLs if urls is set; not where labels follow from them
// (schemas.CrawlControl.labels_from_urls).
func New(urls bool) *Ranker {
	return &Ranker{
		waiting: make(map[string]*target), past: newPast(), prior: prior{priorStart}, parts: newParts(), urls: urls,
		value: logistic(valueStart), behind: exponential(behindStart), next: firstFit, most: mostHeld,
	}
}

// Score returns the published value of v, seeds first.
func (r *Ranker) Score(v string, s *policy.Source) float64 {
	if s.Seed {
		return seedScore
	}
	if t, ok := r.waiting[v]; ok {
		return t.published
	}
	return unknownShare * s.Calibrated
}

// Observe learns from a verdict. See frontier.Learner.
func (r *Ranker) Observe(rec *schemas.LinkFound) (changed []string) {
	r.changed = nil
	if _, again := r.past.of(rec.GetUrl()); again || rec.GetOutcome() == schemas.Outcome_OUTCOME_SEEDS {
		return nil
	}
	r.reserve(needs(rec))
	t := r.waiting[rec.GetUrl()]
	if t == nil { // a seed, or forgotten
		t = &target{url: rec.GetUrl(), number: r.known}
	}
	delete(r.waiting, t.url)
	for _, e := range t.edges {
		e.from.remove(t)
	}
	if len(t.edges) > 0 {
		t.edges[0].from.behind.end(rec) // it was found first there
	}
	is := verdict{}
	switch rec.GetOutcome() {
	case schemas.Outcome_OUTCOME_DELIVERED:
		is = verdict{r: rec.GetJudgement().GetCalibrated(), delivered: true}
		r.past.add(t.url, is)
		r.deliver(t, is.r, rec)
	case schemas.Outcome_OUTCOME_REDIRECTED:
		is.to = rec.GetRedirect()
		r.past.add(t.url, is)
		for _, e := range t.edges {
			r.link(is.to, e)
		}
	default:
		r.past.add(t.url, is)
	}
	if r.pages >= r.next {
		r.fit()
	}
	return r.changed
}

// deliver takes a page with its links.
func (r *Ranker) deliver(t *target, relevance float64, rec *schemas.LinkFound) {
	r.pages++
	s := newSource(rec)
	if len(t.edges) > 0 {
		x := r.features(t)
		r.seen.add(&x, relevance, s.behind)
		r.rewards.pages++
		r.rewards.sum += relevance
		if r.urls {
			r.parts.add(t.url, relevance)
		}
	}
	for _, e := range t.edges {
		s.inherited = max(s.inherited, e.from.yield)
		r.credit(e, relevance)
	}
	r.ranks.add(s)
	s.expect(r.prior.of(s))
	anchors := rec.GetJudgement().GetAnchors()
	r.held += sourceCost
	for i, l := range followed(rec) {
		e := edge{from: s, index: i}
		if i < len(anchors) {
			e.anchor = anchorOdds(anchors[i])
		}
		r.link(l.GetUrl(), e)
	}
	if len(s.waiting) > 0 {
		r.sources = append(r.sources, s)
	}
	for _, w := range s.waiting {
		r.publish(w, r.valueOf(w))
	}
	left := rescored
	for _, e := range t.edges {
		for _, w := range e.from.waiting {
			if left--; left < 0 {
				return
			}
			r.reconsider(w, r.valueOf(w))
		}
	}
}

// anchorOdds returns the log odds of the words of a link, in quarters, clipped as in package policy.
func anchorOdds(anchor uint32) float64 {
	const clip = 5e-4
	p := min(max(float64(anchor)/schemas.AnchorSteps, clip), 1-clip)
	return math.Log(p/(1-p)) / 4
}

// mostHops bounds the redirects that are followed in a row.
const mostHops = 10

// link takes a link to a URL, or to one that redirected: its target waits, or its source is credited.
func (r *Ranker) link(url string, e edge) {
	for range mostHops {
		was, fetched := r.past.of(url)
		switch {
		case !fetched && url == "":
			return
		case !fetched:
			r.wait(url, e)
			return
		case was.delivered:
			r.credit(e, was.r)
			return
		}
		url = was.to
	}
}

// wait adds a source to a URL that waits.
func (r *Ranker) wait(url string, e edge) {
	t := r.waiting[url]
	if t == nil {
		t = &target{url: url, number: r.known}
		e.from.behind.Found++
		r.known++
		r.waiting[url] = t
		r.held += targetCost + len(url)
	}
	if len(t.edges) < mostSources && !slices.ContainsFunc(t.edges, func(o edge) bool { return o.from == e.from }) {
		t.edges = append(t.edges, e)
		e.from.waiting = append(e.from.waiting, t)
		r.held += edgeCost
	}
}

// credit notes what a link led to.
func (r *Ranker) credit(e edge, relevance float64) {
	e.from.credit(e.index, relevance)
	r.held += outcomeCost
}

// publish sets the score of a URL.
func (r *Ranker) publish(t *target, value float64) {
	if t.published != value {
		t.published = value
		r.changed = append(r.changed, t.url)
	}
}

// reconsider publishes a value if it is, or was taken for, one of the best.
func (r *Ranker) reconsider(t *target, value float64) bool {
	isBest := max(value, t.published) >= r.cut
	if isBest {
		r.publish(t, value)
	}
	return isBest
}

// fit fits the prior of sources and the values, and publishes the best.
func (r *Ranker) fit() {
	r.measure()
	for _, s := range r.sources {
		r.ranks.set(s)
	}
	r.prior.fit(r.sources)
	for _, s := range r.sources {
		s.expect(r.prior.of(s))
		s.behind.Yield = s.yield
	}
	r.value.fit(r.seen.x, r.seen.r)
	r.behind.fit(r.seen.x, r.seen.gains(r.rewards.mean()))
	all := r.byValue()
	r.cut = 0
	if len(all) > best {
		r.cut = all[best-1].value
	}
	ofHost, others := make(map[string]int), 0
	for _, t := range all {
		if isBest := r.reconsider(t.target, t.value); others < best {
			host := weburl.Host(t.url)
			if ofHost[host]++; !isBest && ofHost[host] <= bestOfHost {
				r.publish(t.target, t.value)
				others++
			}
		}
	}
	r.next = r.pages + max(fitEvery, uint64(len(all))/waitingPerPage)
}

// valued is a waiting URL with its value.
type valued struct {
	*target
	value float64
}

// byValue returns all URLs that wait, the best first.
func (r *Ranker) byValue() []valued {
	all := make([]valued, 0, len(r.waiting))
	for t := range r.targets {
		all = append(all, valued{t, r.valueOf(t)})
	}
	slices.SortFunc(all, func(a, b valued) int { return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.number, b.number)) })
	return all
}

// targets yields the URLs that wait. Those of a page lie together in memory, which a walk of the map would not use.
func (r *Ranker) targets(yield func(*target) bool) {
	for _, s := range r.sources {
		for _, t := range s.waiting {
			if t.edges[0].from == s && !yield(t) {
				return
			}
		}
	}
}

// valueOf returns the value of a URL, in (0,1).
func (r *Ranker) valueOf(t *target) float64 {
	x := r.features(t)
	return worth(r.value.of(&x), r.behind.of(&x))
}

// discount of relevant pages that are to be found against one that is fetched.
const discount = .5

// worth returns the value of a URL by its expected R and by what is expected behind it.
func worth(relevance, behind float64) float64 {
	pages := relevance + discount*behind
	return pages / (1 + pages)
}

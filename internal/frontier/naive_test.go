package frontier

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier/place"
	"forager/internal/frontier/rescore"
	"forager/internal/frontier/state"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/internal/rank/policy"
	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// naive is the frontier as simple as possible: maps, lists and sorts over
// everything, no store, nothing incremental. It is the oracle of the property tests.
type naive struct {
	crawl   string
	ctl     *schemas.CrawlControl
	scope   *scope.Scope
	options Options
	// Of the first checkTo entries the first checked are checked by the excludes in force.
	checked, checkTo int

	entries []*nEntry
	byURL   map[string]*nEntry
	hosts   map[string]*nHost
	flights map[schemas.ID]*nFlight
	log     []*schemas.FetchRequest

	using, newest nModel
	passing       bool
	mixed         bool
	answered      uint64
	boundary      uint64
	// noApprentice: by the last verdict none ranked; that or the contrary is so since so many pages.
	noApprentice bool
	rankedSince  uint64

	clock, pages, requests, queries, links, leaps, trained, duplicates, seeds uint64
	raw, tempered                                                             float64
	outcomes, refused                                                         map[string]uint64
	seedIDs                                                                   map[schemas.ID]bool
	found, settled, requested                                                 []schemas.ID
	latency                                                                   [][2]int64
	startedAt                                                                 int64
	stopped                                                                   bool
	rerankFirst                                                               int
	arms                                                                      map[string]*policy.Arm
	// ranked is the number of pages of the last ranking; whole: the distiller has had all pages from the beginning.
	ranked uint64
	whole  bool
	// outage of the network: none where since is 0.
	since, last, until int64
}

type nModel struct {
	version string
	model   place.Model
	pages   uint64
}

type nHost struct {
	dispatched uint64
	notBefore  int64
	// rest is the cause of the wait until notBefore.
	rest schemas.WaitCause
	// failingSince and failedAt are 0 where the host is not unreachable.
	failingSince, failedAt int64
}

type nPage struct {
	number        uint64
	url           string
	seeds         bool
	best          bool
	raw, tempered float64
	calibrated    float64
	table         *schemas.LeafTable
	guidance      []*schemas.Guidance
	// targets are kept where a policy orders pages as the page is judged; expanded: one of them was chosen.
	targets          []*nEntry
	listed, expanded bool
}

type nLink struct {
	anchor float64 // −1 = none
	page   *nPage
	index  int
	link   *schemas.Link
}

type nPlace struct {
	in    bool
	tier  uint32
	score float64
	via   string
	page  *nPage
	model string
	// state is the guide's state for the link that decided.
	state []byte
}

type nEntry struct {
	url         string
	ordinal     int
	state       state.EntryState
	depth, hops uint32
	attempt     uint32
	tries       uint32
	links       []nLink
	places      []nPlace
	done        bool // scored in the pass under way
	unranked    bool // placed under policies of before
	raised      bool // hubs link to it
	notBefore   int64
	request     *schemas.FetchRequest // of the last dispatch
	outcome     schemas.Outcome
	raw         float64
	tempered    float64
	trained     uint32
	target      *nEntry
}

type nFlight struct {
	entry   *nEntry
	request *schemas.FetchRequest
}

func newNaive(crawl string) *naive {
	return &naive{
		crawl: crawl, byURL: map[string]*nEntry{}, hosts: map[string]*nHost{}, flights: map[schemas.ID]*nFlight{},
		outcomes: map[string]uint64{}, refused: map[string]uint64{}, seedIDs: map[schemas.ID]bool{},
		arms: map[string]*policy.Arm{}, rerankFirst: rescore.RerankFirst,
	}
}

func (n *naive) host(url string) *nHost {
	name := weburl.Host(url)
	if n.hosts[name] == nil {
		n.hosts[name] = &nHost{}
	}
	return n.hosts[name]
}

func (n *naive) capped(url string) bool {
	c := n.ctl.GetScope().GetHostCap()
	return c > 0 && n.host(url).dispatched >= uint64(c)
}

func (n *naive) budget() uint64 {
	if b := n.ctl.GetBudget().GetPages(); b > 0 {
		return b
	}
	return n.ctl.GetBudget().GetRequests()
}

func or[T uint32 | uint64](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}

func (n *naive) learnsPolicy(p *schemas.Policy) bool {
	_, overridden := n.options.Rankers[p.GetName()]
	return p.GetRanker() == schemas.Ranker_RANKER_APPRENTICE && !overridden
}

func (n *naive) learns() bool { return slices.ContainsFunc(n.ctl.GetPolicies(), n.learnsPolicy) }

// asksModel reports whether a policy or a shadow learns.
func (n *naive) asksModel() bool {
	return n.learns() || slices.ContainsFunc(n.ctl.GetRankerShadows(), n.learnsPolicy)
}

// shadows are the places of an entry with links under the crawl's shadows, and those of the request.
func (n *naive) shadows(e *nEntry) (places []nPlace, result []*schemas.ShadowPlace) {
	if len(e.links) == 0 {
		return nil, nil
	}
	for _, p := range n.ctl.GetRankerShadows() {
		at := n.placeUnder(e, p)
		x := &schemas.ShadowPlace{Policy: p.GetName(), Dropped: true}
		if at.in {
			x = &schemas.ShadowPlace{Policy: p.GetName(), Tier: at.tier, Score: at.score, Model: at.model}
		}
		places, result = append(places, at), append(result, x)
	}
	return places, result
}

func (n *naive) configure(ctl *schemas.CrawlControl, sc *scope.Scope, o Options) {
	if n.ctl != nil && ctl.GetRevision() < n.ctl.GetRevision() {
		return
	}
	shape := func(ctl *schemas.CrawlControl, o Options) string {
		return fmt.Sprint(ctl.GetPolicies(), ctl.GetMixture() == nil, ctl.GetLearning().GetDMax(), slices.Sorted(maps.Keys(o.Rankers)), ctl.GetPriority())
	}
	changed := n.ctl != nil && shape(n.ctl, n.options) != shape(ctl, o)
	var heads []*nEntry
	if changed {
		hosts := make(map[string]bool)
		for _, e := range n.order(0, func(*nEntry) bool { return true }) {
			if h := weburl.Host(e.url); !hosts[h] {
				heads, hosts[h] = append(heads, e), true
			}
		}
	}
	if n.ctl != nil && !proto.Equal(n.ctl.GetExcludes(), ctl.GetExcludes()) {
		n.checked, n.checkTo = 0, len(n.entries)
	}
	n.ctl, n.scope, n.options = ctl, sc, o
	n.stopped = ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED
	for _, p := range ctl.GetPolicies() {
		if n.arms[p.GetName()] == nil && ctl.GetMixture() != nil {
			n.arms[p.GetName()] = &policy.Arm{Alpha: 1, Beta: 1}
		}
	}
	n.whole = n.whole || n.raises() && n.clock == 0
	if changed {
		n.passing, n.mixed = false, false
		for _, e := range n.entries {
			e.unranked = e.state == state.Queued
		}
		for _, e := range heads {
			n.place(e)
		}
		n.rank(n.rerankFirst)
		n.nextPass()
	}
}

// excluded reports whether a rule excludes a URL.
func (n *naive) excluded(url string) bool {
	for _, rule := range n.ctl.GetExcludes().GetUrls() {
		if regexp.MustCompile(rule).MatchString(url) {
			return true
		}
	}
	return slices.Contains(n.ctl.GetExcludes().GetHosts(), weburl.Host(url))
}

func (n *naive) exclude(e *nEntry) {
	e.state, e.unranked = state.Excluded, false
	n.refused["excluded"]++
}

func (n *naive) release() {
	if n.refused["excluded"]--; n.refused["excluded"] == 0 {
		delete(n.refused, "excluded")
	}
}

// check checks the next entries by the excludes.
func (n *naive) check(count int) {
	for ; count > 0 && n.checked < n.checkTo; count-- {
		e := n.entries[n.checked]
		n.checked++
		switch e.state {
		case state.Excluded:
			if !n.excluded(e.url) {
				n.release()
				n.queue(e)
			}
		case state.Queued, state.Waiting:
			if n.excluded(e.url) {
				n.exclude(e)
			}
		}
	}
}

func (n *naive) raises() bool {
	return slices.ContainsFunc(schemas.Orders(n.ctl), func(p *schemas.Policy) bool { return p.GetRaise() })
}

// raise takes a ranking of the distiller, and reports whether it was taken.
func (n *naive) raise(pages uint64, urls []string) bool {
	if pages > n.pages || pages <= n.ranked {
		return pages <= n.pages
	}
	n.ranked = pages
	for _, u := range urls {
		if e := n.byURL[u]; e != nil {
			if e = n.resolve(e); e.state != state.Final && !e.raised {
				e.raised = true
				if e.state == state.Queued {
					n.place(e)
				}
			}
		}
	}
	return true
}

// hubsDue: every is the number of pages between two rankings, as the crawls here are short.
func (n *naive) hubsDue() bool {
	every := n.ctl.GetDistiller().GetEvery()
	return n.ctl.GetLearning().GetSync() && n.whole && n.raises() && n.ranked < n.pages-n.pages%every
}

// unranked lists the entries that wait for a place.
func (n *naive) unranked() (es []*nEntry) {
	for _, e := range n.entries {
		if e.state == state.Queued && e.unranked {
			es = append(es, e)
		}
	}
	return es
}

// rank places up to count of them.
func (n *naive) rank(count int) (left int) {
	es := n.unranked()
	for _, e := range es[:min(len(es), max(0, count))] {
		n.place(e)
		count--
	}
	return count
}

// reopened sets the model after a restart of the process when m is the newest.
func (n *naive) reopened() {
	if (n.passing || len(n.unranked()) > 0) && n.using.version != "" && n.using.version != n.newest.version {
		n.using, n.mixed = n.newest, true
	}
	n.nextPass()
}

func (n *naive) setModel(version string, m place.Model, pages uint64) {
	if m == nil {
		version = ""
	}
	if pages < n.newest.pages && n.newest.model != nil {
		return
	}
	n.newest = nModel{version, m, pages}
	n.answered = max(n.answered, pages)
	if n.using.version == version {
		n.using = n.newest
	}
	n.nextPass()
}

func (n *naive) nextPass() {
	if len(n.unranked()) > 0 || n.passing || (n.using.version == n.newest.version && !n.mixed) {
		return
	}
	n.using, n.mixed = n.newest, false
	if !n.learns() {
		return
	}
	n.passing = true
	for _, e := range n.entries {
		e.done = false
	}
	if n.atOnce() {
		for e := n.bestOld(); e != nil; e = n.bestOld() {
			n.place(e)
		}
	}
	if n.bestOld() == nil {
		n.passing = false
		n.nextPass()
	}
}

// atOnce reports whether a pass need not be seen as one: nothing is chosen before all is scored that the choice depends on.
func (n *naive) atOnce() bool {
	_, ok := n.newest.model.(*apprentice.Model)
	return ok && n.ctl.GetLearning().GetSync() && !slices.ContainsFunc(n.ctl.GetPolicies(), n.expands)
}

func (n *naive) bestOld() *nEntry {
	for p, policy := range n.ctl.GetPolicies() {
		if !n.learnsPolicy(policy) {
			continue
		}
		if es := n.order(p, func(e *nEntry) bool { return !e.done }); len(es) > 0 {
			return es[0]
		}
	}
	return nil
}

func (n *naive) rescore(count int) bool {
	n.check(rescore.CheckShare * count)
	more := n.rescorePlaces(count)
	return more || n.checked < n.checkTo
}

func (n *naive) rescorePlaces(count int) bool {
	if len(n.unranked()) > 0 {
		if count = n.rank(count); len(n.unranked()) > 0 {
			return true
		}
	}
	n.nextPass()
	for n.passing {
		for range (count + rescore.BestShare - 1) / rescore.BestShare {
			e := n.bestOld()
			if e == nil {
				break
			}
			n.place(e)
			count--
		}
		for ; count > 0 && n.firstOld() != nil; count-- {
			n.place(n.firstOld())
		}
		if n.bestOld() != nil {
			return true
		}
		n.passing = false
		n.nextPass()
	}
	return false
}

// firstOld is the entry discovered first that the pass has not scored.
func (n *naive) firstOld() (first *nEntry) {
	for p, policy := range n.ctl.GetPolicies() {
		if !n.learnsPolicy(policy) {
			continue
		}
		for _, e := range n.order(p, func(e *nEntry) bool { return !e.done }) {
			if first == nil || e.ordinal < first.ordinal {
				first = e
			}
		}
	}
	return first
}

// order lists the queued entries of policy p, best first.
func (n *naive) order(p int, which func(*nEntry) bool) []*nEntry {
	var es []*nEntry
	for _, e := range n.entries {
		if e.state == state.Queued && !e.unranked && e.places[p].in && which(e) {
			es = append(es, e)
		}
	}
	slices.SortFunc(es, func(a, b *nEntry) int {
		return cmp.Or(cmp.Compare(a.places[p].tier, b.places[p].tier), cmp.Compare(a.tries, b.tries),
			cmp.Compare(b.places[p].score, a.places[p].score), cmp.Compare(a.ordinal, b.ordinal))
	})
	return es
}

func (n *naive) sortedLinks(e *nEntry) []nLink {
	ls := slices.Clone(e.links)
	slices.SortFunc(ls, func(a, b nLink) int {
		return cmp.Or(cmp.Compare(a.page.number, b.page.number), cmp.Compare(a.index, b.index))
	})
	return ls
}

func (n *naive) place(e *nEntry) {
	e.done, e.unranked = true, false
	e.places = nil
	for _, p := range n.ctl.GetPolicies() {
		e.places = append(e.places, n.placeUnder(e, p))
	}
	if n.within(e) {
		if e.attempt == 0 {
			e.request = nil // that of a redirect to it counts until a link lets it in
		}
		return
	}
	for i, at := range e.places {
		if e.request != nil && !at.in {
			e.places[i] = nPlace{in: true, tier: e.request.GetTier(), score: e.request.GetScore(), model: at.model}
		}
	}
}

// placeUnder is the place within the group of the entry's host, in the four tiers of the group.
func (n *naive) placeUnder(e *nEntry, p *schemas.Policy) nPlace {
	at, group, longest := n.placeInGroup(e, p), uint32(1), 0
	for i, domains := range [][]string{n.ctl.GetPriority().GetFirst(), n.ctl.GetPriority().GetLast()} {
		for _, d := range domains {
			if host := weburl.Host(e.url); len(d) > longest && strings.HasSuffix("."+host, "."+d) {
				group, longest = uint32(2*i), len(d)
			}
		}
	}
	if at.in && n.ctl.GetPriority() != nil {
		at.tier += 4 * group
	}
	return at
}

func (n *naive) placeInGroup(e *nEntry, p *schemas.Policy) (out nPlace) {
	if n.learnsPolicy(p) {
		out.model = n.using.version
	}
	r := func(l nLink) float64 {
		switch p.GetPosterior() {
		case schemas.Posterior_POSTERIOR_TEMPERED:
			return l.page.tempered
		case schemas.Posterior_POSTERIOR_CALIBRATED:
			return l.page.calibrated
		}
		return l.page.raw
	}
	score := func(l nLink) float64 {
		src := &policy.Source{Seed: l.page.seeds, URL: l.page.url, Raw: l.page.raw, Tempered: l.page.tempered, Calibrated: l.page.calibrated, BestIsFocus: l.page.best}
		if o, ok := n.options.Rankers[p.GetName()]; ok {
			return o.Score(e.url, src)
		}
		switch p.GetRanker() {
		case schemas.Ranker_RANKER_UNFOCUSED:
			return 0
		case schemas.Ranker_RANKER_RANDOM:
			random, err := policy.New(&schemas.Policy{Name: "r", Ranker: p.GetRanker()}, n.ctl.GetRandomSeed())
			if err != nil {
				panic(err)
			}
			at, err := random.Add(policy.Place{}, e.url, src, 0)
			if err != nil {
				panic(err)
			}
			return at.Score
		case schemas.Ranker_RANKER_ANCHOR:
			if l.anchor >= 0 && !src.Seed {
				odds := func(p float64) float64 {
					p = math.Max(5e-4, math.Min(1-5e-4, p))
					return math.Log(p) - math.Log1p(-p)
				}
				return 1 / (1 + math.Exp(-(odds(r(l))+odds(l.anchor))/2))
			}
		case schemas.Ranker_RANKER_GUIDE:
			if result, ok := l.guided(p); ok && !src.Seed {
				return result
			}
		case schemas.Ranker_RANKER_APPRENTICE:
			if n.using.model != nil && !src.Seed {
				return n.using.model.Score(n.features(l))
			}
		}
		if src.Seed && n.expands(p) {
			return 0
		}
		if src.Seed {
			return 1
		}
		return r(l)
	}
	links := n.sortedLinks(e)
	for _, l := range links {
		if n.expands(p) {
			break // its seeds are links like others
		}
		if l.page.seeds && p.GetCombine() == schemas.Combine_COMBINE_COUNT {
			return nPlace{in: true, score: 1, model: out.model}
		}
		if l.page.seeds {
			return nPlace{in: true, score: score(l), model: out.model}
		}
	}
	passes := func(l nLink) bool {
		if l.page.seeds {
			return true
		}
		switch p.GetGate().GetCondition() {
		case schemas.GateCondition_GATE_CONDITION_RELEVANCE:
			return r(l) >= p.GetGate().GetThreshold()
		case schemas.GateCondition_GATE_CONDITION_BEST_TOPIC:
			return l.page.best
		}
		return true
	}
	_, overridden := n.options.Rankers[p.GetName()]
	isGuided := p.GetRanker() == schemas.Ranker_RANKER_GUIDE && !overridden
	var tiers [4][]nLink
	for _, l := range links {
		tier := 0
		if !passes(l) {
			if tier = 1; p.GetGate().GetAction() == schemas.GateAction_GATE_ACTION_DROP {
				continue
			}
		}
		if n.expands(p) && l.page.seeds {
			tier = 1
		} else if n.expands(p) && l.page.expanded {
			tier = 0
		} else if _, ok := l.guided(p); isGuided && ok {
			tier++
		} else if isGuided {
			tier = 3
		}
		tiers[tier] = append(tiers[tier], l)
	}
	at := slices.IndexFunc(tiers[:], func(ls []nLink) bool { return len(ls) > 0 })
	if at < 0 {
		return out
	}
	through := tiers[at]
	out.tier = uint32(at)
	out.in = true
	var scores []float64
	best := 0
	for i, l := range through {
		scores = append(scores, score(l))
		if scores[i] > scores[best] {
			best = i
		}
	}
	how := p.GetCombine()
	probabilities := p.GetRanker() != schemas.Ranker_RANKER_UNFOCUSED && p.GetRanker() != schemas.Ranker_RANKER_RANDOM
	if (overridden || !probabilities) && how != schemas.Combine_COMBINE_FROZEN && how != schemas.Combine_COMBINE_COUNT {
		how = schemas.Combine_COMBINE_MAXIMUM
	}
	switch how {
	case schemas.Combine_COMBINE_FROZEN:
		best = 0
		out.score = scores[0]
	case schemas.Combine_COMBINE_MEAN_LOG_ODDS:
		var sum float64
		for _, s := range scores {
			s = math.Max(5e-4, math.Min(1-5e-4, s))
			sum += math.Log(s) - math.Log1p(-s)
		}
		out.score = 1 / (1 + math.Exp(-sum/float64(len(scores))))
	case schemas.Combine_COMBINE_MEAN_AND_MAXIMUM:
		var sum float64
		odds := func(p float64) float64 {
			p = math.Max(5e-4, math.Min(1-5e-4, p))
			return math.Log(p) - math.Log1p(-p)
		}
		for _, s := range scores {
			sum += odds(s)
		}
		out.score = 1 / (1 + math.Exp(-(sum/float64(len(scores))/2 + odds(slices.Max(scores))/2)))
	case schemas.Combine_COMBINE_NOISY_OR:
		none := 1.0
		for _, s := range scores {
			none *= 1 - s
		}
		out.score = 1 - none
	case schemas.Combine_COMBINE_COUNT:
		out.score = float64(len(scores)) / float64(len(scores)+1)
	default:
		out.score = slices.Max(scores)
	}
	if tiers := float64(p.GetTiers()); tiers > 0 && probabilities && !overridden {
		out.score = math.Round(out.score*tiers) / tiers
	}
	if e.raised && p.GetRaise() {
		out.score = 2
	}
	out.via, out.page = through[best].page.url, through[best].page
	if isGuided {
		out.state = through[best].remembered(p)
	}
	return out
}

// expands reports whether a policy orders pages.
func (n *naive) expands(p *schemas.Policy) bool {
	_, overridden := n.options.Rankers[p.GetName()]
	return p.GetExpand() == schemas.Expand_EXPAND_PAGE && !overridden
}

// expand places again the other links of the page by which an entry was chosen.
func (n *naive) expand(p *nPage) {
	if p == nil || !p.listed || p.expanded {
		return
	}
	p.expanded = true
	for _, e := range p.targets {
		if e = n.resolve(e); e.state == state.Queued && !e.unranked {
			n.place(e)
		}
	}
}

// asking counts the requests in flight that allow a query.
func (n *naive) asking() (count uint64) {
	for _, f := range n.flights {
		if may, err := allows(f.request); err != nil {
			panic(err)
		} else if may {
			count++
		}
	}
	return count
}

// mayAsk reports whether one more query can be reserved with one more request.
func (n *naive) mayAsk() bool {
	b, requests := n.ctl.GetBacklinks(), n.ctl.GetBudget().GetRequests()
	return b.GetSource() != "" && n.queries+n.asking() < b.GetRation() &&
		(requests == 0 || n.requests+uint64(len(n.flights))+n.asking()+2 <= requests)
}

func (n *naive) resolve(e *nEntry) *nEntry {
	for e.state == state.Alias {
		e = e.target
	}
	return e
}

// discover returns nil if the host has reached its cap.
func (n *naive) discover(url string, depth, hops uint32) *nEntry {
	if n.capped(url) {
		n.refused["host-cap"]++
		return nil
	}
	n.host(url)
	e := &nEntry{url: url, ordinal: len(n.entries) + 1, depth: depth, hops: hops}
	n.entries = append(n.entries, e)
	n.byURL[url] = e
	return e
}

func (n *naive) queue(e *nEntry) {
	if n.excluded(e.url) {
		n.exclude(e)
		return
	}
	e.state = state.Queued
	n.place(e)
}

// linked queues an entry that is new, or places a queued one again.
func (n *naive) linked(e *nEntry, isNew bool) {
	if isNew {
		n.queue(e)
	} else {
		n.place(e)
	}
}

func (n *naive) applyLinks(p *nPage, u *nEntry, links []*schemas.Link, anchors []uint32) (out []*schemas.LeapSettled) {
	p.listed = !p.seeds && slices.ContainsFunc(n.ctl.GetPolicies(), n.expands)
	seen := map[string]bool{}
	for i, l := range links {
		if seen[l.GetUrl()] || (u != nil && u.url == l.GetUrl()) {
			continue
		}
		seen[l.GetUrl()] = true
		var depth uint32
		if u != nil {
			depth = u.depth + 1
		}
		if reason := n.scope.Check(l.GetUrl(), depth); reason != "" {
			n.refused[string(reason)]++
			continue
		}
		found := n.byURL[l.GetUrl()]
		nl := nLink{page: p, index: i, link: l, anchor: -1}
		if i < len(anchors) {
			nl.anchor = float64(anchors[i]) / 65535
		}
		var e *nEntry
		isNew := found == nil
		if isNew {
			if e = n.discover(l.GetUrl(), depth, 0); e == nil {
				continue
			}
		} else if e = n.resolve(found); e == u && u != nil {
			continue
		}
		if e.state == state.Final {
			if !p.seeds && n.ctl.GetLearning().GetPairs() != schemas.Pairs_PAIRS_FORWARD {
				n.links++
				out = append(out, n.leap(nl, e))
			}
			continue
		}
		if !p.seeds {
			n.links++
		}
		e.depth = min(e.depth, depth)
		e.links = append(e.links, nl)
		p.targets = append(p.targets, e)
		if isNew || e.state == state.Queued {
			n.linked(e, isNew)
			if e.state == state.Queued && !slices.ContainsFunc(e.places, func(p nPlace) bool { return p.in }) {
				n.refused["gate"]++
			}
		}
	}
	return out
}

// features of a link, of the crawl's families.
func (n *naive) features(l nLink) []*schemas.Feature {
	table, err := linkfeature.Open(l.page.table)
	families, bad := linkfeature.FamiliesOf(n.ctl.GetLearning().GetFeatures())
	if err != nil || bad != nil {
		panic(errors.Join(err, bad))
	}
	return table.FeaturesOf(l.link, int(n.ctl.GetLearning().GetDMax()), families)
}

func (n *naive) leap(l nLink, v *nEntry) *schemas.LeapSettled {
	id := schemas.LeapID(n.crawl, l.page.url, l.link.GetUrl())
	request := schemas.RequestID(n.crawl, v.url, v.attempt)
	forward := n.ctl.GetLearning().GetPairs() == schemas.Pairs_PAIRS_FORWARD
	out := &schemas.LeapSettled{
		Id: id.Bytes(), Crawl: n.crawl, U: l.page.url, V: l.link.GetUrl(), Outcome: v.outcome,
		TargetRaw: v.raw, TargetTempered: v.tempered, SourceRaw: l.page.raw, SourceTempered: l.page.tempered,
		NoApprentice: n.noApprentice,
		Score:        v.request.GetScore(), Policy: v.request.GetPolicy(), Model: v.request.GetModel(),
		Request: request.Bytes(), Pages: n.pages, Forward: v.request.GetClock() >= l.page.number,
	}
	if !n.noApprentice {
		out.Features = n.features(l)
	}
	if v.outcome == schemas.Outcome_OUTCOME_DELIVERED && !l.link.GetBacklink() && (out.Forward || !forward) && l.page.url != v.url &&
		v.trained < or(n.ctl.GetLearning().GetMaxPairsPerTarget(), 5) && math.Abs(l.page.raw-v.raw) >= n.ctl.GetLearning().GetActive() {
		out.Trains = true
		v.trained++
		n.trained++
	}
	n.leaps++
	n.settled = append(n.settled, id)
	return out
}

func (n *naive) settle(v *nEntry) (out []*schemas.LeapSettled) {
	for _, l := range n.sortedLinks(v) {
		if !l.page.seeds {
			out = append(out, n.leap(l, v))
		}
	}
	v.links = nil
	return out
}

func (n *naive) apply(rec *schemas.LinkFound, now int64) (out []*schemas.LeapSettled, duplicate bool) {
	id := schemas.ID(rec.GetId())
	if rec.GetOutcome() == schemas.Outcome_OUTCOME_SEEDS {
		if n.seedIDs[id] {
			n.duplicates++
			return nil, true
		}
		n.seedIDs[id] = true
		n.clock++
		n.seeds++
		n.found = append(n.found, id)
		return n.applyLinks(&nPage{number: n.clock, seeds: true}, nil, rec.GetLinks(), nil), false
	}
	if rec.GetOutcome() == schemas.Outcome_OUTCOME_REPLAY {
		if n.seedIDs[id] {
			n.duplicates++
			return nil, true
		}
		n.seedIDs[id] = true
		n.clock++
		n.found = append(n.found, id)
		e := n.byURL[rec.GetUrl()]
		if e != nil && e.state == state.Final && strings.HasPrefix(schemas.OutcomeName(e.outcome), "failed:") && string(e.request.GetId()) == string(rec.GetReplay()) {
			n.queue(e)
		} else {
			n.refused["replay"]++
		}
		return nil, false
	}
	if rec.GetOutcome() == schemas.Outcome_OUTCOME_RETRY_FAILED {
		if n.seedIDs[id] {
			n.duplicates++
			return nil, true
		}
		n.seedIDs[id] = true
		n.clock++
		n.found = append(n.found, id)
		n.retryFailed()
		return nil, false
	}
	f := n.flights[id]
	if f == nil {
		n.duplicates++
		return nil, true
	}
	delete(n.flights, id)
	n.clock++
	n.found = append(n.found, id)
	e, outcome := f.entry, rec.GetOutcome()
	if schemas.Outcomes[outcome].Unreachable == 0 {
		n.latency = append(n.latency, [2]int64{now, now - f.request.GetDispatchedAt()})
	}
	n.reach(n.host(e.url), rec, now)
	n.outcomes[schemas.OutcomeName(outcome)]++
	row := schemas.Outcomes[outcome]
	if row.Request {
		n.requests++
	}
	n.queries += uint64(rec.GetJudgement().GetBacklinks().GetQueries())
	n.requests += uint64(rec.GetJudgement().GetBacklinks().GetQueries())
	if row.Page {
		n.pages++
		n.raw += rec.GetJudgement().GetRaw()
		n.tempered += rec.GetJudgement().GetTempered()
	}
	if none := f.request.GetModels().GetFirst() == 0; none != n.noApprentice {
		n.noApprentice, n.rankedSince = none, n.pages
	}
	delay := n.options.RetryDelay.Milliseconds()
	notBefore := min(rec.GetNotBefore(), now+24*3600*1000)
	final := func(o schemas.Outcome) []*schemas.LeapSettled {
		e.state, e.outcome, e.raised = state.Final, o, false
		return n.settle(e)
	}
	switch {
	case row.Unreachable != 0:
		n.host(e.url).dispatched--
		n.unreachable(e, rec, now)
		n.queue(e)
	case outcome == schemas.Outcome_OUTCOME_DEFERRED, outcome == schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE, outcome == schemas.Outcome_OUTCOME_CANCELLED:
		n.host(e.url).dispatched--
		at := notBefore
		if at == 0 {
			at = now + delay
		}
		if h := n.host(e.url); at > now && at > h.notBefore {
			h.sleep(at, nRest(rec))
		}
		n.queue(e)
	case row.Retry && e.tries+1 < or(n.ctl.GetMaxAttempts(), 3):
		e.tries++
		if n.excluded(e.url) {
			n.exclude(e)
			break
		}
		e.state, e.notBefore = state.Waiting, notBefore
		if e.notBefore == 0 {
			e.notBefore = now + delay*int64(1<<(e.tries-1))
		}
	case outcome == schemas.Outcome_OUTCOME_REDIRECTED:
		out = n.redirect(e, rec.GetRedirect(), final)
	case outcome == schemas.Outcome_OUTCOME_DELIVERED:
		j := rec.GetJudgement()
		e.state, e.outcome, e.raw, e.tempered, e.raised = state.Final, outcome, j.GetRaw(), j.GetTempered(), false
		n.credit(e, j)
		p := &nPage{
			number: n.clock, url: e.url, best: j.GetBestIsFocus(), raw: j.GetRaw(), tempered: j.GetTempered(), calibrated: j.GetCalibrated(),
			table: rec.GetTable(), guidance: j.GetGuidance(),
		}
		out = n.applyLinks(p, e, rec.GetLinks(), j.GetAnchors())
		out = append(out, n.settle(e)...)
		out = append(out, n.boundaries(f.request)...)
	default:
		out = final(outcome)
	}
	for _, leap := range out {
		if string(leap.GetRequest()) == string(rec.GetId()) {
			leap.Shadows = f.request.GetShadows()
		}
	}
	return out, false
}

// schedule is when models are due by the control record.
func (n *naive) schedule() *schemas.ModelSchedule {
	l := n.ctl.GetLearning()
	if !n.asksModel() {
		return &schemas.ModelSchedule{}
	}
	return &schemas.ModelSchedule{
		First: or(l.GetSwitchPages(), max(30, n.budget()/20)),
		Every: or(l.GetRefitPages(), min(max(n.budget()/40, 10), max(100, n.budget()/200))),
	}
}

// boundaries is the record that makes a model due by the schedule of a request whose page was delivered.
func (n *naive) boundaries(r *schemas.FetchRequest) []*schemas.LeapSettled {
	by, due := r.GetModels(), n.pages
	if by.GetFirst() == 0 || n.boundary == 0 && n.pages < n.rankedSince+by.GetFirst() {
		return nil
	}
	for due > n.boundary && (due < by.GetFirst() || (due-by.GetFirst())%by.GetEvery() != 0) {
		due--
	}
	if due <= n.boundary {
		return nil
	}
	n.boundary = due
	id := schemas.LeapID(n.crawl, "boundary", strconv.Itoa(int(due)))
	n.settled = append(n.settled, id)
	return []*schemas.LeapSettled{{Id: id.Bytes(), Crawl: n.crawl, Pages: due, Boundary: true}}
}

func (n *naive) redirect(v *nEntry, target string, final func(schemas.Outcome) []*schemas.LeapSettled) []*schemas.LeapSettled {
	u, err := weburl.Parse(target)
	if err != nil || v.hops == 10 {
		return final(schemas.Outcome_OUTCOME_BAD_REDIRECT)
	}
	t := n.byURL[u.String()]
	isNew := t == nil
	if !isNew {
		if t = n.resolve(t); t == v {
			return final(schemas.Outcome_OUTCOME_BAD_REDIRECT)
		}
	} else {
		if reason := n.scope.Check(u.String(), v.depth); reason != "" {
			n.refused[string(reason)]++
			return final(schemas.Outcome_OUTCOME_REDIRECTED)
		}
		if t = n.discover(u.String(), v.depth, v.hops+1); t == nil {
			return final(schemas.Outcome_OUTCOME_REDIRECTED)
		}
	}
	v.state, v.target = state.Alias, t
	t.raised = t.state != state.Final && (t.raised || v.raised)
	v.raised = false
	if isNew && len(v.links) == 0 {
		t.request = v.request // until it has its own
	}
	t.links, v.links = append(t.links, v.links...), nil
	t.depth = min(t.depth, v.depth)
	switch {
	case isNew || t.state == state.Queued:
		n.linked(t, isNew)
	case t.state == state.Final:
		return n.settle(t)
	}
	return nil
}

func (n *naive) wakeUp(now int64) {
	for _, h := range n.hosts {
		if h.notBefore <= now {
			h.notBefore, h.rest = 0, 0
		}
	}
	for _, e := range n.entries {
		if e.state == state.Waiting && e.notBefore <= now {
			n.queue(e)
		}
	}
}

func (n *naive) inFlight(host string) (count uint32) {
	for _, f := range n.flights {
		if weburl.Host(f.entry.url) == host {
			count++
		}
	}
	return count
}

func (n *naive) window() uint64 {
	if w := n.ctl.GetWindow(); w > 0 {
		return uint64(w)
	}
	w, best, tried := 16, 0, false
	for begin, end := 0, 1; end <= len(n.latency); end++ {
		if end-begin < max(64, 2*w) {
			continue
		}
		look := n.latency[max(0, begin-1, end-1024):end]
		rate := (len(look) - 1) * 1_000_000 / int(max(1, look[len(look)-1][0]-look[0][0]))
		faster := rate*8 > best*9
		best = max(rate, best-best/16)
		again := end/(16*w) > begin/(16*w)
		begin = end
		switch {
		case tried && !faster:
			w, tried = w/2, false
		case w < 1024 && (faster || again):
			w, tried = 2*w, true
		default:
			tried = false
		}
	}
	return min(uint64(w), max(1, n.budget()/20))
}

func (n *naive) modelDue() bool {
	return n.ctl.GetLearning().GetSync() && n.asksModel() && n.answered < n.boundary
}

func (n *naive) dispatching() bool {
	return n.ctl.GetState() == schemas.CrawlState_CRAWL_STATE_RUNNING && !n.stopped && !n.modelDue() && !n.hubsDue()
}

func (n *naive) room() bool {
	taken, b := uint64(len(n.flights)), n.ctl.GetBudget()
	return taken < n.window() && (b.GetPages() == 0 || n.pages+taken < b.GetPages()) &&
		(b.GetRequests() == 0 || n.requests+taken+n.asking() < b.GetRequests())
}

func (n *naive) dispatch(now int64, most int) (out []*schemas.FetchRequest) {
	n.wakeUp(now)
	if !n.dispatching() {
		return nil
	}
	if n.ctl.GetLearning().GetSync() {
		n.rescore(1 << 30)
	}
	inside, _ := n.backlog()
	if inside == 0 && len(n.unranked()) == 0 && n.givenUpURLs() > 0 {
		return nil
	}
	for len(out) < most && n.room() && n.reachable(now) {
		lead, e := n.choose()
		if e == nil && len(n.unranked()) > 0 {
			n.rescore(rescoreStep)
			continue
		}
		if _, waits := n.waits(lead, e, now); e == nil || waits {
			break
		}
		if e.ordinal > n.checked && e.ordinal <= n.checkTo && n.excluded(e.url) {
			n.exclude(e)
			continue
		}
		e.state = state.InFlight
		e.attempt++
		at := e.places[lead]
		shadowed, result := n.shadows(e)
		id := schemas.RequestID(n.crawl, e.url, e.attempt)
		e.request = &schemas.FetchRequest{
			Id: id.Bytes(), Crawl: n.crawl, Url: e.url, Host: weburl.Host(e.url), Attempt: e.attempt,
			Epoch: n.options.Epoch, Owner: n.options.Owner, Politeness: n.ctl.GetPoliteness(),
			Score: at.score, Tier: at.tier, Policy: n.ctl.GetPolicies()[lead].GetName(), Model: at.model,
			Depth: e.depth, Via: at.via, Hops: e.hops, DispatchedAt: now, Ordinal: uint64(len(n.log) + 1), Clock: n.clock,
			PathState: n.pathTo(e, shadowed), Shadows: result, Models: n.schedule(),
		}
		if len(n.log) == 0 || now < n.startedAt {
			n.startedAt = now
		}
		n.log = append(n.log, e.request)
		if n.ctl.GetMixture() != nil {
			n.arms[e.request.GetPolicy()].Chosen++
		}
		n.requested = append(n.requested, id)
		n.flights[id] = &nFlight{e, e.request}
		n.host(e.url).dispatched++
		out = append(out, e.request)
		if n.expands(n.ctl.GetPolicies()[lead]) {
			n.expand(at.page)
		}
	}
	return out
}

// choose draws the policy that leads and returns the best entry that it can have now, nil if
// no policy has one.
func (n *naive) choose() (lead int, e *nEntry) {
	heads := make([]*nEntry, len(n.ctl.GetPolicies()))
	arms := make([]policy.Arm, len(heads))
	for p, policy := range n.ctl.GetPolicies() {
		if es := n.order(p, n.open); len(es) > 0 {
			heads[p] = es[0]
		}
		if arm := n.arms[policy.GetName()]; arm != nil {
			arms[p] = *arm
		}
	}
	mixture, err := policy.NewMixture(n.ctl.GetMixture(), n.ctl.GetRandomSeed())
	if err != nil {
		panic(err)
	}
	if mixture == nil {
		return 0, heads[0]
	}
	lead, ok := mixture.Choose(arms, uint64(len(n.log)+1), func(p int) bool { return heads[p] != nil })
	if !ok {
		return 0, nil
	}
	return lead, heads[lead]
}

// open reports whether a request may be dispatched to the entry's host now.
func (n *naive) open(e *nEntry) bool { return n.askable(e) && !n.full(e) }

func (n *naive) askable(e *nEntry) bool { return !n.capped(e.url) && n.host(e.url).notBefore == 0 }

func (n *naive) full(e *nEntry) bool {
	most := n.ctl.GetHostWindow()
	if most == 0 && n.ctl.GetPoliteness().GetDelayMs() > 0 {
		most = 2
	} else if most == 0 {
		most = 100
	}
	if n.host(e.url).failingSince > 0 {
		most = 1
	}
	return n.inFlight(weburl.Host(e.url)) >= most
}

// waits reports whether an entry is not dispatched because of a better one of a host that is full, and
// until when.
func (n *naive) waits(p int, e *nEntry, now int64) (until int64, yes bool) {
	if e == nil || uint64(len(n.flights)) < (n.window()+7)/8 || n.ctl.GetWindow() == 0 && len(n.flights) < 16 {
		return 0, false
	}
	late := make(map[string]bool)
	until = math.MaxInt64
	for _, f := range n.flights {
		end := f.request.GetDispatchedAt() + n.patience()
		if end <= now {
			late[f.request.GetHost()] = true
		} else {
			until = min(until, end)
		}
	}
	better := n.order(p, func(b *nEntry) bool {
		x, y := b.places[p], e.places[p]
		return n.askable(b) && n.full(b) && !late[weburl.Host(b.url)] &&
			cmp.Or(cmp.Compare(x.tier, y.tier), cmp.Compare(b.tries, e.tries), cmp.Compare(y.score, x.score)) < 0
	})
	return until, len(better) > 0
}

func (n *naive) patience() int64 {
	var took []int64
	for _, l := range n.latency[max(0, len(n.latency)-1024):] {
		took = append(took, l[1])
	}
	if len(took) == 0 {
		return 1000
	}
	slices.Sort(took)
	return max(1000, 4*took[len(took)/2])
}

// credit credits the arms of the policies in force with a delivered page.
func (n *naive) credit(e *nEntry, j *schemas.Judgement) {
	keep := n.ctl.GetMixture().GetKeep()
	if n.ctl.GetMixture() == nil {
		return
	} else if keep == 0 {
		keep = .99
	}
	for _, p := range n.ctl.GetPolicies() {
		a := n.arms[p.GetName()]
		a.Alpha, a.Beta = 1+keep*(a.Alpha-1), 1+keep*(a.Beta-1)
		if p.GetName() == e.request.GetPolicy() && e.depth > 0 {
			r := j.GetCalibrated()
			a.Alpha, a.Beta, a.Credited, a.Reward = a.Alpha+r, a.Beta+1-r, a.Credited+1, a.Reward+r
		}
	}
}

// within reports whether a policy that leads has a place for the entry.
func (n *naive) within(e *nEntry) bool {
	if n.ctl.GetMixture() == nil {
		return e.places[0].in
	}
	return slices.ContainsFunc(e.places, func(p nPlace) bool { return p.in })
}

// backlog counts what can still be fetched, and what gates left outside.
func (n *naive) backlog() (inside, outside uint64) {
	for _, e := range n.entries {
		switch {
		case e.state == state.Queued && e.unranked:
		case e.state == state.Queued && !n.within(e):
			outside++
		case (e.state == state.Queued || e.state == state.Waiting) && !n.capped(e.url) && !n.givenUp(n.host(e.url)):
			inside++
		}
	}
	return inside, outside
}

func (n *naive) finished() (string, bool) {
	b := n.ctl.GetBudget()
	inside, outside := n.backlog()
	switch {
	case len(n.flights) > 0:
		return "", false
	case n.stopped:
		return EndStopped, true
	case b.GetPages() > 0 && n.pages >= b.GetPages():
		return EndPages, true
	case b.GetRequests() > 0 && n.requests >= b.GetRequests():
		return EndRequests, true
	case n.seeds == 0 || inside > 0 || len(n.unranked()) > 0 || n.checked < n.checkTo:
		return "", false
	case n.givenUpURLs() > 0:
		return EndUnreachable, true
	case outside > 0:
		return EndStagnated, true
	}
	return EndEmpty, true
}

func (n *naive) wake(now int64) (time.Time, bool) {
	var times []int64
	if inside, _ := n.backlog(); n.since > 0 && inside > 0 && n.until > now {
		return time.UnixMilli(n.until), true
	}
	if lead, e := n.choose(); n.dispatching() && n.room() && n.since == 0 {
		if until, waits := n.waits(lead, e, now); waits {
			times = append(times, until)
		}
	}
	for _, h := range n.hosts {
		if h.notBefore > 0 {
			times = append(times, h.notBefore)
		}
	}
	for _, e := range n.entries {
		if e.state == state.Waiting {
			times = append(times, e.notBefore)
		}
	}
	if len(times) == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(slices.Min(times)), true
}

func (n *naive) status(now int64) *schemas.CrawlStatus {
	inside, _ := n.backlog()
	reason, ended := n.finished()
	st := &schemas.CrawlStatus{
		Crawl: n.crawl, EndReason: reason, Epoch: n.options.Epoch, Dispatched: uint64(len(n.log)),
		InFlight: uint64(len(n.flights)), Queued: inside + uint64(len(n.unranked())), Outcomes: n.outcomes, Refused: n.refused,
		Pages: n.pages, RelevanceRaw: n.raw, RelevanceTempered: n.tempered, Requests: n.requests,
		Links: n.links, Leaps: n.leaps, Trained: n.trained, Duplicates: n.duplicates,
		At: now, StartedAt: n.startedAt, Window: uint32(n.window()),
		Spans: map[string]*schemas.TopicSpan{
			"fetch.requested": nSpan(n.requested), "link.found": nSpan(n.found), "leap.settled": nSpan(n.settled),
		},
	}
	limit := func(limit, used uint64) uint64 {
		return uint64(max(0, int64(limit)-int64(used)-int64(len(n.flights))))
	}
	asking := n.asking()
	st.PagesLeft = limit(n.ctl.GetBudget().GetPages(), n.pages)
	st.RequestsLeft = limit(n.ctl.GetBudget().GetRequests(), n.requests+asking)
	if took := n.latency[max(0, len(n.latency)-1024):]; len(took) > 0 {
		sorted := make([]int, len(took))
		for i := range took {
			sorted[i] = int(took[i][1])
		}
		sort.Ints(sorted)
		st.LatencyP50Ms, st.LatencyP95Ms = uint32(sorted[len(sorted)/2]), uint32(sorted[min(len(sorted)-1, len(sorted)*95/100)])
	}
	if n.learnsPolicy(n.ctl.GetPolicies()[0]) || n.ctl.GetMixture() != nil && n.learns() {
		st.Model = n.using.version
	}
	for _, p := range n.ctl.GetPolicies() {
		if a := n.arms[p.GetName()]; n.ctl.GetMixture() != nil {
			st.Arms = append(st.Arms, &schemas.Arm{
				Policy: p.GetName(), Chosen: a.Chosen, Credited: a.Credited, Reward: a.Reward, Alpha: a.Alpha, Beta: a.Beta,
			})
		}
	}
	st.Unreachable, st.Waits = n.unreachableStatus(now), n.waitsFor()
	switch {
	case ended:
		st.State = schemas.ShardState_SHARD_STATE_FINISHED
		return st
	case n.stopped:
		st.State = schemas.ShardState_SHARD_STATE_STOPPING
	case n.ctl.GetState() == schemas.CrawlState_CRAWL_STATE_PAUSED:
		st.State = schemas.ShardState_SHARD_STATE_PAUSED
	default:
		st.State = schemas.ShardState_SHARD_STATE_RUNNING
	}
	var done, all int
	for p, policy := range n.ctl.GetPolicies() {
		if n.passing && n.learnsPolicy(policy) {
			all += len(n.order(p, func(*nEntry) bool { return true }))
			done += len(n.order(p, func(e *nEntry) bool { return e.done }))
		}
	}
	if n.since > 0 {
		st.Outage = &schemas.Outage{Since: n.since, Cause: "no network", NextProbe: n.until}
	}
	if n.since > 0 {
		st.Activity = "waiting for the network"
	} else if n.modelDue() {
		st.Activity = "model wait"
	} else if n.hubsDue() {
		st.Activity = "hub wait"
	} else if left := n.checkTo - n.checked; left > 0 {
		st.Activity = fmt.Sprintf("other excludes: %d URLs still to be checked", left)
	} else if left := len(n.unranked()); left > 0 {
		st.Activity = fmt.Sprintf("other policies: %d entries still to be placed", left)
	} else if all > 0 {
		st.Activity = fmt.Sprintf("re-scoring %d%%", done*100/all)
	}
	return st
}

func nSpan(ids []schemas.ID) *schemas.TopicSpan {
	xor := make([]byte, 16)
	for _, id := range ids {
		for i := range xor {
			xor[i] ^= id[i]
		}
	}
	return &schemas.TopicSpan{Count: uint64(len(ids)), Xor: xor}
}

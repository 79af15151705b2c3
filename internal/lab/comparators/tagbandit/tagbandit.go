package tagbandit

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tidwall/btree"

	"forager/internal/rank/policy"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Ranker is what was learned from a crawl so far. Score may be called concurrently, but not during Observe.
type Ranker struct {
	random  *rand.Rand
	most    int // pages drawn at once
	pathsOf func(url string) map[string][]uint32

	groups  []*group
	groupOf map[string]int   // of paths
	known   map[string]place // of pages that visited ones link to
	number  uint64           // of the last place assigned
	visited map[string]bool
	seeds   map[string]bool
	aliases weburl.Redirects // targets of redirects
	pages   int              // that groups have led to
	drawn   []string         // and not visited, in the order in which they were drawn
	passed  int              // verdicts on other pages since the first of them was drawn, or a drawn page was visited
}

// group is links with similar tag paths.
type group struct {
	sum     map[uint32]float64 // of its paths: how often each pair of elements occurs
	pages   int
	reward  float64
	waiting queue // its pages that are neither visited nor drawn
	later   queue // pages that were given up; they wait again once no other page does
}

// queue holds pages by their numbers; the n-th is found, and any is removed, without a scan.
type queue struct{ btree.Map[uint64, string] }

// place is the position of a waiting page.
type place struct {
	group  int
	number uint64
}

const (
	// alike is the least cosine of a path to those of its group.
	alike = .75
	// patience is the number of verdicts on other pages after which a drawn page is given up.
	patience = 10
	// A drawn page comes before all others, a seed before it.
	seedScore, drawnScore = 2, 1
)

// New returns a bandit that has learned nothing; inFlight is the number of pages drawn at once, that of requests in flight.
// The function paths returns the tag paths (schemas.Link.tag_path) of the links of a delivered page by their targets.
func New(seed uint64, inFlight int, paths func(url string) map[string][]uint32) *Ranker {
	return &Ranker{
		random: rand.New(rand.NewPCG(seed, 0)), most: max(1, inFlight), pathsOf: paths, groupOf: make(map[string]int), known: make(map[string]place),
		visited: make(map[string]bool), seeds: make(map[string]bool), aliases: make(weburl.Redirects),
	}
}

// Score returns 1 for drawn pages, 0 for others.
func (r *Ranker) Score(v string, s *policy.Source) float64 {
	switch {
	case s.Seed:
		return seedScore
	case slices.Contains(r.drawn, v):
		return drawnScore
	}
	return 0
}

// Observe rewards the group that led to a page, adds the links of the page and draws the next pages. It returns the pages
// that were drawn or given up. See frontier.Learner.
func (r *Ranker) Observe(rec *schemas.LinkFound) (changed []string) {
	u := rec.GetUrl()
	if rec.GetOutcome() == schemas.Outcome_OUTCOME_SEEDS {
		for _, l := range rec.GetLinks() {
			r.seeds[l.GetUrl()] = true
		}
		return nil
	}
	if r.visited[u] {
		return nil
	}
	wanted := slices.Contains(r.drawn, u)
	r.visit(u)
	switch rec.GetOutcome() {
	case schemas.Outcome_OUTCOME_REDIRECTED:
		if r.redirect(u, rec.GetRedirect(), wanted) {
			return []string{r.aliases.End(u)}
		}
	case schemas.Outcome_OUTCOME_DELIVERED:
		if at, ok := r.known[u]; ok && !r.seeds[u] {
			r.pages++
			g := r.groups[at.group]
			g.pages++
			g.reward += rec.GetJudgement().GetRaw()
		}
		r.expand(u, rec.GetLinks())
	}
	switch r.passed++; {
	case wanted || len(r.drawn) == 0 || r.seeds[u]:
		r.passed = 0
	case r.passed == patience:
		changed = append(changed, r.giveUp())
	}
	return append(changed, r.draw()...)
}

// giveUp removes the page drawn first from the drawn ones.
func (r *Ranker) giveUp() string {
	v := r.drawn[0]
	r.drawn, r.passed = r.drawn[1:], 0
	at := r.known[v].group
	r.groups[at].later.Set(r.place(v, at), v)
	return v
}

// place appends a page to the queue of a group.
func (r *Ranker) place(v string, group int) (number uint64) {
	r.number++
	r.known[v] = place{group: group, number: r.number}
	return r.number
}

// visit removes a page from those that wait.
func (r *Ranker) visit(u string) {
	r.visited[u] = true
	r.drawn = slices.DeleteFunc(r.drawn, func(v string) bool { return v == u })
	r.remove(u)
}

// remove removes a page from its queue.
func (r *Ranker) remove(v string) {
	if at, ok := r.known[v]; ok {
		g := r.groups[at.group]
		g.waiting.Delete(at.number)
		g.later.Delete(at.number)
	}
}

// redirect moves the place of a page to the target of its redirect, and reports whether that is drawn now, as the page was.
func (r *Ranker) redirect(u, to string, wanted bool) (drawn bool) {
	v := r.aliases.End(to)
	at, ok := r.known[u]
	if to == "" || v == u || !ok {
		return false
	}
	r.aliases[u] = v
	r.enter(v, func() int { return at.group })
	if !wanted || r.visited[v] || r.seeds[v] || slices.Contains(r.drawn, v) {
		return false
	}
	r.take(v)
	return true
}

// expand adds the links of a page.
func (r *Ranker) expand(u string, links []*schemas.Link) {
	paths := r.pathsOf(u)
	for _, l := range links {
		r.enter(r.aliases.End(l.GetUrl()), func() int { return r.group(paths[l.GetUrl()]) })
	}
}

// enter adds an unknown page to a group, where it waits.
func (r *Ranker) enter(v string, of func() int) {
	if _, known := r.known[v]; known || r.visited[v] || r.seeds[v] {
		return
	}
	at := of()
	r.groups[at].waiting.Set(r.place(v, at), v)
}

// group returns that of a path: the most similar one, of equal ones the first; a new one if none is similar enough.
func (r *Ranker) group(path []uint32) int {
	key := keyOf(path)
	if g, ok := r.groupOf[key]; ok {
		return g
	}
	best, most := -1, alike
	vector := vectorOf(path)
	for i, g := range r.groups {
		if c := cosine(vector, g.sum); c > most || c == most && best < 0 {
			best, most = i, c
		}
	}
	if best < 0 {
		best = len(r.groups)
		r.groups = append(r.groups, &group{sum: make(map[uint32]float64)})
	}
	for pair, times := range vector {
		r.groups[best].sum[pair] += times
	}
	r.groupOf[key] = best
	return best
}

// draw draws pages from the groups with the largest upper bounds, up to the limit.
func (r *Ranker) draw() (drawn []string) {
	for len(r.drawn) < r.most {
		best, most := -1, math.Inf(-1)
		for i, g := range r.groups {
			if bound := g.bound(r.pages); g.waiting.Len() > 0 && bound > most {
				best, most = i, bound
			}
		}
		if best < 0 && !r.wake() {
			break
		}
		if best < 0 {
			continue
		}
		waiting := &r.groups[best].waiting
		_, v, _ := waiting.GetAt(r.random.IntN(waiting.Len()))
		r.take(v)
		drawn = append(drawn, v)
	}
	return drawn
}

// wake moves pages that were given up back to the waiting ones, and reports whether there are any.
func (r *Ranker) wake() (woken bool) {
	for _, g := range r.groups {
		woken = woken || g.later.Len() > 0
		g.waiting, g.later = g.later, queue{}
	}
	return woken
}

// take removes a page from its queue as it is drawn.
func (r *Ranker) take(v string) {
	r.remove(v)
	r.drawn = append(r.drawn, v)
}

// bound returns the upper confidence bound of the group's mean reward after so many pages in all.
func (g *group) bound(pages int) float64 {
	if g.pages == 0 {
		return math.MaxFloat64
	}
	n := float64(g.pages)
	return g.reward/n + math.Sqrt(2*math.Log(float64(pages))/n)
}

// keyOf returns a path as a key of a map.
func keyOf(path []uint32) string {
	b := make([]byte, 0, 4*len(path))
	for _, pair := range path {
		b = binary.LittleEndian.AppendUint32(b, pair)
	}
	return string(b)
}

// vectorOf returns the counts of the pairs of a path.
func vectorOf(path []uint32) map[uint32]float64 {
	counts := make(map[uint32]float64, len(path))
	for _, pair := range path {
		counts[pair]++
	}
	return counts
}

// cosine of a path to the sum of a group's paths; 1 for two empty ones. All elements are integers, whose sums are the same
// in any order.
func cosine(path, sum map[uint32]float64) float64 {
	if len(path) == 0 && len(sum) == 0 {
		return 1
	}
	var dot, own, theirs float64
	for pair, times := range path {
		dot += times * sum[pair]
		own += times * times
	}
	for _, times := range sum {
		theirs += times * times
	}
	if dot == 0 {
		return 0
	}
	return dot / math.Sqrt(own*theirs)
}

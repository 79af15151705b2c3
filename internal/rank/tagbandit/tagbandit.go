package tagbandit

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tidwall/btree"

	"forager/internal/rank/rank"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Ranker is what a crawl has taught so far. Score may be called by several goroutines while nobody calls Observe.
type Ranker struct {
	random *rand.Rand
	most   int // pages drawn at once

	groups  []*group
	groupOf map[string]int   // of paths
	known   map[string]place // of pages that visited ones link to
	number  uint64           // of the place given last
	visited map[string]bool
	seeds   map[string]bool
	aliases weburl.Redirects // where redirects lead
	pages   int              // that groups have led to
	drawn   []string         // and not visited, in the order in which they were drawn
	passed  int              // verdicts on other pages since the first of them was drawn, or the last one visited
	bound   rank.Bound
}

// group are links whose tag paths are alike.
type group struct {
	sum     map[uint32]float64 // of its paths: how often each pair of elements occurs
	pages   int
	reward  float64
	waiting queue // its pages that are neither visited nor drawn
	later   queue // those that were given up; they wait again once no other page does
}

// queue holds pages by their numbers, so that the n-th is found, and any taken out, without looking at the others.
type queue struct{ btree.Map[uint64, string] }

// place is where a page waits, or waited last.
type place struct {
	group  int
	number uint64
}

const (
	// alike is the least cosine of a path to those of its group.
	alike = .75
	// patience is the number of pages that may come before one that is drawn.
	patience = 10
	// What a page that waits, and a group, take in memory, bytes.
	waitingCost, groupCost = 48, 256
	// A drawn page is before all others, a seed before it.
	seedScore, drawnScore = 2, 1
)

// New returns a bandit that has learnt nothing and draws as many pages at once as there may be requests in flight.
func New(seed uint64, inFlight int) *Ranker {
	return &Ranker{
		random: rand.New(rand.NewPCG(seed, 0)), most: max(1, inFlight), groupOf: make(map[string]int), known: make(map[string]place),
		visited: make(map[string]bool), seeds: make(map[string]bool), aliases: make(weburl.Redirects),
	}
}

// Score is 1 of pages that are drawn, 0 of others.
func (r *Ranker) Score(v string, s *rank.Source) float64 {
	switch {
	case s.Seed:
		return seedScore
	case slices.Contains(r.drawn, v):
		return drawnScore
	}
	return 0
}

// Bound is what it takes in memory. Once that is full, no pages and groups become known any more; those that are known are drawn.
func (r *Ranker) Bound() rank.Bound { return r.bound }

// Observe rewards the group that led to a page, takes in its links and draws the next pages. It returns those that
// were drawn, or given up. See frontier.Learner.
func (r *Ranker) Observe(rec *schemas.LinkFound) (changed []string) {
	u := rec.GetUrl()
	full := r.bound.Full()
	if full {
		r.bound.Skipped++
	}
	if rec.GetOutcome() == schemas.Outcome_OUTCOME_SEEDS {
		for _, l := range rec.GetLinks() {
			if !full && !r.seeds[l.GetUrl()] {
				r.seeds[l.GetUrl()] = true
				r.bound.Used += rank.MapCost + len(l.GetUrl())
			}
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
		if !full {
			r.expand(rec.GetLinks())
		}
	}
	switch r.passed++; {
	case wanted || len(r.drawn) == 0 || r.seeds[u]:
		r.passed = 0
	case r.passed == patience:
		changed = append(changed, r.giveUp())
	}
	return append(changed, r.draw()...)
}

// giveUp takes the page drawn first, which others are fetched before again and again.
func (r *Ranker) giveUp() string {
	v := r.drawn[0]
	r.drawn, r.passed = r.drawn[1:], 0
	at := r.known[v].group
	r.groups[at].later.Set(r.place(v, at), v)
	return v
}

// place gives a page the last place of a group.
func (r *Ranker) place(v string, group int) (number uint64) {
	r.number++
	r.known[v] = place{group: group, number: r.number}
	return r.number
}

// visit takes a page out of those that wait.
func (r *Ranker) visit(u string) {
	if _, known := r.known[u]; known || !r.bound.Full() {
		r.visited[u] = true
		r.bound.Used += rank.MapCost
	}
	r.drawn = slices.DeleteFunc(r.drawn, func(v string) bool { return v == u })
	r.remove(u)
}

// remove takes a page out of where it waits.
func (r *Ranker) remove(v string) {
	if at, ok := r.known[v]; ok {
		g := r.groups[at.group]
		g.waiting.Delete(at.number)
		g.later.Delete(at.number)
	}
}

// redirect gives the place of a page to the one that it leads to, and says whether that is drawn now, as the page was.
func (r *Ranker) redirect(u, to string, wanted bool) (drawn bool) {
	v := r.aliases.End(to)
	at, ok := r.known[u]
	if to == "" || v == u || !ok || r.bound.Full() {
		return false
	}
	r.aliases[u] = v
	r.bound.Used += rank.MapCost
	r.enter(v, func() int { return at.group })
	if !wanted || r.visited[v] || r.seeds[v] || slices.Contains(r.drawn, v) {
		return false
	}
	r.take(v)
	return true
}

// expand takes in the links of a page.
func (r *Ranker) expand(links []*schemas.Link) {
	for _, l := range links {
		r.enter(r.aliases.End(l.GetUrl()), func() int { return r.group(l.GetTagPath()) })
	}
}

// enter makes a page known that is not: as one of a group, which waits.
func (r *Ranker) enter(v string, of func() int) {
	if _, known := r.known[v]; known || r.visited[v] || r.seeds[v] {
		return
	}
	at := of()
	r.bound.Used += 2*rank.MapCost + len(v) + waitingCost
	r.groups[at].waiting.Set(r.place(v, at), v)
}

// group of a path: the one that it is most like, of equal ones the first; a new one where it is like none.
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
		r.bound.Used += groupCost
	}
	for pair, times := range vector {
		r.groups[best].sum[pair] += times
	}
	r.bound.Used += rank.MapCost + len(key) + rank.MapCost*len(vector) // at most: a pair may be known
	r.groupOf[key] = best
	return best
}

// draw draws pages of the groups of the largest upper bounds, until there are as many as there may be.
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

// wake lets pages wait again that were given up, and says whether there are any.
func (r *Ranker) wake() (any bool) {
	for _, g := range r.groups {
		any = any || g.later.Len() > 0
		g.waiting, g.later = g.later, queue{}
	}
	return any
}

// take makes a page that waits one that is drawn.
func (r *Ranker) take(v string) {
	r.remove(v)
	r.drawn = append(r.drawn, v)
}

// bound is the upper confidence bound of the group's mean reward after so many pages in all.
func (g *group) bound(pages int) float64 {
	if g.pages == 0 {
		return math.MaxFloat64
	}
	n := float64(g.pages)
	return g.reward/n + math.Sqrt(2*math.Log(float64(pages))/n)
}

// keyOf is a path as a key.
func keyOf(path []uint32) string {
	b := make([]byte, 0, 4*len(path))
	for _, pair := range path {
		b = binary.LittleEndian.AppendUint32(b, pair)
	}
	return string(b)
}

// vectorOf counts the pairs of a path.
func vectorOf(path []uint32) map[uint32]float64 {
	counts := make(map[uint32]float64, len(path))
	for _, pair := range path {
		counts[pair]++
	}
	return counts
}

// cosine of a path to the sum of a group's; 1 of two empty ones. All are whole numbers, whose sums are the same in any order.
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

package experiment

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"forager/internal/dom"
	"forager/internal/frontier"
	"forager/internal/rank"
	"forager/internal/webarchive"
	"forager/schemas"
)

// tagBandit is the crawler SB-CLASSIFIER of Gauquier, Manolescu & Senellart (2025): links whose tag paths are alike form
// a group, groups are the arms of a sleeping bandit, and a page that a group has led to rewards it. The next page is drawn from
// the group of the largest upper bound
//
//	mean reward + √(2 ln t / n)        t pages, n of them of the group; a group without a page comes first
//
// among those with an unvisited page. A page is of the group of the first link to it. The paper rewards new
// links to files whose type their URLs tell; here the reward is R(v) of the page, in [0,1], for which the bound is that of UCB1
// (Auer, Cesa-Bianchi & Fischer 2002).
type tagBandit struct {
	ground *Ground
	paths  *tagPaths
	random *rand.Rand

	groups  []*tagGroup
	groupOf map[uint32]int // of paths
	known   map[string]*arrival
	visited map[string]bool
	seeds   map[string]bool
	pages   int
	// raised is the page to be fetched next; "" = none is left.
	raised string
}

// tagGroup are links whose tag paths are alike.
type tagGroup struct {
	sum     map[uint32]float64 // of the vectors of its paths
	pages   int
	reward  float64
	waiting []string // its pages that are not visited
}

// arrival is how a page became known.
type arrival struct {
	group int
	names []string // in the frontier: its URL, and redirects to it
}

// alikePaths is the least cosine of a path to those of its group.
const alikePaths = .75

func newTagBandit(g *Ground, seeds []string, seed uint64) (*tagBandit, error) {
	paths, err := g.web.tagPaths()
	if err != nil {
		return nil, err
	}
	b := &tagBandit{
		ground: g, paths: paths, random: rand.New(rand.NewPCG(seed, 0)), groupOf: make(map[uint32]int), known: make(map[string]*arrival),
		visited: make(map[string]bool), seeds: make(map[string]bool),
	}
	urls, err := canonical(seeds)
	for _, u := range urls {
		b.seeds[g.resolve(u)] = true
	}
	return b, err
}

func (b *tagBandit) Score(v string, s *rank.Source) float64 {
	switch {
	case s.Seed:
		return seedScore
	case b.raised != "" && b.ground.resolve(v) == b.raised:
		return 1
	}
	return 0
}

// observe rewards the group that led to a page, takes in its links and chooses the next page. What was chosen may be refused
// by the frontier, or answer with something that is no page: then the next verdict is on another one, and it is given up.
func (b *tagBandit) observe(s *frontier.Shard, u string) error {
	rec := b.ground.verdicts[u]
	if rec == nil || rec.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED || b.visited[u] {
		return nil
	}
	b.visit(u)
	if rec.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
		if a := b.known[u]; a != nil { // no seed is known by a link
			b.pages++
			b.groups[a.group].pages++
			b.groups[a.group].reward += rec.GetJudgement().GetRaw()
		}
		b.expand(u, rec.GetLinks())
	}
	if b.raised != "" && !b.visited[b.raised] {
		if b.seeds[u] {
			return nil // the raised page comes after the seeds
		}
		b.visit(b.raised)
	}
	return b.choose(s)
}

// visit takes a page out of those that wait.
func (b *tagBandit) visit(u string) {
	b.visited[u] = true
	if a := b.known[u]; a != nil {
		g := b.groups[a.group]
		g.waiting = slices.DeleteFunc(g.waiting, func(v string) bool { return v == u })
	}
}

// expand takes in the links of a page.
func (b *tagBandit) expand(u string, links []*schemas.Link) {
	of := b.paths.of[u]
	for i, l := range links {
		v := b.ground.resolve(l.GetUrl())
		if v == "" || b.visited[v] || b.seeds[v] {
			continue
		}
		a := b.known[v]
		if a == nil {
			a = &arrival{group: b.group(of[i]), names: []string{v}}
			b.known[v] = a
			b.groups[a.group].waiting = append(b.groups[a.group].waiting, v)
		}
		if !slices.Contains(a.names, l.GetUrl()) {
			a.names = append(a.names, l.GetUrl())
		}
	}
}

// group of a path: the one that it is most like, of equal ones the first; a new one where it is like none.
func (b *tagBandit) group(path uint32) int {
	if g, ok := b.groupOf[path]; ok {
		return g
	}
	best, most := -1, alikePaths
	vector := b.paths.vectors[path]
	for i, g := range b.groups {
		if c := cosineTo(vector, g.sum); c > most || c == most && best < 0 {
			best, most = i, c
		}
	}
	if best < 0 {
		best = len(b.groups)
		b.groups = append(b.groups, &tagGroup{sum: make(map[uint32]float64)})
	}
	for _, part := range vector {
		b.groups[best].sum[part.number] += part.times
	}
	b.groupOf[path] = best
	return best
}

// choose raises a page of the group of the largest upper bound.
func (b *tagBandit) choose(s *frontier.Shard) error {
	best, most := -1, math.Inf(-1)
	for i, g := range b.groups {
		if bound := g.bound(b.pages); len(g.waiting) > 0 && bound > most {
			best, most = i, bound
		}
	}
	if b.raised = ""; best < 0 {
		return nil
	}
	waiting := b.groups[best].waiting
	b.raised = waiting[b.random.IntN(len(waiting))]
	return s.Reconsider(b.known[b.raised].names...)
}

// bound is the upper confidence bound of the group's mean reward after so many pages in all.
func (g *tagGroup) bound(pages int) float64 {
	if g.pages == 0 {
		return math.MaxFloat64
	}
	n := float64(g.pages)
	return g.reward/n + math.Sqrt(2*math.Log(float64(pages))/n)
}

// tagPaths are the tag paths of the links of a web's pages.
type tagPaths struct {
	of      map[string][]uint32 // by page: the path of each link
	vectors [][]pathPart        // by path
}

// pathPart is two elements that follow each other in a path, the root behind nothing, and how often they do.
type pathPart struct {
	number uint32
	times  float64
}

// tagPaths reads the web's file once more: its pages are kept without their elements.
func (w *Web) tagPaths() (*tagPaths, error) {
	w.pathsOnce.Do(func() {
		if w.paths, w.pathsErr = w.readTagPaths(); w.pathsErr != nil {
			w.pathsErr = fmt.Errorf("tag paths of %s: %w", w.file, w.pathsErr)
		}
	})
	return w.paths, w.pathsErr
}

func (w *Web) readTagPaths() (*tagPaths, error) {
	archive, err := webarchive.Open(w.file)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	urls := archive.URLs()
	read, errs := make([][]string, len(urls)), make([]error, len(urls))
	each(len(urls), func(i int) {
		p := w.pages[urls[i]]
		if p == nil || p.outcome != schemas.Outcome_OUTCOME_DELIVERED {
			return
		}
		stored, _, err := archive.Lookup(urls[i])
		if err == nil {
			read[i], err = dom.TagPaths(stored.Body, stored.Header.Get("Content-Type"), stored.URL, dom.Settings{})
		}
		if err == nil && len(read[i]) != len(p.parsed.GetLinks()) {
			err = fmt.Errorf("%s has %d links, and paths of %d", p.url, len(p.parsed.GetLinks()), len(read[i]))
		}
		errs[i] = err
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	t := &tagPaths{of: make(map[string][]uint32, len(urls))}
	number, parts := make(map[string]uint32), make(map[string]uint32)
	for i, paths := range read {
		list := make([]uint32, len(paths))
		for k, path := range paths {
			n, ok := number[path]
			if !ok {
				n = uint32(len(t.vectors))
				number[path] = n
				t.vectors = append(t.vectors, vectorOf(path, parts))
			}
			list[k] = n
		}
		t.of[w.pages[urls[i]].url] = list
	}
	return t, nil
}

// vectorOf counts the pairs of elements of a path, in the order of their numbers.
func vectorOf(path string, numbers map[string]uint32) []pathPart {
	counts, last := make(map[uint32]float64), ""
	for element := range strings.FieldsSeq(path) {
		pair := last + " " + element
		n, ok := numbers[pair]
		if !ok {
			n = uint32(len(numbers))
			numbers[pair] = n
		}
		counts[n]++
		last = element
	}
	vector := make([]pathPart, 0, len(counts))
	for n, times := range counts {
		vector = append(vector, pathPart{n, times})
	}
	slices.SortFunc(vector, func(a, b pathPart) int { return int(a.number) - int(b.number) })
	return vector
}

// cosineTo is the cosine of a path to the sum of a group's; 1 of two empty ones.
func cosineTo(path []pathPart, sum map[uint32]float64) float64 {
	if len(path) == 0 && len(sum) == 0 {
		return 1
	}
	var dot, own, theirs float64
	for _, part := range path {
		dot += part.times * sum[part.number]
		own += part.times * part.times
	}
	for _, times := range sum {
		theirs += times * times // whole numbers: their sum is the same in any order
	}
	if dot == 0 {
		return 0
	}
	return dot / math.Sqrt(own*theirs)
}

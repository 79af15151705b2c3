package interest

import (
	"iter"
	"math"
	"slices"

	"forager/internal/page/text"
	"forager/internal/rank/rank"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Ranker is what a crawl has taught so far. Score may be called by several goroutines while nobody calls Observe.
type Ranker struct {
	urls bool

	relevant map[string]bool // of visited pages
	overall  chances
	word     map[uint32]chances
	token    map[string]chances
	linked   [2]chances // by whether the page that links is relevant: links between visited pages

	known   map[string]*prospect // pages that are visited, or that visited ones link to
	order   []string             // known pages that were not visited when they became known
	aliases weburl.Redirects     // where redirects lead
	next    int                  // visited pages at which all are scored anew
	bound   rank.Bound
}

// chances are a number of pages, or links, and how many of them are relevant.
type chances struct{ all, good int }

func (c *chances) add(good bool) {
	c.all++
	if good {
		c.good++
	}
}

// prospect is a page that is known.
type prospect struct {
	parents []string // visited pages that link to it, in their order
	score   float64
	words   []uint32 // of the page itself, once it is visited
	links   chances  // to visited pages, then
}

const (
	// relevantFrom is the least R of a page that is relevant.
	relevantFrom = .5
	// significant is the number of standard deviations by which the ratio of a word that counts differs from 1.
	significant = 2
	// mostParents of a page are read for words.
	mostParents = 5
	// mostInterest bounds the logarithm of a product of ratios.
	mostInterest = 1000
	// growth by a part of the visited pages, at least so many, makes all scores stale.
	growth, leastGrowth = 20, 10
	// prospectCost is what a page takes in memory, bytes, beside its URL, links and words.
	prospectCost = 96 + rank.MapCost
	// seedScore is above every other.
	seedScore = mostInterest + 1
)

// New returns a ranker that has learnt nothing; urls says that tokens of URLs count.
func New(urls bool) *Ranker {
	return &Ranker{
		urls: urls, relevant: make(map[string]bool), word: make(map[uint32]chances), token: make(map[string]chances),
		known: make(map[string]*prospect), aliases: make(weburl.Redirects), next: leastGrowth,
	}
}

// Score is the logarithm of the product of a page's ratios as of when it was scored last; 0 of a page that is not known.
func (r *Ranker) Score(v string, s *rank.Source) float64 {
	if s.Seed {
		return seedScore
	}
	if p := r.known[v]; p != nil {
		return p.score
	}
	return 0
}

// Bound is what it takes in memory. Once that is full, verdicts teach nothing more and scores stay as they are.
func (r *Ranker) Bound() rank.Bound { return r.bound }

// Observe learns from a verdict and returns the pages that it scored anew: those that the page links to, from time to
// time all that are known. See frontier.Learner.
func (r *Ranker) Observe(rec *schemas.LinkFound) (changed []string) {
	if r.bound.Full() {
		r.bound.Skipped++
		return nil
	}
	var open []string
	switch u := rec.GetUrl(); rec.GetOutcome() {
	case schemas.Outcome_OUTCOME_REDIRECTED:
		open = r.redirect(u, rec.GetRedirect())
	case schemas.Outcome_OUTCOME_DELIVERED:
		if _, again := r.relevant[u]; again {
			return nil
		}
		r.learn(u, rec.GetJudgement())
		open = r.expand(u, rec.GetLinks())
		if n := len(r.relevant); n >= r.next {
			r.next = n + max(leastGrowth, n/growth)
			open = r.unvisited()
		}
	}
	content := r.contents(open)
	for _, v := range open {
		p := r.known[v]
		p.score = r.score(v, p, content)
	}
	return open
}

// unvisited are the known pages left, in the order in which they became known.
func (r *Ranker) unvisited() []string {
	r.order = slices.DeleteFunc(r.order, func(v string) bool {
		_, visited := r.relevant[v]
		return visited || r.aliases[v] != ""
	})
	return slices.Clone(r.order)
}

// learn takes in what became of a page.
func (r *Ranker) learn(u string, j *schemas.Judgement) {
	good := j.GetRaw() >= relevantFrom
	r.relevant[u] = good
	r.bound.Used += rank.MapCost
	r.overall.add(good)
	for token := range r.tokens(u) {
		c := r.token[token]
		if c.all == 0 {
			r.bound.Used += rank.MapCost + len(token)
		}
		c.add(good)
		r.token[token] = c
	}
	p := r.known[u]
	if p == nil { // a seed
		p = new(prospect)
		r.known[u] = p
		r.bound.Used += prospectCost + len(u)
	}
	p.words = j.GetWords()
	r.bound.Used += 4 * len(p.words)
	seen := make(map[uint32]bool)
	for i, parent := range p.parents {
		r.linked[side(r.relevant[parent])].add(good)
		from := r.known[parent]
		from.links.add(good)
		if i >= mostParents {
			continue
		}
		for _, w := range from.words {
			if !seen[w] {
				seen[w] = true
				c := r.word[w]
				if c.all == 0 {
					r.bound.Used += rank.MapCost
				}
				c.add(good)
				r.word[w] = c
			}
		}
	}
}

// expand takes in the links of a page and returns the pages that they lead to and are not visited.
func (r *Ranker) expand(u string, links []*schemas.Link) (open []string) {
	for _, l := range links {
		v := r.aliases.End(l.GetUrl())
		if p := r.known[v]; v == u || p != nil && len(p.parents) > 0 && p.parents[len(p.parents)-1] == u {
			continue // itself, or once more
		}
		if r.link(u, v) {
			open = append(open, v)
		}
	}
	return open
}

// link takes in a link from a visited page and says whether it leads to a page that is not visited.
func (r *Ranker) link(u, v string) (open bool) {
	p := r.known[v]
	if p == nil {
		p = new(prospect)
		r.known[v] = p
		r.order = append(r.order, v)
		r.bound.Used += prospectCost + rank.TextCost + len(v)
	}
	p.parents = append(p.parents, u)
	r.bound.Used += 2 * rank.TextCost // a slice has up to twice the room
	good, visited := r.relevant[v]
	if visited {
		r.linked[side(r.relevant[u])].add(good)
		r.known[u].links.add(good)
	}
	return !visited
}

// redirect gives the links to a page to the page that it leads to, which is not known where the crawl does not go there.
func (r *Ranker) redirect(u, to string) (open []string) {
	v := r.aliases.End(to)
	p := r.known[u]
	if _, again := r.aliases[u]; again || to == "" || v == u || p == nil {
		return nil
	}
	r.aliases[u] = v
	r.bound.Used += rank.MapCost
	for _, parent := range p.parents {
		if q := r.known[v]; parent == v || q != nil && slices.Contains(q.parents, parent) {
			continue
		}
		if r.link(parent, v) && len(open) == 0 {
			open = append(open, v)
		}
	}
	return open
}

func side(good bool) int {
	if good {
		return 1
	}
	return 0
}

// average is P(C).
func (r *Ranker) average() float64 {
	return float64(r.overall.good+1) / float64(r.overall.all+2)
}

// ratio is the logarithm of an interest ratio.
func ratio(c chances, average float64) float64 {
	return math.Log((float64(c.good) + average) / float64(c.all+1) / average)
}

// contents are the logarithms of the content ratios of the pages that link to some.
func (r *Ranker) contents(pages []string) map[string]float64 {
	average, content := r.average(), make(map[string]float64)
	spread := math.Sqrt(average / (1 - average))
	for _, v := range pages {
		parents := r.known[v].parents
		for _, u := range parents[:min(len(parents), mostParents)] {
			if _, done := content[u]; done {
				continue
			}
			var sum float64
			for _, w := range r.known[u].words {
				c := r.word[w]
				if c.all > 0 && math.Abs(float64(c.good)/float64(c.all)/average-1)*math.Sqrt(float64(c.all))*spread >= significant {
					sum += ratio(c, average)
				}
			}
			content[u] = sum
		}
	}
	return content
}

// score is the logarithm of the product of a page's ratios.
func (r *Ranker) score(v string, p *prospect, content map[string]float64) float64 {
	average := r.average()
	var sum float64
	read := p.parents[:min(len(p.parents), mostParents)]
	for _, u := range read {
		sum += content[u] / float64(len(read))
	}
	for token := range r.tokens(v) {
		if c := r.token[token]; c.all > 0 {
			sum += ratio(c, average)
		}
	}
	var siblings chances
	for _, u := range p.parents {
		sum += ratio(r.linked[side(r.relevant[u])], average)
		siblings.all += r.known[u].links.all
		siblings.good += r.known[u].links.good
	}
	sum += ratio(siblings, average)
	return max(-mostInterest, min(mostInterest, sum))
}

// tokens of a URL, each once.
func (r *Ranker) tokens(url string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !r.urls {
			return
		}
		all := text.Tokens(nil, url)
		slices.Sort(all)
		for _, token := range slices.Compact(all) {
			if !yield(token) {
				return
			}
		}
	}
}

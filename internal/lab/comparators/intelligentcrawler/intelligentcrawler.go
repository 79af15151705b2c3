package intelligentcrawler

import (
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"forager/internal/lab/comparators/linktext"
	"forager/internal/page/text"
	"forager/internal/rank/policy"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Ranker is what was learned from a crawl so far. Score may be called concurrently, but not during Observe.
type Ranker struct {
	urls    bool
	wordsOf func(url string) []uint32

	relevant map[string]bool // of visited pages
	overall  chances
	word     map[uint32]chances
	token    map[string]chances
	linked   [2]chances // by whether the page that links is relevant: links between visited pages

	known   map[string]*prospect // pages that are visited, or that visited ones link to
	order   []string             // known pages that were not visited when they became known
	aliases weburl.Redirects     // targets of redirects
	next    int                  // number of visited pages at which all are scored again
}

// chances are a number of pages, or links, and how many of them are relevant.
type chances struct{ all, good int }

func (c *chances) add(good bool) {
	c.all++
	if good {
		c.good++
	}
}

// prospect is a known page.
type prospect struct {
	parents []string // visited pages that link to it, in their order
	score   float64
	words   []uint32 // of the page itself, once it is visited
	links   chances  // to visited pages, then
}

const (
	// relevantFrom is the least R of a relevant page.
	relevantFrom = .5
	// significant is the number of standard deviations by which the ratio of a significant word differs from 1.
	significant = 2
	// mostParents is the number of parents of a page whose words are used.
	mostParents = 5
	// mostInterest bounds the logarithm of a product of ratios.
	mostInterest = 1000
	// All scores are computed again once the visited pages have grown by 1/growth of them, at least by leastGrowth.
	growth, leastGrowth = 20, 10
	// seedScore is above every other.
	seedScore = mostInterest + 1
)

// New returns a ranker that has learned nothing. Tokens of URLs are evidence if urls is set; words returns those of a
// delivered page (Words).
func New(urls bool, words func(url string) []uint32) *Ranker {
	return &Ranker{
		urls: urls, wordsOf: words, relevant: make(map[string]bool), word: make(map[uint32]chances), token: make(map[string]chances),
		known: make(map[string]*prospect), aliases: make(weburl.Redirects), next: leastGrowth,
	}
}

// Score returns the logarithm of the product of a page's ratios when it was last scored; 0 for an unknown page.
func (r *Ranker) Score(v string, s *policy.Source) float64 {
	if s.Seed {
		return seedScore
	}
	if p := r.known[v]; p != nil {
		return p.score
	}
	return 0
}

// Observe learns from a verdict and returns the pages with new scores: those that the page links to, and from time to time
// all known pages. See frontier.Learner.
func (r *Ranker) Observe(rec *schemas.LinkFound) (changed []string) {
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

// unvisited returns the known pages that are not visited, in the order in which they became known.
func (r *Ranker) unvisited() []string {
	r.order = slices.DeleteFunc(r.order, func(v string) bool {
		_, visited := r.relevant[v]
		return visited || r.aliases[v] != ""
	})
	return slices.Clone(r.order)
}

// learn records the verdict on a page.
func (r *Ranker) learn(u string, j *schemas.Judgement) {
	good := j.GetRaw() >= relevantFrom
	r.relevant[u] = good
	r.overall.add(good)
	for _, token := range r.tokens(u) {
		c := r.token[token]
		c.add(good)
		r.token[token] = c
	}
	p := r.known[u]
	if p == nil { // a seed
		p = new(prospect)
		r.known[u] = p
	}
	p.words = r.wordsOf(u)
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
				c.add(good)
				r.word[w] = c
			}
		}
	}
}

// expand adds the links of a page and returns their targets that are not visited.
func (r *Ranker) expand(u string, links []*schemas.Link) (open []string) {
	for _, l := range links {
		v := r.aliases.End(l.GetUrl())
		if p := r.known[v]; v == u || p != nil && len(p.parents) > 0 && p.parents[len(p.parents)-1] == u {
			continue // a link to itself, or a repeated one
		}
		if r.link(u, v) {
			open = append(open, v)
		}
	}
	return open
}

// link adds a link from a visited page and reports whether its target is not visited.
func (r *Ranker) link(u, v string) (open bool) {
	p := r.known[v]
	if p == nil {
		p = new(prospect)
		r.known[v] = p
		r.order = append(r.order, v)
	}
	p.parents = append(p.parents, u)
	good, visited := r.relevant[v]
	if visited {
		r.linked[side(r.relevant[u])].add(good)
		r.known[u].links.add(good)
	}
	return !visited
}

// redirect moves the links to a page to the target of its redirect, which is unknown if it is out of the crawl's scope.
func (r *Ranker) redirect(u, to string) (open []string) {
	v := r.aliases.End(to)
	p := r.known[u]
	if _, again := r.aliases[u]; again || to == "" || v == u || p == nil {
		return nil
	}
	r.aliases[u] = v
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

// ratio returns the logarithm of an interest ratio.
func ratio(c chances, average float64) float64 {
	return math.Log((float64(c.good) + average) / float64(c.all+1) / average)
}

// contents returns the logarithms of the content ratios of the pages that link to the given ones.
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

// score returns the logarithm of the product of a page's ratios.
func (r *Ranker) score(v string, p *prospect, content map[string]float64) float64 {
	average := r.average()
	var sum float64
	read := p.parents[:min(len(p.parents), mostParents)]
	for _, u := range read {
		sum += content[u] / float64(len(read))
	}
	for _, token := range r.tokens(v) {
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

// tokens returns the distinct tokens of a URL, sorted; none if URLs are no evidence.
func (r *Ranker) tokens(url string) []string {
	if !r.urls {
		return nil
	}
	all := text.Tokens(nil, url)
	slices.Sort(all)
	return slices.Compact(all)
}

// maxWords bounds the words of a page. Those with the smallest hashes are a fair sample.
const maxWords = 4096

// Words returns the distinct words of a page as hashes, ascending, those with the smallest hashes. The error is an inconsistent
// page.
func Words(p *schemas.Page) ([]uint32, error) {
	page, err := linktext.Open(p, text.Settings{StopWords: true})
	if err != nil {
		return nil, err
	}
	counts := make(map[string]uint32)
	page.Page(counts)
	words := make([]uint32, 0, len(counts))
	for w := range counts {
		words = append(words, uint32(xxhash.Sum64String(w)))
	}
	slices.Sort(words)
	words = slices.Compact(words)
	return words[:min(len(words), maxWords)], nil
}

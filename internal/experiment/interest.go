package experiment

import (
	"iter"
	"maps"
	"math"
	"slices"

	"forager/internal/frontier"
	"forager/internal/linktext"
	"forager/internal/rank"
	"forager/internal/text"
	"forager/schemas"
)

// interest is intelligent crawling (Aggarwal, Al-Garawi & Yu 2001): a page is fetched the earlier, the larger the
// product of its interest ratios P(C|E)/P(C), C = "the page is relevant" (R ≥ ½) and E what is known of a page before it is
// fetched. All ratios are learnt from the pages of the crawl, and known pages are scored anew every so many pages.
//
//	content   a word stands on a page that links to it, of each word that is significant
//	URL       a token of its URL, where labels do not follow from URLs
//	in-links  a relevant page links to it, or one that is not; once for each link
//	siblings  its siblings are relevant as often as that: visited pages to which a page links that links to it, too
//
// A ratio is smoothed by one page of the average kind: ((n(C,E) + P(C)) / (n(E) + 1)) / P(C).
type interest struct {
	ground *Ground
	every  int
	most   int  // parents of a page that are read for words
	urls   bool // tokens of URLs are read
	words  *pageWords

	relevant map[string]bool // of visited pages
	overall  chances
	word     []chances
	token    map[string]chances
	linked   [2]chances // by whether the page that links is relevant: links between visited pages

	known map[string]*prospect // pages that visited ones link to
	order []string             // known pages as they became known
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
	names   []string // in the frontier: its URL, and redirects to it
	parents []string // visited pages that link to it, in their order
	score   float64
	visited chances // of the links of the page itself, once it is visited
}

const (
	// significant is the number of standard deviations by which the ratio of a word that counts differs from 1.
	significant = 2
	// mostParents of a page are read for words.
	mostParents = 5
	// mostInterest bounds the logarithm of a product of ratios.
	mostInterest = 1000
)

func newInterest(g *Ground) (*interest, error) {
	words, err := g.pageWords()
	if err != nil {
		return nil, err
	}
	return &interest{
		ground: g, every: max(10, min(100, int(g.task.Budget/40))), most: mostParents, urls: !g.task.LabelsFromURL, words: words,
		relevant: make(map[string]bool), word: make([]chances, words.different), token: make(map[string]chances),
		known: make(map[string]*prospect),
	}, nil
}

func (r *interest) Score(v string, s *rank.Source) float64 {
	if s.Seed {
		return seedScore
	}
	if p := r.known[r.ground.resolve(v)]; p != nil {
		return p.score
	}
	return 0 // until observe has seen the link, before anything else is dispatched
}

// observe learns from a page, and scores the pages that it links to, from time to time all.
func (r *interest) observe(s *frontier.Shard, u string) error {
	rec := r.ground.verdicts[u]
	if _, again := r.relevant[u]; again || rec.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED {
		return nil
	}
	good := rec.GetJudgement().GetRaw() >= .5
	r.learn(u, good)
	stale := r.expand(u, rec.GetLinks())
	if len(r.relevant)%r.every == 0 {
		stale = r.order
	}
	content := r.contents(stale)
	var names []string
	for _, v := range stale {
		if _, visited := r.relevant[v]; !visited {
			p := r.known[v]
			p.score = r.score(v, p, content)
			names = append(names, p.names...)
		}
	}
	return s.Reconsider(names...)
}

// learn takes in what became of a page.
func (r *interest) learn(u string, good bool) {
	r.relevant[u] = good
	r.overall.add(good)
	for token := range r.tokens(u) {
		c := r.token[token]
		c.add(good)
		r.token[token] = c
	}
	p := r.known[u]
	if p == nil {
		return // a seed
	}
	seen := make(map[uint32]bool)
	for i, parent := range p.parents {
		r.linked[side(r.relevant[parent])].add(good)
		r.known[parent].visited.add(good)
		if i >= r.most {
			continue
		}
		for _, w := range r.words.of[parent] {
			if !seen[w] {
				seen[w] = true
				r.word[w].add(good)
			}
		}
	}
}

// expand takes in the links of a page and returns the pages that they lead to and are not visited.
func (r *interest) expand(u string, links []*schemas.Link) (open []string) {
	if r.known[u] == nil {
		r.known[u] = &prospect{}
	}
	seen := map[string]bool{u: true}
	for _, l := range links {
		v := r.ground.resolve(l.GetUrl())
		if v == "" || v == u {
			continue
		}
		p := r.known[v]
		if p == nil {
			p = &prospect{}
			r.known[v] = p
			r.order = append(r.order, v)
		}
		if !slices.Contains(p.names, l.GetUrl()) {
			p.names = append(p.names, l.GetUrl())
		}
		if seen[v] {
			continue
		}
		seen[v] = true
		p.parents = append(p.parents, u)
		if good, visited := r.relevant[v]; visited {
			r.linked[side(r.relevant[u])].add(good)
			r.known[u].visited.add(good)
		} else {
			if !slices.Contains(p.names, v) {
				p.names = append(p.names, v) // a redirect may have brought it in
			}
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
func (r *interest) average() float64 {
	return float64(r.overall.good+1) / float64(r.overall.all+2)
}

// ratio is the logarithm of an interest ratio.
func ratio(c chances, average float64) float64 {
	return math.Log((float64(c.good) + average) / float64(c.all+1) / average)
}

// contents are the logarithms of the content ratios of the pages that link to some.
func (r *interest) contents(pages []string) map[string]float64 {
	average, content := r.average(), make(map[string]float64)
	spread := math.Sqrt(average / (1 - average))
	for _, v := range pages {
		parents := r.known[v].parents
		for _, u := range parents[:min(len(parents), r.most)] {
			if _, done := content[u]; done {
				continue
			}
			var sum float64
			for _, w := range r.words.of[u] {
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

// score is the logarithm of the product of a page's ratios; of several pages that link to it the mean of their content counts.
func (r *interest) score(v string, p *prospect, content map[string]float64) float64 {
	average := r.average()
	var sum float64
	read := p.parents[:min(len(p.parents), r.most)]
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
		siblings.all += r.known[u].visited.all
		siblings.good += r.known[u].visited.good
	}
	sum += ratio(siblings, average)
	return max(-mostInterest, min(mostInterest, sum))
}

// tokens of a URL, each once.
func (r *interest) tokens(url string) iter.Seq[string] {
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

// pageWords are the different words of every page in scope, as the critic cuts them, numbered from 0.
type pageWords struct {
	of        map[string][]uint32
	different int
}

// pageWords reads them once.
func (g *Ground) pageWords() (*pageWords, error) {
	g.wordsOnce.Do(func() { g.words, g.wordsErr = g.readWords() })
	return g.words, g.wordsErr
}

func (g *Ground) readWords() (*pageWords, error) {
	words, number := &pageWords{of: make(map[string][]uint32)}, make(map[string]uint32)
	counts := make(map[string]uint32)
	for _, u := range g.urls {
		p := g.web.pages[u]
		if p.outcome != schemas.Outcome_OUTCOME_DELIVERED {
			continue
		}
		page, err := linktext.Open(p.parsed, g.model.Cut())
		if err != nil {
			return nil, err
		}
		clear(counts)
		page.Page(counts)
		list := make([]uint32, 0, len(counts))
		for _, w := range slices.Sorted(maps.Keys(counts)) { // in an order, as sums over words are made in that of their numbers
			n, ok := number[w]
			if !ok {
				n = uint32(len(number))
				number[w] = n
			}
			list = append(list, n)
		}
		slices.Sort(list)
		words.of[u] = list
	}
	words.different = len(number)
	return words, nil
}

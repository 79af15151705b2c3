package intelligentcrawler

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/page/text"
	"forager/internal/rank/policy"
	"forager/schemas"
)

// world is a small web: page i has the URL of i, links, words and R.
type world struct {
	links [][]int
	words [][]uint32
	raw   []float64
}

func urlOf(i int) string { return fmt.Sprintf("http://h.test/%c/%d", 'a'+rune(i%3), i) }

func drawWorld(t *rapid.T) *world {
	w := new(world)
	n := rapid.IntRange(2, 14).Draw(t, "pages")
	for range n {
		w.links = append(w.links, rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 6).Draw(t, "links"))
		words := rapid.SliceOfNDistinct(rapid.Uint32Range(0, 5), 0, 6, rapid.ID).Draw(t, "words")
		slices.Sort(words)
		w.words = append(w.words, words)
		w.raw = append(w.raw, rapid.SampledFrom([]float64{0, .4, .5, 1}).Draw(t, "R"))
	}
	return w
}

func (w *world) verdict(i int) *schemas.LinkFound {
	rec := &schemas.LinkFound{
		Url: urlOf(i), Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: w.raw[i]},
	}
	for _, to := range w.links[i] {
		rec.Links = append(rec.Links, &schemas.Link{Url: urlOf(to)})
	}
	return rec
}

// wordsOf returns the words of the page of a URL.
func (w *world) wordsOf(url string) []uint32 {
	for i := range w.words {
		if urlOf(i) == url {
			return w.words[i]
		}
	}
	return nil
}

func noWords(string) []uint32 { return nil }

func (w *world) good(i int) bool { return w.raw[i] >= .5 }

// parents of a page among visited ones, in their order.
func (w *world) parents(v int, visited []int) (all []int) {
	for _, u := range visited {
		if u != v && slices.Contains(w.links[u], v) {
			all = append(all, u)
		}
	}
	return all
}

// score computes everything from the pages visited so far.
func (w *world) score(v int, visited []int, urls bool) float64 {
	var overall chances
	word, token, linked := make(map[uint32]*chances), make(map[string]*chances), make(map[bool]*chances)
	for i, u := range visited {
		overall.add(w.good(u))
		for _, s := range tokensOf(u) {
			count(token, s, w.good(u))
		}
		union := make(map[uint32]bool)
		before := w.parents(u, visited[:i])
		for _, p := range before[:min(len(before), mostParents)] {
			for _, x := range w.words[p] {
				union[x] = true
			}
		}
		for x := range union {
			count(word, x, w.good(u))
		}
		for _, p := range w.parents(u, visited) {
			count(linked, w.good(p), w.good(u))
		}
	}
	average := float64(overall.good+1) / float64(overall.all+2)
	ratio := func(c *chances) float64 {
		if c == nil {
			c = new(chances)
		}
		return math.Log((float64(c.good) + average) / float64(c.all+1) / average)
	}
	var sum float64
	parents := w.parents(v, visited)
	read := parents[:min(len(parents), mostParents)]
	for _, p := range read {
		for _, x := range w.words[p] {
			if c := word[x]; c != nil && math.Abs(float64(c.good)/float64(c.all)/average-1)*math.Sqrt(float64(c.all))*math.Sqrt(average/(1-average)) >= significant {
				sum += ratio(c) / float64(len(read))
			}
		}
	}
	if urls {
		for _, s := range tokensOf(v) {
			if token[s] != nil {
				sum += ratio(token[s])
			}
		}
	}
	var siblings chances
	for _, p := range parents {
		sum += ratio(linked[w.good(p)])
		for _, s := range visited {
			if s != p && slices.Contains(w.links[p], s) {
				siblings.add(w.good(s))
			}
		}
	}
	return sum + ratio(&siblings)
}

// tokensOf the URL of a page, each once.
func tokensOf(i int) []string {
	all := text.Tokens(nil, urlOf(i))
	slices.Sort(all)
	return slices.Compact(all)
}

func count[K comparable](m map[K]*chances, key K, good bool) {
	if m[key] == nil {
		m[key] = new(chances)
	}
	m[key].add(good)
}

// TestScoresAreTheDefinition: with all scores computed after each page, every known page has the score that follows from
// the visited pages.
func TestScoresAreTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, urls := drawWorld(t), rapid.Bool().Draw(t, "URLs")
		r := New(urls, w.wordsOf)
		var visited []int
		for _, u := range rapid.Permutation(upTo(len(w.links))).Draw(t, "order") {
			r.next = 0
			changed := r.Observe(w.verdict(u))
			visited = append(visited, u)
			for v := range w.links {
				if slices.Contains(visited, v) || len(w.parents(v, visited)) == 0 {
					continue
				}
				want := w.score(v, visited, urls)
				if got := r.Score(urlOf(v), new(policy.Source)); math.Abs(got-want) > 1e-9 {
					t.Fatalf("after %d pages %s scores %v, by the definition %v", len(visited), urlOf(v), got, want)
				}
				if !slices.Contains(changed, urlOf(v)) {
					t.Fatalf("%s was scored again without notice", urlOf(v))
				}
			}
		}
	})
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// TestWhatChanges: a page scores what it links to, and after enough of them all that is known; what comes twice, or
// failed, changes nothing.
func TestWhatChanges(t *testing.T) {
	r := New(true, noWords)
	page := func(i int, links ...int) *schemas.LinkFound {
		w := &world{links: make([][]int, i+1), words: make([][]uint32, i+1), raw: make([]float64, i+1)}
		w.links[i] = links
		return w.verdict(i)
	}
	if got := r.Observe(page(0, 90, 91, 90, 0)); !slices.Equal(got, []string{urlOf(90), urlOf(91)}) {
		t.Errorf("changed: %v", got)
	}
	if got := r.Observe(page(0, 92)); got != nil {
		t.Errorf("by a second verdict on a page: %v", got)
	}
	if got := r.Observe(&schemas.LinkFound{Url: urlOf(90), Outcome: schemas.Outcome_OUTCOME_CLIENT_ERROR}); got != nil {
		t.Errorf("by a page that is away: %v", got)
	}
	for i := 1; i < leastGrowth-1; i++ {
		if got := r.Observe(page(i)); len(got) != 0 {
			t.Errorf("by page %d without links: %v", i, got)
		}
	}
	if got := r.Observe(page(leastGrowth - 1)); len(got) != 2 {
		t.Errorf("after %d pages: %v", leastGrowth, got)
	}
	if s := r.Score(urlOf(90), &policy.Source{Seed: true}); s <= mostInterest {
		t.Errorf("a seed scores %v", s)
	}
}

// TestRedirectsInherit: the target of a redirect has the links to it, whichever came first.
func TestRedirectsInherit(t *testing.T) {
	old, fresh := "http://h.test/old", "http://h.test/new"
	verdict := func(u string, raw float64, links ...string) *schemas.LinkFound {
		rec := &schemas.LinkFound{Url: u, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: raw}}
		for _, l := range links {
			rec.Links = append(rec.Links, &schemas.Link{Url: l})
		}
		return rec
	}
	redirect := &schemas.LinkFound{Url: old, Outcome: schemas.Outcome_OUTCOME_REDIRECTED, Redirect: fresh}
	direct, around := New(false, noWords), New(false, noWords)
	direct.Observe(verdict("http://h.test/u", 1, fresh, "http://h.test/w"))
	around.Observe(verdict("http://h.test/u", 1, old, "http://h.test/w"))
	if got := around.Observe(redirect); !slices.Equal(got, []string{fresh}) {
		t.Errorf("changed: %v", got)
	}
	for _, next := range []*schemas.LinkFound{verdict("http://h.test/w", 1, old, fresh), verdict("http://h.test/x", 0, old)} {
		around.Observe(next)
		for _, l := range next.Links {
			l.Url = strings.Replace(l.Url, old, fresh, 1)
		}
		direct.Observe(next)
		a, b := around.Score(fresh, new(policy.Source)), direct.Score(fresh, new(policy.Source))
		if a != b || a == 0 {
			t.Errorf("behind a redirect it scores %v, else %v", a, b)
		}
	}
	if n := len(around.known[fresh].parents); n != 3 {
		t.Errorf("%d pages link to it", n)
	}
}

func TestWords(t *testing.T) {
	p := &schemas.Page{Url: "http://h.test/", Terms: []string{"apple", "pear"}, Tokens: []uint32{0, 1, 0}, LeafLengths: []uint32{2, 1}}
	words, err := Words(p)
	if err != nil || len(words) != 2 || words[0] >= words[1] {
		t.Errorf("%v, %v", words, err)
	}
	p.LeafLengths = []uint32{4}
	if _, err := Words(p); err == nil {
		t.Error("a page that contradicts itself has words")
	}
}

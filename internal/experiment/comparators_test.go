package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"forager/internal/experiment/worldtest"
	"forager/internal/frontier"
	"forager/internal/linktext"
	"forager/internal/rank"
	"forager/internal/text"
	"forager/schemas"
)

// follow makes a crawl by an observer; after each verdict check is told of its page.
func follow(t *testing.T, g *Ground, o observer, check func(u string)) *Crawl {
	t.Helper()
	run, err := g.Run(Baseline, 0, 0, &schemas.Learning{DMax: 5})
	if err != nil {
		t.Fatal(err)
	}
	run.Rankers = map[string]rank.Ranker{Baseline: o}
	run.Observe = func(s *frontier.Shard, u string) error {
		err := o.observe(s, u)
		check(u)
		return err
	}
	c, err := run.Crawl()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// naiveInterest computes the scores of pages from the pages visited so far, all anew.
type naiveInterest struct {
	g       *Ground
	urls    bool
	most    int // parents read for words
	visited []string
}

func (n *naiveInterest) good(u string) bool { return n.g.verdicts[u].GetJudgement().GetRaw() >= .5 }

func (n *naiveInterest) links(u, v string) bool {
	return u != v && slices.ContainsFunc(n.g.verdicts[u].GetLinks(), func(l *schemas.Link) bool { return n.g.resolve(l.GetUrl()) == v })
}

// words of the first pages, of those that link to v, among some.
func (n *naiveInterest) parents(v string, among []string) (all []string, words []map[string]bool) {
	for _, u := range among {
		if !n.links(u, v) {
			continue
		}
		if all = append(all, u); len(all) > n.most {
			continue
		}
		page, err := linktext.Open(n.g.web.pages[u].parsed, n.g.model.Cut())
		if err != nil {
			panic(err)
		}
		counts := make(map[string]uint32)
		page.Page(counts)
		has := make(map[string]bool)
		for w := range counts {
			has[w] = true
		}
		words = append(words, has)
	}
	return all, words
}

func (n *naiveInterest) score(v string) float64 {
	var overall chances
	word, token := make(map[string]chances), make(map[string]chances)
	linked := map[bool]chances{}
	count := func(m map[string]chances, key string, good bool) {
		c := m[key]
		c.add(good)
		m[key] = c
	}
	for i, u := range n.visited {
		overall.add(n.good(u))
		for _, w := range text.Tokens(nil, u) {
			if c := token[w]; !strings.Contains(u, w+"/"+w) { // no token stands twice in a URL of this world
				c.add(n.good(u))
				token[w] = c
			}
		}
		_, words := n.parents(u, n.visited[:i])
		union := make(map[string]bool)
		for _, has := range words {
			for w := range has {
				union[w] = true
			}
		}
		for w := range union {
			count(word, w, n.good(u))
		}
		for _, from := range n.visited {
			if n.links(from, u) {
				c := linked[n.good(from)]
				c.add(n.good(u))
				linked[n.good(from)] = c
			}
		}
	}
	average := float64(overall.good+1) / float64(overall.all+2)
	ratio := func(c chances) float64 {
		return math.Log((float64(c.good) + average) / float64(c.all+1) / average)
	}
	var sum float64
	parents, words := n.parents(v, n.visited)
	for _, has := range words {
		for w := range has {
			c := word[w]
			if c.all > 0 && math.Abs(float64(c.good)/float64(c.all)/average-1)*math.Sqrt(float64(c.all))*math.Sqrt(average/(1-average)) >= 2 {
				sum += ratio(c) / float64(len(words))
			}
		}
	}
	if n.urls {
		for _, w := range text.Tokens(nil, v) {
			if c := token[w]; c.all > 0 {
				sum += ratio(c)
			}
		}
	}
	var siblings chances
	for _, u := range parents {
		sum += ratio(linked[n.good(u)])
		for _, w := range n.visited {
			if n.links(u, w) {
				siblings.add(n.good(w))
			}
		}
	}
	return sum + ratio(siblings)
}

// TestInterestByTheDefinition: after every page, every page that is known has the score that the pages visited give it.
func TestInterestByTheDefinition(t *testing.T) {
	for _, fromURL := range []bool{false, true} {
		g := ground(t, worldtest.Random(41, 44))
		g.task.LabelsFromURL = fromURL
		r, err := newInterest(g)
		if err != nil {
			t.Fatal(err)
		}
		r.every, r.most = 1, 2
		n := &naiveInterest{g: g, urls: !fromURL, most: r.most}
		compared := 0
		follow(t, g, r, func(u string) {
			if g.verdicts[u].GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED {
				return
			}
			n.visited = append(n.visited, u)
			for _, v := range r.order {
				if _, visited := r.relevant[v]; visited {
					continue
				}
				if got, want := r.known[v].score, n.score(v); math.Abs(got-want) > 1e-9 {
					t.Fatalf("after %d pages %s scores %v, by the definition %v", len(n.visited), v, got, want)
				}
				compared++
			}
		})
		if compared < 100 {
			t.Errorf("%d scores were compared", compared)
		}
	}
}

// menus is a web whose start has links to pages off topic in a menu, and to targets in a list.
func menus() *worldtest.World {
	w := worldtest.Random(51, 30)
	var menu, list strings.Builder
	for i := range 12 {
		fmt.Fprintf(&menu, "<li><a href=/bad%d>x</a>", i)
		fmt.Fprintf(&list, "<tr><td><a href=/good%d>x</a>", i)
		w.Page(fmt.Sprintf("http://x.test/bad%d", i), "bad/one", "<p>bad1 bad2 bad3 bad4")
		w.Page(fmt.Sprintf("http://x.test/good%d", i), "good/one", "<p>good1 good2 good3 good4")
		w.Targets++
	}
	w.Page("http://x.test/start", "hub/one", "<div id=menu><ul class=wide>"+menu.String()+"</ul></div><div id=main><table>"+list.String()+"</table></div>")
	w.Seeds = [][]string{{"http://x.test/start"}}
	w.Budget = 14
	return w
}

// TestTagBanditChoosesTheLargestBound replays a crawl with the two groups that the web was made of.
func TestTagBanditChoosesTheLargestBound(t *testing.T) {
	g := ground(t, menus())
	c := try(t, g, "tag-bandit", 0, 3)
	if len(c.Steps) != 14 {
		t.Fatalf("%d pages", len(c.Steps))
	}
	pages, reward := map[string]float64{}, map[string]float64{}
	bound := func(group string) float64 {
		if pages[group] == 0 {
			return math.Inf(1)
		}
		return reward[group]/pages[group] + math.Sqrt(2*math.Log(pages["bad"]+pages["good"])/pages[group])
	}
	for i, s := range c.Steps[1:] {
		group, other := "bad", "good"
		if strings.Contains(s.URL, "/good") {
			group, other = other, group
		}
		if bound(group) < bound(other) {
			t.Errorf("page %d is %s, though the bounds are %v and %v", i+1, s.URL, bound(group), bound(other))
		}
		pages[group]++
		reward[group] += s.Raw
	}
	if pages["good"] < 8 || pages["bad"] == 0 {
		t.Errorf("%v pages on topic of 13, %v off topic", pages["good"], pages["bad"])
	}
	if again := try(t, g, "tag-bandit", 0, 4); slices.Equal(again.Steps, c.Steps) {
		t.Error("another seed draws the same pages of a group")
	}
}

func TestPathsOfAGroup(t *testing.T) {
	numbers := make(map[string]uint32)
	path := func(s string) []pathPart { return vectorOf(s, numbers) }
	sum := map[uint32]float64{}
	for _, part := range path("html body div div a") {
		sum[part.number] += part.times
	}
	for s, want := range map[string]float64{
		"html body div div a":     1,
		"html body div a":         4 / math.Sqrt(4*5),       // without "div div"
		"html body p a":           2 / math.Sqrt(4*5),       // "html", "html body"
		"table td":                0,                        // nothing in common
		"":                        0,                        // only the tokenizer read the page
		"html body div div div a": (4 + 2) / math.Sqrt(5*8), // "div div" twice
	} {
		if got := cosineTo(path(s), sum); math.Abs(got-want) > 1e-12 {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
	if cosineTo(nil, nil) != 1 {
		t.Error("two empty paths differ")
	}
}

// TestRecallKeepsToTheFirstCrawl: the same pages in another order, from a model that they taught (2002 §3.6).
func TestRecallKeepsToTheFirstCrawl(t *testing.T) {
	g := ground(t, worldtest.Random(61, 150))
	first, recall := try(t, g, Baseline, 0, 0), try(t, g, "apprentice-recall", 0, 0)
	urls := func(c *Crawl) (all []string) {
		for _, s := range c.Steps {
			all = append(all, s.URL)
		}
		return all
	}
	a, b := urls(first), urls(recall)
	if slices.Equal(a, b) {
		t.Error("it keeps to the order of the first crawl, too")
	}
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(a, b) {
		t.Errorf("%d pages, the first crawl has %d", len(b), len(a))
	}
	if m := recall.Steps[len(g.task.Seeds[0])].Model; m != "prior" {
		t.Errorf("its first choice was by model %q", m)
	}
}

// TestQueriesFindTargets: fish and sharks find targets sooner than who reads nothing.
func TestQueriesFindTargets(t *testing.T) {
	for _, ranker := range []string{"fish-search", "shark-search"} {
		var auc, blind float64
		for seed := range uint64(4) {
			g := ground(t, worldtest.Random(71+seed, 150))
			for draw := range g.task.Seeds {
				auc += g.Measure(try(t, g, ranker, draw, 0)).AUC
				blind += g.Measure(try(t, g, "unfocused", draw, 0)).AUC
			}
		}
		if auc <= blind {
			t.Errorf("%s has AUC %.3f, unfocused %.3f", ranker, auc/8, blind/8)
		}
	}
}

// TestRewardsAreLearntElsewhere: what anchors of the other site say of the pages behind them holds here: first the pages that are
// targets, then those that lead to one, then the rest.
func TestRewardsAreLearntElsewhere(t *testing.T) {
	w := worldtest.Random(81, 30)
	site := func(host, label string, n int) {
		var links strings.Builder
		for i := range n {
			fmt.Fprintf(&links, "<p><a href=/bad%d>dull</a><p><a href=/hub%d>index</a><p><a href=/good%d>bargain</a>", i, i, i)
			w.Page(fmt.Sprintf("%s/bad%d", host, i), "bad/"+label, "<p>bad1")
			w.Page(fmt.Sprintf("%s/hub%d", host, i), "hub/"+label, fmt.Sprintf("<p>hub1 <a href=/good%d>bargain</a>", i))
			w.Page(fmt.Sprintf("%s/good%d", host, i), "good/"+label, "<p>good1")
		}
		w.Page(host+"/start", "hub/"+label, links.String())
	}
	site("http://x.test", "one", 6)
	w.Targets += 6
	site("http://y.test", "two", 8)
	w.Seeds, w.Budget = [][]string{{"http://x.test/start"}}, 19
	c := try(t, ground(t, w), "rennie-mccallum", 0, 0)
	var order string
	for _, s := range c.Steps {
		order += strings.TrimPrefix(s.URL, "http://x.test/")[:1]
	}
	if want := "s" + strings.Repeat("g", 6) + strings.Repeat("h", 6) + strings.Repeat("b", 6); order != want {
		t.Errorf("pages in the order %s, want %s", order, want)
	}
}

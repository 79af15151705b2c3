package qlearning

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/lab/comparators/pagetest"
	"forager/internal/page/dom"
	"forager/internal/page/text"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// TestValuesByHand: a web of two targets, 3 and 5, after page 1.
//
//	0 → 1, 4    1 → 2, 3    2 → 5    3 → nothing    4 → 0    5 → 3
func TestValuesByHand(t *testing.T) {
	children := [][]uint32{{1, 4}, {2, 3}, {5}, nil, {0}, {3}}
	got := Values(children, []uint32{3, 5}, .5)
	want := []float64{
		.25 + .0625, // 1, 3, then 2, 5
		.5 + .125,   // 3, then 2, 5
		.5 + .25,    // 5, 3
		1,           // itself
		.125 + .5*.0625,
		1 + .5, // itself, 3
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// naive finds the nearest target by trying all ways of 1, 2, … pages in the order of their first pages and links.
func naive(children [][]uint32, targets []uint32, v uint32, gamma float64) float64 {
	fetched := []uint32{v}
	var q float64
	if slices.Contains(targets, v) {
		q = 1
	}
	var ways func(way []uint32, length int) []uint32
	ways = func(way []uint32, length int) []uint32 {
		at := way[len(way)-1]
		if length == 0 {
			if slices.Contains(targets, at) && !slices.Contains(fetched, at) {
				return way
			}
			return nil
		}
		for _, u := range children[at] {
			if found := ways(append(slices.Clone(way), u), length-1); found != nil {
				return found
			}
		}
		return nil
	}
	for {
		var found []uint32
		for length := 1; found == nil && length <= horizon-(len(fetched)-1); length++ {
			for _, u := range fetched {
				if found = ways([]uint32{u}, length); found != nil {
					break
				}
			}
		}
		if found == nil {
			return q
		}
		fetched = append(fetched, found[1:]...)
		q += math.Pow(gamma, float64(len(fetched)-1))
	}
}

func TestValuesAgainstAllWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "pages")
		page := rapid.Uint32Range(0, uint32(n-1))
		children := make([][]uint32, n)
		for u := range children {
			children[u] = rapid.SliceOfN(page, 0, 2).Draw(t, "links")
		}
		targets := rapid.SliceOfN(page, 0, 4).Draw(t, "targets")
		gamma := rapid.SampledFrom([]float64{.5, .25, .9}).Draw(t, "gamma")
		got := Values(children, targets, gamma)
		for v := range got {
			if want := naive(children, targets, uint32(v), gamma); got[v] != want {
				t.Fatalf("page %d of %v with targets %v is worth %v, want %v", v, children, targets, got[v], want)
			}
			if got[v] < 0 || got[v] > 1/(1-gamma) {
				t.Errorf("page %d is worth %v", v, got[v])
			}
		}
	})
}

func TestValuesEndAtTheHorizon(t *testing.T) {
	// A way longer than the horizon is worth nothing.
	chain := make([][]uint32, horizon+2)
	for i := range len(chain) - 1 {
		chain[i] = []uint32{uint32(i + 1)}
	}
	if v := Values(chain, []uint32{horizon + 1}, .5); v[0] != 0 || v[1] != math.Pow(.5, horizon) {
		t.Errorf("%v", v)
	}
	// Nor is the end of a long row of targets.
	row := make([]uint32, len(chain))
	var all float64
	for i := range row {
		row[i] = uint32(i)
		all += math.Pow(.5, float64(i))
	}
	if v := Values(chain, row, .5); v[0] != all-math.Pow(.5, horizon+1) {
		t.Errorf("%v", v)
	}
}

func parse(t testing.TB, url, body string) *schemas.Page {
	t.Helper()
	p, err := dom.Parse([]byte(body), "text/html; charset=utf-8", url, dom.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func samples(t testing.TB) []Sample {
	return []Sample{
		{parse(t, "http://h/1", "<title>Courses</title><p>see<p><a href=a>syllabus</a><p>and<p><a href=b>home</a>"), []float64{1, .25}},
		{parse(t, "http://h/2", "<title>People</title><p><a href=a>home</a><p>see<p><a href=c>courses</a>"), []float64{.25, .75}},
		{parse(t, "http://h/3", "<title>People</title><p><a href=d>elsewhere</a>"), []float64{math.NaN()}},
	}
}

func train(samples []Sample, s Settings) (*Model, error) {
	training := NewTraining(s)
	for _, l := range samples {
		if err := training.Add(l); err != nil {
			return nil, err
		}
	}
	return training.Model()
}

// TestScoresByTheFormula computes naive Bayes from its definition.
func TestScoresByTheFormula(t *testing.T) {
	s := Settings{Gamma: .5, Bins: 3, Reach: 1}
	m, err := train(samples(t), s)
	if err != nil {
		t.Fatal(err)
	}
	texts := [][]string{ // by bin: the words of its links
		{"t courses", "a syllabus", "n see", "n and"},
		{"t people", "a courses", "n see"},
		{"t courses", "a home", "n and", "t people", "a home", "n see", "n courses"}, // the title is a leaf, too
	}
	// The first leaf of a page is its title: it is around the first links.
	links, means := []float64{1, 1, 2}, []float64{1, .75, .25}
	vocabulary := make(map[string]bool)
	for _, words := range texts {
		for _, w := range words {
			vocabulary[w] = true
		}
	}
	delete(vocabulary, "n courses")
	vocabulary["n people"] = true
	texts[2][6] = "n people"
	if !slices.Equal(m.means, means) {
		t.Fatalf("means %v", m.means)
	}
	if got := slices.Sorted(maps.Keys(vocabulary)); !slices.Equal(got, m.words) {
		t.Fatalf("words %v, want %v", m.words, got)
	}
	page := parse(t, "http://h/9", "<title>Courses</title><p>unknown see see<p><a href=a>syllabus home</a><p>x<p><a href=b>never met</a>")
	g, err := m.Guide(t.Context(), &guide.View{Page: page})
	if err != nil {
		t.Fatal(err)
	}
	for i, words := range [][]string{{"t courses", "n see", "n see", "a syllabus", "a home"}, {"t courses"}} {
		var sum, score float64
		for k := range texts {
			p := links[k] / 4
			for _, w := range words {
				n := 0
				for _, other := range texts[k] {
					if other == w {
						n++
					}
				}
				p *= float64(1+n) / float64(len(vocabulary)+len(texts[k]))
			}
			sum += p
			score += p * means[k]
		}
		if want := score / sum / 2; math.Abs(g.Scores[i]-want) > 1e-12 {
			t.Errorf("link %d scores %v, want %v", i, g.Scores[i], want)
		}
	}
	if m.ReadsURLs() || len(g.States) != 0 {
		t.Errorf("it reports that it reads URLs, or has states %v", g.States)
	}
}

func TestBins(t *testing.T) {
	s := Settings{Gamma: .5, Bins: 4}
	for q, want := range map[float64]int{2: 0, 1: 0, .99: 1, .5: 1, .49: 2, .25: 2, .24: 3, 0: 3} {
		if got := s.bin(q); got != want {
			t.Errorf("%v is in bin %d, want %d", q, got, want)
		}
	}
}

func TestTrainRefuses(t *testing.T) {
	good := samples(t)
	torn := &schemas.Page{Url: "http://h/", Tokens: []uint32{7}, LeafLengths: []uint32{1}}
	for want, f := range map[string]func() (*Model, error){
		"no link":   func() (*Model, error) { return train(good[2:], Default) },
		"http://h/": func() (*Model, error) { return train([]Sample{{torn, nil}}, Default) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestScoresAreInRange: of models of random samples, with bins without links.
func TestScoresAreInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Settings{Gamma: rapid.Float64Range(.01, .99).Draw(t, "gamma"), Bins: rapid.IntRange(2, 6).Draw(t, "bins"), Reach: rapid.IntRange(0, 3).Draw(t, "reach"),
			Words: text.Settings{StopWords: rapid.Bool().Draw(t, "stop")}}
		var all []Sample
		for range rapid.IntRange(1, 4).Draw(t, "pages") {
			l := Sample{Page: pagetest.Page(t, 1, "cat", "dog", "cow", "the")}
			for range l.Page.Links {
				l.Q = append(l.Q, rapid.Float64Range(0, 1/(1-s.Gamma)).Draw(t, "q"))
			}
			all = append(all, l)
		}
		m, err := train(all, s)
		if err != nil {
			t.Fatal(err)
		}
		p := pagetest.Page(t, 1, "cat", "dog", "cow", "the")
		g, err := m.Guide(t.Context(), &guide.View{Page: p})
		if err != nil {
			t.Fatal(err)
		}
		if err := guide.Check(g, len(p.Links)); err != nil {
			t.Fatal(err)
		}
		if slices.Min(g.Scores) < 0 || slices.Max(g.Scores) > 1 {
			t.Errorf("scores %v", g.Scores)
		}
	})
}

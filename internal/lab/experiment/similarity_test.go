package experiment

import (
	"math"
	"slices"
	"testing"

	"forager/internal/lab/experiment/worldtest"
	"forager/internal/rank/pageguide"
)

// cosines computes TF-IDF cosines from the words of pages with maps.
func cosines(t *testing.T, g *Environment) map[string]map[string]float64 {
	t.Helper()
	counts, having := make(map[string]map[string]float64), make(map[string]float64)
	for _, u := range g.urls {
		p := g.web.pages[u]
		if !p.hasText() {
			continue
		}
		d, err := pageguide.Document(p.text(), pageguide.Default().Words)
		if err != nil {
			t.Fatal(err)
		}
		counts[u] = make(map[string]float64)
		for i, w := range d.Words {
			counts[u][w] = float64(d.Counts[i])
			having[w]++
		}
	}
	for _, c := range counts {
		var square float64
		for w := range c {
			c[w] *= math.Log(float64(len(counts)) / having[w])
			square += c[w] * c[w]
		}
		for w := range c {
			c[w] /= math.Sqrt(square)
		}
	}
	all := make(map[string]map[string]float64)
	for u, a := range counts {
		all[u] = make(map[string]float64)
		for v, b := range counts {
			for w, x := range a {
				all[u][v] += x * b[w]
			}
		}
	}
	return all
}

// TestSimilarityByHand compares precision and σ with their definitions.
func TestSimilarityByHand(t *testing.T) {
	g := env(t, worldtest.Random(51, 60))
	cos := cosines(t, g)
	for _, ranker := range []string{Baseline, "unfocused"} {
		crawl := try(t, g, ranker, 0, 0)
		crawl.Steps[3].Counted = false
		have, err := g.Similarity(crawl)
		if err != nil {
			t.Fatal(err)
		}
		var want Similarity
		byTarget, n := make(map[string]float64), 0.0
		for _, s := range crawl.Steps {
			if !s.Counted {
				continue
			}
			n++
			var nearest float64
			for v := range g.targets {
				nearest = max(nearest, cos[s.URL][v])
				byTarget[v] += cos[s.URL][v]
			}
			l, err := g.alike.get(struct{}{}, g.compareAll)
			if err != nil {
				t.Fatal(err)
			}
			page := g.number[s.URL]
			if near := l.nearestTo(page, l.texts.corpus.Weigh(l.texts.of[page])); math.Abs(near-nearest) > 1e-9 {
				t.Errorf("%s: %v from a target, by hand %v", s.URL, near, nearest)
			}
			for i, gamma := range Gammas {
				if nearest >= gamma {
					want.Precision[i]++
				}
			}
		}
		for i := range want.Precision {
			want.Precision[i] /= n
		}
		for _, sum := range byTarget {
			want.Sigma = max(want.Sigma, sum/n)
		}
		if math.Abs(have.Sigma-want.Sigma) > 1e-9 || !slices.Equal(have.Precision[:], want.Precision[:]) || want.Precision[0] <= want.Precision[3]-1e-9 {
			t.Errorf("%s: %+v, by hand %+v", ranker, have, want)
		}
	}
}

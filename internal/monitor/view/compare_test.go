package view

import (
	"math"
	"slices"
	"testing"

	"forager/internal/measure/chart"
	"forager/schemas"
)

// TestDraws: crawls that differ in names and random_seed are draws of one; settings in which crawls differ have their values for each.
func TestDraws(t *testing.T) {
	crawl := func(name string, seed uint64, window uint32) *schemas.CrawlControl {
		return &schemas.CrawlControl{Crawl: name, RandomSeed: seed, Window: window, Focus: []string{"A"}}
	}
	all := []*schemas.CrawlControl{crawl("a", 1, 10), crawl("b", 1, 20), crawl("c", 2, 10), crawl("d", 1, 20)}
	groups := Draws(all)
	if len(groups) != 2 || !slices.Equal(groups[0], []int{0, 2}) || !slices.Equal(groups[1], []int{1, 3}) {
		t.Errorf("groups %v", groups)
	}
	settings, values := Differing(all[:3])
	if !slices.Equal(settings, []string{"window", "random_seed"}) || len(values) != 3 ||
		!slices.Equal(values[0], []string{"10", "1"}) || !slices.Equal(values[1], []string{"20", "1"}) || !slices.Equal(values[2], []string{"10", "2"}) {
		t.Errorf("settings %v, values %v", settings, values)
	}
}

// TestMean: the interval of three values by the table of Student's t, 4.303 of 2 degrees of freedom.
func TestMean(t *testing.T) {
	line := func(y float64, last float64) chart.Line {
		return chart.Line{X: []float64{1, last}, Y: []float64{y, y}}
	}
	m := Mean("m", []chart.Line{line(1, 50), line(2, 40), line(3, 60)})
	n := len(m.X)
	if m.X[0] != 1 || m.X[n-1] != 40 || m.Y[n/2] != 2 || math.Abs(m.High[n/2]-2-4.303/math.Sqrt(3)) > 1e-3 || math.Abs(m.Low[n/2]-2+4.303/math.Sqrt(3)) > 1e-3 {
		t.Errorf("from %v to %v: %v, from %v to %v", m.X[0], m.X[n-1], m.Y[n/2], m.Low[n/2], m.High[n/2])
	}
	if apart := Mean("m", []chart.Line{{X: []float64{1, 2}, Y: []float64{0, 0}}, {X: []float64{3, 4}, Y: []float64{0, 0}}}); len(apart.X) > 0 {
		t.Errorf("lines that have no x in common have a mean %+v", apart)
	}
}

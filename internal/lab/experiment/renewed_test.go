package experiment

import (
	"slices"
	"strings"
	"testing"

	"forager/internal/lab/experiment/worldtest"
	"forager/schemas"
)

// renewable is a web with enough targets for graphs of its own.
func renewable() *worldtest.World {
	w := worldtest.Random(91, 200)
	w.Budget = 160
	return w
}

// TestBootstrapGoesBreadthFirstUntilItHasTargets: until the critic has judged ten pages on topic the crawl is the unfocused
// one, and from there on it has an order of its own.
func TestBootstrapGoesBreadthFirstUntilItHasTargets(t *testing.T) {
	g := env(t, renewable())
	for draw := range g.task.Seeds {
		c, blind := try(t, g, "context-graph-bootstrapped", draw, 0), try(t, g, "unfocused", draw, 0)
		met, until := 0, 0
		for until < len(c.Steps) && met < bootstrapTargets {
			if c.Steps[until].Raw >= schemas.TargetFrom {
				met++
			}
			until++
		}
		if !slices.Equal(c.Renewed, []int{until}) {
			t.Fatalf("draw %d: guides made behind %v pages, ten targets are met behind %d", draw, c.Renewed, until)
		}
		if !slices.Equal(urlsOf(c)[:until], urlsOf(blind)[:until]) {
			t.Errorf("draw %d: the first %d pages are not those of breadth first", draw, until)
		}
		if slices.Equal(urlsOf(c), urlsOf(blind)) {
			t.Errorf("draw %d: a guide changes nothing", draw)
		}
	}
}

// TestRebuiltGraphsComeByTheBudget: until the first of them it is the crawl by the guide that it began with.
func TestRebuiltGraphsComeByTheBudget(t *testing.T) {
	g := env(t, renewable())
	every := int(g.task.Budget) / rebuildShare
	c, before := try(t, g, "context-graph-rebuilt", 0, 0), try(t, g, "context-graph", 0, 0)
	if !slices.Equal(c.Renewed, []int{every, 2 * every, 3 * every}[:len(c.Renewed)]) || len(c.Renewed) < 2 {
		t.Fatalf("guides made behind %v pages", c.Renewed)
	}
	if !slices.Equal(urlsOf(c)[:every], urlsOf(before)[:every]) {
		t.Error("it differs before a graph is rebuilt")
	}
	if slices.Equal(urlsOf(c), urlsOf(before)) {
		t.Error("new graphs change nothing")
	}
	if again := try(t, g, "context-graph-rebuilt", 0, 0); !slices.Equal(again.Steps, c.Steps) {
		t.Error("the same crawl once more has another order")
	}
}

// TestNewGraphsKnowNoLabels: crawls do not depend on the labels of the pages to be crawled, only on the critic's judgements
// of the pages that they fetched.
func TestNewGraphsKnowNoLabels(t *testing.T) {
	w, mixed := renewable(), renewable()
	var here []int
	for i, l := range mixed.Labels {
		if strings.HasSuffix(l, "/one") {
			here = append(here, i)
		}
	}
	labels := slices.Clone(mixed.Labels)
	for k, i := range here { // each has the label of the next one
		url, _, _ := strings.Cut(labels[i], "\t")
		_, label, _ := strings.Cut(labels[here[(k+1)%len(here)]], "\t")
		mixed.Labels[i] = url + "\t" + label
	}
	a, b := env(t, w), env(t, mixed)
	for _, ranker := range []string{"context-graph-rebuilt", "context-graph-bootstrapped"} {
		if !slices.Equal(urlsOf(try(t, a, ranker, 0, 0)), urlsOf(try(t, b, ranker, 0, 0))) {
			t.Errorf("%s has seen labels", ranker)
		}
	}
}

// TestRenewedArms: a mixture follows them, too.
func TestRenewedArms(t *testing.T) {
	g := env(t, renewable())
	for _, arm := range []string{"context-graph-rebuilt", "context-graph-bootstrapped"} {
		if c := try(t, g, "soft-focus+"+arm, 0, 1); len(c.Renewed) < 1 || len(c.Steps) < 80 {
			t.Errorf("%s: guides made behind %v of %d pages", arm, c.Renewed, len(c.Steps))
		}
	}
	_, err := g.Run(t.Context(), "context-graph-rebuilt+context-graph-bootstrapped", 0, 0, nil)
	if err == nil || !strings.Contains(err.Error(), "a crawl has one") {
		t.Errorf("two of them: %v", err)
	}
}

func urlsOf(c *Crawl) (all []string) {
	for _, s := range c.Steps {
		all = append(all, s.URL)
	}
	return all
}

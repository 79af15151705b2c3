package experiment

import (
	"slices"
	"testing"

	"forager/internal/lab/experiment/worldtest"
)

// TestStarts: seeds of each kind are what they are named for, and fresh ones are in no draw of the task.
func TestStarts(t *testing.T) {
	g := env(t, worldtest.Random(3, 150))
	links, err := g.linked()
	if err != nil {
		t.Fatal(err)
	}
	distances, err := g.Distances()
	if err != nil {
		t.Fatal(err)
	}
	given, front := seedPages(g, slices.Concat(g.task.Seeds...)), home(g, links)
	n := len(g.task.Seeds[0])
	for _, way := range Starts {
		seeds, err := Start(g, way, 7%len(g.task.Seeds))
		if err != nil {
			if way != StartsExamples { // the critic of this world learned elsewhere
				t.Errorf("%s: %v", way, err)
			}
			continue
		}
		if want := map[string]int{StartsHome: 1}[way]; len(seeds) != max(want, n*(1-want)) {
			t.Errorf("%s: %v", way, seeds)
		}
		if again, _ := Start(g, way, 7%len(g.task.Seeds)); !slices.Equal(seeds, again) {
			t.Errorf("%s: %v, then %v", way, seeds, again)
		}
		for i, u := range seeds {
			is := map[string]bool{
				StartsGiven: true, StartsHome: u == front, StartsFresh: !given[u], StartsFar: distances[u] > 0, StartsExamples: !g.counted(u) && g.task.IsTarget(g.web.labels[u]),
				StartsJunk: i == 0 && u == front || !slices.ContainsFunc(links.children[g.number[u]], func(v uint32) bool { return g.targets[g.urls[v]] }),
			}[way]
			if way != StartsGiven && way != StartsExamples && (g.targets[u] && u != front || !g.inScope[u]) || !is {
				t.Errorf("%s: %s is none of them", way, u)
			}
		}
	}
	if _, err := Start(g, "elsewhere", 0); err == nil {
		t.Error("an unknown way is no error")
	}
	// Draws differ, beyond those of the task file, too.
	a, _ := Start(g, StartsFresh, 20)
	if b, _ := Start(g, StartsFresh, 21); slices.Equal(a, b) {
		t.Errorf("two draws are %v", a)
	}
	// A environment with other seeds judges and counts alike.
	other := *g.task
	other.Seeds = [][]string{a}
	same, err := For(g, &other)
	if err != nil || len(same.targets) != len(g.targets) {
		t.Fatal(err)
	}
	c := try(t, same, Baseline, 0, 0)
	for i := range a {
		if c.Steps[i].URL != a[i] {
			t.Errorf("step %d is %s, not the seed %s", i, c.Steps[i].URL, a[i])
		}
	}
}

package experiment

import (
	"math"
	"slices"
	"strings"
	"testing"

	"forager/internal/lab/experiment/worldtest"
	"forager/schemas"
)

// hops is the length of the shortest path from a page, through pages that were not visited, to
// a target that was not: a search forwards, where the oracle's goes backwards.
func hops(g *Environment, from string, visited map[string]bool) int {
	level, seen := []string{from}, map[string]bool{from: true}
	for d := 0; len(level) > 0; d++ {
		var next []string
		for _, u := range level {
			if g.targets[u] {
				return d
			}
			for _, l := range g.found(u).Links {
				v := l.Url
				if p := g.web.pages[v]; p != nil && p.outcome == schemas.Outcome_OUTCOME_REDIRECTED {
					v = p.redirect
				}
				if g.inScope[v] && !seen[v] && !visited[v] {
					seen[v] = true
					next = append(next, v)
				}
			}
		}
		level = next
	}
	return math.MaxInt
}

// TestOracleTakesShortestPaths: at every step but those of the seeds, no page that could have been
// fetched is nearer to a target than the one that was.
func TestOracleTakesShortestPaths(t *testing.T) {
	for seed := range uint64(12) {
		w := worldtest.Random(seed, 12+int(seed)*5)
		w.Budget = 1000
		g := env(t, w)
		for draw, seeds := range g.task.Seeds {
			c := try(t, g, "oracle", draw, 0)
			visited, frontier := make(map[string]bool), make(map[string]bool)
			isSeed := make(map[string]bool)
			for _, s := range seeds {
				isSeed[s] = true
			}
			for i, s := range c.Steps {
				if !isSeed[s.URL] && !frontier[s.URL] {
					t.Fatalf("world %d, draw %d: page %d was not in the frontier", seed, draw, i)
				}
				if took := hops(g, s.URL, visited); !isSeed[s.URL] {
					for v := range frontier {
						if least := hops(g, v, visited); least < took {
							t.Errorf("world %d, draw %d: page %d, %s, is %d hops from a target, %s is %d", seed, draw, i, s.URL, took, v, least)
						}
					}
				} else if i >= len(isSeed) {
					t.Errorf("world %d, draw %d: page %d is a seed", seed, draw, i)
				}
				visited[s.URL] = true
				delete(frontier, s.URL)
				for _, l := range g.found(s.URL).Links {
					if v := g.resolve(l.Url); v != "" && !visited[v] {
						frontier[v] = true
					}
				}
			}
			if len(frontier) > 0 {
				t.Errorf("world %d, draw %d: ended with %d pages left: %s", seed, draw, len(frontier), c.EndReason)
			}
		}
	}
}

// TestOraclesOfTheFrontier checks every choice of oracle-labels and oracle-hubs by a search without scores: the first page
// found of those that the oracle prefers, and of all if it prefers none. Where links lead to aliases, any that it prefers will do.
func TestOraclesOfTheFrontier(t *testing.T) {
	for seed := range uint64(24) {
		w := worldtest.Random(seed, 12+int(seed)*4)
		aliases := seed%2 == 0
		for i := range w.Answers {
			if !aliases {
				w.Answers[i].Body = strings.ReplaceAll(w.Answers[i].Body, `/">`, `">`)
			}
		}
		g := env(t, w)
		for name, prefers := range map[string]func(found []string, visited map[string]bool, order []string) map[string]bool{
			"oracle-labels": func(found []string, _ map[string]bool, _ []string) map[string]bool {
				return set(slices.DeleteFunc(slices.Clone(found), func(v string) bool { return !g.targets[v] }))
			},
			"oracle-hubs": func(_ []string, visited map[string]bool, order []string) map[string]bool {
				var best map[string]bool
				most := 0.
				for _, u := range order {
					left, targets := make(map[string]bool), 0.
					for _, l := range g.found(u).Links {
						if v := g.resolve(l.Url); v != "" && v != u && !visited[v] && !left[v] {
							left[v] = true
							if g.targets[v] {
								targets++
							}
						}
					}
					if share := targets / max(1, float64(len(left))); share > most {
						best, most = left, share
					}
				}
				return best
			},
		} {
			for draw, seeds := range g.task.Seeds {
				var found, order []string
				visited := make(map[string]bool)
				for i, s := range try(t, g, name, draw, 0).Steps {
					if i >= len(seeds) {
						preferred := prefers(found, visited, order)
						want := found[0]
						if k := slices.IndexFunc(found, func(v string) bool { return preferred[v] }); k >= 0 {
							want = found[k]
						}
						if aliases && (preferred[s.URL] || !preferred[want]) {
							want = s.URL
						}
						if want != s.URL {
							t.Fatalf("world %d, %s, draw %d, page %d is %s, want %s", seed, name, draw, i, s.URL, want)
						}
					}
					visited[s.URL], order = true, append(order, s.URL)
					for _, l := range g.found(s.URL).Links {
						if v := g.resolve(l.Url); v != "" && !slices.Contains(found, v) {
							found = append(found, v)
						}
					}
					found = slices.DeleteFunc(found, func(v string) bool { return visited[v] || slices.Contains(seeds, v) })
				}
			}
		}
	}
}

func set(urls []string) map[string]bool {
	all := make(map[string]bool)
	for _, u := range urls {
		all[u] = true
	}
	return all
}

// TestCriticsByLabels: R is the label under a perfect critic, for link-value and soft focus, and errors with rates of 1 and 0 are none.
func TestCriticsByLabels(t *testing.T) {
	g := env(t, worldtest.Random(9, 150))
	for _, ranker := range []string{Baseline, "link-value", "mixture"} {
		var order [][]string
		for _, name := range []string{"perfect", "errors 1/0", "errors 0.8/0.2", "logistic", "positives-only"} {
			under, err := g.Under(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			c := try(t, under, ranker, 0, 0)
			wrong := 0
			for _, s := range c.Steps {
				if s.Target != g.targets[s.URL] {
					t.Fatalf("%s: the targets change with the critic", name)
				}
				if (s.Raw >= .5) != s.Target {
					wrong++
				}
			}
			if perfect := len(order) < 2; perfect != (wrong == 0) {
				t.Errorf("%s under %s: %d of %d verdicts are wrong", ranker, name, wrong, len(c.Steps))
			}
			order = append(order, urlsOf(c))
		}
		if !slices.Equal(order[0], order[1]) || slices.Equal(order[0], order[2]) {
			t.Errorf("%s: the crawls under perfect, errors 1/0 and errors 0.8/0.2 are not equal, equal and different", ranker)
		}
	}
}

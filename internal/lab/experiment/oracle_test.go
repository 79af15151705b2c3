package experiment

import (
	"testing"

	"forager/internal/lab/experiment/worldtest"
	"forager/schemas"
)

// hops is the length of the shortest path from a page, through pages that were not visited, to
// a target that was not: a search forwards, where the oracle's goes backwards.
func hops(g *Ground, from string, visited map[string]bool) int {
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
	return far
}

// TestOracleTakesShortestPaths: at every step but those of the seeds, no page that could have been
// fetched is nearer to a target than the one that was.
func TestOracleTakesShortestPaths(t *testing.T) {
	for seed := range uint64(12) {
		w := worldtest.Random(seed, 12+int(seed)*5)
		w.Budget = 1000
		g := ground(t, w)
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

// TestLabelOracle takes a target where the frontier holds one.
func TestLabelOracle(t *testing.T) {
	g := ground(t, worldtest.Random(8, 100))
	for draw, seeds := range g.task.Seeds {
		c := try(t, g, "oracle-labels", draw, 0)
		visited, known := make(map[string]bool), make(map[string]bool)
		for i, s := range c.Steps {
			if i >= len(seeds) && !s.Target {
				for v := range known {
					if g.targets[v] && !visited[v] {
						t.Errorf("draw %d: page %d is no target, %s would have been one", draw, i, v)
					}
				}
			}
			visited[s.URL] = true
			for _, l := range g.found(s.URL).Links {
				known[g.resolve(l.Url)] = true
			}
		}
	}
}

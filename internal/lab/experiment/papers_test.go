package experiment

import (
	"slices"
	"strings"
	"testing"

	"forager/internal/lab/experiment/worldtest"
	"forager/internal/rank/distill"
	"forager/internal/rank/guide"
	"forager/internal/rank/pageguide"
	"forager/schemas"
)

// frontierOf are the pages that pages fetched link to and that are not fetched, each with the pages that link to it.
func frontierOf(g *Environment, fetched []string) map[string][]string {
	found := make(map[string][]string)
	for _, u := range fetched {
		for _, l := range g.found(u).GetLinks() {
			if v := g.resolve(l.GetUrl()); v != "" && !slices.Contains(fetched, v) && !slices.Contains(found[v], u) {
				found[v] = append(found[v], u)
			}
		}
	}
	return found
}

// seedsOf are the pages that a draw begins with.
func seedsOf(g *Environment, draw int) map[string]bool {
	seeds := make(map[string]bool)
	for _, s := range g.task.Seeds[draw] {
		seeds[g.resolve(s)] = true
	}
	return seeds
}

// TestPageRankersTakeTheBestPage: every page fetched is linked from a page of the highest score of all that have
// links left.
func TestPageRankersTakeTheBestPage(t *testing.T) {
	g := env(t, worldtest.Random(21, 120))
	for _, kind := range []pageguide.Kind{pageguide.ContextGraph, pageguide.Focused2000, pageguide.BestFirst} {
		name := string(kind)
		taught, err := g.guide(t.Context(), name, fromGraph(kind))
		if err != nil {
			t.Fatal(err)
		}
		scores := make(map[string]float64)
		for _, u := range g.urls {
			if !g.web.pages[u].hasText() { // a redirect
				continue
			}
			result, err := taught.Guide(t.Context(), &guide.View{Page: g.web.pages[u].text()})
			if err != nil || len(result.GetScores()) != 1 {
				t.Fatalf("%s: %v, %v", u, result, err)
			}
			scores[u] = result.GetScores()[0]
		}
		best := func(sources []string) float64 {
			most := -1.
			for _, u := range sources {
				most = max(most, scores[u])
			}
			return most
		}
		distinct := make(map[float64]bool)
		for _, s := range scores {
			distinct[s] = true
		}
		if len(scores) != 120 || len(distinct) < 40 {
			t.Errorf("%s: %d scores, %d distinct", name, len(scores), len(distinct))
		}
		seeds := seedsOf(g, 0)
		var fetched []string
		for _, step := range try(t, g, name, 0, 0).Steps {
			if v := step.URL; !seeds[v] {
				found := frontierOf(g, fetched)
				for other, sources := range found {
					if !seeds[other] && best(sources) > best(found[v]) {
						t.Fatalf("%s: %s at %v was fetched before %s at %v", name, v, best(found[v]), other, best(sources))
					}
				}
			}
			fetched = append(fetched, step.URL)
		}
		if len(fetched) != 60 {
			t.Errorf("%s: %d pages", name, len(fetched))
		}
	}
}

// TestPathsAreInherited replays crawls by MEMMs: a page inherits the path of the link of the highest score that was
// known when it was fetched, and no link of a higher score was left waiting.
func TestPathsAreInherited(t *testing.T) {
	type led struct {
		score float64
		state []byte
	}
	g := env(t, worldtest.Random(21, 120))
	for name, train := range map[string]training{
		"memm-marginal": fromGraph(pageguide.MEMM), "memm-viterbi": along(pageguide.Viterbi, pageguide.ByDiscount), "memm-states": along(pageguide.Marginal, pageguide.ByStates),
	} {
		taught, err := g.guide(t.Context(), name, train)
		if err != nil {
			t.Fatal(err)
		}
		seeds, best := seedsOf(g, 0), make(map[string]led)
		fetched, deep := make(map[string]bool), make(map[string]bool)
		for _, step := range try(t, g, name, 0, 0).Steps {
			for v, l := range best {
				if !seeds[step.URL] && !seeds[v] && !fetched[v] && l.score > best[step.URL].score {
					t.Fatalf("%s: %s at %v was fetched before %s at %v", name, step.URL, best[step.URL].score, v, l.score)
				}
			}
			fetched[step.URL] = true
			page := g.web.pages[step.URL].text()
			path := best[step.URL].state
			if seeds[step.URL] {
				path = nil
			}
			result, err := taught.Guide(t.Context(), &guide.View{Page: page, State: path})
			if err != nil {
				t.Fatal(err)
			}
			deep[string(path)] = true
			for i, l := range page.GetLinks() {
				v := g.resolve(l.GetUrl())
				score, _ := guide.Score(result, i)
				if old, ok := best[v]; v != "" && (!ok || score > old.score) {
					best[v] = led{score, guide.State(result, i)}
				}
			}
		}
		if len(fetched) != 60 || len(deep) < 20 {
			t.Errorf("%s: %d pages by %d paths", name, len(fetched), len(deep))
		}
	}
}

// TestTrainingPagesAreLeftOut: guides learn from no page that is measured.
func TestTrainingPagesAreLeftOut(t *testing.T) {
	g := env(t, worldtest.Random(21, 120))
	l, err := learn(g)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Corpus) != 60 || len(l.Targets) != 20 {
		t.Errorf("%d lessons with %d targets", len(l.Corpus), len(l.Targets))
	}
	for _, i := range l.Corpus {
		if p, err := l.Page(i); err != nil || !strings.HasPrefix(p.GetUrl(), "http://two.test/") {
			t.Errorf("%s is a lesson (%v)", p.GetUrl(), err)
		}
	}
}

// TestDistilledTakesNeighboursOfHubs replays crawls: the raised URLs are computed again from the fetched pages.
func TestDistilledTakesNeighboursOfHubs(t *testing.T) {
	took, raisedAny := 0, false
	for seed := range uint64(4) {
		g := env(t, worldtest.Random(31+seed, 160))
		every := int(g.task.Budget / 10)
		seeds, raised := seedsOf(g, 0), make(map[string]bool)
		var fetched []string
		for _, step := range try(t, g, "soft-focus-distilled", 0, 0).Steps {
			found := frontierOf(g, fetched)
			waiting := slices.ContainsFunc(slices.Collect(func(yield func(string) bool) {
				for v := range found {
					if !yield(v) {
						return
					}
				}
			}), func(v string) bool { return raised[v] && !seeds[v] })
			if !seeds[step.URL] && waiting {
				took++
				if !raised[step.URL] {
					t.Fatalf("web %d: %s was fetched, and neighbours of hubs wait", seed, step.URL)
				}
			}
			fetched = append(fetched, step.URL)
			if len(fetched)%every != 0 {
				continue
			}
			var pages []distill.Page
			for _, u := range fetched {
				host := strings.TrimPrefix(u, "http://h")
				pages = append(pages, distill.Page{Site: uint32(host[0]), R: g.found(u).GetJudgement().GetRaw()})
			}
			r, err := distill.Rank(pages, func(yield func(distill.Link, error) bool) {
				for v, sources := range linksAmong(g, fetched) {
					for _, u := range sources {
						if !yield(distill.Link{From: uint32(slices.Index(fetched, u)), To: uint32(slices.Index(fetched, v))}, nil) {
							return
						}
					}
				}
			}, distill.Default)
			if err != nil {
				t.Fatal(err)
			}
			found = frontierOf(g, fetched)
			for _, hub := range r.Hubs[:min(20, len(r.Hubs))] {
				for v, sources := range found {
					if slices.Contains(sources, fetched[hub.Page]) {
						raised[v], raisedAny = true, true
					}
				}
			}
		}
	}
	if !raisedAny || took < 20 {
		t.Errorf("only %d pages were taken for their hubs", took)
	}
}

// linksAmong are the pages fetched with those of them that link to each.
func linksAmong(g *Environment, fetched []string) map[string][]string {
	to := make(map[string][]string)
	for _, u := range fetched {
		for _, l := range g.found(u).GetLinks() {
			if v := g.resolve(l.GetUrl()); slices.Contains(fetched, v) {
				to[v] = append(to[v], u)
			}
		}
	}
	return to
}

// TestPageRankersNeedExamples: without a target to learn from there is an error that names the cause.
func TestPageRankersNeedExamples(t *testing.T) {
	w := worldtest.Random(21, 40)
	for i, label := range w.Labels {
		w.Labels[i] = strings.ReplaceAll(label, "good/two", "other/two")
	}
	g := env(t, w)
	if _, err := g.Try(t.Context(), "context-graph", 0, 0, &schemas.Learning{DMax: 5}); err == nil || !strings.Contains(err.Error(), "no page that it may learn from is a target") {
		t.Errorf("%v", err)
	}
}

package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"forager/internal/lab/experiment/worldtest"
)

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
	g := env(t, menus())
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

// TestRecallKeepsToTheFirstCrawl: the same pages in another order, by a model trained on them (2002 §3.6).
func TestRecallKeepsToTheFirstCrawl(t *testing.T) {
	g := env(t, worldtest.Random(61, 150))
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
			g := env(t, worldtest.Random(71+seed, 150))
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

// TestRewardsAreLearntElsewhere: a model of the anchors of another site orders pages here: first the targets, then pages
// that lead to one, then the rest.
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
	c := try(t, env(t, w), "rennie-mccallum", 0, 0)
	var order string
	for _, s := range c.Steps {
		order += strings.TrimPrefix(s.URL, "http://x.test/")[:1]
	}
	if want := "s" + strings.Repeat("g", 6) + strings.Repeat("h", 6) + strings.Repeat("b", 6); order != want {
		t.Errorf("pages in the order %s, want %s", order, want)
	}
}

// TestArmsOfAnyKind: a mixture of arms that rank by guides, by what they learn and by neither follows each of them;
// what holds for a whole crawl is no arm.
func TestArmsOfAnyKind(t *testing.T) {
	g := env(t, worldtest.Random(21, 150))
	name := "tiered-soft-focus+context-graph+memm-viterbi+rennie-mccallum+interest+tag-bandit"
	run, err := g.Run(t.Context(), name, 0, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Policies) != 6 || run.Mixture == nil || len(run.Guides) != 3 {
		t.Fatalf("%d policies, %d guides, mixture %v", len(run.Policies), len(run.Guides), run.Mixture)
	}
	chosen := make(map[string]int)
	run.Keep = true
	c, err := run.Crawl(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range c.Settled() {
		chosen[l.GetPolicy()]++
	}
	if len(chosen) < 6 {
		t.Errorf("arms that chose: %v", chosen)
	}
	for name, want := range map[string]string{
		"random+oracle":             "oracle is no arm of a mixture: it reads what no crawler can",
		"random+apprentice-recall":  "apprentice-recall is no arm of a mixture: it sets what all arms learn from",
		"random+psychic":            `no ranker "psychic"`,
		"random+mixture":            "mixture is no arm of another one",
		"context-graph+memm-states": "",
	} {
		if err := KnowRanker(name); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestTrainingIsCharged: what trains a ranker before its crawl is counted, for each arm of a mixture.
func TestTrainingIsCharged(t *testing.T) {
	g := env(t, worldtest.Random(21, 60)) // 30 pages of the other site train
	first := try(t, g, Baseline, 0, 0).Requests
	for ranker, want := range map[string]uint64{
		Baseline: 0, "mixture": 0, "shark-search": 0, "context-graph": 30, "context-graph-backlinks": 30, "rennie-mccallum": 30,
		"apprentice-taught": first, "apprentice-transferred": 30, "soft-focus+memm-marginal": 30,
	} {
		if run, err := g.Run(t.Context(), ranker, 0, 0, nil); err != nil || run.Training != want {
			t.Errorf("%s: %+v, %v; want %d", ranker, run, err, want)
		}
	}
}

//go:build webs

package tables

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"forager/internal/lab/experiment"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/linkfeature"
	"forager/internal/testkit/frozen"
	"forager/schemas"
)

func bench(t testing.TB, tasks []string, draws int) []Group {
	t.Helper()
	folder := frozen.Path(t, frozen.Webs, "")
	file, err := taskfile.Load(filepath.Join(folder, "tasks.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	selected, err := file.Select(tasks...)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	environments, err := experiment.Prepare(t.Context(), file, folder, selected, linkfeature.Settings{DMax: 5})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("webs read, critics trained, pages judged: %.1f s", time.Since(began).Seconds())
	var variants []experiment.Variant
	for _, r := range experiment.Rankers {
		variants = append(variants, experiment.Variant{Name: r, Ranker: r, Learning: &schemas.Learning{DMax: 5, Pairs: schemas.Pairs_PAIRS_BOTH}})
	}
	b := &experiment.Bench{
		Tasks: selected, RandomRuns: 3, Environments: environments,
		Variants: variants,
	}
	for d := range draws {
		b.Draws = append(b.Draws, d)
	}
	results, err := b.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d crawls: %.1f s in all", len(results), time.Since(began).Seconds())
	sum, err := Summarise(selected, results)
	if err != nil {
		t.Fatal(err)
	}
	return sum.Groups
}

// TestWebsTable prints the table of every task; FORAGER_DRAWS is the number of draws (1).
func TestWebsTable(t *testing.T) {
	draws := 1
	if s := os.Getenv("FORAGER_DRAWS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("FORAGER_DRAWS: %v", err)
		}
		draws = n
	}
	tasks := []string{"webkb-uni:*", "webplatform:*"}
	if s := os.Getenv("FORAGER_TASKS"); s != "" {
		tasks = []string{s}
	}
	groups := bench(t, tasks, draws)
	for _, g := range groups {
		t.Logf("\n%s", g.Table())
		find := func(ranker string) RankerSummary {
			i := slices.IndexFunc(g.Rankers, func(r RankerSummary) bool { return r.Ranker == ranker })
			if i < 0 {
				t.Fatalf("%s: no line for %s", g.Name, ranker)
			}
			return g.Rankers[i]
		}
		oracle, random := find("oracle").Measures["AUC"].Mean, find("random").Measures["AUC"].Mean
		for _, r := range g.Rankers {
			if a := r.Measures["AUC"].Mean; a > oracle+1e-9 {
				t.Errorf("%s: %s has AUC %.3f, more than the oracle's %.3f", g.Name, r.Ranker, a, oracle)
			}
		}
		if soft := find("soft-focus").Measures["AUC"].Mean; soft <= random {
			t.Errorf("%s: soft focus has AUC %.3f, no more than random order's %.3f", g.Name, soft, random)
		}
	}
}

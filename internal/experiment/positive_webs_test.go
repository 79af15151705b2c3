//go:build webs

package experiment

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"forager/internal/critic"
	"forager/internal/linkfeature"
	"forager/internal/positive"
	"forager/schemas"
)

// document is a page of the web as package positive counts it.
func (w *Web) document(p *page) positive.Document {
	words := make([]string, 0, len(p.parsed.GetTokens()))
	for _, t := range p.parsed.GetTokens() {
		words = append(words, p.parsed.Terms[t])
	}
	return positive.Read(p.url, strings.Join(words, " "))
}

// likeTask trains a critic for a task from n of its positive examples and 1,000 pages of the web that the task
// does not fetch, whatever they are about.
func likeTask(t testing.TB, web *Web, task *Task, set *CriticSet, n int) *positive.Critic {
	t.Helper()
	byHash := func(a, b string) int { return cmp.Compare(xxhash.Sum64String(a), xxhash.Sum64String(b)) }
	likes := slices.SortedFunc(slices.Values(set.Examples[task.FocusClass]), byHash)
	var e positive.Examples
	for _, raw := range likes[:min(n, len(likes))] {
		e.Liked = append(e.Liked, web.document(web.example(raw)))
	}
	for _, u := range slices.SortedFunc(maps.Keys(web.pages), byHash) {
		p := web.pages[u]
		fetched, err := task.allows(web.labels[u])
		if err != nil {
			t.Fatal(err)
		}
		if p.outcome == schemas.Outcome_OUTCOME_DELIVERED && !fetched && web.labels[u] != "" && len(e.Background) < 1000 {
			e.Background = append(e.Background, web.document(p))
		}
	}
	c, r, err := positive.Train(task.FocusClass, &e, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, %d likes: prior %.3f, Brier %.3f, recall %.3f", task.Name, r.Liked, r.Prior, r.Brier, r.Recall)
	return c
}

// judged is the ground as another judge sees it.
func (g *Ground) judged(t testing.TB, task *Task, set *CriticSet, by critic.Judge) *Ground {
	t.Helper()
	other, err := NewGround(task, set, g.web, g.model, g.settings)
	if err != nil {
		t.Fatal(err)
	}
	o := critic.NewOpinion(2)
	at := slices.Index(by.Classes(), task.FocusClass)
	for u, rec := range other.verdicts {
		if rec.Judgement == nil {
			continue
		}
		if err := by.Opine(context.Background(), o, g.web.pages[u].parsed); err != nil {
			t.Fatal(err)
		}
		rec.Judgement.Raw, rec.Judgement.Tempered, rec.Judgement.Calibrated = o.Raw[at], o.Tempered[at], o.Calibrated[at]
		rec.Judgement.BestIsFocus = o.Raw[at] > .5
	}
	return other
}

// TestWebsCrawlsByLikes sets crawls that are guided by a critic learnt from likes beside those of the
// fully supervised critic, on the universities of webkb, for course pages. FORAGER_DRAWS says how many draws (2); from 10 on
// they are those from 10 on, and 50 and all likes take part.
func TestWebsCrawlsByLikes(t *testing.T) {
	first, draws, likes := 0, 2, []int{10}
	if s := os.Getenv("FORAGER_DRAWS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("FORAGER_DRAWS: %v", err)
		}
		if draws = n; n >= 10 {
			first, likes = 10, []int{10, 50, 1 << 30}
		}
	}
	file, err := LoadTasks(filepath.Join(folder(t), "tasks.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := file.Select("webkb-uni:course*")
	if err != nil {
		t.Fatal(err)
	}
	grounds, err := Prepare(file, folder(t), tasks, linkfeature.Settings{DMax: 5})
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{Tasks: tasks, RandomRuns: 10}
	for d := range draws {
		b.Draws = append(b.Draws, first+d)
	}
	run := func(name string, grounds map[*Task]*Ground, rankers ...string) map[string]Measures {
		b.Grounds, b.Variants = grounds, Variants(rankers, &schemas.Learning{DMax: 5, Pairs: schemas.Pairs_PAIRS_BOTH})
		results, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sums := make(map[string]Measures)
		for _, ranker := range rankers {
			var m Measures
			n := 0.
			for _, r := range results {
				if r.Ranker != ranker {
					continue
				}
				n++
				for i := range m.HarvestLabel {
					m.HarvestLabel[i] += r.HarvestLabel[i]
				}
				m.Recall += r.Recall
				m.AUC += r.AUC
			}
			for i := range m.HarvestLabel {
				m.HarvestLabel[i] /= n
			}
			m.Recall /= n
			m.AUC /= n
			t.Logf("%-24s %-17s harvest by label at 25 %% %.3f, 50 %% %.3f, 100 %% %.3f; recall %.3f; AUC %.3f",
				name, ranker, m.HarvestLabel[0], m.HarvestLabel[1], m.HarvestLabel[2], m.Recall, m.AUC)
			sums[ranker] = m
		}
		return sums
	}
	guided := []string{"soft-focus", "apprentice", "apprentice-gated"}
	all := run("supervised", grounds, append(guided, "random", "oracle")...)
	for _, n := range likes {
		other := make(map[*Task]*Ground)
		for _, task := range tasks {
			set := file.Critics[task.Critic]
			other[task] = grounds[task].judged(t, task, &set, likeTask(t, grounds[task].web, task, &set, n))
		}
		name := "all likes"
		if n < 1000 {
			name = strconv.Itoa(n) + " likes"
		}
		for ranker, m := range run(name, other, guided...) {
			if m.AUC <= all["random"].AUC {
				t.Errorf("%s, %s: AUC %.3f, no more than random order's %.3f", name, ranker, m.AUC, all["random"].AUC)
			}
		}
	}
}

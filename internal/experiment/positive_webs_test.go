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

	"forager/internal/crawlfile"
	"forager/internal/critic"
	"forager/internal/frontier"
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

// likeExamples are n of a task's positive examples, and as background 1,000 pages of the web that the task
// does not fetch, whatever they are about.
func likeExamples(t testing.TB, web *Web, task *Task, set *CriticSet, n int) *positive.Examples {
	t.Helper()
	byHash := func(a, b string) int { return cmp.Compare(xxhash.Sum64String(a), xxhash.Sum64String(b)) }
	likes := slices.SortedFunc(slices.Values(set.Examples[task.FocusClass]), byHash)
	e := new(positive.Examples)
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
	return e
}

func likeCritic(t testing.TB, task *Task, e *positive.Examples) *positive.Critic {
	t.Helper()
	c, r, err := positive.Train(task.FocusClass, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, %d likes, %d pages of background: prior %.3f, Brier %.3f, recall %.3f", task.Name, r.Liked, r.Background, r.Prior, r.Brier, r.Recall)
	return c
}

// judged is the ground as another judge sees it.
func (g *Ground) judged(t testing.TB, task *Task, set *CriticSet, by critic.Judge) *Ground {
	t.Helper()
	other, err := NewGround(task, set, g.web, g.model, g.settings)
	if err != nil {
		t.Fatal(err)
	}
	other.heed(t, by)
	return other
}

// logistic is the ground as a critic by logistic regression sees it, trained on the examples of the task.
func (g *Ground) logistic(t testing.TB, task *Task, set *CriticSet) *Ground {
	t.Helper()
	var e critic.Examples
	for _, class := range set.classes() {
		for _, raw := range set.Examples[class] {
			p := g.web.example(raw)
			if err := e.AddPage(p.url, []string{class}, p.parsed); err != nil {
				t.Fatal(err)
			}
		}
	}
	model, _, err := critic.Train(&e, critic.Settings{Exact: true, Method: critic.Logistic})
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewGround(task, set, g.web, model, g.settings)
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// heed lets another judge judge the pages that are fetched from now on.
func (g *Ground) heed(t testing.TB, by critic.Judge) {
	o := critic.NewOpinion(2)
	at := slices.Index(by.Classes(), g.task.FocusClass)
	for u, rec := range g.verdicts {
		if rec.Judgement == nil {
			continue
		}
		if err := by.Opine(context.Background(), o, g.web.pages[u].parsed); err != nil {
			t.Fatal(err)
		}
		rec.Judgement.Raw, rec.Judgement.Tempered, rec.Judgement.Calibrated = o.Raw[at], o.Tempered[at], o.Calibrated[at]
		rec.Judgement.BestIsFocus = o.Raw[at] > .5
	}
}

// means are measures over runs.
type means struct {
	Measures
	runs float64
}

func (m *means) add(x Measures) {
	m.runs++
	for i := range m.HarvestLabel {
		m.HarvestLabel[i] += x.HarvestLabel[i]
	}
	m.Recall += x.Recall
	m.AUC += x.AUC
}

func (m *means) print(t testing.TB, critic, ranker string) {
	t.Logf("%-22s %-17s harvest by label at 25 %% %.3f, 50 %% %.3f, 100 %% %.3f; recall %.3f; AUC %.3f",
		critic, ranker, m.HarvestLabel[0]/m.runs, m.HarvestLabel[1]/m.runs, m.HarvestLabel[2]/m.runs, m.Recall/m.runs, m.AUC/m.runs)
}

// TestWebsCrawlsByLikes sets crawls that are guided by a critic learnt from likes beside those of
// fully supervised critics, on the universities of webkb, for course pages. FORAGER_DRAWS says how many draws (2); from
// 10 on they are those from 10 on, 50 and all likes take part, and critics that learn on during the crawl.
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
	learning := &schemas.Learning{DMax: 5, Pairs: schemas.Pairs_PAIRS_BOTH}
	b := &Bench{Tasks: tasks, RandomRuns: 10}
	for d := range draws {
		b.Draws = append(b.Draws, first+d)
	}
	run := func(name string, grounds map[*Task]*Ground, rankers ...string) map[string]*means {
		b.Grounds, b.Variants = grounds, Variants(rankers, learning)
		results, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sums := make(map[string]*means)
		for _, ranker := range rankers {
			sums[ranker] = new(means)
		}
		for _, r := range results {
			sums[r.Ranker].add(r.Measures)
		}
		for _, ranker := range rankers {
			sums[ranker].print(t, name, ranker)
		}
		return sums
	}
	guided := []string{"soft-focus", "apprentice", "apprentice-gated"}
	random := run("supervised", grounds, append(guided, "random", "oracle")...)["random"]
	sharper := make(map[*Task]*Ground)
	for _, task := range tasks {
		set := file.Critics[task.Critic]
		sharper[task] = grounds[task].logistic(t, task, &set)
	}
	run("supervised, logistic", sharper, guided...)
	for _, n := range likes {
		other := make(map[*Task]*Ground)
		for _, task := range tasks {
			set := file.Critics[task.Critic]
			g := grounds[task]
			other[task] = g.judged(t, task, &set, likeCritic(t, task, likeExamples(t, g.web, task, &set, n)))
		}
		name := "all likes"
		if n < 1000 {
			name = strconv.Itoa(n) + " likes"
		}
		// Soft focus lives on links between pages of one class, which webkb has fewer of than chance
		// would give: the better the critic, the worse it does here.
		if m := run(name, other, guided...)["apprentice"]; m.AUC/m.runs <= random.AUC/random.runs {
			t.Errorf("%s: the apprentice's AUC is %.3f, random order's %.3f", name, m.AUC/m.runs, random.AUC/random.runs)
		}
	}
	if draws < 10 {
		return
	}
	var fixed, on, supervised means // of the same five draws
	for _, task := range tasks {
		set := file.Critics[task.Critic]
		for d := range 5 {
			g, crawl := learningOn(t, grounds[task], task, &set, first+d, learning)
			on.add(g.Measure(crawl))
			g = g.judged(t, task, &set, likeCritic(t, task, likeExamples(t, g.web, task, &set, 10)))
			for sum, ground := range map[*means]*Ground{&fixed: g, &supervised: grounds[task]} {
				if crawl, err = ground.Try("apprentice", first+d, 0, learning); err != nil {
					t.Fatal(err)
				}
				sum.add(ground.Measure(crawl))
			}
		}
	}
	supervised.print(t, "supervised, 5 draws", "apprentice")
	fixed.print(t, "10 likes, 5 draws", "apprentice")
	on.print(t, "10 likes, learning on", "apprentice")
}

// learningOn is a crawl by the apprentice whose critic of 10 likes takes the pages met so far for further
// background after 50 and 100 pages, as crawl start --like does after 100 and 200.
func learningOn(t testing.TB, g *Ground, task *Task, set *CriticSet, draw int, learning *schemas.Learning) (*Ground, *Crawl) {
	t.Helper()
	e := likeExamples(t, g.web, task, set, 10)
	own := g.judged(t, task, set, likeCritic(t, task, e))
	policy, err := crawlfile.Policy("apprentice")
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	crawl, err := (&Run{
		Ground: own, Seeds: task.Seeds[draw], Policies: []*schemas.Policy{policy}, Learning: learning,
		Observe: func(_ *frontier.Shard, u string) error {
			rec := own.verdicts[u]
			if rec.GetJudgement() == nil {
				return nil
			}
			e.Background = append(e.Background, own.web.document(own.web.pages[u]))
			if pages++; pages == 50 || pages == 100 {
				own.heed(t, likeCritic(t, task, e))
			}
			return nil
		},
	}).Crawl()
	if err != nil {
		t.Fatal(err)
	}
	return own, crawl
}

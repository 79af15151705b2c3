//go:build webs

package experiment

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/cespare/xxhash/v2"

	"forager/internal/classify/critic"
	"forager/internal/classify/pulearning"
	"forager/internal/crawl/crawlfile"
	"forager/internal/frontier"
	"forager/internal/lab/labelcritic"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// likeExamples are n of a task's positive examples, and as background 1,000 pages of the web that the task
// does not fetch, whatever they are about.
func likeExamples(t testing.TB, web *Web, task *taskfile.Task, set *taskfile.CriticSet, n int) *pulearning.Examples {
	t.Helper()
	byHash := func(a, b string) int { return cmp.Compare(xxhash.Sum64String(a), xxhash.Sum64String(b)) }
	likes := slices.SortedFunc(slices.Values(set.Examples[task.FocusClass]), byHash)
	e := new(pulearning.Examples)
	for _, raw := range likes[:min(n, len(likes))] {
		e.Liked = append(e.Liked, read(t, web, web.example(raw)))
	}
	for _, u := range slices.SortedFunc(maps.Keys(web.pages), byHash) {
		p := web.pages[u]
		fetched := task.Pages.Has(web.labels[u])
		if p.outcome == schemas.Outcome_OUTCOME_DELIVERED && !fetched && web.labels[u] != "" && len(e.Background) < 1000 {
			e.Background = append(e.Background, read(t, web, p))
		}
	}
	return e
}

func likeCritic(t testing.TB, task *taskfile.Task, e *pulearning.Examples) *pulearning.Critic {
	t.Helper()
	c, r, err := pulearning.Train(t.Context(), task.FocusClass, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, %d likes, %d pages of background: prior %.3f, Brier %.3f, recall %.3f", task.Name, r.Liked, r.Background, r.Prior, r.Brier, r.Recall)
	return c
}

// underCritic is the environment under another judge.
func (g *Environment) underCritic(t testing.TB, task *taskfile.Task, set *taskfile.CriticSet, by critic.Classifier) *Environment {
	t.Helper()
	other, err := newEnvironment(task, set, g.web, g.model, g.settings)
	if err != nil {
		t.Fatal(err)
	}
	other.heedAs(t, by)
	return other
}

// logistic is the environment under a critic by logistic regression, trained on the examples of the task.
func (g *Environment) logistic(t testing.TB, task *taskfile.Task, set *taskfile.CriticSet) *Environment {
	t.Helper()
	var e critic.Examples
	for _, class := range set.Classes() {
		for _, raw := range set.Examples[class] {
			p := g.web.example(raw)
			if err := e.AddPage(p.url, []string{class}, p.text()); err != nil {
				t.Fatal(err)
			}
		}
	}
	model, _, err := critic.Train(t.Context(), &e, critic.Settings{Exact: true, Method: critic.Logistic})
	if err != nil {
		t.Fatal(err)
	}
	other, err := newEnvironment(task, set, g.web, model, g.settings)
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// heedAs replaces the classifier of the pages that are fetched from now on.
func (g *Environment) heedAs(t testing.TB, by critic.Classifier) {
	g.release()
	if err := g.judgeBy(by, g.critic.Version); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, web *Web, p *page) pulearning.Document {
	d, err := labelcritic.Document(p.parsed())
	if err != nil {
		t.Fatal(err)
	}
	return d
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

// likeBench compares crawls with critics trained on likes with those of fully supervised critics.
type likeBench struct {
	Bench
	likes    []int
	learning *schemas.Learning
	sets     map[string]taskfile.CriticSet
}

// newLikeBench has FORAGER_DRAWS draws (2); with 5 or more, critics of 50 and of all likes are compared in addition to 10;
// 10 or more are those from 10 on.
func newLikeBench(t testing.TB, tasks []*taskfile.Task, sets map[string]taskfile.CriticSet) *likeBench {
	t.Helper()
	first, draws := 0, 2
	b := &likeBench{
		Bench: Bench{Tasks: tasks, RandomRuns: 10}, likes: []int{10}, sets: sets,
		learning: &schemas.Learning{DMax: 5, Pairs: schemas.Pairs_PAIRS_BOTH},
	}
	if s := os.Getenv("FORAGER_DRAWS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("FORAGER_DRAWS: %v", err)
		}
		if draws = n; n >= 5 {
			b.likes = []int{10, 50, 1 << 30}
		}
		if n >= 10 {
			first = 10
		}
	}
	for d := range draws {
		b.Draws = append(b.Draws, first+d)
	}
	return b
}

// run prints the means of each ranker.
func (b *likeBench) run(t testing.TB, name string, environments map[*taskfile.Task]*Environment, rankers ...string) map[string]*means {
	t.Helper()
	b.Environments, b.Variants = environments, nil
	for _, r := range rankers {
		b.Variants = append(b.Variants, Variant{Name: r, Ranker: r, Learning: b.learning})
	}
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

// compare crawls environments whose critic is supervised as other critics see them, too. A ranker that lives on the links of
// the web must do better than random order with likes alone.
func (b *likeBench) compare(t testing.TB, environments map[*taskfile.Task]*Environment, better string) {
	t.Helper()
	guided := []string{"soft-focus", "apprentice", "apprentice-gated"}
	random := b.run(t, "supervised", environments, append(guided, "random", "oracle")...)["random"]
	as := func(see func(g *Environment, task *taskfile.Task, set *taskfile.CriticSet) *Environment) map[*taskfile.Task]*Environment {
		other := make(map[*taskfile.Task]*Environment)
		for _, task := range b.Tasks {
			set := b.sets[task.Critic]
			other[task] = see(environments[task], task, &set)
		}
		return other
	}
	for _, n := range b.likes {
		name := "all likes"
		if n < 1000 {
			name = strconv.Itoa(n) + " likes"
		}
		m := b.run(t, name, as(func(g *Environment, task *taskfile.Task, set *taskfile.CriticSet) *Environment {
			return g.underCritic(t, task, set, likeCritic(t, task, likeExamples(t, g.web, task, set, n)))
		}), guided...)[better]
		if m.AUC/m.runs <= random.AUC/random.runs {
			t.Errorf("%s: the AUC of %s is %.3f, random order's %.3f", name, better, m.AUC/m.runs, random.AUC/random.runs)
		}
	}
	b.run(t, "supervised, logistic", as(func(g *Environment, task *taskfile.Task, set *taskfile.CriticSet) *Environment {
		return g.logistic(t, task, set)
	}), guided...)
}

// TestWebsCrawlsByLikes crawls the universities of webkb for course pages (newLikeBench); from 10 draws on also by critics that
// learn on during the crawl.
func TestWebsCrawlsByLikes(t *testing.T) {
	file, err := taskfile.Load(filepath.Join(folder(t), "tasks.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := file.Select("webkb-uni:course*")
	if err != nil {
		t.Fatal(err)
	}
	environments, err := Prepare(t.Context(), file, folder(t), tasks, linkfeature.Settings{DMax: 5})
	if err != nil {
		t.Fatal(err)
	}
	b := newLikeBench(t, tasks, file.Critics)
	// Soft focus lives on links between pages of one class, which webkb has fewer of than chance would give: the
	// better the critic, the worse it does here.
	b.compare(t, environments, "apprentice")
	first, learning := b.Draws[0], b.learning
	if len(b.Draws) < 10 {
		return
	}
	var fixed, on, supervised means // of the same five draws
	for _, task := range tasks {
		set := file.Critics[task.Critic]
		for d := range 5 {
			g, crawl := learningOn(t, environments[task], task, &set, first+d, learning)
			on.add(g.Measure(crawl))
			g = g.underCritic(t, task, &set, likeCritic(t, task, likeExamples(t, g.web, task, &set, 10)))
			for sum, env := range map[*means]*Environment{&fixed: g, &supervised: environments[task]} {
				if crawl, err = env.Try(t.Context(), "apprentice", first+d, 0, learning); err != nil {
					t.Fatal(err)
				}
				sum.add(env.Measure(crawl))
			}
		}
	}
	supervised.print(t, "supervised, 5 draws", "apprentice")
	fixed.print(t, "10 likes, 5 draws", "apprentice")
	on.print(t, "10 likes, learning on", "apprentice")
}

// learningOn is a crawl by the apprentice whose critic of 10 likes takes the pages met so far for further
// background after 50 and 100 pages, as crawl start --like does after 100 and 200.
func learningOn(t testing.TB, g *Environment, task *taskfile.Task, set *taskfile.CriticSet, draw int, learning *schemas.Learning) (*Environment, *Crawl) {
	t.Helper()
	e := likeExamples(t, g.web, task, set, 10)
	own := g.underCritic(t, task, set, likeCritic(t, task, e))
	return own, learnOn(t, own, e, &Run{Seeds: task.Seeds[draw], Learning: learning}, "apprentice", 0, 50, 100)
}

// learnOn crawls the environment by a ranker; after some numbers of pages its critic is trained again, with the pages met so far as
// further background; before the first time that many of them are drawn at random and marked.
func learnOn(t testing.TB, own *Environment, e *pulearning.Examples, run *Run, ranker string, marks int, after ...int) *Crawl {
	t.Helper()
	policy, err := crawlfile.Policy(ranker)
	if err != nil {
		t.Fatal(err)
	}
	pages, met := 0, []string(nil)
	run.Environment, run.Policies = own, []*schemas.Policy{policy}
	run.Observe = func(_ *frontier.Shard, u string) error {
		rec := own.found(u)
		if rec.GetJudgement() == nil {
			return nil
		}
		e.Background = append(e.Background, read(t, own.web, own.web.pages[u]))
		met = append(met, u)
		if pages++; pages == after[0] {
			mark(t, own, e, met, marks)
		}
		if slices.Contains(after, pages) {
			own.heedAs(t, likeCritic(t, own.task, e))
		}
		return nil
	}
	crawl, err := run.Crawl(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return crawl
}

// mark marks n pages, drawn at random, with their labels.
func mark(t testing.TB, own *Environment, e *pulearning.Examples, met []string, n int) {
	liked := make(map[string]bool)
	for _, d := range e.Liked {
		liked[d.URL] = true
	}
	met = slices.DeleteFunc(slices.Clone(met), func(u string) bool { return liked[u] })
	random := rand.New(rand.NewPCG(uint64(len(met)), 0))
	for _, i := range random.Perm(len(met))[:min(n, len(met))] {
		d := read(t, own.web, own.web.pages[met[i]])
		if d.Drawn = 1; own.task.IsTarget(own.web.labels[met[i]]) {
			e.Liked = append(e.Liked, d)
		} else {
			e.Wrong = append(e.Wrong, d)
		}
	}
}

// neighbours returns up to n pages that pages link to, of each in turn.
func (w *Web) neighbours(t testing.TB, from []string, n int) (found []string) {
	t.Helper()
	var queues [][]string
	for _, u := range from {
		links, err := w.pages[u].links()
		if err != nil {
			t.Fatal(err)
		}
		var targets []string
		for _, l := range links {
			if v := w.resolve(l.GetUrl(), func(string) bool { return true }); v != "" && w.pages[v].outcome == schemas.Outcome_OUTCOME_DELIVERED {
				targets = append(targets, v)
			}
		}
		slices.SortFunc(targets, func(a, b string) int { return cmp.Compare(xxhash.Sum64String(a), xxhash.Sum64String(b)) })
		queues = append(queues, targets)
	}
	for at := range n {
		for _, q := range queues {
			if at < len(q) && len(found) < n && !slices.Contains(from, q[at]) && !slices.Contains(found, q[at]) {
				found = append(found, q[at])
			}
		}
	}
	return found
}

// TestWebsSitesByLikes crawls a wiki for each of six topics from ten likes, whose background are 40 pages that they link to, as
// crawl start --like does on one host: harvest by the critic is near that by labels, and its first version ranks the pages
// that it has not seen. Marks of 50 of the first 100 pages bring it nearer.
func TestWebsSitesByLikes(t *testing.T) {
	file, err := taskfile.Load(filepath.Join(folder(t), "tasks-more.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := file.Select("archwiki:*")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		task.Budget = 400
	}
	environments, err := Prepare(t.Context(), file, folder(t), tasks, linkfeature.Settings{DMax: 5})
	if err != nil {
		t.Fatal(err)
	}
	byLikes, area := sitesByLikes(t, file, tasks, environments, 0)
	byMarks, _ := sitesByLikes(t, file, tasks, environments, 50)
	if byLikes > .25 || area < .7 || byMarks > byLikes-.03 {
		t.Errorf("harvest by the critic is off by %.3f on average, with marks by %.3f; AUC %.3f", byLikes, byMarks, area)
	}
}

// sitesByLikes returns how far the harvest by the critic is off on average, and the mean AUC of its first version. The first 100 pages,
// which are fetched before any is marked, do not count.
func sitesByLikes(t *testing.T, file *taskfile.File, tasks []*taskfile.Task, environments map[*taskfile.Task]*Environment, marks int) (off, area float64) {
	for _, task := range tasks {
		set, g := file.Critics[task.Critic], environments[task]
		e, likes := likeExamples(t, g.web, task, &set, 10), []string(nil)
		for _, d := range e.Liked {
			likes = append(likes, d.URL)
		}
		e.Background = nil
		for _, u := range g.web.neighbours(t, likes, 40) {
			e.Background = append(e.Background, read(t, g.web, g.web.pages[u]))
		}
		own := g.underCritic(t, task, &set, likeCritic(t, task, e))
		ranked := own.rankedBy(t, e)
		crawl := learnOn(t, own, e, &Run{Seeds: likes}, "soft-focus", marks, 100, 200)
		var claimed, truth, n float64
		for i, s := range crawl.Steps {
			if slices.Contains(likes, s.URL) || i < 100 {
				continue
			}
			n++
			claimed += s.Raw
			if task.IsTarget(g.web.labels[s.URL]) {
				truth++
			}
		}
		t.Logf("%s, %d marks: harvest by the critic %.3f, by labels %.3f; AUC %.3f", task.Name, marks, claimed/n, truth/n, ranked)
		off += math.Abs(claimed-truth) / n / float64(len(tasks))
		area += ranked / float64(len(tasks))
	}
	t.Logf("%d marks: harvest by the critic is off by %.3f on average; AUC %.3f", marks, off, area)
	return off, area
}

// rankedBy returns the share of pairs of a page on topic and one off topic, neither of the examples, that the critic of the
// environment ranks correctly.
func (g *Environment) rankedBy(t testing.TB, e *pulearning.Examples) float64 {
	t.Helper()
	seen := make(map[string]bool)
	for _, d := range slices.Concat(e.Liked, e.Background) {
		seen[d.URL] = true
	}
	var on, off []float64
	for _, u := range g.delivered() {
		rec, err := g.Verdict(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		switch r := rec.GetJudgement().GetRaw(); {
		case seen[u]:
		case g.task.IsTarget(g.web.labels[u]):
			on = append(on, r)
		default:
			off = append(off, r)
		}
	}
	slices.Sort(off)
	right := 0.
	for _, r := range on {
		below, _ := slices.BinarySearch(off, r)
		upTo, _ := slices.BinarySearchFunc(off, r, func(x, r float64) int {
			if x <= r {
				return -1
			}
			return 1
		})
		right += float64(below+upTo) / 2
	}
	return right / float64(len(on)) / float64(len(off))
}

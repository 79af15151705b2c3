package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"forager/internal/frontier"
	"forager/internal/lab/experiment/worldtest"
	"forager/internal/lab/taskfile"
	"forager/schemas"
)

// TestSameCrawlAgain: a crawl is the same when it is made again, by itself or with eight others
// at a time.
func TestSameCrawlAgain(t *testing.T) {
	g := env(t, worldtest.Random(1, 150))
	type key struct {
		ranker string
		draw   int
		seed   uint64
	}
	var keys []key
	for _, r := range Rankers {
		for d := range g.task.Seeds {
			keys = append(keys, key{r, d, 0}, key{r, d, 7})
		}
	}
	alone := make(map[key]*Crawl)
	for _, k := range keys {
		alone[k] = try(t, g, k.ranker, k.draw, k.seed)
	}
	// On an environment of its own, and in another order.
	slices.Reverse(keys)
	other := env(t, worldtest.Random(1, 150))
	var wg sync.WaitGroup
	work := make(chan key)
	for range 8 {
		wg.Go(func() {
			for k := range work {
				c, err := other.Try(t.Context(), k.ranker, k.draw, k.seed, &schemas.Learning{DMax: 5})
				if err != nil {
					t.Errorf("%v: %v", k, err)
					continue
				}
				if was := alone[k]; !slices.Equal(c.Steps, was.Steps) || c.EndReason != was.EndReason || c.Requests != was.Requests ||
					c.Trained != was.Trained || string(c.Learnt.Marshal()) != string(was.Learnt.Marshal()) {
					t.Errorf("%v: another crawl in company", k)
				}
			}
		})
	}
	for _, k := range keys {
		work <- k
	}
	close(work)
	wg.Wait()
	if slices.Equal(alone[key{"random", 0, 0}].Steps, alone[key{"random", 0, 7}].Steps) {
		t.Error("random order does not depend on its seed")
	}
}

// TestBudget: no crawl delivers more than its budget, or a page twice, or one out of scope, and
// every one ends with a reason.
func TestBudget(t *testing.T) {
	for _, budget := range []uint64{1, 40, 1000} {
		w := worldtest.Random(2, 100)
		w.Budget = budget
		g := env(t, w)
		for _, r := range Rankers {
			c := try(t, g, r, 0, 0)
			seen := make(map[string]bool)
			for _, s := range c.Steps {
				if seen[s.URL] || !slices.Contains(g.URLs(), s.URL) || strings.HasSuffix(s.URL, "/") {
					t.Fatalf("%s: page %s", r, s.URL)
				}
				seen[s.URL] = true
			}
			if c.EndReason == "" || uint64(len(c.Steps)) > budget || c.Requests != uint64(len(c.Steps))+c.Queries {
				t.Errorf("%s: %d pages of %d, %d requests, ended with %q", r, len(c.Steps), budget, c.Requests, c.EndReason)
			}
			if uint64(len(c.Steps)) < budget && strings.Contains(c.EndReason, "budget") {
				t.Errorf("%s: %d pages of %d, ended with %q", r, len(c.Steps), budget, c.EndReason)
			}
			if budget == 40 && r != "hard-focus" && len(c.Steps) != 40 {
				t.Errorf("%s stopped after %d pages with %q", r, len(c.Steps), c.EndReason)
			}
		}
	}
}

// redirected has a target after two redirects, one to another host, and a loop.
func redirected() *worldtest.World {
	w := worldtest.Random(3, 20)
	w.Page("http://x.test/start", "hub/one", `<a href="http://x.test/old">o</a><a href="http://x.test/loop">l</a><a href="http://x.test/gone">g</a>
		<a href="http://x.test/notes">n</a><a href="http://x.test/end">e</a>`)
	w.Redirect("http://x.test/old", "/newer")
	w.Redirect("http://x.test/newer", "http://y.test/new")
	w.Redirect("http://x.test/loop", "http://x.test/pool")
	w.Redirect("http://x.test/pool", "http://x.test/loop")
	w.Redirect("http://x.test/gone", "http://elsewhere.test/")
	w.Page("http://y.test/new", "good/one", "<p>good1 good2 <a href=http://x.test/old>again</a>")
	w.Page("http://x.test/end", "bad/one", "<p>bad1 bad2 bad3")
	w.Answers = append(w.Answers, worldtest.Answer{URL: "http://x.test/notes", Kind: "text/plain", Status: 200, Body: "word1 word2"})
	w.Labels = append(w.Labels, "http://x.test/notes\tgood/one")
	w.Seeds = [][]string{{"http://x.test/start"}}
	w.Targets++
	w.Budget = 10
	return w
}

func TestRedirects(t *testing.T) {
	g := env(t, redirected())
	for _, r := range Rankers {
		if r == "hard-focus" {
			continue // the start is no page of the focus
		}
		c := try(t, g, r, 0, 0)
		var got []string
		for _, s := range c.Steps {
			got = append(got, s.URL)
		}
		slices.Sort(got)
		want := []string{"http://x.test/end", "http://x.test/start", "http://y.test/new"}
		// The plain text is requested and charged, but is no page, so the recall crawler does not request it.
		requests := uint64(4)
		if r == "apprentice-recall" {
			requests = 3
		}
		if !slices.Equal(got, want) || c.Requests != requests || c.EndReason == "" {
			t.Errorf("%s: %v, %d requests, %q", r, got, c.Requests, c.EndReason)
		}
	}
	for _, r := range []string{"oracle", "oracle-labels"} {
		if c := try(t, g, r, 0, 0); c.Steps[1].URL != "http://y.test/new" {
			t.Errorf("%s does not see through redirects: %s", r, c.Steps[1].URL)
		}
	}
	if g.resolve("http://x.test/old") != "http://y.test/new" || g.resolve("http://x.test/loop") != "" || g.resolve("http://x.test/gone") != "" {
		t.Error("redirects are not resolved")
	}
	for _, u := range []string{"http://x.test/loop", "http://x.test/gone"} {
		if slices.Contains(g.URLs(), u) {
			t.Errorf("%s leads nowhere and is in scope", u)
		}
	}
}

// TestTaught: the taught apprentice ranks by the model of a finished crawl from its first choice on, and continues to learn
// from there.
func TestTaught(t *testing.T) {
	g := env(t, worldtest.Random(4, 150))
	first := try(t, g, "soft-focus", 0, 0)
	taught, gated := try(t, g, "apprentice-taught", 0, 0), try(t, g, "apprentice-gated", 0, 0)
	seeds := len(g.task.Seeds[0])
	if m := taught.Steps[seeds].Model; m != "prior" {
		t.Errorf("page %d of the taught crawl was chosen by model %q", seeds, m)
	}
	if m := gated.Steps[seeds].Model; m != "" {
		t.Errorf("page %d of the untaught crawl was chosen by model %q", seeds, m)
	}
	if m := taught.Steps[len(taught.Steps)-1].Model; !strings.HasPrefix(m, "experiment/") {
		t.Errorf("the last page of the taught crawl was chosen by model %q", m)
	}
	if got, want := taught.Learnt.Leaps(), first.Trained+taught.Trained; got != want || taught.Trained == 0 {
		t.Errorf("it learnt from %d leaps in all, want %d + %d", got, first.Trained, taught.Trained)
	}
}

func TestTopicFeaturesOfOneRankerOnly(t *testing.T) {
	g := env(t, worldtest.Random(5, 150))
	for _, r := range []string{"apprentice", "apprentice-topics", "apprentice"} {
		run := &Run{Environment: g, Seeds: g.task.Seeds[0], Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_APPRENTICE}}, Keep: true,
			Learning: &schemas.Learning{DMax: 5}}
		if r == "apprentice-topics" {
			run.Learning.Topics = schemas.TopicFeatures_TOPIC_FEATURES_TOP2
		}
		c, err := run.Crawl(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leaps := 0
		for _, l := range c.Settled() {
			has := slices.ContainsFunc(l.GetFeatures(), func(f *schemas.Feature) bool { return strings.HasPrefix(f.Term, "c:") })
			if !l.GetBoundary() && has != (r == "apprentice-topics") {
				t.Fatalf("%s: the link from %s to %s has topic features: %v", r, l.U, l.V, has)
			}
			leaps++
		}
		if leaps == 0 {
			t.Errorf("%s: nothing was settled", r)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	g := env(t, worldtest.Random(6, 20))
	policies := []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}}
	for name, c := range map[string]struct {
		run  Run
		want string
	}{
		"d_max":  {Run{Seeds: g.task.Seeds[0], Policies: policies, Learning: &schemas.Learning{DMax: 6}}, "prepared for 5"},
		"prior":  {Run{Seeds: g.task.Seeds[0], Policies: policies, Prior: []byte("no model")}, "prior model"},
		"seed":   {Run{Seeds: []string{"nowhere"}, Policies: policies}, "seed"},
		"policy": {Run{Seeds: g.task.Seeds[0], Policies: []*schemas.Policy{{Name: "p"}}}, "unknown ranker"},
	} {
		c.run.Environment = g
		if _, err := c.run.Crawl(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := g.Try(t.Context(), "best", 0, 0, nil); err == nil || !strings.Contains(err.Error(), `no ranker "best"`) {
		t.Errorf("a ranker that is none: %v", err)
	}
}

func TestBench(t *testing.T) {
	g := env(t, worldtest.Random(7, 60))
	tasks := []*taskfile.Task{g.task}
	environments := map[*taskfile.Task]*Environment{g.task: g}
	told := 0
	b := &Bench{Tasks: tasks, Draws: []int{0, 1}, Variants: []Variant{{Name: "soft-focus", Ranker: "soft-focus"}, {Name: "random", Ranker: "random"}}, RandomRuns: 3, Environments: environments,
		Done: func(_ Job, r *Result, _ time.Duration, done, all int) error {
			told++
			if done != told || all != 8 || r.Pages == 0 {
				t.Errorf("%d of %d after %d: %+v", done, all, told, r)
			}
			return nil
		}}
	results, err := b.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprint(r.Draw, r.Ranker))
		if r.Task != "tiny:good" || r.Pages != 30 {
			t.Errorf("%+v", r)
		}
	}
	if want := "[0soft-focus 0random 0random 0random 1soft-focus 1random 1random 1random]"; fmt.Sprint(got) != want || told != 8 {
		t.Errorf("%v", got)
	}
	if results[1].AUC == results[2].AUC && results[2].AUC == results[3].AUC {
		t.Error("runs in random order are all the same")
	}
	b.Known = func(j Job) *Result {
		i := slices.IndexFunc(results, func(r Result) bool { return r.Draw == j.Draw && r.Variant == j.Variant.Name && r.Seed == j.Seed })
		if j.Draw == 0 {
			return &results[i]
		}
		return nil
	}
	told = 4
	again, err := b.Run(context.Background())
	if err != nil || told != 8 || !reflect.DeepEqual(again, results) {
		t.Errorf("with half of the results known %d were reported in the end (%v)", told, err)
	}
	full := errors.New("full")
	b.Done = func(Job, *Result, time.Duration, int, int) error { return full }
	if _, err := b.Run(context.Background()); !errors.Is(err, full) {
		t.Errorf("the callback fails: %v", err)
	}
	for name, c := range map[string]*Bench{
		"no draw 2":        {Tasks: tasks, Draws: []int{2}, Variants: []Variant{{Name: "random", Ranker: "random"}}, Environments: environments},
		`no ranker "best"`: {Tasks: tasks, Draws: []int{0}, Variants: []Variant{{Name: "best", Ranker: "best"}}, Environments: environments},
		"prepared for 5":   {Tasks: tasks, Draws: []int{0, 1}, Variants: []Variant{{Name: "apprentice", Ranker: "apprentice", Learning: &schemas.Learning{DMax: 9}}}, Environments: environments},
	} {
		if _, err := c.Run(context.Background()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := b.Run(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// TestARunThatFailsEndsNoOther runs one with features that were not prepared.
func TestARunThatFailsEndsNoOther(t *testing.T) {
	g := env(t, worldtest.Random(7, 60))
	b := &Bench{
		Tasks: []*taskfile.Task{g.task}, Draws: []int{0, 1}, Environments: map[*taskfile.Task]*Environment{g.task: g},
		Variants: []Variant{{Name: "soft-focus", Ranker: "soft-focus"}, {Name: "farther", Ranker: "apprentice", Learning: &schemas.Learning{DMax: 9}}},
	}
	results, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if farther := i%2 == 1; farther != strings.Contains(r.Failed, "prepared for 5") || farther == (r.Pages > 0) {
			t.Errorf("run %d: %+v", i, r)
		}
	}
	jobs, err := b.Jobs()
	if err != nil {
		t.Fatal(err)
	}
	other := Job{Task: &taskfile.Task{Name: "other"}}
	kept, whole, failed := Whole(append(jobs, other), append(results, Result{Task: "other"}))
	if len(kept) != 1 || kept[0] != other || len(whole) != 1 || whole[0].Task != "other" || len(failed) != 2 || !strings.Contains(failed[0], "prepared for 5") {
		t.Errorf("%v, %v, %q", kept, whole, failed)
	}
}

// TestUntaught: without a learner a crawl has the same order, and an apprentice that ranks is trained all the same.
func TestUntaught(t *testing.T) {
	g := env(t, worldtest.Random(7, 60))
	for _, ranker := range []string{"soft-focus", "smooth-soft-focus+hard-defer", "apprentice", "soft-focus+apprentice"} {
		run, err := g.Run(t.Context(), ranker, 0, 0, &schemas.Learning{DMax: 5})
		if err != nil {
			t.Fatal(err)
		}
		run.Untaught = true
		got, err := run.Crawl(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := try(t, g, ranker, 0, 0)
		if !reflect.DeepEqual(got.Steps, want.Steps) || got.Trained != want.Trained {
			t.Errorf("%s: another course than that of a crawl that teaches", ranker)
		}
		if run.Keep = true; ranker == "apprentice" { // whose leaps all have their features then
			kept, err := run.Crawl(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(kept.Steps, want.Steps) || !bytes.Equal(kept.Learnt.Marshal(), got.Learnt.Marshal()) {
				t.Error("a crawl whose leaps are kept takes another course, or learns something else")
			}
			if !slices.ContainsFunc(kept.Settled(), func(l *schemas.LeapSettled) bool { return !l.GetTrains() && len(l.GetFeatures()) > 0 }) {
				t.Error("leaps that train nothing are kept without features")
			}
		}
		if taught := got.Learnt.Leaps() > 0; taught != strings.Contains(ranker, "apprentice") {
			t.Errorf("%s: taught is %v", ranker, taught)
		}
	}
}

// TestContextEndsCrawlsAndTraining: a training that was ended is begun again by the next run.
func TestContextEndsCrawlsAndTraining(t *testing.T) {
	g := env(t, worldtest.Random(7, 60))
	ctx, stop := context.WithCancel(t.Context())
	run, err := g.Run(ctx, Baseline, 0, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := 0
	run.Observe = func(*frontier.Shard, string) error {
		if verdicts++; verdicts == 3 {
			stop()
		}
		return nil
	}
	if _, err := run.Crawl(ctx); !errors.Is(err, context.Canceled) || verdicts != 3 {
		t.Errorf("%d verdicts, %v", verdicts, err)
	}
	if _, err := g.Run(ctx, "memm-marginal", 0, 0, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("training: %v", err)
	}
	if _, err := g.Run(t.Context(), "memm-marginal", 0, 0, nil); err != nil {
		t.Errorf("the next training: %v", err)
	}
}

// TestRankersAreNamedOnce: every ranker has a name of its own, and is built on another one.
func TestRankersAreNamedOnce(t *testing.T) {
	names := make(map[string]bool)
	for _, r := range Rankers {
		if names[r] {
			t.Errorf("%s is twice in Rankers", r)
		}
		names[r] = true
	}
	for _, f := range variants {
		if !names[f.name] || f.built != "" && !names[f.built] {
			t.Errorf("%s is built on %q: one of them is no ranker", f.name, f.built)
		}
	}
}

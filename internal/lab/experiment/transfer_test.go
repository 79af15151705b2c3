package experiment

import (
	"slices"
	"strings"
	"testing"

	"forager/internal/lab/experiment/worldtest"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// TestTransferredLearnsFromOtherSites counts the leaps: each page of "two" links to one other, and no page of "one" is
// used.
func TestTransferredLearnsFromOtherSites(t *testing.T) {
	g := env(t, worldtest.Random(41, 100))
	run, err := g.Run(t.Context(), "apprentice-transferred", 0, 0, &schemas.Learning{DMax: 5})
	if err != nil {
		t.Fatal(err)
	}
	have, err := apprentice.UnmarshalCounts(run.Prior)
	if err != nil {
		t.Fatal(err)
	}
	want := apprentice.NewCounts()
	for u, p := range g.web.pages {
		if !strings.HasPrefix(u, "http://two.test/") {
			continue
		}
		table, links, _, err := linkfeature.Extract(p.text(), nil, linkfeature.Settings{DMax: 5})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range links {
			if l.GetUrl() == u {
				continue
			}
			j, err := g.model.Judge(g.web.pages[l.GetUrl()].text(), []string{g.task.FocusClass})
			if err != nil {
				t.Fatal(err)
			}
			if err := want.Add(linkfeature.Features(table, l, 5), j.GetRaw()); err != nil {
				t.Fatal(err)
			}
		}
	}
	want.FixCut()
	if want.Leaps() < 40 || have.Leaps() != want.Leaps() || !slices.Equal(have.Marshal(), want.Marshal()) {
		t.Errorf("it learnt from %d leaps, there are %d, or of other features", have.Leaps(), want.Leaps())
	}
	crawl := try(t, g, "apprentice-transferred", 0, 0)
	if first := crawl.Steps[0]; first.Model == "" {
		t.Error("the first page was chosen without the model")
	}
}

// TestTransferIsRefusedWithoutOtherSites: where all pages may be fetched there is nothing to train on; the bench leaves
// such runs out and reports it.
func TestTransferIsRefusedWithoutOtherSites(t *testing.T) {
	w := worldtest.Random(41, 60)
	w.Pages, w.NotCounted = "all", []string{}
	w.Targets += 10
	g := env(t, w)
	if _, err := g.Try(t.Context(), "apprentice-transferred", 0, 0, nil); err == nil || !strings.Contains(err.Error(), "no other site") {
		t.Errorf("%v", err)
	}
	other := *g.task
	other.Name = "tiny:other"
	b := &Bench{
		Tasks: []*taskfile.Task{g.task, &other}, Draws: []int{0}, Environments: map[*taskfile.Task]*Environment{g.task: g, &other: g},
		Variants: []Variant{{Name: "apprentice-transferred", Ranker: "apprentice-transferred"}, {Name: Baseline, Ranker: Baseline}},
	}
	jobs, err := b.Jobs()
	if err != nil || len(jobs) != 2 || jobs[0].Variant.Name != Baseline || jobs[1].Variant.Name != Baseline {
		t.Errorf("jobs %v, %v", jobs, err)
	}
	if result := b.Refused(); len(result) != 1 || !strings.HasPrefix(result[0], "apprentice-transferred was not tried on tiny:good, tiny:other: ") {
		t.Errorf("%q", result)
	}
}

// TestCrawlWithinPages: a crawl that keeps to the pages of another fetches no other page.
func TestCrawlWithinPages(t *testing.T) {
	g := env(t, worldtest.Random(43, 120))
	base := try(t, g, Baseline, 0, 0)
	within := g.Reaching(base)
	for _, ranker := range []string{"unfocused", "apprentice-taught"} {
		run, err := g.Run(t.Context(), ranker, 0, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		run.Within = within
		crawl, err := run.Crawl(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if have, want := delivered(crawl), delivered(base); !slices.Equal(have, want) {
			t.Errorf("%s fetched %d pages, soft focus %d, or others", ranker, len(have), len(want))
		}
	}
}

func delivered(c *Crawl) []string {
	var urls []string
	for _, s := range c.Steps {
		urls = append(urls, s.URL)
	}
	slices.Sort(urls)
	return urls
}

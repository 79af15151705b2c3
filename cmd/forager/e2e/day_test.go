package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	crawlcmd "forager/cmd/forager/crawl"
	"forager/cmd/forager/demo"
	"forager/cmd/forager/guide"
	"forager/cmd/forager/model"
	"forager/cmd/internal/cli"
	"forager/internal/operate"
	"forager/schemas"
)

// twoCrawls is two concurrent crawls: one of them is rolled back to an older model and later unpinned; both are
// deleted in turn, and share segments.
func (r *rig) twoCrawls(t *testing.T, g *demo.Environment) {
	learns := func(ctl *schemas.CrawlControl) {
		ctl.Learning.SwitchPages, ctl.Learning.RefitPages = 30, 15
		ctl.Politeness.DelayMs = 100 // leave the cores to the test
	}
	r.begin(r.crawl(g, "first", "apprentice", 100_000, learns))
	r.begin(r.crawl(g, "second", "apprentice", 200, learns))
	r.until("first", "learning", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetModel() != "" && st.GetPages() > 100 })
	r.mustRun("crawl", "pause", "first")
	r.until("second", "finished", time.Minute, finished)

	var list []model.Line
	wait(t, "first ranks by its newest model, the third or a later one", func() bool { // models follow the pages that made them due
		list = r.models(t, "first")
		return len(list) >= 3 && list[len(list)-1].InUse
	})
	oldest, newest := list[0], list[len(list)-1]
	if oldest.Pages != 30 || newest.Pages < 60 || oldest.InUse || oldest.Bytes == 0 || oldest.Kind != "apprentice" {
		t.Fatalf("models %+v", list)
	}
	r.testShow(t, oldest.Version)
	r.testUseRefuses(t)

	short := strings.TrimPrefix(oldest.Version, "first/")
	if out := r.mustRun("models", "use", "first", short); !strings.Contains(out, oldest.Version) {
		t.Errorf("models use: %s", out)
	}
	if m := r.models(t, "first")[0]; !m.InUse || !m.Pinned {
		t.Errorf("rolled back, the model is %+v", m)
	}
	before := r.mustResume("first")
	r.until("first", "with another model", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > before.GetPages()+40 })
	if st := r.books.Status("first"); st.GetModel() != oldest.Version {
		t.Errorf("a newer model, %s, is in use though an older one is pinned", st.GetModel())
	}
	r.mustRun("crawl", "pause", "first")
	r.mustRun("models", "use", "first", "newest")
	if st := r.books.Status("first"); st.GetModel() == oldest.Version {
		t.Error("the old model is in use though it is pinned no more")
	}
	r.testRebuild("first", "second")
	r.mustRun("crawl", "stop", "first")
	r.verified("first")
	r.testDeleteShared(t)
}

// testRebuild makes a guide of a paused crawl's pages and ranks the crawl by it, twice; a crawl that has finished is unchanged.
func (r *rig) testRebuild(crawl, over string) {
	r.t.Helper()
	for args, expected := range map[string]string{
		crawl + " --guide near --least 100000": "are wanted (--least): try again later",
		over + " --guide near":                 "there is nothing left to rank",
	} {
		if out, stderr, code := r.run(append([]string{"guide", "rebuild"}, strings.Fields(args)...)...); code != cli.ExitFailure || !strings.Contains(stderr, expected) {
			r.t.Errorf("guide rebuild %s: exit %d, %s%s; want %q", args, code, out, stderr, expected)
		}
	}
	before := "apprentice"
	for range 2 {
		printed := guide.Rebuilt{Trained: new(guide.Trained), Switched: new(crawlcmd.Switched)}
		if err := json.Unmarshal([]byte(r.mustRun("--json", "guide", "rebuild", crawl, "--guide", "near")), &printed); err != nil {
			r.t.Fatal(err)
		}
		if printed.Targets < 10 || len(printed.Layers) < 2 || printed.Layers[1] == 0 || printed.Ranker != "context-graph" || printed.Before != before || !strings.HasPrefix(printed.Version, "near/") {
			r.t.Fatalf("guide rebuild: %+v, %+v", printed.Trained, printed.Switched)
		}
		before = "context-graph"
		st := r.mustResume(crawl)
		r.until(crawl, "ranked by its own graph", time.Minute, func(now *schemas.CrawlStatus) bool { return now.GetPages() > st.GetPages()+40 })
		r.mustRun("crawl", "pause", crawl)
		asked := slices.ContainsFunc(r.pages(crawl), func(p *answered) bool {
			return slices.ContainsFunc(p.GetJudgement().GetGuidance(), func(g *schemas.Guidance) bool { return g.GetGuide() == printed.Version })
		})
		if !asked {
			r.t.Errorf("no page of %s was shown to %s", crawl, printed.Version)
		}
	}
}

func (r *rig) mustResume(crawl string) *schemas.CrawlStatus {
	r.t.Helper()
	before := r.books.Status(crawl)
	r.mustRun("crawl", "resume", crawl)
	return before
}

func (r *rig) models(t *testing.T, crawl string) (list []model.Line) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.mustRun("--json", "models", "list", crawl)), &list); err != nil || len(list) == 0 {
		t.Fatalf("models list: %v, %v", list, err)
	}
	return list
}

func (r *rig) testShow(t *testing.T, version string) {
	var x model.ApprenticeReport
	if err := json.Unmarshal([]byte(r.mustRun("--json", "models", "show", version, "--often", "2")), &x); err != nil ||
		x.Version != version || x.Leaps == 0 || x.Low+x.High != x.Leaps || x.Cut < .1 || len(x.Strongest) != 20 || len(x.ByOffset) < 5 || x.Features < 20 {
		t.Errorf("models show: %+v, %v", x, err)
	}
	out := r.mustRun("models", "show", "first")
	for _, want := range []string{"LOG ODDS", "OFFSET", "leaps"} {
		if !strings.Contains(out, want) {
			t.Errorf("models show lacks %q:\n%s", want, out)
		}
	}
	t.Logf("%s", out)
	if out := r.mustRun("models", "list"); strings.Count(out, "critic") == 0 || strings.Count(out, "in use") < 2 {
		t.Errorf("models list:\n%s", out)
	}
	critic := r.books.Critics["test"].GetVersion()
	if out := r.mustRun("models", "show", critic); !strings.Contains(out, "a critic") || !strings.Contains(out, "classes") {
		t.Errorf("models show of a critic:\n%s", out)
	}
	r.fails(t, cli.ExitFailure, []string{"models", "show", "first/1-abc"}, "no model first/1-abc", "forager models list")
	r.fails(t, cli.ExitFailure, []string{"models", "show", "nothing"}, `no crawl "nothing"`)
	r.fails(t, cli.ExitFailure, []string{"models", "list", "nothing"}, `no crawl "nothing"`)
}

func (r *rig) testUseRefuses(t *testing.T) {
	others := r.models(t, "second")
	for want, args := range map[string][]string{
		`made for crawl "second", not for "first"`: {"first", others[0].Version},
		"is a critic":                    {"first", r.books.Critics["test"].GetVersion()},
		"no model first/30-000000000000": {"first", "30-000000000000"},
		`"second" has finished`:          {"second", others[0].Version},
		`no crawl "nothing"`:             {"nothing", "newest"},
	} {
		r.fails(t, cli.ExitFailure, append([]string{"models", "use"}, args...), want)
	}
}

// testDeleteShared deletes two concurrent crawls: what both need remains until both are deleted.
func (r *rig) testDeleteShared(t *testing.T) {
	segments := func() int {
		list, err := filepath.Glob(filepath.Join(r.cfg.Data, "local/s3/objects", r.cfg.S3.Bucket, "segments/*/*.warc.gz"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	all := segments()
	var first, second operate.Deletion
	if err := json.Unmarshal([]byte(r.mustRun("--json", "crawl", "delete", "first")), &first); err != nil {
		t.Fatal(err)
	}
	t.Logf("first: %d segments, %d stay, %d models", first.Segments, len(first.KeptSegments), first.Models)
	if first.Segments == 0 || len(first.KeptSegments) == 0 || first.Models < 3 || segments() != all-first.Segments {
		t.Errorf("deleted %+v; %d segments of %d are left", first, segments(), all)
	}
	r.verified("second")
	if err := json.Unmarshal([]byte(r.mustRun("--json", "crawl", "delete", "second")), &second); err != nil {
		t.Fatal(err)
	}
	if second.Segments != all-first.Segments || segments() != 0 || len(second.KeptSegments) > 0 {
		t.Errorf("deleted %+v; %d segments are left", second, segments())
	}
	if out := r.mustRun("--json", "models", "list"); strings.Contains(out, "apprentice") {
		t.Errorf("models are left: %s", out)
	}
}

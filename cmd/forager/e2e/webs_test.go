//go:build webs

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	labdemo "forager/cmd/forager-lab/demo"
	"forager/cmd/forager-lab/lab"
	"forager/cmd/forager/demo"
	"forager/cmd/internal/cli"
	"forager/internal/crawl/crawlfile"
	"forager/internal/lab/experiment"
	"forager/internal/lab/study"
	"forager/internal/lab/taskfile"
	"forager/internal/platform/objects"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/internal/testkit/frozen"
	"forager/schemas"
)

// theWeb is the ground of a task's first draw, as the demo makes it.
func theWeb(t testing.TB, task string) *demo.Environment {
	t.Helper()
	g, err := (&labdemo.Frozen{Web: frozen.Path(t, frozen.Webs, "webkb.warc.gz"), Task: task}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestWebsPipelineEqualsExperiment crawls the same task twice, in one process and through every stage over the
// broker, one page at a time and waiting for models: everything except the name of the crawl must be the same.
func TestWebsPipelineEqualsExperiment(t *testing.T) {
	const task = "webkb-uni:course/texas"
	both := &schemas.Learning{DMax: 5, Pairs: schemas.Pairs_PAIRS_BOTH, Sync: true}
	families, err := linkfeature.FamiliesNamed(linkfeature.Names())
	if err != nil {
		t.Fatal(err)
	}
	whole := proto.CloneOf(both)
	whole.Features, whole.Topics = families.List(), schemas.TopicFeatures_TOPIC_FEATURES_ALL
	forward := &schemas.Learning{
		DMax: 5, Pairs: schemas.Pairs_PAIRS_FORWARD, Topics: schemas.TopicFeatures_TOPIC_FEATURES_TOP2, Sync: true,
	}
	crawls := []struct {
		name, ranker string
		learning     *schemas.Learning
	}{
		{"equal-soft-focus", "soft-focus", both},
		{"equal-apprentice", "apprentice", both},
		{"equal-forward", "apprentice-gated", forward},
		{"equal-families", "apprentice", whole},
		{"equal-mixture", "mixture", both},
		{"equal-default", crawlfile.DefaultRanker, both},
	}
	g := theWeb(t, task)
	// Read and trained again, so that equal critics are a real test.
	file, err := taskfile.Load(frozen.Path(t, frozen.Webs, "tasks.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	selected, err := file.Select(task)
	if err != nil {
		t.Fatal(err)
	}
	theTask := selected[0]
	environments, err := experiment.Prepare(t.Context(), file, frozen.Path(t, frozen.Webs, ""), selected, linkfeature.Settings{DMax: 5})
	if err != nil {
		t.Fatal(err)
	}
	env := environments[theTask]

	// With one page in flight each page waits for the end of its segment.
	r := newRig(t, g.Handler, "segment_age: 250ms", "segment_age: 1ms")
	r.parts()
	r.start(cli.StageNames)
	for _, c := range crawls { // concurrently: each waits only for itself
		r.begin(r.crawl(g, c.name, c.ranker, theTask.Budget, func(ctl *schemas.CrawlControl) {
			ctl.Window, ctl.HostWindow = 1, 1
			ctl.Learning = proto.CloneOf(c.learning)
		}))
	}
	for _, c := range crawls {
		ranking, err := crawlfile.Rank(c.ranker)
		if err != nil {
			t.Fatal(err)
		}
		run := &experiment.Run{Environment: env, Seeds: theTask.Seeds[0], Policies: ranking.Policies, Mixture: ranking.Mixture,
			Learning: c.learning, Keep: true}
		want, err := run.Crawl(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		st := r.until(c.name, "finished", 10*time.Minute, finished)
		if st.GetRequests() != want.Requests || st.GetEndReason() != want.EndReason || st.GetTrained() != want.Trained {
			t.Errorf("%s: %d requests, %d leaps trained, ended with %q; experiment: %d, %d, %q", c.name,
				st.GetRequests(), st.GetTrained(), st.GetEndReason(), want.Requests, want.Trained, want.EndReason)
		}
		r.sameCritic(c.name, env)
		r.samePages(c.name, want)
		r.sameLeaps(c.name, want)
		r.sameModels(c.name, c.learning, want)
	}
	for _, c := range crawls {
		r.verified(c.name)
	}
}

// sameCritic compares the critic that the stages used with that of the ground, byte by byte.
func (r *rig) sameCritic(crawl string, env *experiment.Environment) {
	r.t.Helper()
	ctl, err := r.books.Control(crawl)
	if err != nil {
		r.t.Fatal(err)
	}
	used, err := r.books.Critic(ctl.GetCritic())
	if err != nil {
		r.t.Fatal(err)
	}
	sum := sha256.Sum256(env.Critic().Marshal())
	if want := "sha256:" + hex.EncodeToString(sum[:]); used.GetDigest() != want {
		r.t.Errorf("%s: the critic has %s, that of experiment %s", crawl, used.GetDigest(), want)
	}
	for _, p := range r.pages(crawl) {
		if p.GetJudgement().GetCritic() != used.GetVersion() {
			r.t.Fatalf("%s: %s was judged by critic %q, not by %q", crawl, p.GetUrl(), p.GetJudgement().GetCritic(), used.GetVersion())
		}
	}
}

// sameModels trains an apprentice on the experiment's leaps and compares it with every model that the crawl
// stored, byte by byte. (The topic is compacted and may lack the older ones.)
func (r *rig) sameModels(crawl string, learning *schemas.Learning, want *experiment.Crawl) {
	r.t.Helper()
	store, err := objects.Open(r.cfg.S3)
	if err != nil {
		r.t.Fatal(err)
	}
	folder := "models/apprentice/" + crawl + "/"
	stored := make(map[string]string) // digest by object
	for object, err := range store.List(r.s, folder) {
		if err != nil {
			r.t.Fatal(err)
		}
		data, err := store.Get(r.s, object.Key)
		if err != nil {
			r.t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		stored[object.Key] = hex.EncodeToString(sum[:])
	}
	settings, err := apprentice.SettingsOf(learning)
	if err != nil {
		r.t.Fatal(err)
	}
	learner := apprentice.New(settings)
	boundaries, equal := 0, 0
	for _, leap := range want.Settled() {
		switch {
		case leap.GetTrains():
			if err := learner.Add(leap.GetFeatures(), leap.GetTargetRaw()); err != nil {
				r.t.Fatal(err)
			}
		case leap.GetBoundary():
			boundaries++
			learner.Model() // the first one determines the cut
			sum := sha256.Sum256(learner.Marshal())
			digest := hex.EncodeToString(sum[:])
			key := fmt.Sprintf("%s%d-%s", folder, leap.GetPages(), digest[:12])
			if stored[key] != digest {
				r.t.Errorf("%s: experiment's model %s is not among those of the crawl", crawl, key)
				continue
			}
			equal++
		}
	}
	if len(stored) != boundaries {
		r.t.Errorf("%s: %d models for %d boundaries", crawl, len(stored), boundaries)
	}
	if newest := r.books.Apprentice(crawl); (newest != nil) != (boundaries > 0) || newest != nil && stored[newest.GetObject()] == "" {
		r.t.Errorf("%s: announced is the model %q", crawl, newest.GetObject())
	}
	r.t.Logf("%s: %d models, %d equal", crawl, len(stored), equal)
}

// TestWebsCrawlOfCourse crawls the whole frozen web for one topic through every stage, with the default number of pages in flight.
func TestWebsCrawlOfCourse(t *testing.T) {
	const pages = 600 // of the task's 2,066, to save time
	g := theWeb(t, "webkb:course/cornell")
	r := newRig(t, g.Handler)
	r.parts()
	r.start(cli.StageNames)
	for _, ranker := range []string{"soft-focus", "apprentice"} {
		crawl := "course-" + ranker
		c := r.crawl(g, crawl, ranker, pages, nil)
		before, began := r.stack.CPUTimes(), time.Now()
		r.begin(c)
		st := r.until(crawl, "finished", 10*time.Minute, finished)
		seconds := time.Since(began).Seconds()
		r.verified(crawl)
		got := r.pages(crawl)
		// A gate may end a crawl early; without one there are enough pages.
		switch {
		case uint64(len(got)) != st.GetPages():
			t.Errorf("%s: %d pages in %s, %d in its status", crawl, len(got), schemas.TopicLinkFound, st.GetPages())
		case len(got) == 0 || len(got) > pages || ranker == "soft-focus" && len(got) < pages:
			t.Errorf("%s: %d pages of %d, ended with %q", crawl, len(got), pages, st.GetEndReason())
		}
		if learns := ranker != "soft-focus"; learns != (st.GetModel() != "") {
			t.Errorf("%s: model %q", crawl, st.GetModel())
		}
		seen := make(map[string]bool)
		targets := 0
		for _, p := range got {
			if seen[p.GetUrl()] {
				t.Errorf("%s: %s was delivered twice", crawl, p.GetUrl())
			}
			seen[p.GetUrl()] = true
			if g.Truth(p.GetUrl()) {
				targets++
			}
			if _, ok := slices.BinarySearch(g.URLList, p.GetUrl()); !ok {
				t.Errorf("%s: %s is not in scope", crawl, p.GetUrl())
			}
		}
		t.Logf("%s: %d pages, %d requests, window %d, %.0f pages/s (%.1f s), loop %d ms; ended: %s", crawl, len(got),
			st.GetRequests(), st.GetWindow(), float64(len(got))/seconds, seconds, st.GetLatencyP50Ms(), st.GetEndReason())
		t.Logf("%s: harvest by label %.3f (%d pages), by critic %.3f; %d leaps trained", crawl,
			float64(targets)/float64(len(got)), targets, st.GetRelevanceRaw()/float64(len(got)), st.GetTrained())
		after := r.stack.CPUTimes()
		for _, name := range append(slices.Clone(cli.StageNames), "local") {
			t.Logf("%s: CPU %6.2f ms a page, %s", crawl, (after[name]-before[name]).Seconds()*1000/float64(len(got)), name)
		}
	}
}

// TestWebsExperimentCommand runs the README's experiment, a small one, in both forms of output.
func TestWebsExperimentCommand(t *testing.T) {
	args := []string{"experiment", frozen.Path(t, frozen.Webs, "tasks.json.gz"), "--draws", "1", "--task", "webkb-uni:course/texas", "--rankers", "soft-focus,random"}
	var out, stderr strings.Builder
	if code := lab.Run(t.Context(), args, &out, &stderr); code != cli.ExitOK {
		t.Fatalf("exit %d\n%s", code, stderr.String())
	}
	t.Logf("%s", out.String())
	for _, want := range []string{"webkb-uni", "soft-focus", "random", "label@100", "AUC"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in the table", want)
		}
	}
	out.Reset()
	stderr.Reset()
	if code := lab.Run(t.Context(), append([]string{"--json"}, args...), &out, &stderr); code != cli.ExitOK {
		t.Fatalf("exit %d\n%s", code, stderr.String())
	}
	for _, want := range []string{"fetches/s", "peak memory"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr does not have %q", want)
		}
	}
	var doc study.Report
	d := json.NewDecoder(strings.NewReader(out.String()))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if d.More() {
		t.Error("with --json there is more than one document")
	}
	if len(doc.Groups) != 1 || len(doc.Groups[0].Rankers) != 2 || doc.Runs != 1+10 || len(doc.Origin.Webs) != 1 {
		t.Fatalf("%d groups, %d runs, %+v", len(doc.Groups), doc.Runs, doc.Origin)
	}
}

// TestWebsDemo runs the demo on a frozen web.
func TestWebsDemo(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var out strings.Builder
	code := lab.Run(ctx, []string{
		"demo", "--web", frozen.Path(t, frozen.Webs, "webkb.warc.gz"), "--task", "webkb-uni:course/texas",
		"--out", dir, "--bin", bin(t), "--from", "../../../pipeline.yaml",
	}, &out, &lines{t: t})
	t.Logf("%s", out.String())
	if code != cli.ExitOK {
		t.Fatalf("exit %d", code)
	}
	for _, want := range []string{"soft-focus", "apprentice", "loss cut", "verify soft-focus   everything agrees", "verify apprentice   everything agrees"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in the report", want)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report demo.Report
	if err := json.Unmarshal(b, &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Runs) != 2 || !report.Verify.OK || report.Web != "webkb.warc.gz" || report.Topic != "course" {
		t.Fatalf("report.json: %+v", report)
	}
	for _, x := range report.Runs {
		if x.Pages == 0 || x.HarvestTruth <= 0 || x.HarvestTruth > 1 || x.Trained == 0 {
			t.Errorf("report.json: %+v", x)
		}
	}
}

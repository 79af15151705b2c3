package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/cmd/forager/demo"
	"forager/cmd/forager/model"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	modelscmd "forager/cmd/internal/models"
	"forager/internal/operate"
	"forager/internal/platform/archive"
	"forager/internal/platform/objects"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/internal/stream"
	"forager/schemas"
)

// TestRetrain trains models of whole crawls again, from the topic and from the archive, with all settings, and under faults.
func TestRetrain(t *testing.T) {
	t.Parallel()
	g, _ := simulated(t)
	web := &gated{handler: g.Handler, permits: make(chan struct{}, 200)}
	r := newRig(t, web)
	r.parts()
	r.start(cli.StageNames)
	r.begin(r.crawl(g, "live", "apprentice", 200, func(c *schemas.CrawlControl) { c.Learning.RefitPages, c.Window = 25, 4 }))
	r.operate("live", web)
	r.begin(r.crawl(g, "plain", "soft-focus", 40, nil))
	r.begin(r.crawl(g, "parted", "apprentice", 100, func(c *schemas.CrawlControl) {
		c.Shards = 4
		families, err := linkfeature.FamiliesNamed(linkfeature.Names())
		if err != nil {
			t.Fatal(err)
		}
		c.Learning.Features, c.Learning.Topics = families.List(), schemas.TopicFeatures_TOPIC_FEATURES_ALL
		c.Learning.Count, c.Learning.Smooth = schemas.Counting_COUNTING_NORMALISED, 2
	}))
	r.until("plain", "finished", time.Minute, finished)
	r.until("parted", "finished", time.Minute, finished)
	r.learnt("live", 180) // the first at 30, then every 25, but for the one at 80
	store, err := objects.Open(r.cfg.S3)
	if err != nil {
		t.Fatal(err)
	}
	r.sameAsTopics(t)
	r.testLiveModels(t, store)
	r.testOtherSettings(t, g, store)
	r.testUse(t, g)
	r.testInterrupted(t, store)
	r.testWithoutApprentice()
	r.testRefusals(t, g)
	r.testLostFiles(t)
	r.testForgotten(t)
}

// operate lets a learning crawl rank by another ranker for a while, and by an older model after that: live
// training and retraining are unaffected.
func (r *rig) operate(crawl string, web *gated) {
	r.t.Helper()
	// A request carries the schedule of models that is in force when it is sent, so the crawl is changed while none is in flight.
	does := func(command ...string) {
		r.mustRun("crawl", "pause", "--wait", "0s", crawl)
		r.until(crawl, "paused", time.Minute, func(st *schemas.CrawlStatus) bool {
			return st.GetState() == schemas.ShardState_SHARD_STATE_PAUSED
		})
		web.permit(4) // the window
		r.until(crawl, "paused, nothing in flight", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetInFlight() == 0 })
		for len(web.permits) > 0 {
			<-web.permits
		}
		r.mustRun(command...)
		r.mustRun("crawl", "resume", crawl)
	}
	web.permit(64) // up to 68 pages with those in flight, up to 100 with the next ones: models are due at 55, 80 and 105
	old := r.learnt(crawl, 55).GetVersion()
	does("crawl", "ranker", crawl, "soft-focus")
	web.permit(28)
	r.until(crawl, "past a model that is not used", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 80 })
	does("crawl", "ranker", crawl, "apprentice")
	web.permit(30)
	r.learnt(crawl, 105)
	does("models", "use", crawl, old)
	close(web.permits)
	if st := r.until(crawl, "finished", time.Minute, finished); st.GetModel() != old {
		r.t.Errorf("%s ended with the model %s, want %s", crawl, st.GetModel(), old)
	}
}

// learnt waits for a crawl's own model of at least that number of pages: it is announced some time after the
// page that made it due, often after the crawl's end.
func (r *rig) learnt(crawl string, pages uint64) *schemas.ModelPublished {
	r.t.Helper()
	r.until(crawl, fmt.Sprintf("learnt from %d pages", pages), time.Minute, func(*schemas.CrawlStatus) bool {
		return r.books.Apprentice(crawl).GetPages() >= pages
	})
	return r.books.Apprentice(crawl)
}

// liveModels returns the objects that apprentice-train stored for a crawl, by pages.
func (r *rig) liveModels(t *testing.T, store *objects.Store, crawl string) map[uint64][]byte {
	t.Helper()
	models := make(map[uint64][]byte)
	for o, err := range store.List(r.s, schemas.ModelObject("apprentice", crawl)+"/") {
		if err != nil {
			t.Fatal(err)
		}
		digits, _, _ := strings.Cut(filepath.Base(o.Key), "-")
		pages, err := strconv.ParseUint(digits, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if models[pages], err = store.Get(r.s, o.Key); err != nil {
			t.Fatal(err)
		}
	}
	return models
}

func (r *rig) retrain(args ...string) model.Retrained {
	r.t.Helper()
	var printed model.Retrained
	out := r.mustRun(append([]string{"--json", "retrain"}, args...)...)
	if err := json.Unmarshal([]byte(out), &printed); err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
	return printed
}

// testLiveModels: retraining gives every model of live training, bit for bit.
func (r *rig) testLiveModels(t *testing.T, store *objects.Store) {
	models := r.liveModels(t, store, "live")
	if len(models) != 7 || models[80] == nil { // 80 was due while soft focus ranked, and was made with the first verdict after that
		t.Fatalf("models of %v pages were published", slices.Sorted(maps.Keys(models)))
	}
	file := filepath.Join(r.dir, "again.model")
	last := slices.Max(slices.Collect(maps.Keys(models)))
	for pages, want := range models {
		for _, from := range []string{"topic", "archive"} {
			args := []string{"live", "--from", from, "-o", file, "--through", fmt.Sprint(pages)}
			if pages == last {
				args = args[:5] // the default
			}
			printed := r.retrain(args...)
			got, err := os.ReadFile(file)
			if err != nil || !bytes.Equal(got, want) || !printed.Live || printed.Published {
				t.Errorf("through %d from the %s: %d bytes, live %d bytes, %+v, %v", pages, from, len(got), len(want), printed, err)
			}
		}
	}
	for _, from := range []string{"topic", "archive"} { // the leaps of four shards in one
		if printed := r.retrain("parted", "--from", from); !printed.Live || printed.Pages < 90 {
			t.Errorf("of four shards, from the %s: %+v", from, printed)
		}
	}
	r.learnsTrees(t, store)
	if after := r.liveModels(t, store, "live"); len(after) != len(models) {
		t.Errorf("%d models are stored, %d were", len(after), len(models))
	}
}

// learnsTrees: the pages of a crawl that learns from tag paths and trees have them.
func (r *rig) learnsTrees(t *testing.T, store *objects.Store) {
	data, err := store.Get(r.s, r.books.Apprentice("parted").GetObject())
	if err != nil {
		t.Fatal(err)
	}
	learner, err := apprentice.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	known := learner.Strongest(0, 0)
	for _, prefix := range []string{"tag:", "path:", "lca:", "p:/"} {
		if !slices.ContainsFunc(known, func(f apprentice.Tally) bool { return strings.HasPrefix(f.Term, prefix) }) {
			t.Errorf("a model by %v has no term that begins %q", learner.Settings(), prefix)
		}
	}
}

func (r *rig) testOtherSettings(t *testing.T, g *demo.Environment, store *objects.Store) {
	base := r.retrain("live", "--from", "archive")
	less := r.retrain("live", "--from", "archive", "--d-max", "2", "--publish")
	more := r.retrain("live", "--from", "archive", "--d-max", "8")
	again := r.retrain("live", "--d-max", "8", "--publish")
	topics := r.retrain("live", "--topics", "top2")
	cut := r.retrain("live", "--cut", "0.5")
	if by := r.retrain("live", "--count", "binary", "--smooth", "1").Measures; by["count"] != float64(schemas.Counting_COUNTING_BINARY) || by["smooth"] != 1 || by["features"] <= base.Measures["features"] {
		t.Errorf("counted and smoothed: %v", by)
	}
	if !(less.Measures["features"] < base.Measures["features"] && base.Measures["features"] < more.Measures["features"] && base.Measures["features"] < topics.Measures["features"]) {
		t.Errorf("features: d_max 2 %v, 5 %v, 8 %v, with topics %v", less.Measures["features"], base.Measures["features"], more.Measures["features"], topics.Measures["features"])
	}
	if more.Version != again.Version || cut.Measures["cut"] != .5 || !again.Published || more.Published || less.Live {
		t.Errorf("d_max 8: %+v and %+v; cut: %+v", more, again, cut)
	}
	data, err := store.Get(r.s, less.Object)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := apprentice.Unmarshal(data); err != nil || float64(m.Facts().Features) != less.Measures["features"] {
		t.Errorf("the published model: %v", err)
	}
	r.until("live", "noted", time.Minute, func(*schemas.CrawlStatus) bool { return r.books.Published(less.Version) != nil })
	if m := r.books.Published(less.Version); !m.GetRetrained() || m.GetTrainedThrough() != base.Through || m.GetLeaps() != base.Leaps {
		t.Errorf("announced %v", m)
	}
	if m := r.books.Apprentice("live"); m.GetRetrained() {
		t.Errorf("the crawl's own newest model is listed as %v", m)
	}
	// A new crawl starts from it.
	r.begin(r.crawl(g, "after", "apprentice", 60, func(c *schemas.CrawlControl) { c.Learning.Prior = again.Version; c.Learning.DMax = 8 }))
	st := r.until("after", "finished", time.Minute, finished)
	if st.GetModel() == "" {
		t.Error("the crawl ranked by no model")
	}
	if first := r.firstModel(t, "after"); first != again.Version {
		t.Errorf("the first request behind the seeds was ranked by %q, want %q", first, again.Version)
	}
}

// requests returns the requests of a crawl, in the order of each partition.
func (r *rig) requests(t *testing.T, crawl string) []*schemas.FetchRequest {
	t.Helper()
	var all []*schemas.FetchRequest
	for p := range r.cfg.Topics[schemas.TopicFetchRequested].Partitions {
		first, end, err := r.books.Client.Offsets(r.s, schemas.TopicFetchRequested, p)
		if err != nil {
			t.Fatal(err)
		}
		err = r.books.Client.Read(r.s, schemas.TopicFetchRequested, p, first, end, func(rec stream.Record) error {
			m := new(schemas.FetchRequest)
			if rec.Value == nil || proto.Unmarshal(rec.Value, m) != nil || m.GetCrawl() != crawl {
				return nil
			}
			all = append(all, m)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(all, func(a, b *schemas.FetchRequest) int { return int(int64(a.GetOrdinal()) - int64(b.GetOrdinal())) })
	return all
}

// firstModel returns the model that ranked the first request of a crawl that was not a seed.
func (r *rig) firstModel(t *testing.T, crawl string) string {
	t.Helper()
	for _, m := range r.requests(t, crawl) {
		if m.GetVia() != "" {
			return m.GetModel()
		}
	}
	return "none"
}

// testUse: a paused crawl gets a retrained model and ranks by it to its end, while learning continues.
func (r *rig) testUse(t *testing.T, g *demo.Environment) {
	open := r.gate(150)
	r.begin(r.crawl(g, "used", "apprentice", 300, nil))
	r.until("used", "learning", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 60 })
	r.mustRun("crawl", "pause", "--wait", "0s", "used")
	open()
	paused := r.until("used", "paused", time.Minute, func(st *schemas.CrawlStatus) bool {
		return st.GetState() == schemas.ShardState_SHARD_STATE_PAUSED && st.GetInFlight() == 0
	})
	printed := r.retrain("used", "--d-max", "1", "--use")
	if !printed.Used || !printed.Published || printed.Live {
		t.Fatalf("%+v", printed)
	}
	r.until("used", "ranking by it", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetModel() == printed.Version && st.GetActivity() == "" })
	r.mustRun("crawl", "resume", "used")
	st := r.until("used", "finished", time.Minute, finished)
	if st.GetModel() != printed.Version {
		t.Errorf("it ended with the model %s, want %s", st.GetModel(), printed.Version)
	}
	after := 0
	for _, m := range r.requests(t, "used") {
		if m.GetOrdinal() > paused.GetDispatched() {
			after++
			if m.GetModel() != printed.Version {
				t.Errorf("request %d was ranked by %q", m.GetOrdinal(), m.GetModel())
			}
		}
	}
	if after == 0 {
		t.Error("no request since")
	}
	if newest := r.learnt("used", 300); newest.GetPages() != 300 {
		t.Errorf("the newest model of its own is %v", newest)
	}
	if again := r.retrain("used"); !again.Live {
		t.Errorf("trained again, what it learnt while another model was used is %+v", again)
	}
}

// testInterrupted kills the command between the object and its announcement.
func (r *rig) testInterrupted(t *testing.T, store *objects.Store) {
	args := []string{"retrain", "live", "--d-max", "3", "--publish", "--config", r.path}
	cmd := exec.Command(filepath.Join(bin(t), "forager"), args...)
	cmd.Env = append(os.Environ(), "FORAGER_FAILPOINT=kept-before-announced")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("its failpoint was never reached: %s", out)
	}
	printed := r.retrain("live", "--d-max", "3", "-o", filepath.Join(r.dir, "three.model"))
	if printed.Live || r.books.Published(printed.Version) != nil {
		t.Errorf("half published, it is listed as known: %+v", printed)
	}
	whole, err := store.Get(r.s, schemas.ModelObject("apprentice", printed.Version))
	if err != nil {
		t.Fatal(err)
	}
	if want, err := os.ReadFile(printed.File); err != nil || !bytes.Equal(whole, want) {
		t.Errorf("the object is not the model (%v)", err)
	}
	if again := r.retrain("live", "--d-max", "3", "--publish"); again.Version != printed.Version || !again.Published {
		t.Errorf("published again: %+v", again)
	}
	r.until("live", "announced", time.Minute, func(*schemas.CrawlStatus) bool { return r.books.Published(printed.Version) != nil })
}

// testWithoutApprentice: the leaps of a crawl that no apprentice ranks train one, all of them.
func (r *rig) testWithoutApprentice() {
	leaps := 0
	for _, l := range records[*schemas.LeapSettled](r, schemas.TopicLeapSettled, "plain") {
		if l.GetTrains() {
			leaps++
		}
	}
	if out, want := r.mustRun("retrain", "plain"), fmt.Sprintf(": %d leaps through 40 pages", leaps); leaps == 0 || !strings.Contains(out, want) {
		r.t.Errorf("retrain printed %q, want %q", out, want)
	}
}

func (r *rig) testRefusals(t *testing.T, g *demo.Environment) {
	critic, err := modelscmd.PublishCritic(r.s, r.cfg, r.books, "another", g.Critic, nil)
	if err != nil {
		t.Fatal(err)
	}
	another := r.crawl(g, "another", "apprentice", 40, nil)
	another.Control.Critic = critic.GetVersion()
	r.begin(another)
	r.until("another", "finished", time.Minute, finished)
	foreign := r.learnt("another", 40).GetVersion()
	for _, c := range []struct{ args, want string }{
		{"none", `no crawl "none"`},
		{"plain --through 7", "no boundary"},
		{"live --through 7", "no boundary at 7 pages"},
		{"live --use", "has finished"},
		{"live --prior " + foreign, "learnt relevances of the critic another/"},
		{"live --prior live/10-000000000000", "no model live/10-000000000000"},
		{"live -o " + filepath.Join(r.dir, "none", "x"), "no such file or directory"},
	} {
		r.fails(t, cli.ExitFailure, append([]string{"retrain"}, strings.Fields(c.args)...), c.want)
	}
	for _, c := range []struct{ args, want string }{
		{"live --from shelf", "--from"}, {"live --d-max 300", "d_max is 300"}, {"live --cut 0.5 --recut", "asked for"}, {"", "<crawl>"},
	} {
		r.fails(t, cli.ExitUsage, append([]string{"retrain"}, strings.Fields(c.args)...), c.want)
	}
	start := another
	start.Control.Crawl, start.Control.Critic, start.Control.Learning.Prior = "foreign", "test", foreign
	if err := crawls.StartCrawl(r.s, r.cfg, r.books, start, true); err == nil || !strings.Contains(err.Error(), "learnt relevances of the critic") {
		t.Errorf("a crawl begins with the model of another critic: %v", err)
	}
	// While a crawl runs, a model of another one, or with features that its links lack, is refused.
	r.begin(r.crawl(g, "running", "apprentice", 100_000, func(c *schemas.CrawlControl) { c.Learning.SwitchPages = 30 }))
	r.until("running", "learning", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetModel() != "" })
	r.mustRun("crawl", "pause", "running")
	r.fails(t, cli.ExitUsage, []string{"retrain", "running", "--d-max", "8", "--use"}, "up to d_max 5", "learning.prior")
	r.fails(t, cli.ExitUsage, []string{"retrain", "running", "--topics", "top2", "--use"}, "without topics")
	r.fails(t, cli.ExitUsage, []string{"retrain", "running", "--topics", "all"}, "all topics")
	r.fails(t, cli.ExitUsage, []string{"retrain", "running", "--features", "path-length"}, "trees of pages", "learnt from offsets")
	store, err := objects.Open(r.cfg.S3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operate.PinModel(r.s, r.books, store, "running", 0, foreign); err == nil || !strings.Contains(err.Error(), `made for crawl "another"`) {
		t.Errorf("the model of another crawl: %v", err)
	}
	r.mustRun("crawl", "stop", "running")
}

// testLostFiles deletes and damages files of the archive.
func (r *rig) testLostFiles(t *testing.T) {
	partition := stream.PartitionOf([]byte("live"), r.cfg.Topics[schemas.TopicLeapSettled].Partitions)
	pattern := filepath.Join(r.cfg.Data, "local", "s3", "objects", r.cfg.S3.Bucket, archive.Prefix(schemas.TopicLeapSettled), fmt.Sprint(partition), "*.parquet")
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	want := r.retrain("live", "--from", "archive").Version
	copies := make(map[string][]byte)
	for i, f := range files {
		whole, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		copies[f] = whole
		switch {
		case i == 0:
			err = os.WriteFile(f, whole[:len(whole)/2], 0o644)
		default:
			err = os.Remove(f)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r.fails(t, cli.ExitFailure, []string{"retrain", "live", "--from", "archive"}, filepath.Base(files[0]), "damaged", "restore", "from the topic while it retains them")
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	r.fails(t, cli.ExitFailure, []string{"retrain", "live", "--from", "archive"}, "--from topic")
	if got := r.retrain("live", "--from", "topic").Version; got != want {
		t.Errorf("from the topic comes %s, from the archive came %s", got, want)
	}
	for f, whole := range copies { // as the command asked for
		if err := os.WriteFile(f, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.retrain("live", "--from", "archive").Version; got != want {
		t.Errorf("from restored files comes %s, from the archive came %s", got, want)
	}
}

// testForgotten: leaps and pages that the topics no longer retain are read from the archive.
func (r *rig) testForgotten(t *testing.T) {
	more := r.retrain("live", "--d-max", "8").Version
	r.forget(schemas.TopicLeapSettled, schemas.TopicPageJudged)
	r.fails(t, cli.ExitFailure, []string{"retrain", "live"}, "the topic retains them from", "--from archive")
	if printed := r.retrain("live", "--from", "archive"); !printed.Live || printed.Pages != 180 {
		t.Errorf("from the archive alone: %+v", printed)
	}
	if printed := r.retrain("live", "--from", "archive", "--d-max", "8"); printed.Version != more {
		t.Errorf("with pages from the archive alone: %s, want %s", printed.Version, more)
	}
}

package e2e

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/cmd/forager/demo"
	"forager/cmd/forager/root"
	"forager/cmd/internal/cli"
	"forager/internal/classify/critic"
	"forager/internal/classify/taxonomy"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/stream"
	"forager/schemas"
)

// rejudgedBy returns the records of a series of the crawl small in page.rejudged.
func (r *rig) rejudgedBy(t *testing.T, version string) (all []stream.Record) {
	t.Helper()
	r.all(t, schemas.TopicPageRejudged, func(rec stream.Record) {
		m := new(schemas.PageRejudged)
		if err := proto.Unmarshal(rec.Value, m); err != nil {
			t.Fatal(err)
		}
		if m.GetCrawl() == "small" && m.GetJudgement().GetCritic() == version {
			all = append(all, rec)
		}
	})
	return all
}

// judgements returns the judgements of the delivered pages of the crawl small by a critic, made of the pages as parse-dom read them.
func (r *rig) judgements(t *testing.T, name string, ctl *schemas.CrawlControl) map[string]*schemas.Judgement {
	t.Helper()
	store, err := objects.Open(r.cfg.S3)
	if err != nil {
		t.Fatal(err)
	}
	by, _, err := operate.OpenCritic(r.s, r.books, store, name)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := critic.Weigh(by, taxonomy.MarkingOf(ctl))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]*schemas.Judgement)
	r.all(t, schemas.TopicPageJudged, func(rec stream.Record) {
		m, parsed := new(schemas.PageJudged), new(schemas.PageParsed)
		if rec.Headers[schemas.HeaderCrawl] != "small" || proto.Unmarshal(rec.Value, m) != nil || m.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED {
			return
		}
		if err := proto.Unmarshal(m.GetParsed(), parsed); err != nil {
			t.Fatal(err)
		}
		j, err := critic.Judge(r.s, by, parsed.GetPage(), weights)
		if err != nil {
			t.Fatal(err)
		}
		all[hex.EncodeToString(m.GetId())] = j
	})
	return all
}

// testRejudge judges the pages of the small crawl by its own critic and by others, and interrupts that twice.
func (r *rig) testRejudge(t *testing.T, g *demo.Environment) {
	ctl, err := r.books.Control("small")
	if err != nil {
		t.Fatal(err)
	}
	other, err := r.books.Critic("half")
	if err != nil {
		t.Fatal(err)
	}
	own := ctl.GetCritic()
	r.interrupted(t, own, func(ctx context.Context, args []string) {
		var stderr bytes.Buffer
		if code := root.Run(ctx, args, new(bytes.Buffer), &stderr); code != cli.ExitFailure || !strings.Contains(stderr.String(), "interrupted; ") || !strings.Contains(stderr.String(), "the same command goes on") {
			t.Errorf("rejudge, interrupted: exit %d, %s", code, &stderr)
		}
	})
	r.interrupted(t, other.GetVersion(), func(ctx context.Context, args []string) {
		if err := exec.CommandContext(ctx, filepath.Join(bin(t), "forager"), args...).Run(); err == nil {
			t.Error("rejudge was not killed")
		}
	})
	r.mustRun("rejudge", "small", "--critic", own, "--rate", "1000")
	out := r.mustRun("rejudge", "small", "--critic", "half", "--rate", "1000")
	if want := "the series has 60 of 60 stored pages: "; !strings.Contains(out, want) {
		t.Errorf("rejudge printed no %q: %s", want, out)
	}
	if out := r.mustRun("rejudge", "small", "--critic", "sim"); !strings.HasPrefix(out, "0 pages of small judged by "+own) || !strings.Contains(out, "they agree on 1.000") {
		t.Errorf("rejudge of a whole series: %s", out)
	}
	r.equalSeries(t, "sim", own, ctl)
	r.equalSeries(t, "half", other.GetVersion(), ctl)
	for _, version := range []string{own, other.GetVersion()} {
		if n := len(r.rejudgedBy(t, version)); n != 60 {
			t.Errorf("60 pages have %d judgements by %s", n, version)
		}
	}

	// The same records once more, as a producer that is not acknowledged sends them, with other judgements.
	var again []stream.Out
	for _, rec := range r.rejudgedBy(t, own) {
		m := new(schemas.PageRejudged)
		if err := proto.Unmarshal(rec.Value, m); err != nil {
			t.Fatal(err)
		}
		m.Judgement.Raw = .25
		value, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again = append(again, stream.Out{Topic: schemas.TopicPageRejudged, Partition: -1, Key: rec.Key, Value: value, Headers: rec.Headers})
	}
	if _, err := r.books.Client.Produce(r.s, again); err != nil {
		t.Fatal(err)
	}
	if err := operate.Loaded(r.s, r.books, time.Minute); err != nil {
		t.Fatal(err)
	}
	r.equalSeries(t, "sim", own, ctl)
	r.testRejudgeByService(t, g)
	r.testRejudgeRefused(t)
	r.verified("small")
	distinct := make(map[string]bool)
	r.all(t, schemas.TopicPageRejudged, func(rec stream.Record) {
		m := new(schemas.PageRejudged)
		if err := proto.Unmarshal(rec.Value, m); err != nil {
			t.Fatal(err)
		}
		if m.GetCrawl() == "small" {
			distinct[fmt.Sprint(m.GetRequest(), m.GetJudgement().GetCritic(), m.GetFocus())] = true
		}
	})
	if out := r.mustRun("verify", "small"); len(distinct) < 120 || !strings.Contains(out, fmt.Sprintf("%9d  ClickHouse rows of rejudgements\n", len(distinct))) {
		t.Errorf("verify, of %d distinct judgements: %s", len(distinct), out)
	}
}

// interrupted judges the small crawl with few pages a second and ends the context of that once some are judged; no page is judged
// again by the next call.
func (r *rig) interrupted(t *testing.T, version string, run func(ctx context.Context, args []string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(r.s)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx, []string{"--config", r.path, "rejudge", "small", "--critic", version, "--rate", "10"})
	}()
	wait(t, "the first judgements by "+version, func() bool { return len(r.rejudgedBy(t, version)) > 0 })
	cancel()
	<-ended
	if n := len(r.rejudgedBy(t, version)); n == 60 {
		t.Error("all pages were judged before the interruption")
	}
}

// equalSeries compares a series in the topic, in ClickHouse and in the report with judgements made here.
func (r *rig) equalSeries(t *testing.T, name, version string, ctl *schemas.CrawlControl) {
	t.Helper()
	want := r.judgements(t, name, ctl)
	requests := make(map[string]bool)
	for _, rec := range r.rejudgedBy(t, version) {
		requests[hex.EncodeToString(rec.Key)] = true
	}
	if len(requests) != len(want) || len(want) != 60 {
		t.Fatalf("%s judged %d of %d pages", version, len(requests), len(want))
	}
	db, err := analytics.Open(r.cfg.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(r.s, `SELECT request, relevance, tempered, calibrated, topics[1], posteriors[1] FROM rejudgements
		WHERE crawl = 'small' AND critic = {critic:String} AND focus = {focus:String}`, analytics.Params{"critic": version, "focus": ctl.GetFocus()[0]})
	if err != nil || len(rows.Rows) != len(want) {
		t.Fatalf("%d rows, %v", len(rows.Rows), err)
	}
	var sum, onTopic float64
	for _, row := range rows.Rows {
		j := want[row[0].(string)]
		wanted := fmt.Sprint(j.GetRaw(), j.GetTempered(), j.GetCalibrated(), j.GetTopics()[0].GetTopic(), j.GetTopics()[0].GetTempered())
		if got := fmt.Sprint(row[1:]...); got != wanted {
			t.Errorf("page %s by %s: %s, want %s", row[0], version, got, wanted)
		}
		sum += j.GetRaw()
		if j.GetRaw() >= .5 {
			onTopic++
		}
	}
	page := filepath.Join(r.dir, "rejudged.html")
	var report struct {
		Harvest  float64
		Rejudged []analytics.Rejudged
	}
	if err := json.Unmarshal([]byte(r.mustRun("--json", "report", "small", "--html", page)), &report); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(report.Rejudged, func(x analytics.Rejudged) bool { return x.Critic == version })
	if i < 0 {
		t.Fatalf("the report has %v", report.Rejudged)
	}
	x := report.Rejudged[i]
	sum = 0
	pages := 0
	for _, v := range r.verdictsOf(t, "small") {
		if j := want[hex.EncodeToString(v.GetId())]; j != nil {
			sum += j.GetRaw()
			if pages++; pages%3 != 0 {
				continue
			}
			if p := x.Curve[pages/3-1]; p.Pages != uint64(pages) || math.Abs(p.Harvest-sum/float64(pages)) > 1e-9 {
				t.Errorf("the harvest by %s of %d pages is %v, the curve has %+v", version, pages, sum/float64(pages), p)
			}
		}
	}
	for what, pair := range map[string][2]float64{
		"harvest": {x.Harvest, sum / 60}, "on topic": {x.OnTopic, onTopic / 60}, "own harvest": {x.Own, report.Harvest},
		"pages": {float64(x.Pages), 60}, "pages of the curve": {float64(pages), 60},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%s by %s is %v, want %v", what, version, pair[0], pair[1])
		}
	}
	text := r.mustRun("report", "small")
	html, err := os.ReadFile(page)
	if err != nil || !strings.Contains(text, version+" ") || !bytes.Contains(html, []byte("by "+version)) {
		t.Errorf("the report does not have %s: %v\n%s", version, err, text)
	}
}

// testRejudgeByService judges by a critic that calls a service, which fails after some pages.
func (r *rig) testRejudgeByService(t *testing.T, g *demo.Environment) {
	s := &service{topic: g.Topic}
	s.mode.Store("fine")
	var left atomic.Int64
	left.Store(math.MaxInt64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if left.Add(-1) < 0 {
			panic(http.ErrAbortHandler)
		}
		s.ServeHTTP(w, r)
	}))
	defer srv.Close()
	r.mustRun("critic", "predicate", r.file("remote.yaml", "url: "+srv.URL+"\ntopics: ["+g.Topic+"]\npatience: 300ms\n"), "--name", "remote")
	left.Store(2)
	_, stderr, code := r.run("rejudge", "small", "--critic", "remote", "--rate", "1000")
	m, err := r.books.Critic("remote")
	if err != nil {
		t.Fatal(err)
	}
	sent := len(r.rejudgedBy(t, m.GetVersion()))
	if code != cli.ExitFailure || sent == 0 || !strings.Contains(stderr, "critic "+m.GetVersion()) || !strings.Contains(stderr, fmt.Sprintf("; %d pages were judged, and the same command goes on", sent)) {
		t.Errorf("rejudge by a service that fails: exit %d, %d judgements, %s", code, sent, stderr)
	}
	left.Store(math.MaxInt64)
	if out := r.mustRun("rejudge", "small", "--critic", "remote", "--rate", "1000"); !strings.Contains(out, "60 of 60 stored pages: harvest 0.625, ") {
		t.Errorf("rejudge by a service: %s", out)
	}
}

func (r *rig) testRejudgeRefused(t *testing.T) {
	for want, args := range map[string]string{
		`no critic "none"; there are: `:  "small --critic none",
		`no crawl "nothing"`:             "nothing --critic sim",
		"crawl idle has no stored pages": "idle --critic small",
		"--focus names topics of":        "small --critic small",
	} {
		r.fails(t, cli.ExitFailure, append([]string{"rejudge"}, strings.Fields(args)...), want)
	}
	r.fails(t, cli.ExitUsage, []string{"rejudge", "small", "--critic", "sim", "--rate", "0"}, "--rate 0")

	args := []string{"rejudge", "small", "--critic", "small", "--focus", "Science", "--rate", "1000"}
	r.withoutSegments(t, func() {
		if out, stderr, code := r.run(args...); code != cli.ExitOK || !strings.Contains(out, "0 pages of small") || !strings.Contains(out, ", 60 left out") || strings.Count(stderr, "left out: page http") != 60 {
			t.Errorf("rejudge without segments: exit %d, %s%s", code, out, stderr)
		}
	})
	if out := r.mustRun(args...); !strings.HasPrefix(out, "60 pages of small judged by small/") || !strings.Contains(out, " for Science\n") {
		t.Errorf("rejudge for another focus: %s", out)
	}
}

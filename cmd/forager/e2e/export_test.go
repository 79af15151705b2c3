package e2e

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/cmd/internal/cli"
	"forager/internal/platform/analytics"
	"forager/internal/stream"
	"forager/schemas"
)

// verdictsOf returns the first verdicts on the requests of a crawl, in the order of the topic.
func (r *rig) verdictsOf(t *testing.T, crawl string) (all []*schemas.LinkFound) {
	t.Helper()
	known := make(map[string]bool)
	r.all(t, schemas.TopicLinkFound, func(rec stream.Record) {
		m := new(schemas.LinkFound)
		if rec.Headers[schemas.HeaderCrawl] != crawl || proto.Unmarshal(rec.Value, m) != nil || schemas.Virtual(m.GetOutcome()) || known[string(m.GetId())] {
			return
		}
		known[string(m.GetId())] = true
		all = append(all, m)
	})
	return all
}

// testExport writes the pages of the small crawl and compares them with the topics.
func (r *rig) testExport(t *testing.T) {
	const crawl = "small"
	want := func(ok func(*schemas.LinkFound) bool) (urls []string) {
		for _, v := range r.verdictsOf(t, crawl) {
			if ok(v) {
				urls = append(urls, v.GetUrl())
			}
		}
		return urls
	}
	above := want(func(v *schemas.LinkFound) bool { return v.GetJudgement().GetRaw() >= .5 })
	if len(above) < 5 || len(above) > 55 {
		t.Fatalf("%d pages of 60 have a relevance above .5", len(above))
	}
	if got := strings.Fields(r.mustRun("export", crawl, "--above", "0.5", "--format", "urls")); !slices.Equal(got, above) {
		t.Errorf("export --above 0.5: %d URLs, want %d in the order of the topic\n%q\n%q", len(got), len(above), got, above)
	}
	dead := want(func(v *schemas.LinkFound) bool { return v.GetOutcome() == schemas.Outcome_OUTCOME_CLIENT_ERROR })
	if got := strings.Fields(r.mustRun("export", crawl, "--outcome", "client-error", "--format", "urls")); !slices.Equal(got, dead) {
		t.Errorf("export --outcome client-error: %q, want %q", got, dead)
	}

	file := filepath.Join(r.dir, "small.warc.gz")
	if out := r.mustRun("export", crawl, "--above", "0.5", "-o", file); !strings.Contains(out, file) {
		t.Errorf("export: %q", out)
	}
	served := filepath.Join(r.dir, "small.urls")
	client, _ := r.served(t, file, "--urls", served)
	b, err := os.ReadFile(served)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(above)
	if got := strings.Fields(string(b)); !slices.Equal(got, above) {
		t.Errorf("serve-web serves %d of the %d pages exported", len(got), len(above))
	}
	get(t, client, above, http.StatusOK)

	var summary struct{ Pages int }
	lines := filepath.Join(r.dir, "small.jsonl.gz")
	if err := json.Unmarshal([]byte(r.mustRun("--json", "export", crawl, "-o", lines)), &summary); err != nil || summary.Pages != 60 {
		t.Errorf("export --json: %+v, %v", summary, err)
	}
	if out := r.mustRun("critic", "train", lines, "--name", "exported", "--minimum", "1", "--dry-run"); !strings.Contains(out, "60 examples") {
		t.Errorf("a critic of the pages exported: %s", out)
	}

	for want, args := range map[string][]string{
		`no crawl "nothing"`:         {"nothing", "--format", "urls"},
		"exists already; --force":    {crawl, "-o", file},
		filepath.Join(r.dir, "none"): {crawl, "-o", filepath.Join(r.dir, "none", "x.warc.gz")},
		"is a folder":                {crawl, "-o", r.dir, "--format", "warc"},
		"no space left on device":    {crawl, "-o", "/dev/full", "--format", "warc"},
		"holds 0 whole pages":        {crawl, "-o", "/dev/full", "--format", "urls"},
	} {
		r.fails(t, cli.ExitFailure, append([]string{"export"}, args...), want)
	}
	for want, args := range map[string][]string{
		"give --format": {crawl}, "none of warc": {crawl, "--format", "pdf"}, "goes with jsonl and urls": {crawl, "--format", "warc", "--outcome", "timeout"},
		"between 0 and 1": {crawl, "--format", "urls", "--above", "2"}, "none of delivered, not-html": {crawl, "--format", "urls", "--outcome", "good"},
	} {
		r.fails(t, cli.ExitUsage, append([]string{"export"}, args...), want)
	}
	if left, err := filepath.Glob(filepath.Join(r.dir, ".*partial*")); err != nil || len(left) > 0 {
		t.Errorf("%q is left", left)
	}
	r.testExportUnloaded(t, crawl)
	r.testExportDamaged(t, crawl)
}

// testExportUnloaded exports while ClickHouse lacks one of the rows of a page: the export of a crawl that has finished fails.
func (r *rig) testExportUnloaded(t *testing.T, crawl string) {
	db, err := analytics.Open(r.cfg.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	page := r.verdictsOf(t, crawl)[0].GetId()
	exec := func(sql string) {
		t.Helper()
		if err := db.Exec(r.s, sql, analytics.Params{"crawl": crawl, "id": hex.EncodeToString(page)}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(r.dir, "unloaded.warc")
	for _, table := range []string{"fetches_rows", "judgements_rows", "requests_rows"} {
		one := "crawl = {crawl:String} AND id = unhex({id:String})"
		exec("CREATE TABLE away_" + table + " ENGINE = Memory AS SELECT * FROM " + table + " WHERE " + one)
		exec("DELETE FROM " + table + " WHERE " + one + " SETTINGS lightweight_deletes_sync = 2")
		r.fails(t, cli.ExitFailure, []string{"export", crawl, "-o", file, "--wait", "1ms"}, "ClickHouse has 59 of the 60 pages of small after 1ms")
		exec("INSERT INTO " + table + " SELECT * FROM away_" + table)
		exec("DROP TABLE away_" + table)
	}
	if out := r.mustRun("export", crawl, "-o", file); !strings.Contains(out, "60 pages of small") {
		t.Errorf("export of what is loaded: %s", out)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

// withoutSegments runs f while all segments are missing.
func (r *rig) withoutSegments(t *testing.T, f func()) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(r.cfg.Data, "local/s3/objects", r.cfg.S3.Bucket, "segments/*/*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range segments {
		if err := os.Rename(s, s+".away"); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := os.Rename(s+".away", s); err != nil {
				t.Error(err)
			}
		}()
	}
	f()
}

// testExportDamaged exports while a segment is missing: nothing, or everything else.
func (r *rig) testExportDamaged(t *testing.T, crawl string) {
	r.withoutSegments(t, func() {
		file := filepath.Join(r.dir, "damaged.warc")
		r.fails(t, cli.ExitFailure, []string{"export", crawl, "-o", file}, "not found", "--lossy", "nothing of it is left")
		if _, err := os.Stat(file); err == nil {
			t.Error("a file of an export that failed")
		}
		out, stderr, code := r.run("export", crawl, "-o", file, "--lossy")
		if code != cli.ExitOK || !strings.Contains(out, "0 pages of small, 60 left out") || strings.Count(stderr, "left out: page http") != 60 {
			t.Errorf("export --lossy: exit %d, %s%s", code, out, stderr)
		}
	})
}

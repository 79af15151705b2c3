package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/schemas"
)

// testDelete deletes a finished crawl, and checks that nothing of it remains and nothing of another one is missing.
func (r *rig) testDelete(t *testing.T, crawl, other string) {
	bucket := filepath.Join(r.cfg.Data, "local/s3/objects", r.cfg.S3.Bucket)
	segments := func() int {
		list, err := filepath.Glob(filepath.Join(bucket, "segments/*/*.warc.gz"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := segments()
	r.fails(t, cli.ExitFailure, []string{"crawl", "delete", "nothing"}, `no crawl "nothing"`)
	var d operate.Deletion
	if err := json.Unmarshal([]byte(r.mustRun("--json", "crawl", "delete", crawl)), &d); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", d)
	if d.Segments == 0 || d.Bytes == 0 || segments() != before-d.Segments || d.Rows["requests_rows"] < 20 || d.Rows["links_rows"] == 0 {
		t.Errorf("deleted %+v; %d segments of %d are left", d, segments(), before)
	}
	db, err := analytics.Open(r.cfg.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range []string{"requests", "fetches", "judgements", "verdicts", "links", "leaps", "statuses", "controls"} {
		rows, err := db.Query(r.s, "SELECT count() FROM "+table+"_rows WHERE crawl = {crawl:String}", analytics.Params{"crawl": crawl})
		if err != nil || fmt.Sprint(rows.Rows) != "[[0]]" {
			t.Errorf("rows of %s: %v, %v", table, rows, err)
		}
	}
	// Each pass over the sums of other crawls deletes rows of the one before.
	wait(t, "space on the disk for what was deleted", func() bool {
		rows, err := db.Query(r.s, "SELECT count() FROM system.parts WHERE database = currentDatabase() AND active AND has_lightweight_delete AND table != 'sums_rows'", nil)
		return err == nil && fmt.Sprint(rows.Rows) == "[[0]]"
	})
	for _, dir := range []string{"scopes", "models/apprentice"} {
		if left, err := os.ReadDir(filepath.Join(bucket, dir, crawl)); err == nil && len(left) > 0 {
			t.Errorf("%v is left of %s", left, dir)
		}
	}
	r.verified(other)

	gone := fmt.Sprintf("crawl %q was deleted", crawl)
	for _, command := range []string{
		"crawl status", "crawl watch", "crawl pause", "crawl resume", "crawl stop", "crawl seeds", "report", "report hosts", "verify", "export --format urls", "models list", "retrain", "rejudge --critic sim",
	} {
		args := append(strings.Fields(command), crawl)
		if command == "crawl seeds" {
			args = append(args, "http://a.test/")
		}
		r.fails(t, cli.ExitFailure, args, gone, "there are: ")
	}
	r.mustRun("crawl", "delete", crawl) // a pass over the sums that had begun before may have added some
	if out := r.mustRun("crawl", "delete", crawl); !strings.Contains(out, "is deleted: 0 rows, 0 segments") {
		t.Errorf("deleted again: %s", out)
	}
	if out := r.mustRun("crawl", "list"); strings.Contains(out, crawl+" ") || !strings.Contains(out, "and 1 deleted (--all shows them)") {
		t.Errorf("crawl list:\n%s", out)
	}
	if out := r.mustRun("crawl", "list", "--all"); !strings.Contains(out, crawl+" ") || !strings.Contains(out, "deleted") {
		t.Errorf("crawl list --all:\n%s", out)
	}
	if out := r.mustRun("crawl", "status"); strings.Contains(out, crawl+" ") {
		t.Errorf("crawl status:\n%s", out)
	}
	file := filepath.Join(r.dir, crawl+".yaml")
	r.fails(t, cli.ExitFailure, []string{"crawl", "start", file}, "exists already", "choose another")
}

// deletesGuides deletes a crawl that made guides of its pages, and checks that these are deleted, and that a
// guide of the same name with which it began remains.
func (r *rig) deletesGuides(crawl string) {
	r.t.Helper()
	ctl, err := r.books.Control(crawl)
	if err != nil {
		r.t.Fatal(err)
	}
	name, last, _ := strings.Cut(ctl.GetPolicies()[0].GetGuide(), "/")
	dir := filepath.Join(r.cfg.Data, "local/s3/objects", r.cfg.S3.Bucket, schemas.ModelObject("guide", name))
	before, err := os.ReadDir(dir)
	if err != nil || len(before) < 3 {
		r.t.Fatalf("%d guides are called %s: %v", len(before), name, err)
	}
	var d operate.Deletion
	if err := json.Unmarshal([]byte(r.mustRun("--json", "crawl", "delete", crawl)), &d); err != nil {
		r.t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(dir, last))
	after, failure := os.ReadDir(dir)
	if !os.IsNotExist(err) || failure != nil || len(after) != 1 || newestGuide(r, name) != name+"/"+after[0].Name() {
		r.t.Errorf("of %v after the crawl %v are left, the newest was %s (%v): %+v", before, after, last, errors.Join(err, failure), d)
	}
}

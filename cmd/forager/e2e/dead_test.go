package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/cmd/forager/demo"
	"forager/cmd/internal/cli"
	"forager/internal/operate"
	"forager/internal/stream"
	"forager/schemas"
)

// testDead lists the letters of the garbage on page.fetched, then removes a page while parse-dom reads it, and replays the request.
func (r *rig) testDead(t *testing.T, g *demo.Environment) {
	garbled := r.deadLetters(t, "--crawl", "garbled")
	nobodys := r.deadLetters(t, "--stage", "parse-dom")
	if len(garbled) == 0 || len(nobodys) < 2 {
		t.Fatalf("dead list: %v, %v", garbled, nobodys)
	}
	lost := nobodys[0]
	if lost.Crawl != "" {
		lost = nobodys[1]
	}
	if out := r.mustRun("dead", "list", "--limit", "1"); !strings.Contains(out, "older ones") {
		t.Errorf("dead list --limit:\n%s", out)
	}
	out := r.mustRun("dead", "show", fmt.Sprint(garbled[0].Number))
	for _, want := range []string{"ff ff ff", "the bytes are no record of page.fetched", "crawl: garbled"} {
		if !strings.Contains(out, want) {
			t.Errorf("dead show lacks %q:\n%s", want, out)
		}
	}
	if out := r.mustRun("dead", "show", "--raw", fmt.Sprint(garbled[0].Number)); out != "\xff\xff\xff" {
		t.Errorf("dead show --raw: %q", out)
	}
	if out := r.mustRun("--json", "dead", "show", fmt.Sprint(lost.Number)); !json.Valid([]byte(out)) || !strings.Contains(out, "no_replay") {
		t.Errorf("dead show --json:\n%s", out)
	}
	r.fails(t, cli.ExitFailure, []string{"dead", "show", "4711"}, "no dead letter 4711", "forager dead list")
	r.fails(t, cli.ExitUsage, []string{"dead", "replay"}, "give numbers")
	r.fails(t, cli.ExitUsage, []string{"dead", "replay", "1", "--crawl", "garbled"}, "give numbers")
	r.fails(t, cli.ExitFailure, []string{"dead", "replay", "--crawl", "nothing"}, `no crawl "nothing"`)

	failed := r.losePage(t, g)
	if out := r.mustRun("dead", "show", fmt.Sprint(failed.Number)); !strings.Contains(out, fmt.Sprintf("forager dead replay %d", failed.Number)) || !strings.Contains(out, `"outcome"`) {
		t.Errorf("dead show:\n%s", out)
	}
	r.fails(t, cli.ExitFailure, []string{"dead", "replay", fmt.Sprint(failed.Number), fmt.Sprint(lost.Number)},
		fmt.Sprintf("letter %d: it is about no request", lost.Number), "nothing was sent")
	open := r.gate(100)
	if out := r.mustRun("dead", "replay", "--crawl", "lost"); out != "1 requests are to be tried again\n" {
		t.Errorf("dead replay: %s", out)
	}
	r.until("lost", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 0 })
	if out := r.mustRun("dead", "replay", fmt.Sprint(failed.Number)); !strings.Contains(out, "0 requests") || !strings.Contains(out, "1 have been tried again since") {
		t.Errorf("dead replay again: %s", out)
	}
	open()
	st := r.until("lost", "finished", time.Minute, finished)
	if st.GetOutcomes()["failed:parse-dom"] != 1 || st.GetPages() != 600 {
		t.Errorf("%d pages, outcomes %v", st.GetPages(), st.GetOutcomes())
	}
	r.fails(t, cli.ExitFailure, []string{"dead", "replay", fmt.Sprint(failed.Number)}, "pages budget spent")
	r.verified("lost")
}

func (r *rig) deadLetters(t *testing.T, args ...string) (list []operate.Letter) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.mustRun(append([]string{"--json", "dead", "list"}, args...)...)), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// losePage removes the segment of a crawl's only page until parse-dom has failed the page, and returns the letter.
func (r *rig) losePage(t *testing.T, g *demo.Environment) operate.Letter {
	if _, err := r.stack.Processes.Stop(r.s, []string{"parse-dom-0"}, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	r.mustRun("crawl", "start", r.file("lost.yaml", strings.Replace(crawlFile("lost", "sim", g.Topic, g.Seeds[0]), "pages: 60", "pages: 600", 1)))
	var object string
	wait(t, "the page", func() bool {
		r.all(t, schemas.TopicPageFetched, func(rec stream.Record) {
			m := new(schemas.PageFetched)
			if rec.Headers[schemas.HeaderCrawl] == "lost" && proto.Unmarshal(rec.Value, m) == nil {
				object = m.GetObject()
			}
		})
		return object != ""
	})
	path := filepath.Join(r.cfg.Data, "local/s3/objects", r.cfg.S3.Bucket, object)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	r.start([]string{"parse-dom"})
	st := r.until("lost", "finished without its page", 60*time.Second, finished)
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	list := r.deadLetters(t, "--crawl", "lost")
	if st.GetOutcomes()["failed:parse-dom"] != 1 || len(list) != 1 || list[0].URL == "" || list[0].Stage != "parse-dom" {
		t.Fatalf("letters %v, status %v", list, st)
	}
	return list[0]
}

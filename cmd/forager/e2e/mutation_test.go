package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/cmd/internal/cli"
	"forager/internal/audit"
	"forager/internal/audit/audittest"
	"forager/internal/platform/analytics"
	"forager/internal/stream"
	"forager/internal/stream/streamtest"
	"forager/internal/web/scope"
	"forager/schemas"
)

// copyOf returns evidence that can be altered.
func copyOf(e *audittest.Evidence) *audittest.Evidence {
	c := *e
	c.Control = proto.Clone(e.Control).(*schemas.CrawlControl)
	c.Statuses = clones(e.Statuses)
	c.Topics = slices.Clone(e.Topics)
	c.Requests, c.Fetched, c.Judged = clones(e.Requests), clones(e.Fetched), clones(e.Judged)
	c.Verdicts, c.Leaps = clones(e.Verdicts), clones(e.Leaps)
	c.Pages = make(map[schemas.ID]audit.StoredPage)
	for id, p := range e.Pages {
		c.Pages[id] = p
	}
	c.Tables = make(audittest.Tables)
	for table, rows := range e.Tables {
		for _, row := range rows {
			c.Tables[table] = append(c.Tables[table], append([]string(nil), row...))
		}
	}
	return &c
}

func clones[M proto.Message](all []M) []M {
	out := make([]M, len(all))
	for i, m := range all {
		out[i] = proto.Clone(m).(M)
	}
	return out
}

// delivered returns a verdict on a delivered page that has links.
func delivered(t *testing.T, e *audittest.Evidence) int {
	t.Helper()
	for i, v := range e.Verdicts {
		if v.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED && len(v.GetLinks()) > 0 {
			return i
		}
	}
	t.Fatal("no page was delivered")
	return 0
}

// leap returns a leap that is no boundary and whose target was delivered.
func leap(t *testing.T, e *audittest.Evidence) int {
	t.Helper()
	for i, l := range e.Leaps {
		if !l.GetBoundary() && l.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
			return i
		}
	}
	t.Fatal("no leap was settled")
	return 0
}

// forwardLeap returns a leap whose target was dispatched when its link was known, and was delivered without a redirect.
func forwardLeap(t *testing.T, e *audittest.Evidence) int {
	t.Helper()
	for i, l := range e.Leaps {
		if l.GetForward() && l.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED &&
			schemas.RequestID(l.GetCrawl(), l.GetV(), 1) == schemas.ID(l.GetRequest()) {
			return i
		}
	}
	t.Fatal("no leap is forward")
	return 0
}

func without[M any](all []M, i int) []M { return append(append([]M(nil), all[:i]...), all[i+1:]...) }

// auditMutations alters the evidence of a sound crawl, one thing at a time, and checks that each alteration is named.
func auditMutations(t *testing.T, e *audittest.Evidence) {
	if r := judged(t, e); !r.OK {
		t.Fatalf("the crawl is not sound: %v", r.Problems)
	}
	for name, m := range map[string]struct {
		alter func(t *testing.T, e *audittest.Evidence) // the alteration
		want  string                                    // part of a problem that names it
	}{
		"verdict dropped":   {func(t *testing.T, e *audittest.Evidence) { e.Verdicts = without(e.Verdicts, delivered(t, e)) }, "has no verdict in link.found"},
		"fetch dropped":     {func(_ *testing.T, e *audittest.Evidence) { e.Fetched = without(e.Fetched, 0) }, "no record in page.fetched"},
		"judgement dropped": {func(_ *testing.T, e *audittest.Evidence) { e.Judged = without(e.Judged, 0) }, "no record in page.judged"},
		"request dropped":   {func(_ *testing.T, e *audittest.Evidence) { e.Requests = without(e.Requests, 0) }, "answers no request"},
		"leap dropped":      {func(t *testing.T, e *audittest.Evidence) { e.Leaps = without(e.Leaps, leap(t, e)) }, "was never settled, though the target is final"},
		"forward leap dropped": {func(t *testing.T, e *audittest.Evidence) {
			e.Control.Learning.Pairs = schemas.Pairs_PAIRS_FORWARD
			e.Leaps = without(e.Leaps, forwardLeap(t, e))
		}, "was never settled, though the target is final"},
		"dispatched twice": {func(_ *testing.T, e *audittest.Evidence) {
			again := proto.Clone(e.Requests[0]).(*schemas.FetchRequest)
			again.Epoch++
			e.Requests = append(e.Requests, again)
		}, "is there twice and the two differ"},
		"attempt skipped": {func(_ *testing.T, e *audittest.Evidence) { e.Requests[0].Attempt = 3 }, "should have the id"},
		"outcome altered": {func(t *testing.T, e *audittest.Evidence) {
			e.Verdicts[delivered(t, e)].Outcome = schemas.Outcome_OUTCOME_TIMEOUT
		}, "is delivered in page.fetched"},
		"relevance altered": {func(t *testing.T, e *audittest.Evidence) { e.Verdicts[delivered(t, e)].Judgement.Raw += 1e-9 }, "is not that of page.judged"},
		"status altered":    {func(_ *testing.T, e *audittest.Evidence) { e.Fetched[0].Status++ }, "status or redirect"},
		"R(v) altered":      {func(t *testing.T, e *audittest.Evidence) { e.Leaps[leap(t, e)].TargetRaw += 1e-9 }, "has R(v)"},
		"R(u) altered":      {func(t *testing.T, e *audittest.Evidence) { e.Leaps[leap(t, e)].SourceRaw += 1e-9 }, "has R(u)"},
		"score altered":     {func(t *testing.T, e *audittest.Evidence) { e.Leaps[leap(t, e)].Score += 1e-9 }, ", the dispatch "},
		"leap invented": {func(t *testing.T, e *audittest.Evidence) {
			l := e.Leaps[leap(t, e)]
			l.V = "http://nowhere.example/"
			l.Id = schemas.LeapID(l.Crawl, l.U, l.V).Bytes()
		}, "is no link of a delivered page"},
		"page lost": {func(_ *testing.T, e *audittest.Evidence) {
			for id := range e.Pages {
				delete(e.Pages, id)
				return
			}
		}, "the store does not have it"},
		"digest altered": {func(_ *testing.T, e *audittest.Evidence) {
			for id, p := range e.Pages {
				p.Digest = "sha1:AAAA"
				e.Pages[id] = p
				return
			}
		}, "the stored bytes have digest"},
		"page budget exceeded":    {func(_ *testing.T, e *audittest.Evidence) { e.Control.Budget.Pages-- }, "pages were delivered, the budget is"},
		"request budget exceeded": {func(_ *testing.T, e *audittest.Evidence) { e.Control.Budget.Requests = 10 }, "requests were charged, the budget is 10"},
		"host cap exceeded": {func(_ *testing.T, e *audittest.Evidence) {
			e.Control.Scope.HostCap = 1
		}, "its cap is 1"},
		"window exceeded": {func(_ *testing.T, e *audittest.Evidence) { e.Control.Window = 1 }, "requests were in flight, the window is 1"},
		"host's window exceeded": {func(_ *testing.T, e *audittest.Evidence) {
			e.Control.HostWindow = 1
		}, "the host's window is 1"},
		"chosen earlier": {func(_ *testing.T, e *audittest.Evidence) { lastOf(e.Requests).Clock = 1 }, "was chosen after 1 records"},
		"chosen later":   {func(_ *testing.T, e *audittest.Evidence) { lastOf(e.Requests).Clock = 1 << 20 }, "was chosen after 1048576 records"},
		"dispatched out of order": {func(_ *testing.T, e *audittest.Evidence) {
			e.Requests[0].Ordinal = e.Requests[1].Ordinal
		}, "are both dispatch"},
		"outside of the scope": {func(t *testing.T, e *audittest.Evidence) {
			var err error
			if e.Scope, err = scope.New(&schemas.Scope{Hosts: []string{"elsewhere.example"}}, nil); err != nil {
				t.Fatal(err)
			}
		}, "which the scope refuses: scope:hosts"},
		"span miscounts": {func(_ *testing.T, e *audittest.Evidence) {
			e.Statuses[0].Spans[schemas.TopicPageParsed].Count++
		}, "page.parsed has"},
		"span of other ids": {func(_ *testing.T, e *audittest.Evidence) {
			e.Statuses[0].Spans[schemas.TopicPageFetched].Xor[15]++
		}, "page.fetched has"},
		"books miscount": {func(_ *testing.T, e *audittest.Evidence) {
			for _, row := range e.Tables["books"] {
				row[1] = "7"
			}
		}, "ClickHouse has 7 records"},
		"status miscounts": {func(_ *testing.T, e *audittest.Evidence) { e.Statuses[0].Pages++ }, "a recount gives"},
		"row deleted":      {func(_ *testing.T, e *audittest.Evidence) { e.Tables["leaps"] = without(e.Tables["leaps"], 0) }, "leaps lacks the row"},
		"row doubled": {func(_ *testing.T, e *audittest.Evidence) {
			e.Tables["links"] = append(e.Tables["links"], e.Tables["links"][0])
		}, "links has the row"},
		"row altered": {func(_ *testing.T, e *audittest.Evidence) { e.Tables["judgements"][0][2] += "1" }, "judgements row"},
		"row invented": {func(_ *testing.T, e *audittest.Evidence) {
			e.Tables["fetches"] = append(e.Tables["fetches"], append([]string{strings.Repeat("0", 32)}, e.Tables["fetches"][0][1:]...))
		}, "for which there is no record"},
	} {
		t.Run(name, func(t *testing.T) {
			c := copyOf(e)
			m.alter(t, c)
			r := judged(t, c)
			if r.OK || !strings.Contains(strings.Join(r.Problems, "\n"), m.want) {
				t.Errorf("no %q among %d problems: %v", m.want, len(r.Problems), r.Problems)
			}
		})
	}
	t.Run("copies are no difference", func(t *testing.T) {
		c := copyOf(e)
		c.Requests = append(c.Requests, c.Requests[0])
		c.Verdicts = append(c.Verdicts, c.Verdicts[0])
		c.Leaps = append(c.Leaps, c.Leaps[0])
		if r := judged(t, c); !r.OK {
			t.Errorf("problems: %v", r.Problems)
		}
	})
}

// lastOf returns the dispatch that was chosen last.
func lastOf(all []*schemas.FetchRequest) *schemas.FetchRequest {
	return slices.MaxFunc(all, func(a, b *schemas.FetchRequest) int { return cmp.Compare(a.GetOrdinal(), b.GetOrdinal()) })
}

// forget simulates retention: it deletes all records of a topic.
func (r *rig) forget(topics ...string) {
	r.t.Helper()
	login, err := r.cfg.Kafka.Login()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, topic := range topics {
		for p := range r.cfg.Topics[topic].Partitions {
			_, end, err := r.books.Client.Offsets(r.s, topic, p)
			if err != nil {
				r.t.Fatal(err)
			}
			streamtest.DeleteBelow(r.t, r.cfg.Kafka.Brokers[0], topic, p, end, login.User, login.Password)
		}
	}
}

// retention removes the records of one topic after another, and checks that verify compares counts, and names
// what it can no longer check.
func (r *rig) retention(crawl string) {
	t := r.t
	t.Helper()
	r.forget(schemas.TopicPageFetched, schemas.TopicPageParsed)
	out := r.mustRun("verify", crawl)
	for _, want := range []string{
		"fetch.requested  checked by its records", "page.fetched     checked by count and XOR of the ids: partition",
		"page.parsed      checked by count and XOR", "page.judged      checked by its records", "everything agrees",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	r.forget(schemas.TopicPageJudged, schemas.TopicLinkFound, schemas.TopicLeapSettled, schemas.TopicFetchRequested)
	if out := r.mustRun("verify", crawl); strings.Contains(out, "checked by its records") {
		t.Errorf("some topic was checked by records that are gone:\n%s", out)
	}
	db, err := analytics.Open(r.cfg.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Exec(r.s, `INSERT INTO judgements_rows SELECT * REPLACE(map('near/1', 'timeout') AS silent, precedence + 1 AS precedence) FROM judgements_rows
		WHERE crawl = {crawl:String} AND outcome = 'delivered' ORDER BY id LIMIT 5`, analytics.Params{"crawl": crawl})
	if err != nil {
		t.Fatal(err)
	}
	if out := r.mustRun("report", crawl); !strings.Contains(out, "near/1 did not answer about 5 pages: timeout") {
		t.Errorf("report of a guide that did not answer:\n%s", out)
	}
	for _, c := range []struct{ what, do, want string }{
		{"a row too many", "INSERT INTO fetches_rows SELECT * REPLACE (unhex('000102030405060708090a0b0c0d0e0f') AS id) FROM fetches_rows WHERE crawl = {crawl:String} LIMIT 1", "page.fetched: ClickHouse has"},
		{"a row deleted", "ALTER TABLE leaps_rows DELETE WHERE crawl = {crawl:String} AND id IN (SELECT min(id) FROM leaps_rows WHERE crawl = {crawl:String}) SETTINGS mutations_sync = 2", "leap.settled: ClickHouse has"},
		{"a judgement deleted", "ALTER TABLE judgements_rows DELETE WHERE crawl = {crawl:String} AND id IN (SELECT min(id) FROM judgements_rows WHERE crawl = {crawl:String}) SETTINGS mutations_sync = 2", "page.judged: ClickHouse has"},
	} {
		if err := db.Exec(r.s, c.do, analytics.Params{"crawl": crawl}); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if out, stderr, code := r.run("verify", crawl); code != cli.ExitFailure || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d, no %q in\n%s%s", c.what, code, c.want, out, stderr)
		}
	}
}

// garbage writes undecodable records after those of a crawl, with their headers: copies, of which the first counts, and letters.
func (r *rig) garbage(e *audittest.Evidence) {
	r.t.Helper()
	id := e.Requests[0]
	var outs []stream.Out
	for topic, key := range map[string]string{
		schemas.TopicPageFetched: id.GetHost(), schemas.TopicPageParsed: string(id.GetId()), schemas.TopicPageJudged: string(id.GetId()),
		schemas.TopicLinkFound: schemas.ShardKey(id.GetCrawl(), id.GetShard()),
	} {
		outs = append(outs, stream.Out{Topic: topic, Partition: -1, Key: []byte(key), Value: []byte("\xffgarbage"), Headers: schemas.RequestHeaders(id)})
	}
	if _, err := r.books.Client.Produce(r.s, outs); err != nil {
		r.t.Fatal(err)
	}
	r.verified(id.GetCrawl())
	if out := r.mustRun("query", "SELECT count() FROM letters WHERE crawl = '"+id.GetCrawl()+"' AND stage != 'load-clickhouse'"); !strings.Contains(out, "4") {
		r.t.Errorf("letters: %s", out)
	}
}

// damage damages the store and ClickHouse, and checks that verify names it.
func (r *rig) damage(crawl string) {
	t := r.t
	t.Helper()
	wantProblem := func(what, want string) {
		t.Helper()
		out, stderr, code := r.run("verify", crawl)
		if code != cli.ExitFailure || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, no %q in\n%s%s", what, code, want, out, stderr)
		}
	}
	segments, err := filepath.Glob(filepath.Join(r.cfg.Data, "local/s3/objects", r.cfg.S3.Bucket, "segments/*/*.warc.gz"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("no segments below %s (%v)", r.cfg.Data, err)
	}
	whole, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(segments[0], whole[:len(whole)-40], 0o644); err != nil {
		t.Fatal(err)
	}
	wantProblem("a WARC member was cut", filepath.Base(segments[0]))
	if err := os.WriteFile(segments[0], whole, 0o644); err != nil {
		t.Fatal(err)
	}
	db, err := analytics.Open(r.cfg.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// A row of a verdict on a page, removed permanently.
	var id string
	err = db.Each(r.s, "SELECT id FROM verdicts WHERE crawl = {crawl:String} AND outcome = 'delivered' LIMIT 1",
		analytics.Params{"crawl": crawl}, func(row []any) error { id = row[0].(string); return nil })
	if err != nil {
		t.Fatal(err)
	}
	err = db.Exec(r.s, "ALTER TABLE verdicts_rows DELETE WHERE crawl = {crawl:String} AND id = unhex({id:String}) SETTINGS mutations_sync = 2",
		analytics.Params{"crawl": crawl, "id": id})
	if err != nil {
		t.Fatal(err)
	}
	wantProblem("a row was deleted", "found lacks the row "+id)
	r.reloads(crawl, db)
}

// reloads empties a part of a table, as a full disk does, and checks that it is reported, and that all rows are
// there again after the topics were loaded again.
func (r *rig) reloads(crawl string, db *analytics.DB) {
	t := r.t
	t.Helper()
	if err := db.Exec(r.s, "ALTER TABLE links_rows MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1", nil); err != nil {
		t.Fatal(err)
	}
	wait(t, "no merge that began before is under way", func() bool {
		rows, err := db.Query(r.s, "SELECT count() FROM system.merges WHERE table = 'links_rows'", nil)
		return err == nil && fmt.Sprint(rows.Rows) == "[[0]]"
	})
	var paths []string // of the largest part, and of its source parts
	err := db.Each(r.s, "SELECT path FROM system.parts WHERE table = 'links_rows' ORDER BY active DESC, rows DESC", nil, func(row []any) error {
		paths = append(paths, row[0].(string))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	path := paths[0]
	if err := os.Truncate(filepath.Join(path, "checksums.txt"), 0); err != nil {
		t.Fatal(err)
	}
	part := "part " + filepath.Base(path) + " of links_rows"
	told := func(args string, want ...string) {
		t.Helper()
		out, stderr, code := r.run(strings.Fields(args)...)
		for _, w := range want {
			if code != cli.ExitFailure || !strings.Contains(out+stderr, w) {
				t.Errorf("forager %s: exit %d, no %q in\n%s%s", args, code, w, out, stderr)
			}
		}
	}
	told("doctor --tables", part+" is broken", "forager down")
	told("reload", "load-clickhouse runs")
	if _, err := r.stack.Stop(r.s, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	for _, p := range paths[1:] {
		if err := os.RemoveAll(p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.stack.StartParts(r.s, time.Minute); err != nil {
		t.Fatal(err)
	}
	told("doctor", "_"+filepath.Base(path)+" of links_rows was broken and is set aside; its rows are missing", "forager reload", "DROP DETACHED PART")
	told("verify "+crawl, "links lacks the row", "broken parts of links_rows, forager doctor")
	if out := r.mustRun("reload"); !strings.Contains(out, "load-clickhouse will read ") {
		t.Errorf("reload: %s", out)
	}
	r.start(cli.StageNames)
	r.verified(crawl)
}

// leaseMutations alters the notes between the shards of a crawl about the window.
func (r *rig) leaseMutations(crawl string) {
	t := r.t.(*testing.T)
	e := r.evidence(crawl)
	for name, m := range map[string]struct {
		alter func(n *schemas.ShardNote)
		want  string
	}{
		"lease lowered": {func(n *schemas.ShardNote) {
			if n.GetLease() != nil {
				n.Lease.Window = 0
			}
		}, "its share of the window is 0"},
		"more held": {func(n *schemas.ShardNote) {
			if n.GetReport() != nil {
				n.Report.InFlight += 1000
			}
		}, "the shards might have"},
	} {
		c := copyOf(e)
		for _, v := range c.Verdicts {
			m.alter(v.GetNote())
		}
		if r := judged(t, c); r.OK || !strings.Contains(strings.Join(r.Problems, "\n"), m.want) {
			t.Errorf("%s: no %q among %d problems: %v", name, m.want, len(r.Problems), r.Problems)
		}
	}
	if r := judged(t, e); !r.OK {
		t.Errorf("unaltered: %v", r.Problems)
	}
}

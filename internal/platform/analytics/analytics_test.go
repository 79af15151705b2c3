package analytics_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"forager/infra/local/clickhouse"
	"forager/internal/platform/analytics"
	"forager/internal/platform/freeport"
	"forager/internal/platform/pipeline"
	tables "forager/schemas/clickhouse"
)

// server is a ClickHouse for one test.
func server(t *testing.T) *clickhouse.Server {
	t.Helper()
	s, err := clickhouse.Start(t.Context(), t.TempDir(), "127.0.0.1:0", clickhouse.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func open(t *testing.T, cfg pipeline.ClickHouse) *analytics.DB {
	t.Helper()
	if cfg.Database == "" {
		cfg.Database = "forager"
	}
	cfg.User = "default"
	d, err := analytics.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func migrated(t *testing.T) *analytics.DB {
	t.Helper()
	d := open(t, pipeline.ClickHouse{URL: server(t).URL()})
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

func query(t *testing.T, d *analytics.DB, sql string, params analytics.Params) *analytics.Table {
	t.Helper()
	r, err := d.Query(t.Context(), sql, params)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return r
}

func TestMigrate(t *testing.T) {
	s := server(t)
	d := open(t, pipeline.ClickHouse{URL: s.URL(), Database: "odd `name"})
	if err := d.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "forager setup") || analytics.Unavailable(err) {
		t.Errorf("before: %v", err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := d.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := d.Check(t.Context()); err != nil {
		t.Errorf("after: %v", err)
	}
	// Views of another form are created again, and other tables reported.
	exec := func(statement string) {
		t.Helper()
		if err := d.Exec(t.Context(), statement, nil); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO migrations (file, digest) SELECT 'views.sql', 'other'")
	if err := d.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "forager setup") {
		t.Errorf("other views: %v", err)
	}
	if err := d.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
	if err := d.Check(t.Context()); err != nil {
		t.Errorf("views created again: %v", err)
	}
	for _, change := range []string{"ADD COLUMN added UInt8", "DROP COLUMN added, MODIFY COLUMN status UInt64"} {
		exec("ALTER TABLE fetches_rows " + change)
		for what, f := range map[string]func(context.Context) error{"check": d.Check, "migrate": d.Migrate} {
			if err := f(t.Context()); err == nil || !strings.Contains(err.Error(), "another version of Forager (fetches_rows.") {
				t.Errorf("%s of other tables: %v", what, err)
			}
		}
	}
}

// TestMigrateFromVersion1 begins with the tables of the first version, of which one lacks columns that came later.
func TestMigrateFromVersion1(t *testing.T) {
	b, err := os.ReadFile("../../../schemas/clickhouse/testdata/001_tables.sql")
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, pipeline.ClickHouse{URL: server(t).URL(), Database: "default"})
	statements := strings.SplitAfter(string(b), ";\n")
	for _, statement := range append(statements,
		"CREATE TABLE migrations (file String, digest String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3)) ENGINE = ReplacingMergeTree(applied_at) ORDER BY file;",
		"INSERT INTO migrations (file, digest) VALUES ('001_tables.sql', 'of its statements'), ('views.sql', 'of views without the new columns');",
		"ALTER TABLE fetches_rows DROP COLUMN host, DROP COLUMN truncated;",
		"INSERT INTO fetches_rows (crawl, id, url, status) VALUES ('c', 'aaaaaaaaaaaaaaaa', 'http://a/', 200);") {
		if statement, ok := strings.CutSuffix(strings.TrimSpace(statement), ";"); ok {
			if err := d.Exec(t.Context(), statement, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := d.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "_rows is not applied") {
		t.Errorf("before: %v", err)
	}
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Check(t.Context()); err != nil {
		t.Errorf("after: %v", err)
	}
	insert(t, d, analytics.Fetch{Crawl: "c", ID: id('b'), URL: "http://b/", Host: "b", Truncated: true})
	if got := fmt.Sprint(query(t, d, "SELECT url, host, status, truncated FROM fetches ORDER BY url", nil).Rows); got != "[[http://a/  200 false] [http://b/ b 0 true]]" {
		t.Errorf("rows %s", got)
	}
	var want, got []string
	for _, table := range tables.Tables() {
		for _, c := range table.Columns {
			want = append(want, table.Name+" "+c.Name+" "+c.Type)
		}
	}
	for _, row := range query(t, d, "SELECT table, name, type FROM system.columns WHERE database = 'default' AND table LIKE '%_rows' AND table != 'sums_rows' ORDER BY table, position", nil).Rows {
		got = append(got, fmt.Sprint(row[0], " ", row[1], " ", row[2]))
	}
	slices.SortStableFunc(want, func(a, b string) int { return strings.Compare(strings.Fields(a)[0], strings.Fields(b)[0]) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns: %s", diff)
	}
}

func insert[R analytics.Row[R]](t *testing.T, d *analytics.DB, rows ...R) {
	t.Helper()
	if err := analytics.Insert(t.Context(), d, rows); err != nil {
		t.Fatal(err)
	}
}

func id(c byte) string { return strings.Repeat(string(c), 16) }

// TestRowsComeBackOnceThroughViews inserts a first record, its duplicate and one more of each.
func TestRowsComeBackOnceThroughViews(t *testing.T) {
	d := migrated(t)
	at := time.UnixMilli(1_700_000_000_123).UTC()
	first, second, other := analytics.PlaceOf(1, 5, at), analytics.PlaceOf(1, 9, at.Add(time.Second)), analytics.PlaceOf(1, 6, at)
	insert(t, d, analytics.Request{Crawl: "c", Epoch: 3, ID: id('b'), URL: "http://b/", Place: other})
	insert(t, d, analytics.Request{Crawl: "c", Epoch: 3, ID: id('a'), URL: "http://dup/", Place: second}, analytics.Request{Crawl: "c", Epoch: 3, ID: id('a'), URL: "http://a/", Place: first})
	insert(t, d, analytics.Fetch{Crawl: "c", ID: id('a'), URL: "http://a/", Outcome: "delivered", Place: first})
	insert(t, d, analytics.Fetch{Crawl: "c", ID: id('a'), URL: "http://dup/", Place: second}, analytics.Fetch{Crawl: "c", ID: id('b'), URL: "http://b/", Place: other})
	insert(t, d, analytics.Judgement{Crawl: "c", ID: id('a'), URL: "http://a/", Topics: []string{"x", "y"}, Posteriors: []float64{.5, .25}, Place: first},
		analytics.Judgement{Crawl: "c", ID: id('a'), URL: "http://dup/", Place: second}, analytics.Judgement{Crawl: "c", ID: id('b'), URL: "http://b/", Place: other})
	insert(t, d, analytics.Verdict{Crawl: "c", ID: id('a'), URL: "http://a/", Outcome: "delivered", Relevance: .75, Place: first},
		analytics.Verdict{Crawl: "c", ID: id('a'), URL: "http://dup/", Place: second}, analytics.Verdict{Crawl: "c", ID: id('b'), URL: "http://b/", Place: other},
		analytics.Verdict{Crawl: "c", ID: id('s'), Outcome: "seeds", Place: other})
	insert(t, d, analytics.Link{Crawl: "c", U: "http://a/", ID: id('a'), V: "http://v/", Request: id('a'), Place: first},
		analytics.Link{Crawl: "c", U: "http://a/", ID: id('a'), V: "http://dup/", Request: id('a'), Place: second}, analytics.Link{Crawl: "c", U: "", ID: id('b'), Request: id('b'), V: "http://b/", Place: other})
	insert(t, d, analytics.Leap{Crawl: "c", ID: id('a'), V: "http://v/", Request: id('a'), Terms: []string{"t", "u"}, Offsets: []int16{-1, 127}, Counts: []uint32{1, 2}, Place: first},
		analytics.Leap{Crawl: "c", ID: id('a'), V: "http://dup/", Request: id('a'), Place: second}, analytics.Leap{Crawl: "c", ID: id('b'), Request: id('b'), V: "http://b/", Place: other},
		analytics.Leap{Crawl: "c", ID: id('z'), Request: id('\x00'), Boundary: true, Pages: 30, Place: other})
	insert(t, d, analytics.Model{Crawl: "c", Kind: "apprentice", Model: "c/30-a", Measures: map[string]float64{"cut": .5}, Place: first},
		analytics.Model{Crawl: "c", Kind: "apprentice", Model: "c/30-a", Place: second}, analytics.Model{Crawl: "c", Kind: "apprentice", Model: "c/60-b", Place: other})
	insert(t, d, analytics.Control{Crawl: "c", Revision: 1, State: "running", Place: first}, analytics.Control{Crawl: "c", Revision: 1, Place: second}, analytics.Control{Crawl: "c", Revision: 2, Place: other})
	insert(t, d, analytics.Status{Crawl: "c", At: at, State: "running", Outcomes: map[string]uint64{"delivered": 3}, Place: first}, analytics.Status{Crawl: "c", At: at, Place: second}, analytics.Status{Crawl: "c", At: at.Add(1e9), Place: other})
	insert(t, d, analytics.Letter{Stage: "s", OfOffset: 1, Error: "e", Place: first}, analytics.Letter{Stage: "s", OfOffset: 1, Place: second}, analytics.Letter{Stage: "s", OfOffset: 2, Place: other})
	insert(t, d, analytics.Marker{Owner: 1, Epoch: 4, Place: analytics.PlaceOf(1, 50, at)})
	for _, c := range []struct {
		sql  string
		want string
	}{
		{"SELECT id, url, offset, partition, recorded_at FROM requests ORDER BY id", "[[61616161616161616161616161616161 http://a/ 5 1 2023-11-14 22:13:20.123 +0000 UTC] [62626262626262626262626262626262 http://b/ 6 1 2023-11-14 22:13:20.123 +0000 UTC]]"},
		{"SELECT url, outcome, offset FROM fetches ORDER BY url", "[[http://a/ delivered 5] [http://b/  6]]"},
		{"SELECT url, topics, posteriors FROM judgements ORDER BY url", "[[http://a/ [x y] [0.5 0.25]] [http://b/ [] []]]"},
		{"SELECT url, relevance FROM verdicts ORDER BY url", "[[http://a/ 0.75] [http://b/ 0]]"},
		{"SELECT u, v, request FROM links ORDER BY v", "[[ http://b/ 62626262626262626262626262626262] [http://a/ http://v/ 61616161616161616161616161616161]]"},
		{"SELECT v, terms, offsets, counts FROM leaps ORDER BY v", "[[http://b/ [] [] []] [http://v/ [t u] [-1 127] [1 2]]]"},
		{"SELECT pages FROM boundaries", "[[30]]"},
		{"SELECT model, measures FROM models ORDER BY model", "[[c/30-a map[cut:0.5]] [c/60-b map[]]]"},
		{"SELECT revision, state FROM controls ORDER BY revision", "[[1 running] [2 ]]"},
		{"SELECT state, outcomes FROM statuses ORDER BY at", "[[running map[delivered:3]] [ map[]]]"},
		{"SELECT of_offset, error FROM letters ORDER BY of_offset", "[[1 e] [2 ]]"},
		{"SELECT url, outcome, fetch_outcome, relevance, topics, applied FROM pages ORDER BY url", "[[http://a/ delivered delivered 0.75 [x y] 5] [http://b/   0 [] 6]]"},
	} {
		if got := fmt.Sprint(query(t, d, c.sql, nil).Rows); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.sql, got, c.want)
		}
	}
}

// TestVoidRequestsAreLeftOut lets an owner write after the marker of its successor.
func TestVoidRequestsAreLeftOut(t *testing.T) {
	d := migrated(t)
	request := func(epoch uint64, c byte, url string, partition int, offset int64) analytics.Request {
		return analytics.Request{Crawl: "c", Epoch: epoch, ID: id(c), URL: url, Owner: 2, Place: analytics.PlaceOf(partition, offset, time.UnixMilli(0))}
	}
	insert(t, d,
		request(3, 'a', "before the marker", 0, 10),
		request(3, 'b', "void, and again by the successor", 0, 21),
		request(8, 'b', "by the successor", 0, 22),
		request(3, 'c', "void", 0, 23),
		request(3, 'd', "in a partition without a marker", 1, 99),
		request(9, 'e', "of a later epoch", 0, 24),
		request(3, 'f', "before the marker, and again", 0, 11), request(8, 'f', "twice, by two owners", 0, 25),
	)
	insert(t, d, analytics.Marker{Owner: 2, Epoch: 8, Place: analytics.PlaceOf(0, 20, time.UnixMilli(0))},
		analytics.Marker{Owner: 2, Epoch: 8, Place: analytics.PlaceOf(0, 26, time.UnixMilli(0))}, // it came twice
		analytics.Marker{Owner: 1, Epoch: 99, Place: analytics.PlaceOf(0, 1, time.UnixMilli(0))})
	got := fmt.Sprint(query(t, d, "SELECT url, epoch FROM requests ORDER BY id", nil).Rows)
	want := "[[before the marker 3] [by the successor 8] [in a partition without a marker 3] [of a later epoch 9] [before the marker, and again 3]]"
	if got != want {
		t.Errorf("requests\n got %s\nwant %s", got, want)
	}
}

// TestOneCrawlIsReadAlone: the crawl's name reaches the primary keys through the views.
func TestOneCrawlIsReadAlone(t *testing.T) {
	d := migrated(t)
	place := analytics.PlaceOf(0, 0, time.UnixMilli(0))
	for _, crawl := range []string{"a", "b"} {
		insert(t, d, analytics.Request{Crawl: crawl, ID: id('a'), Place: place})
		insert(t, d, analytics.Fetch{Crawl: crawl, ID: id('a'), Place: place})
		insert(t, d, analytics.Judgement{Crawl: crawl, ID: id('a'), Place: place})
		insert(t, d, analytics.Verdict{Crawl: crawl, ID: id('a'), Place: place})
		insert(t, d, analytics.Link{Crawl: crawl, ID: id('a'), Request: id('a'), Place: place})
		insert(t, d, analytics.Leap{Crawl: crawl, ID: id('a'), Request: id('a'), Place: place})
	}
	for view, reads := range map[string]int{"requests": 1, "fetches": 1, "judgements": 1, "verdicts": 1, "links": 1, "leaps": 1, "pages": 4} {
		var plan strings.Builder
		for _, row := range query(t, d, "EXPLAIN indexes = 1 SELECT * FROM "+view+" WHERE crawl = {crawl:String}", analytics.Params{"crawl": "a"}).Rows {
			fmt.Fprintln(&plan, row[0])
		}
		if n := strings.Count(plan.String(), "(crawl in ['a', 'a'])"); n != reads {
			t.Errorf("%s: %d of %d tables are read by crawl:\n%s", view, n, reads, &plan)
		}
	}
}

// TestCurvesDoNotGrow: what a report allocates for the curve of ten times as many pages is the same.
func TestCurvesDoNotGrow(t *testing.T) {
	d := migrated(t)
	allocated := func(pages int) uint64 {
		crawl := fmt.Sprint("c", pages)
		var verdicts []analytics.Verdict
		for i := range pages {
			verdicts = append(verdicts, analytics.Verdict{
				Crawl: crawl, ID: fmt.Sprintf("%016d", i), URL: fmt.Sprint("http://h/", i), Outcome: "delivered", Relevance: float64(i%4) / 4, Place: analytics.PlaceOf(0, int64(i), time.UnixMilli(0)),
			})
		}
		insert(t, d, verdicts...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		points, err := d.Report(crawl).Curve(t.Context(), 200)
		runtime.ReadMemStats(&after)
		if last := points[len(points)-1]; err != nil || len(points) != 200 || last.Pages != uint64(pages) || last.Targets != uint64(pages/2) {
			t.Fatalf("%d points, the last is %+v: %v", len(points), last, err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(400) // the first question also makes the connection
	few, many := allocated(4_000), allocated(40_000)
	t.Logf("%d and %d bytes", few, many)
	if many > few+few/2 {
		t.Errorf("%d bytes for 4,000 pages, %d for 40,000", few, many)
	}
}

func TestQuery(t *testing.T) {
	d := migrated(t)
	r := query(t, d, "SELECT {s:String} AS s, toUInt8(1) AS n, toNullable(toInt32(2)) AS m, NULL AS nothing, [1.5] AS f, map('k', 'v') AS kv, toDateTime('2026-11-21 01:02:03', 'UTC') AS at",
		analytics.Params{"s": "tab\t'quote'"})
	if got := fmt.Sprint(r.Rows); got != "[[tab\t'quote' 1 2 <nil> [1.5] map[k:v] 2026-11-21 01:02:03 +0000 UTC]]" {
		t.Errorf("values %s", got)
	}
	if want := (analytics.Column{Name: "m", Type: "Nullable(Int32)"}); r.Columns[2] != want {
		t.Errorf("column %v, want %v", r.Columns[2], want)
	}
	if r := query(t, d, "SELECT url, relevance FROM pages", nil); len(r.Columns) != 2 || len(r.Rows) != 0 {
		t.Errorf("an empty result: %v, %v", r.Columns, r.Rows)
	}
	var out bytes.Buffer
	if err := d.Copy(t.Context(), &out, "CSVWithNames", "SELECT number AS n FROM numbers(2) WHERE n < {n:UInt8}", analytics.Params{"n": 9}); err != nil || out.String() != "\"n\"\n0\n1\n" {
		t.Errorf("CSV %q, %v", &out, err)
	}
	var last any
	err := d.Each(t.Context(), "SELECT number FROM numbers(1000000)", nil, func(row []any) error {
		if last = row[0]; last == uint64(10) {
			return errors.New("enough")
		}
		return nil
	})
	if err == nil || err.Error() != "enough" || last != uint64(10) {
		t.Errorf("it ended with %v at %v", err, last)
	}
}

func TestErrorClasses(t *testing.T) {
	d := migrated(t)
	ctx := t.Context()
	for sql, busy := range map[string]bool{
		"SELECT * FROM none": false,
		"SELEC":              false,
		"SELECT sleepEachRow(1) FROM numbers(3) SETTINGS max_block_size = 1, max_execution_time = 0.1": true,
		"SELECT groupArray(number) FROM numbers(10000000) SETTINGS max_memory_usage = 1000000":         true,
	} {
		if _, err := d.Query(ctx, sql, nil); err == nil || analytics.Unavailable(err) != busy {
			t.Errorf("%s: unavailable %t, want %t (%v)", sql, analytics.Unavailable(err), busy, err)
		} else if analytics.Away(err) {
			t.Errorf("%s: the server responded: %v", sql, err)
		}
	}
	if err := analytics.Insert(ctx, d, []analytics.Request{{ID: "longer than sixteen"}}); err == nil || analytics.Unavailable(err) {
		t.Errorf("a row that does not fit: %v", err)
	}
	if err := d.Exec(ctx, "DROP TABLE markers_rows", nil); err != nil {
		t.Fatal(err)
	}
	if err := analytics.Insert(ctx, d, []analytics.Marker{{}}); err == nil || analytics.Unavailable(err) {
		t.Errorf("a missing table: %v", err)
	}
	free, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	address := free[0]
	away := open(t, pipeline.ClickHouse{URL: "http://" + address})
	for what, f := range map[string]func(context.Context) error{"check": away.Check, "migrate": away.Migrate} {
		if err := f(ctx); !analytics.Away(err) || !strings.Contains(err.Error(), address) || strings.Contains(err.Error(), "query_id") {
			t.Errorf("%s without a server: %v", what, err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := away.Check(ended); err == nil || analytics.Unavailable(err) {
		t.Errorf("a context that ended: %v", err)
	}
	proxy := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "starting", http.StatusServiceUnavailable) })}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go proxy.Serve(l)
	defer proxy.Close()
	if err := open(t, pipeline.ClickHouse{URL: "http://" + l.Addr().String()}).Check(ctx); err == nil || !analytics.Unavailable(err) {
		t.Errorf("a proxy without a server: %v", err)
	}
	if _, err := analytics.Open(pipeline.ClickHouse{URL: "http://127.0.0.1:1", PasswordEnv: "FORAGER_TEST_NO_SUCH"}); err == nil || !strings.Contains(err.Error(), "FORAGER_TEST_NO_SUCH") {
		t.Errorf("a password that is not set: %v", err)
	}
}

func TestServerComesBack(t *testing.T) {
	dir := t.TempDir()
	free, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := clickhouse.Start(t.Context(), dir, free[0], clickhouse.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, pipeline.ClickHouse{URL: s.URL()})
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	insert(t, d, analytics.Marker{Owner: 1, Epoch: 2, Place: analytics.PlaceOf(0, 1, time.UnixMilli(0))})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := analytics.Insert(t.Context(), d, []analytics.Marker{{Owner: 1, Epoch: 3}}); err == nil || !analytics.Unavailable(err) {
		t.Errorf("while it is away: %v", err)
	}
	s, err = clickhouse.Start(t.Context(), dir, s.Address(), clickhouse.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for analytics.Insert(t.Context(), d, []analytics.Marker{{Owner: 1, Epoch: 3, Place: analytics.PlaceOf(0, 2, time.UnixMilli(0))}}) != nil {
	}
	got := query(t, d, "SELECT epoch FROM markers_rows FINAL ORDER BY epoch", nil).Rows
	if !slices.EqualFunc(got, [][]any{{uint64(2)}, {uint64(3)}}, func(a, b []any) bool { return a[0] == b[0] }) {
		t.Errorf("markers %v", got)
	}
}

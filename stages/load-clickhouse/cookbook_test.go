package main

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"math/rand/v2"

	"forager/internal/crawl/controls"
	"forager/internal/platform/analytics"
	"forager/schemas"
	tables "forager/schemas/clickhouse"
)

var update = flag.Bool("update", false, "write docs/queries.md")

// TestDocumentedQueries loads the records of two crawls, in parts and some of them twice, and compares every documented query with a
// recount of the records. docs/queries.md has its results.
func TestDocumentedQueries(t *testing.T) {
	log := &recorded{random: rand.New(rand.NewPCG(16, 4)), next: map[string]int64{}, now: 1_700_000_000_000, epoch: 1}
	retried := "http://h1.example/0"
	for i := 0; hashed("fate"+retried, 50) != 4; i++ {
		retried = fmt.Sprint("http://h1.example/", i)
	}
	log.crawl("chemistry", 1, 420, "http://h1.example/1", "http://h2.example/2", "http://h3.example/3", retried)
	log.crawl("wide", 2, 300, "http://h1.example/1", "http://h7.example/9")
	l := &loader{db: database(t), crawls: controls.New()}
	for part := range slices.Chunk(log.records, len(log.records)/5+1) {
		// A crash after an insert: the part is loaded again.
		for range 2 {
			if err := l.load(t.Context(), part); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.sum(t.Context(), make(map[string]uint64)); err != nil {
		t.Fatal(err)
	}
	c := recounted(t, log.records)
	queries := tables.Queries()
	if len(queries) != len(answers) {
		t.Errorf("%d queries, %d recounts", len(queries), len(answers))
	}
	results := make(map[string]*analytics.Table)
	for _, q := range queries {
		if answers[q.Name] == nil {
			t.Errorf("%s: there is no recount", q.Name)
			continue
		}
		if r, err := l.db.Query(t.Context(), q.SQL, analytics.Params{"crawl": "nothing"}); q.OfCrawl && (err != nil || len(r.Rows) > 0) {
			t.Errorf("%s of a crawl without records: %v, %v", q.Name, r, err)
		}
		crawls := c.crawls()
		if !q.OfCrawl {
			crawls = crawls[:1]
		}
		for _, crawl := range crawls {
			params := analytics.Params{}
			if q.OfCrawl {
				params["crawl"] = crawl
			}
			r, err := l.db.Query(t.Context(), q.SQL, params)
			if err != nil {
				t.Errorf("%s: %v", q.Name, err)
				continue
			}
			if results[q.Name] == nil {
				results[q.Name] = r
			}
			if problem := differs(r.Rows, answers[q.Name](c, crawl)); problem != "" {
				t.Errorf("%s of %s: %s", q.Name, crawl, problem)
			}
		}
	}
	sameCurves(t, l.db, c)
	if t.Failed() {
		return
	}
	rows, reads := merged(t, l.db), make(map[string]string)
	for _, q := range queries {
		params := analytics.Params{}
		if q.OfCrawl {
			params["crawl"] = c.crawls()[0]
		}
		reads[q.Name] = costOf(t, l.db, q, params, rows)
	}
	page := cookbook(queries, results, reads)
	const path = "../../docs/queries.md"
	if *update {
		if err := os.WriteFile(path, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, page) {
		t.Errorf("%s is not the generated one; write it with -update: %v", path, err)
	}
}

// sameCurves compares what reports draw with a recount.
func sameCurves(t *testing.T, db *analytics.DB, c *recount) {
	for _, crawl := range c.crawls() {
		points, err := db.Report(crawl).Curve(t.Context(), 40)
		if err != nil || len(points) != 40 {
			t.Fatalf("curve of %s: %d points, %v", crawl, len(points), err)
		}
		pages := c.delivered(crawl)
		i, requests := 0, 0
		for _, v := range c.applied(crawl) {
			if requests++; v.M.Outcome != schemas.Outcome_OUTCOME_DELIVERED {
				continue
			}
			i++
			if i*40/len(pages) == (i-1)*40/len(pages) {
				continue
			}
			last := func(n int) float64 { return mean(pages[max(0, i-n):i], gained) }
			got, so := points[0], pages[:i]
			points = points[1:]
			want := analytics.CurvePoint{
				Pages: uint64(i), Requests: uint64(requests), Relevance: sum(so, gained), Targets: uint64(count(so, func(v verdict) bool { return gained(v) >= .5 })),
				Last100: last(100), Last200: last(200), Last1000: last(1000),
			}
			if got != want {
				t.Errorf("curve of %s: %+v, want %+v", crawl, got, want)
			}
		}
		tenths, err := db.Report(crawl).Tenths(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]any
		for _, x := range tenths {
			rows = append(rows, []any{x.Policy, x.Tenth, x.Pages, x.Score, x.Harvest})
		}
		type key struct {
			policy string
			tenth  float64
		}
		score := func(f *fact) float64 { return f.request.Score }
		delivered := slices.DeleteFunc(c.ended(crawl), func(f *fact) bool { return !f.delivered() })
		if problem := differs(rows, order(each(delivered, func(f *fact) key { return key{f.request.Policy, min(9, math.Floor(score(f)*10)) / 10} }, func(k key, group []*fact) []any {
			return []any{k.policy, k.tenth, len(group), mean(group, score), mean(group, (*fact).r)}
		}), 1, 2)); problem != "" {
			t.Errorf("tenths of %s: %s", crawl, problem)
		}
	}
	shared, err := analytics.Overlap(t.Context(), db, c.crawls())
	if err != nil {
		t.Fatal(err)
	}
	pair := answers["overlap"](c, "")[0]
	if got, want := fmt.Sprint(shared), fmt.Sprintf("[{%[1]v %[1]v %[3]v} {%[1]v %[2]v %[5]v} {%[2]v %[2]v %[4]v}]", pair[:5]...); got != want {
		t.Errorf("overlap %s, want %s", got, want)
	}
}

// differs compares rows, floating-point numbers but for the last digit of their rounding.
func differs(got, want [][]any) string {
	if len(got) != len(want) || len(want) == 0 {
		return fmt.Sprintf("%d rows, want %d (and at least one)\n got %v\nwant %v", len(got), len(want), got, want)
	}
	for i := range got {
		if len(got[i]) != len(want[i]) {
			return fmt.Sprintf("row %d is %v, want %v", i, got[i], want[i])
		}
		for k := range got[i] {
			if !same(got[i][k], want[i][k]) {
				return fmt.Sprintf("row %d is %v, want %v", i, got[i], want[i])
			}
		}
	}
	return ""
}

func same(got, want any) bool {
	if w, ok := want.(time.Time); ok {
		g, ok := got.(time.Time)
		return ok && g.Equal(w)
	}
	g, gerr := number(got)
	w, werr := number(want)
	if gerr == nil && werr == nil {
		return math.Abs(g-w) <= 1.01e-4*max(1, math.Abs(w)/1e3)
	}
	return fmt.Sprint(got) == fmt.Sprint(want)
}

const shownOfResult = 4

// cookbook is docs/queries.md.
func cookbook(queries []tables.Query, results map[string]*analytics.Table, reads map[string]string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Queries

%d questions about crawls, answered by ClickHouse. `+"`forager query --example NAME --crawl CRAWL`"+` runs one of them, and so does the view SQL of
the monitor. The views that they read have each record once (package `+"`schemas/clickhouse`"+`). R of a page is its relevance by the crawl's critic, in
[0,1]; the harvest rate is the mean of R, the loss its difference to 1, summed.

The results are of two synthetic crawls; at most %d rows are shown. This page is generated from
[queries.sql](../schemas/clickhouse/queries.sql) by the test that compares each result with a recount of the records of the topics
(`+"`go test ./stages/load-clickhouse -run TestDocumentedQueries -update`"+`). [archive.sql](../schemas/clickhouse/archive.sql) has further queries, of the
archive's Parquet files.

%s`, len(queries), shownOfResult, costs)
	section := ""
	for _, q := range queries {
		if q.Section != section {
			section = q.Section
			fmt.Fprintf(&b, "\n## %s\n", section)
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n%s\n\n```sql\n%s\n```\n\n", q.Name, strings.ToUpper(q.Title[:1])+q.Title[1:]+".", reads[q.Name], q.SQL)
		r := results[q.Name]
		var head, line []string
		for _, column := range r.Columns {
			head, line = append(head, column.Name), append(line, "---")
		}
		fmt.Fprintf(&b, "| %s |\n| %s |\n", strings.Join(head, " | "), strings.Join(line, " | "))
		for _, row := range r.Rows[:min(len(r.Rows), shownOfResult)] {
			var cells []string
			for _, v := range row {
				cells = append(cells, cell(v))
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		}
		if n := len(r.Rows) - shownOfResult; n > 0 {
			fmt.Fprintf(&b, "\n%d further rows.\n", n)
		}
	}
	return b.Bytes()
}

func cell(v any) string {
	if t, ok := v.(time.Time); ok {
		return t.UTC().Format("2006-01-02 15:04:05.000")
	}
	if reflect.TypeOf(v).Kind() == reflect.Map {
		return strings.TrimPrefix(fmt.Sprint(v), "map")
	}
	return strings.ReplaceAll(fmt.Sprint(v), "|", `\|`)
}

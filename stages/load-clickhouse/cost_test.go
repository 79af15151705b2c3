package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"forager/internal/platform/analytics"
	tables "forager/schemas/clickhouse"
)

// sizes is the query for the size of the tables, which docs/queries.md shows.
const sizes = `SELECT
    table, sum(rows) AS rows, round(sum(data_uncompressed_bytes) / rows) AS bytes_a_row, round(sum(data_compressed_bytes) / rows) AS on_disk
FROM system.parts
WHERE active AND database = currentDatabase()
GROUP BY table
HAVING rows > 0
ORDER BY table`

// costs is the part of docs/queries.md on what queries read.
const costs = "## What a query reads\n\n" +
	"Below its title each query has the tables that it reads: of the crawl, whose rows the sort key finds, or all rows; how many times; and the mean\n" +
	"size in memory of the columns that it reads of a row. The test measures both, as `rows_read` and `bytes_read` of ClickHouse. `depths` of a crawl of 50\n" +
	"million requests so reads some 200 million rows and 5 GB. `EXPLAIN ESTIMATE` before a query of your own counts the rows of each table.\n\n" +
	"The view `sums` has sums of a crawl by minute, host, topic, depth, policy, model and outcome, each in six rows or fewer of `sums_rows`: what is read does\n" +
	"not grow with the pages. load-clickhouse computes them again when a crawl has a tenth more rows, and when it has no more; `as_of` and `rows` are\n" +
	"when and of how many rows they were computed. All other views are exact at any time (docs/decisions/0532).\n\n" +
	"`fetches_rows`, `judgements_rows`, `requests_rows` and `verdicts_rows` have about a row a request, `links_rows` one a link, `leaps_rows` one a link\n" +
	"whose target has its verdict. `hubs_rows` grows with the logarithm of the pages; the others are small and grow with time, models and failures. Whole\n" +
	"rows, in bytes, after `forager demo --pages 1500 --keep`, with some 4,000 requests of three crawls:\n\n" +
	"```sql\n" + sizes + "\n```\n" + `
| table | rows | bytes_a_row | on_disk |
| --- | --- | --- | --- |
| fetches_rows | 4041 | 257 | 89 |
| judgements_rows | 4041 | 306 | 128 |
| leaps_rows | 29594 | 1605 | 321 |
| links_rows | 59855 | 216 | 35 |
| models_rows | 78 | 288 | 175 |
| requests_rows | 4041 | 183 | 55 |
| statuses_rows | 53 | 249 | 129 |
| verdicts_rows | 4044 | 134 | 62 |
`

// merged merges the parts of every table, so that what queries read does not depend on background merges, and returns the number of rows.
func merged(t *testing.T, db *analytics.DB) map[string]float64 {
	for _, table := range append(tables.Tables(), tables.Table{Name: "sums_rows"}) {
		if err := db.Exec(t.Context(), "OPTIMIZE TABLE "+table.Name+" FINAL", nil); err != nil {
			t.Fatal(err)
		}
	}
	r, err := db.Query(t.Context(), sizes, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]float64)
	for _, row := range r.Rows {
		rows[row[0].(string)] = float64(row[1].(uint64))
	}
	return rows
}

// costOf describes what a query reads of tables with so many rows.
func costOf(t *testing.T, db *analytics.DB, q tables.Query, params analytics.Params, rows map[string]float64) string {
	plan, err := db.Query(t.Context(), "EXPLAIN indexes = 1 "+q.SQL, params)
	if err != nil {
		t.Fatalf("%s: %v", q.Name, err)
	}
	var read, byCrawl []string
	for _, row := range plan.Rows {
		line := strings.TrimSpace(row[0].(string))
		if _, table, ok := strings.Cut(line, "ReadFromMergeTree (forager."); ok {
			read = append(read, strings.TrimSuffix(table, ")"))
		} else if line == "crawl" { // among the keys of the index by which it reads
			byCrawl = append(byCrawl, read[len(read)-1])
		}
	}
	slices.Sort(read)
	var ofCrawl, whole []string
	stored := 0.0
	for _, table := range slices.Compact(slices.Clone(read)) {
		stored += rows[table]
		name := "`" + table + "`"
		if count(read, func(s string) bool { return s == table }) == count(byCrawl, func(s string) bool { return s == table }) {
			ofCrawl = append(ofCrawl, name)
		} else {
			whole = append(whole, name)
		}
	}
	var result bytes.Buffer
	if err := db.Copy(t.Context(), &result, "JSON", q.SQL, params); err != nil {
		t.Fatalf("%s: %v", q.Name, err)
	}
	var measured struct {
		Statistics struct {
			Rows  float64 `json:"rows_read"`
			Bytes float64 `json:"bytes_read"`
		}
	}
	if err := json.Unmarshal(result.Bytes(), &measured); err != nil || measured.Statistics.Rows < stored {
		t.Fatalf("%s has read %v of %v rows: %v", q.Name, measured, stored, err)
	}
	var parts []string
	if len(ofCrawl) > 0 {
		which := " of the crawl"
		if !q.OfCrawl {
			which = " by its key"
		}
		parts = append(parts, strings.Join(ofCrawl, ", ")+which)
	}
	if len(whole) > 0 {
		parts = append(parts, "all of "+strings.Join(whole, ", "))
	}
	times := "once"
	switch n := measured.Statistics.Rows / stored; {
	case n == 2:
		times = "twice"
	case n != math.Trunc(n):
		times = fmt.Sprintf("%.1f times on average", n)
	case n > 2:
		times = fmt.Sprintf("%.0f times", n)
	}
	return fmt.Sprintf("Reads %s, %s: %.0f bytes a row.", strings.Join(parts, " and "), times, measured.Statistics.Bytes/measured.Statistics.Rows)
}

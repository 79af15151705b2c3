package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"forager/internal/audit"
	"forager/internal/platform/analytics"
	"forager/schemas"
)

// TestAuditReadsEveryRowOnce reads tables of several ranges of keys as forager verify does, whole and as samples.
func TestAuditReadsEveryRowOnce(t *testing.T) {
	db := database(t)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for into, columns := range synthetic {
		requests := 110_000 // some 27 of the keys by which a table is divided; ranges are from every tenth to the next
		if strings.HasPrefix(into, "leaps") {
			requests /= 7
		}
		if err := db.Exec(t.Context(), "INSERT INTO "+into+", precedence, recorded_at) SELECT "+columns+", precedence, at"+fmt.Sprintf(numbered, 0, requests, 50), nil); err != nil {
			t.Fatal(err)
		}
	}
	queries := 0
	live := &audit.Live{Case: audit.Case{Control: &schemas.CrawlControl{Crawl: "c"}}}
	live.Query = func(ctx context.Context, sql string, params map[string]any, f func(row []string) error) error {
		queries++
		return db.Each(ctx, sql, analytics.Params(params), func(row []any) error {
			texts := make([]string, len(row))
			for i, v := range row {
				texts[i] = v.(string)
			}
			return f(texts)
		})
	}
	for _, table := range audit.Compared {
		if !slices.Contains([]string{"requests", "fetches", "judgements", "leaps"}, table.Name) {
			continue
		}
		all, err := db.Query(t.Context(), "SELECT id FROM "+table.Name+" WHERE crawl = 'c'", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, sample := range []*audit.Sample{nil, {Share: .3, From: 1 << 31}, {Share: .3, From: 7 << 29}} {
			queries = 0
			left := make(map[string]bool)
			for _, row := range all.Rows {
				if id := row[0].(string); sample.HasRow([]string{id}) {
					left[id] = true
				}
			}
			err := live.Rows(t.Context(), table, sample, func(_ audit.Place, row []string) error {
				if !left[row[0]] {
					t.Fatalf("%s: the row %s comes twice, or is not in the sample", table.Name, row[0])
				}
				delete(left, row[0])
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(left) > 0 || queries < 3 {
				t.Errorf("%s: of %d rows %d were not read, by %d queries", table.Name, len(all.Rows), len(left), queries)
			}
		}
	}
}

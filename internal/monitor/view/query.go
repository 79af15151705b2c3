package view

import (
	"context"
	"errors"
	"fmt"

	"forager/internal/frontier/why"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
)

// Rows are the result of a query, as text.
type Rows struct {
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	// Cut: there are more rows.
	Cut bool `json:"cut,omitempty"`
}

const (
	shownRows = 1000
	maxCell   = 2000
)

// errEnough ends the reading of a result.
var errEnough = errors.New("enough rows")

// Why explains what became of a URL in a crawl, or would become of it; the texts are as they are on the web.
func (s *Source) Why(ctx context.Context, crawl, url string) (*operate.Explanation, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*askWithin)
	defer cancel()
	return operate.Explainer{Topics: s.Topics, Config: s.Config, DB: s.DB}.Why(ctx, crawl, url)
}

// Queues lists the best and the oldest URLs that are queued in a crawl, as they are on the web.
func (s *Source) Queues(ctx context.Context, crawl string) (*why.Queues, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*askWithin)
	defer cancel()
	return operate.Explainer{Topics: s.Topics, Config: s.Config}.Queues(ctx, crawl)
}

// Query runs a statement that reads, for at most ten seconds, and returns its first rows. Its parameter crawl, if it has one, is crawl.
func (s *Source) Query(ctx context.Context, sql, crawl string) (*Rows, error) {
	if !analytics.Reads(sql) {
		return nil, refused{errors.New("only statements that read are run: SELECT, WITH, SHOW, DESCRIBE, EXPLAIN")}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*askWithin)
	defer cancel()
	rows := &Rows{Columns: []string{}, Rows: [][]string{}}
	err := s.DB.EachWith(Ask(ctx), sql, analytics.Params{"crawl": crawl}, func(columns []analytics.Column) {
		for _, c := range columns {
			rows.Columns = append(rows.Columns, Plain(c.Name))
		}
	}, func(row []any) error {
		if len(rows.Rows) == shownRows {
			rows.Cut = true
			return errEnough
		}
		cells := make([]string, len(row))
		for i, v := range row {
			text := fmt.Sprint(v)
			cells[i] = Plain(text[:min(len(text), maxCell)])
		}
		rows.Rows = append(rows.Rows, cells)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, refused{err}
	}
	return rows, nil
}

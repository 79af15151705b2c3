package audit

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"forager/schemas"
)

// Rows of a table are read by ranges of its key of about rangeRows rows, as the embedded ClickHouse holds a
// result in memory. The keys of a random sample of rows, one in boundaryEvery, are the boundaries; a range
// spans several of them.
const (
	boundaryEvery = 4096
	rangeRows     = 10 * boundaryEvery
)

// The least and the greatest id, in hex.
const firstID, lastID = "00000000000000000000000000000000", "ffffffffffffffffffffffffffffffff"

// settings limit the memory of an audit's queries.
const settings = " SETTINGS max_threads = 1, max_block_size = 8192, max_bytes_before_external_group_by = 67108864"

// Rows reads a table.
func (l *Live) Rows(ctx context.Context, table Table, sample *Sample, f func(at Place, row []string) error) error {
	params := map[string]any{"crawl": l.Control.GetCrawl(), "from": firstID, "to": lastID}
	var where []string
	if !table.EveryCrawl {
		where = append(where, "crawl = {crawl:String}")
	}
	bounds, err := l.bounds(ctx, table, where, params)
	if err != nil {
		return err
	}
	if window := sample.sql(table); window != "" {
		where = append(where, window)
	}
	columns := table.Columns
	for _, c := range table.Place {
		if c != "" {
			columns = append(columns[:len(columns):len(columns)], "toString("+c+")")
		}
	}
	sql := "SELECT " + strings.Join(columns, ", ") + " FROM " + table.From
	for i := range len(bounds) + 1 {
		in := where[:len(where):len(where)]
		params["to"] = lastID // of the last range, which has no bound
		if i > 0 {
			in, params["from"] = append(in, table.Key.Column+" >= "+fmt.Sprintf(table.Key.Bound, "{from:String}")), bounds[i-1]
		}
		if i < len(bounds) {
			in, params["to"] = append(in, table.Key.Column+" < "+fmt.Sprintf(table.Key.Bound, "{to:String}")), bounds[i]
		}
		if err := l.Query(ctx, sql+whereOf(in)+settings, params, func(row []string) error { return l.row(table, row, f) }); err != nil {
			return err
		}
	}
	return nil
}

func whereOf(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

// bounds returns keys that divide a table into ranges.
func (l *Live) bounds(ctx context.Context, table Table, where []string, params map[string]any) (bounds []string, err error) {
	if table.Key == nil {
		return nil, nil
	}
	in := append(where[:len(where):len(where)], fmt.Sprintf("cityHash64(id) %% %d = 0", boundaryEvery))
	n := 0
	sql := "SELECT DISTINCT " + table.Key.Select + " AS bound FROM " + strings.TrimSuffix(table.From, " FINAL") + whereOf(in) + " ORDER BY bound" + settings
	err = l.Query(ctx, sql, params, func(row []string) error {
		if n++; n%(rangeRows/boundaryEvery) == 0 {
			bounds = append(bounds, row[0])
		}
		return nil
	})
	return bounds, err
}

// row passes a row to f if its record is before the ends of the topics.
func (l *Live) row(table Table, row []string, f func(at Place, row []string) error) error {
	if table.Place[0] == "" {
		return f(Place{}, row)
	}
	n := len(row) - 3
	partition, err := strconv.Atoi(row[n])
	if err != nil {
		return err
	}
	offset, err := strconv.ParseInt(row[n+1], 10, 64)
	if err != nil {
		return err
	}
	position, err := strconv.ParseUint(row[n+2], 10, 32)
	if err != nil {
		return err
	}
	if ends := l.Ends[table.Topic]; ends != nil && (partition >= len(ends) || offset >= ends[partition]) {
		return nil
	}
	return f(Place{PlaceOf(partition, offset), uint32(position)}, row[:n:n])
}

// sql is the condition that a row's id is in the sample; empty = every id.
func (s *Sample) sql(table Table) string {
	if s == nil || table.Key == nil {
		return ""
	}
	size := 2 * len(schemas.ID{})
	bound := func(n uint32) string { return fmt.Sprintf("'%08x%s'", n, strings.Repeat("0", size-8)) }
	column := "id"
	if table.Key != byHex {
		bound = func(n uint32) string {
			return fmt.Sprintf("toFixedString(unhex('%08x%s'), 16)", n, strings.Repeat("0", size-8))
		}
	}
	from, to := s.From, s.From+s.width()
	switch {
	case to == 0:
		return column + " >= " + bound(from)
	case from < to:
		return "(" + column + " >= " + bound(from) + " AND " + column + " < " + bound(to) + ")"
	}
	return "(" + column + " >= " + bound(from) + " OR " + column + " < " + bound(to) + ")"
}

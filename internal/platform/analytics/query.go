package analytics

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Params are the values of the {name:Type} parameters of a query.
type Params map[string]any

func (p Params) args() []any {
	var all []any
	for _, name := range slices.Sorted(maps.Keys(p)) {
		all = append(all, clickhouse.Named(name, p[name]))
	}
	return all
}

// Column is a column of a result.
type Column struct {
	Name string `json:"name"`
	// Type is ClickHouse's, "Array(String)".
	Type string `json:"type"`
}

// Table is a result. Values are Go's: integers and floats of their size, bool, string,
// time.Time, slices, maps; nil for NULL.
type Table struct {
	Columns []Column
	Rows    [][]any
}

// Query runs a query and returns the whole result.
func (d *DB) Query(ctx context.Context, sql string, params Params) (*Table, error) {
	t := new(Table)
	err := d.EachWith(ctx, sql, params, func(columns []Column) { t.Columns = columns }, func(row []any) error {
		t.Rows = append(t.Rows, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(t.Columns) == 0 {
		t.Columns = d.describe(ctx, sql, params)
	}
	return t, nil
}

// describe requests the columns of a query: over HTTP a result without rows is an empty response.
// It returns none for a statement that is no query.
func (d *DB) describe(ctx context.Context, sql string, params Params) (columns []Column) {
	rows, err := d.conn.Query(ctx, "DESCRIBE (\n"+strings.TrimRight(strings.TrimSpace(sql), ";")+"\n)", params.args()...)
	if err != nil {
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var c Column
		var rest [5]string
		if rows.Scan(&c.Name, &c.Type, &rest[0], &rest[1], &rest[2], &rest[3], &rest[4]) != nil {
			return nil
		}
		columns = append(columns, c)
	}
	return columns
}

// Each runs a query and calls f for each row, which f may keep. An error of f ends the query and is
// returned.
func (d *DB) Each(ctx context.Context, sql string, params Params, f func(row []any) error) error {
	return d.EachWith(ctx, sql, params, func([]Column) {}, f)
}

// EachWith is Each, and calls head with the columns before the first row.
func (d *DB) EachWith(ctx context.Context, sql string, params Params, head func([]Column), f func(row []any) error) error {
	rows, err := d.conn.Query(ctx, sql, params.args()...)
	if err != nil {
		return d.failed(ctx, "query", err)
	}
	defer rows.Close()
	types := rows.ColumnTypes()
	columns := make([]Column, len(types))
	for i, t := range types {
		columns[i] = Column{t.Name(), t.DatabaseTypeName()}
	}
	head(columns)
	for rows.Next() {
		into := make([]any, len(types))
		for i, t := range types {
			into[i] = reflect.New(t.ScanType()).Interface()
		}
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("read a row of the result: %w", err)
		}
		for i := range into {
			into[i] = plain(reflect.ValueOf(into[i]).Elem())
		}
		if err := f(into); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return d.failed(ctx, "query", err)
	}
	return nil
}

// plain returns the value of pointers and interfaces; nil is NULL.
func plain(v reflect.Value) any {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	return v.Interface()
}

// reads matches the beginning of statements that read.
var reads = regexp.MustCompile(`(?is)^(\s|\(|--[^\n]*(\n|$)|#[^\n]*(\n|$)|/\*.*?\*/)*(SELECT|WITH|SHOW|DESC|DESCRIBE|EXPLAIN|EXISTS|VALUES|FROM)\b`)

// Reads reports whether a statement reads by its beginning. ClickHouse refuses changes in its read-only mode, but not
// SYSTEM and KILL.
func Reads(sql string) bool { return reads.MatchString(sql) }

// ReadOnly returns a context whose statements can only read and change settings.
func ReadOnly(ctx context.Context) context.Context {
	return readOnly(ctx, nil)
}

func readOnly(ctx context.Context, more map[string]any) context.Context {
	settings := clickhouse.Settings{"readonly": 2}
	maps.Copy(settings, more)
	return clickhouse.Context(ctx, clickhouse.WithSettings(settings))
}

// Copy runs a query and writes its result in one of ClickHouse's formats (CSV, JSONEachRow,
// PrettyCompact, Parquet …). A FORMAT clause of the query takes precedence. When ctx ends, the server ends the query.
func (d *DB) Copy(ctx context.Context, w io.Writer, format, sql string, params Params) error {
	id := rand.Text()
	ctx = clickhouse.Context(ctx, clickhouse.WithQueryID(id))
	defer func() {
		if ctx.Err() != nil {
			d.kill(id)
		}
	}()
	// The driver refuses a query that ends with a FORMAT clause, but not one that a comment follows.
	sql = strings.TrimRight(sql, "; \t\r\n") + "\n--"
	r, err := d.conn.QueryFormat(ctx, format, sql, params.args()...)
	if err != nil {
		return d.failed(ctx, "query", err)
	}
	to := writer{Writer: w}
	_, err = io.Copy(&to, r)
	if to.err != nil {
		r.Close()
		return fmt.Errorf("write the result: %w", to.err)
	}
	if err != nil {
		r.Close()
		return d.failed(ctx, "read the result", err)
	}
	return r.Close()
}

// killWithin is how long the server may take to receive that a query is to end.
const killWithin = time.Second

// kill ends a query that may still run: a server goes on without its client. An error is not of interest to who has left.
func (d *DB) kill(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), killWithin)
	defer cancel()
	_ = d.conn.Exec(ctx, fmt.Sprintf("KILL QUERY WHERE query_id = '%s' ASYNC", id))
}

// writer keeps its errors, which are not the server's.
type writer struct {
	io.Writer
	err error
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.err = err
	return n, err
}

// Word is a word that a query may contain; Relation: a table or view.
type Word struct {
	Name     string
	Relation bool
}

// Words returns the tables and views of the database and of system, the columns of the database, and ClickHouse's keywords and functions.
func (d *DB) Words(ctx context.Context) ([]Word, error) {
	return collect[Word](ctx, d, `SELECT name, max(relation) FROM
		(
			SELECT name, true AS relation FROM system.tables WHERE database IN (currentDatabase(), 'system')
			UNION ALL SELECT name, false FROM system.columns WHERE database = currentDatabase()
			UNION ALL SELECT keyword, false FROM system.keywords
			UNION ALL SELECT name, false FROM system.functions
		)
		WHERE match(name, '^[A-Za-z_][A-Za-z0-9_ ]*$') GROUP BY name`, nil)
}

// Exec runs a statement that has no result.
func (d *DB) Exec(ctx context.Context, sql string, params Params) error {
	if err := d.conn.Exec(ctx, sql, params.args()...); err != nil {
		return d.failed(ctx, "statement", err)
	}
	return nil
}

package analytics

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"forager/internal/platform/pipeline"
	tables "forager/schemas/clickhouse"
)

// DB is a database of ClickHouse. It is safe for concurrent use.
type DB struct {
	url, database string
	// conn uses the database; admin none, as the database may not exist.
	conn, admin driver.Conn
}

// Open returns a DB without connecting: its errors concern the settings.
func Open(cfg pipeline.ClickHouse) (*DB, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("clickhouse.url: %w", err)
	}
	server, _ := pipeline.ServiceOf(cfg.URL)
	late := pipeline.Later(cfg.Login)
	login, err := late.Get()
	if err != nil {
		return nil, err
	}
	options := clickhouse.Options{
		Protocol:    clickhouse.HTTP,
		Addr:        []string{server.Address},
		HttpUrlPath: strings.TrimSuffix(u.Path, "/"),
		Auth:        clickhouse.Auth{Username: login.User, Password: login.Password},
		Compression: &clickhouse.Compression{Method: clickhouse.CompressionLZ4},
		DialTimeout: 5 * time.Second,
		// A server that buffers results sends nothing before the query has ended.
		ReadTimeout:  10 * time.Minute,
		MaxOpenConns: 16, MaxIdleConns: 4,
	}
	if login.Password == "" {
		options.TransportFunc = func(t *http.Transport) (http.RoundTripper, error) { return lateLogin{t, late}, nil }
	}
	if server.TLS {
		options.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	d := &DB{url: cfg.URL, database: cfg.Database}
	if d.admin, err = clickhouse.Open(&options); err != nil {
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	options.Auth.Database = cfg.Database
	if d.conn, err = clickhouse.Open(&options); err != nil {
		return nil, errors.Join(fmt.Errorf("clickhouse: %w", err), d.admin.Close())
	}
	return d, nil
}

// lateLogin adds the login of the embedded server.
type lateLogin struct {
	next http.RoundTripper
	*pipeline.LateLogin
}

func (l lateLogin) RoundTrip(r *http.Request) (*http.Response, error) {
	login, err := l.Get()
	if err != nil {
		return nil, err
	}
	if login.Password != "" {
		r = r.Clone(r.Context())
		r.SetBasicAuth(login.User, login.Password)
	}
	return l.next.RoundTrip(r)
}

// Close closes the connections.
func (d *DB) Close() error { return errors.Join(d.conn.Close(), d.admin.Close()) }

// failed adds the server and the operation to an error.
func (d *DB) failed(ctx context.Context, what string, err error) error {
	var network *url.Error
	if errors.As(err, &network) {
		err = network.Err // without the driver's URL, which has its parameters
	}
	return classify(ctx, fmt.Errorf("ClickHouse at %s: %s: %w", d.url, what, err))
}

// Migrate creates the database with its tables and views, where they are missing or older. It may
// run several times at once. A table with other columns is an error.
func (d *DB) Migrate(ctx context.Context) error {
	err := d.admin.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+quoted(d.database))
	if err != nil {
		return d.failed(ctx, "make the database", err)
	}
	err = d.conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS migrations (file String, digest String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
		ENGINE = ReplacingMergeTree(applied_at) ORDER BY file COMMENT 'Files of schemas/clickhouse that were applied.'`)
	if err != nil {
		return d.failed(ctx, "make the table of migrations", err)
	}
	for _, t := range tables.Tables() {
		statement, err := schema{d}.change(ctx, &t)
		if err != nil {
			return err
		}
		if statement == "" {
			continue
		}
		if err := d.conn.Exec(ctx, statement); err != nil {
			return d.failed(ctx, "make the table "+t.Name, err)
		}
	}
	applied, err := schema{d}.applied(ctx)
	if err != nil {
		return err
	}
	if v := tables.Views(); applied[v.Name] != v.Digest {
		return schema{d}.apply(ctx, v)
	}
	return nil
}

// schema compares the tables with those of this program, and changes them.
type schema struct{ *DB }

// change returns the statement that creates a table or adds the columns that it lacks; empty if there is nothing to change. A column
// of another type, or one that this program does not have, is an error.
func (d schema) change(ctx context.Context, t *tables.Table) (string, error) {
	have, err := d.pairs(ctx, "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = {table:String}", Params{"table": t.Name})
	if err != nil {
		return "", err
	}
	if len(have) == 0 {
		return t.Create, nil
	}
	var missing []string
	place := " FIRST"
	for _, c := range t.Columns {
		switch kind, ok := have[c.Name]; {
		case !ok:
			missing = append(missing, "ADD COLUMN IF NOT EXISTS "+c.Definition+place)
		case kind != c.Type:
			return "", d.otherVersion(t.Name + "." + c.Name)
		}
		place = " AFTER " + c.Name
		delete(have, c.Name)
	}
	for name := range have {
		return "", d.otherVersion(t.Name + "." + name)
	}
	if len(missing) == 0 {
		return "", nil
	}
	return "ALTER TABLE " + t.Name + " " + strings.Join(missing, ", "), nil
}

func (d schema) otherVersion(what string) error {
	return fmt.Errorf("ClickHouse at %s: the tables of database %s were made by another version of Forager (%s differs): use that version, or another database", d.url, d.database, what)
}

// applied returns the digests of the files that were applied.
func (d schema) applied(ctx context.Context) (map[string]string, error) {
	return d.pairs(ctx, "SELECT file, digest FROM migrations FINAL", nil)
}

// pairs returns the second column of a query's result by the first.
func (d schema) pairs(ctx context.Context, sql string, params Params) (map[string]string, error) {
	all := make(map[string]string)
	return all, each(ctx, d.DB, sql, params, func(x struct{ Key, Value string }) error {
		all[x.Key] = x.Value
		return nil
	})
}

func (d schema) apply(ctx context.Context, f tables.File) error {
	for i, statement := range f.Statements {
		if err := d.conn.Exec(ctx, statement); err != nil {
			return d.failed(ctx, fmt.Sprintf("apply %s, statement %d", f.Name, i+1), err)
		}
	}
	err := d.conn.Exec(ctx, "INSERT INTO migrations (file, digest) SELECT {file:String}, {digest:String}",
		clickhouse.Named("file", f.Name), clickhouse.Named("digest", f.Digest))
	if err != nil {
		return d.failed(ctx, "note that "+f.Name+" was applied", err)
	}
	return nil
}

// Check compares the database with the one that Migrate would create; it changes nothing.
func (d *DB) Check(ctx context.Context) error {
	var exists uint64
	err := d.admin.QueryRow(ctx, "SELECT count() FROM system.tables WHERE database = {database:String} AND name = 'migrations'",
		clickhouse.Named("database", d.database)).Scan(&exists)
	if err != nil {
		return d.failed(ctx, "look for the database", err)
	}
	if exists == 0 {
		return fmt.Errorf("ClickHouse at %s has no tables of Forager in database %s; forager setup makes them", d.url, d.database)
	}
	for _, t := range tables.Tables() {
		statement, err := schema{d}.change(ctx, &t)
		if err != nil {
			return err
		}
		if statement != "" {
			return schema{d}.notApplied(t.Name)
		}
	}
	applied, err := schema{d}.applied(ctx)
	if err != nil {
		return err
	}
	if v := tables.Views(); applied[v.Name] != v.Digest {
		return schema{d}.notApplied(v.Name)
	}
	return nil
}

func (d schema) notApplied(what string) error {
	return fmt.Errorf("ClickHouse at %s: %s is not applied to database %s; forager setup does that", d.url, what, d.database)
}

// Insert writes rows; if it fails some may have been written.
func Insert[R Row[R]](ctx context.Context, d *DB, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	table, columns := rows[0].table(), rows[0].columns()
	what := fmt.Sprintf("insert %d rows into %s", len(rows), table)
	names, typed := make([]string, len(columns)), make([]clickhouse.ColumnNameAndType, len(columns))
	for i := range columns {
		names[i], typed[i] = columns[i].Name, columns[i].ColumnNameAndType
	}
	batch, err := d.conn.PrepareBatch(clickhouse.Context(ctx, clickhouse.WithColumnNamesAndTypes(typed)), "INSERT INTO "+table+" ("+strings.Join(names, ", ")+")")
	if err != nil {
		return d.failed(ctx, what, err)
	}
	defer batch.Close()
	for i := range columns {
		if err := columns[i].append(batch.Column(i), rows); err != nil {
			return d.failed(ctx, what+", column "+names[i], &columnError{err})
		}
	}
	if err := batch.Send(); err != nil {
		return d.failed(ctx, what, err)
	}
	return nil
}

// columnError is a row that does not fit its table.
type columnError struct{ error }

func (e *columnError) Unwrap() error { return e.error }

func quoted(name string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(name) + "`"
}

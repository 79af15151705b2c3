package clickhouse_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	chgo "github.com/ClickHouse/clickhouse-go/v2"
)

// TestDriver uses the server with the Go driver.
func TestDriver(t *testing.T) {
	s := start(t, t.TempDir())
	ctx := t.Context()
	post(t, s, "CREATE DATABASE d")
	for name, c := range map[string]*chgo.Compression{
		"default": nil, "none": {Method: chgo.CompressionNone}, "lz4": {Method: chgo.CompressionLZ4}, "zstd": {Method: chgo.CompressionZSTD},
		"gzip": {Method: chgo.CompressionGZIP, Level: 1}, "deflate": {Method: chgo.CompressionDeflate, Level: 1}, "brotli": {Method: chgo.CompressionBrotli, Level: 1},
	} {
		settings := chgo.Settings{"max_threads": 2}
		if strings.ContainsAny(name, "grpf") {
			settings["enable_http_compression"] = 1
		}
		conn, err := chgo.Open(&chgo.Options{
			Protocol: chgo.HTTP, Addr: []string{s.Address()}, Auth: chgo.Auth{Database: "d", Username: "default"}, Compression: c, Settings: settings,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Ping(ctx); err != nil {
			t.Fatalf("%s: ping: %v", name, err)
		}
		if v, err := conn.ServerVersion(); err != nil || v.Version.Major < 20 || v.DisplayName != "forager-local" {
			t.Errorf("%s: version %v, %v", name, v, err)
		}
		for _, sql := range []string{
			"DROP TABLE IF EXISTS t",
			`CREATE TABLE t (id FixedString(16), n UInt64, f Float64, s String, lc LowCardinality(String), at DateTime64(3, 'UTC'),
				terms Array(LowCardinality(String)), counts Array(UInt32), m Map(String, UInt64), maybe Nullable(Int8), yes Bool) ENGINE = MergeTree ORDER BY n`,
		} {
			if err := conn.Exec(ctx, sql); err != nil {
				t.Fatalf("%s: %s: %v", name, sql, err)
			}
		}
		at := time.UnixMilli(1_700_000_000_123).UTC()
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO t")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		const rows = 3000
		for i := range rows {
			err := batch.Append(strings.Repeat(fmt.Sprint(i%10), 16), uint64(i), float64(i)/2, "s\n\n"+fmt.Sprint(i), fmt.Sprint(i%3), at,
				[]string{"a", "b"}, []uint32{1, uint32(i)}, map[string]uint64{"k": uint64(i)}, (*int8)(nil), i%2 == 0)
			if err != nil {
				t.Fatalf("%s: append: %v", name, err)
			}
		}
		if err := batch.Send(); err != nil {
			t.Fatalf("%s: send: %v", name, err)
		}
		got, err := conn.Query(ctx, "SELECT * FROM t WHERE n >= {least:UInt64} AND s != {not:String} ORDER BY n",
			chgo.Named("least", 10), chgo.Named("not", "tab\t'quote'"))
		if err != nil {
			t.Fatalf("%s: query: %v", name, err)
		}
		n := 10
		for ; got.Next(); n++ {
			var (
				id, s, lc string
				num       uint64
				f         float64
				when      time.Time
				terms     []string
				counts    []uint32
				m         map[string]uint64
				maybe     *int8
				yes       bool
			)
			if err := got.Scan(&id, &num, &f, &s, &lc, &when, &terms, &counts, &m, &maybe, &yes); err != nil {
				t.Fatalf("%s: scan: %v", name, err)
			}
			if num != uint64(n) || s != "s\n\n"+fmt.Sprint(n) || !when.Equal(at) || len(terms) != 2 || counts[1] != uint32(n) || m["k"] != uint64(n) || maybe != nil || yes != (n%2 == 0) {
				t.Fatalf("%s: row %d came back as %d %q %v %v %v %v %v %v", name, n, num, s, when, terms, counts, m, maybe, yes)
			}
		}
		if err := got.Err(); err != nil || n != rows {
			t.Errorf("%s: %d rows came back (%v)", name, n, err)
		}
		r, err := conn.QueryFormat(ctx, "CSV", "SELECT count() FROM t")
		if err != nil {
			t.Fatalf("%s: query in a format: %v", name, err)
		}
		if b, err := io.ReadAll(r); err != nil || string(b) != "3000\n" {
			t.Errorf("%s: CSV %q, %v", name, b, err)
		}
		r.Close()
		var wrong *chgo.Exception
		if err := conn.Exec(ctx, "SELECT * FROM none"); !errors.As(err, &wrong) || wrong.Code != 60 || wrong.CodeName != "UNKNOWN_TABLE" {
			t.Errorf("%s: a missing table: %v", name, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

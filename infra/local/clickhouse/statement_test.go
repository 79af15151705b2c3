package clickhouse

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"forager/infra/local/chdb"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		source string
		kind   kind
		sql    string
		format string
		rows   string // of insertRows
	}{
		{"SELECT 1", read, "SELECT 1", "", ""},
		{" -- why\n/* ; */ select 1 ; \n", read, " -- why\n/* ; */ select 1 ", "", ""},
		{"(SELECT 1) UNION ALL (SELECT 2) FORMAT JSON", read, "(SELECT 1) UNION ALL (SELECT 2) FORMAT JSON", "JSON", ""},
		{"SELECT 1 FORMAT CSV SETTINGS max_threads=1", read, "SELECT 1 FORMAT CSV SETTINGS max_threads=1", "CSV", ""},
		{"SELECT format FROM t", read, "SELECT format FROM t", "", ""},
		{"SELECT ';', \";\", `;`, $$;$$, $a$;$$;$a$ # ;", read, "SELECT ';', \";\", `;`, $$;$$, $a$;$$;$a$ # ;", "", ""},
		{`SELECT 'it''s; \'; ' FORMAT TSV`, read, `SELECT 'it''s; \'; ' FORMAT TSV`, "TSV", ""},
		{"CREATE TABLE t (a UInt8) ENGINE = Memory", change, "CREATE TABLE t (a UInt8) ENGINE = Memory", "", ""},
		{"WITH 1 AS x INSERT INTO t SELECT x", insertSelect, "WITH 1 AS x INSERT INTO t SELECT x", "", ""},
		{"INSERT INTO t SELECT 1", insertSelect, "INSERT INTO t SELECT 1", "", ""},
		{"INSERT INTO outfile SELECT 1", insertSelect, "INSERT INTO outfile SELECT 1", "", ""},
		{"INSERT INTO t (a, b) VALUES (1,';'); (2,'b')", insertRows, "INSERT INTO t (a, b) ", "Values", " (1,';'); (2,'b')"},
		{"insert into table `d;b`.format (`values`) format CSV\n1,2\n", insertRows, "insert into table `d;b`.format (`values`) ", "CSV", "1,2\n"},
		{"INSERT INTO t SETTINGS async_insert = 1 FORMAT Native \r\n\n\x01", insertRows, "INSERT INTO t ", "Native", "\n\x01"},
		{"INSERT INTO t.values FORMAT TSV;1", insertRows, "INSERT INTO t.values ", "TSV", "1"},
		{"INSERT INTO FUNCTION null('a UInt8') VALUES (1)", insertRows, "INSERT INTO FUNCTION null('a UInt8') ", "Values", " (1)"},
		{"INSERT INTO t (SELECT 1)", insertSelect, "INSERT INTO t (SELECT 1)", "", ""},
		{"KILL QUERY WHERE query_id = 'a' SYNC", kill, "KILL QUERY WHERE 'a' IN (query_id, Settings['log_comment']) SYNC", "", ""},
		{"KILL QUERY WHERE user = 'query_id'", kill, "KILL QUERY WHERE user = 'query_id'", "", ""},
		{"EXPLAIN SELECT 1", read, "EXPLAIN SELECT 1", "", ""},
		{"OPTIMIZE TABLE t", other, "OPTIMIZE TABLE t", "", ""},
		{"DROP TABLE t", other, "DROP TABLE t", "", ""},
		{"# why\nalter table t DELETE WHERE 1", change, "# why\nalter table t DELETE WHERE 1", "", ""},
		{"'x'", other, "'x'", "", ""},
		{"SELECT 'open", read, "SELECT 'open", "", ""},
		{"SELECT ü, 1", read, "SELECT ü, 1", "", ""},
	} {
		s, err := parse(c.source)
		if err != nil {
			t.Errorf("%q: %v", c.source, err)
			continue
		}
		rows := ""
		if s.kind == insertRows {
			rows = c.source[s.data:]
		}
		if s.kind != c.kind || s.sql != c.sql || s.format != c.format || rows != c.rows {
			t.Errorf("%q: kind %d, sql %q, format %q, rows %q; want %d, %q, %q, %q", c.source, s.kind, s.sql, s.format, rows, c.kind, c.sql, c.format, c.rows)
		}
	}
	s, err := parse("INSERT INTO t (a) SETTINGS async_insert = 1, x = 'FORMAT y' FORMAT CSV 1")
	if err != nil || strings.TrimSpace(s.settings) != "SETTINGS async_insert = 1, x = 'FORMAT y'" {
		t.Errorf("settings %q, %v", s.settings, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for source, code := range map[string]int{
		"":                              62,
		" -- nothing\n":                 62,
		"SELECT 1; DROP TABLE t":        62,
		"SELECT 1 INTO OUTFILE 'x'":     358,
		"INSERT INTO t FROM INFILE 'x'": 78,
		"SYSTEM SHUTDOWN":               497,
		"system kill":                   497,
		"INSERT INTO t SELECT * FROM input('a UInt8') FORMAT CSV 1": 48,
	} {
		_, err := parse(source)
		var e *chdb.Exception
		if !errors.As(err, &e) || e.Code != code {
			t.Errorf("%q: %v, want code %d", source, err, code)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"SELECT 1", "INSERT INTO t FORMAT CSV\n1", "INSERT INTO `a`.`b` (c) VALUES", "$a$ $$", "/*", "'\\", "KILL QUERY WHERE query_id='x'", "INSERT INTO a.", "\xff;",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		last := 0
		for tok, ok := next(source, 0); ok; tok, ok = next(source, tok.end) {
			if tok.start < last || tok.end <= tok.start || tok.end > len(source) {
				t.Fatalf("token %+v behind %d of %d", tok, last, len(source))
			}
			last = tok.end
		}
		s, err := parse(source)
		if err != nil {
			return
		}
		if s.kind == insertRows {
			if s.data > len(source) || len(s.sql)+len(s.settings) > s.data || s.format == "" || !strings.HasPrefix(source, s.sql+s.settings) {
				t.Fatalf("%q: %+v", source, s)
			}
			return
		}
		// The engine gets one statement.
		for tok, ok := next(s.sql, 0); ok; tok, ok = next(s.sql, tok.end) {
			if tok.is(s.sql, ";") {
				t.Fatalf("%q is handed on as %q", source, s.sql)
			}
		}
	})
}

// FuzzPlainBody: invalid compressed bodies end in an error, in bounded time.
func FuzzPlainBody(f *testing.F) {
	for _, encoding := range []string{"", "gzip", "deflate", "br", "zstd"} {
		var b bytes.Buffer
		if err := writeBlocks(&b, []byte("some rows"), "LZ4"); err != nil {
			f.Fatal(err)
		}
		f.Add(encoding, true, b.Bytes())
		if encoding != "" {
			var z bytes.Buffer
			w, err := encoder(&z, encoding)
			if err != nil {
				f.Fatal(err)
			}
			if _, err := w.Write(b.Bytes()); err != nil || w.Close() != nil {
				f.Fatal(err)
			}
			f.Add(encoding, true, z.Bytes())
			f.Add(encoding, false, z.Bytes()[:z.Len()/2])
		}
	}
	f.Fuzz(func(t *testing.T, encoding string, blocks bool, body []byte) {
		r := &http.Request{Header: http.Header{"Content-Encoding": {encoding}}, Body: io.NopCloser(bytes.NewReader(body))}
		plain, err := plainBody(r, blocks)
		if err != nil {
			return
		}
		const most = 64 << 20 // the caller bounds the output
		_, _ = io.Copy(io.Discard, io.LimitReader(plain, most))
	})
}

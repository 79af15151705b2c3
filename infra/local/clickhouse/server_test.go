package clickhouse_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"forager/infra/local/clickhouse"
)

func start(t *testing.T, dir string) *clickhouse.Server {
	t.Helper()
	s, err := clickhouse.Start(t.Context(), dir, "127.0.0.1:0", clickhouse.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

type reply struct {
	status int
	header http.Header
	body   string
}

func ask(t *testing.T, s *clickhouse.Server, method, query, body string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+"/"+query, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(b)}
}

// post runs a statement that must succeed.
func post(t *testing.T, s *clickhouse.Server, sql string) string {
	t.Helper()
	r := ask(t, s, "POST", "", sql)
	if r.status != 200 {
		t.Fatalf("%s: status %d, %s", sql, r.status, r.body)
	}
	return r.body
}

func escape(sql string) string { return url.QueryEscape(sql) }

func TestRequests(t *testing.T) {
	s := start(t, t.TempDir())
	post(t, s, "CREATE DATABASE d")
	post(t, s, "CREATE TABLE d.t (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
	for _, c := range []struct {
		name, method, query, body string
		headers                   []string
		status                    int
		code                      string // of the exception
		answer                    string // whole, or contained where code is set
	}{
		{name: "ping", method: "GET", query: "ping", status: 200, answer: "Ok.\n"},
		{name: "replicas", method: "GET", query: "replicas_status", status: 200, answer: "Ok.\n"},
		{name: "root", method: "GET", status: 200, answer: "Ok.\n"},
		{name: "unknown path", method: "GET", query: "play2", status: 404, answer: "There is no handle /play2\n\nUse / or /ping for health checks.\nSend queries with POST / or GET /?query=…\n"},
		{name: "GET", method: "GET", query: "?query=" + escape("SELECT 1, 'a\tb'"), status: 200, answer: "1\ta\\tb\n"},
		{name: "POST", method: "POST", body: "SELECT 2", status: 200, answer: "2\n"},
		{name: "both", method: "POST", query: "?query=SELECT", body: "3", status: 200, answer: "3\n"},
		{name: "FORMAT", method: "POST", body: "SELECT 1 AS x FORMAT JSONEachRow;", status: 200, answer: "{\"x\":1}\n"},
		{name: "default_format", method: "POST", query: "?default_format=CSV", body: "SELECT 1, 'q'", status: 200, answer: "1,\"q\"\n"},
		{name: "format header", method: "POST", body: "SELECT 1, 'q'", headers: []string{"X-ClickHouse-Format", "CSV"}, status: 200, answer: "1,\"q\"\n"},
		{name: "FORMAT wins", method: "POST", query: "?default_format=CSV", body: "SELECT 'q' FORMAT TSV", status: 200, answer: "q\n"},
		{name: "database", method: "POST", query: "?database=d", body: "SELECT currentDatabase(), count() FROM t", status: 200, answer: "d\t0\n"},
		{name: "database header", method: "POST", body: "SELECT currentDatabase()", headers: []string{"X-ClickHouse-Database", "d"}, status: 200, answer: "d\n"},
		{name: "setting", method: "POST", query: "?max_threads=3", body: "SELECT getSetting('max_threads')", status: 200, answer: "3\n"},
		{name: "setting gone", method: "POST", body: "SELECT getSetting('max_threads') = 3", status: 200, answer: "0\n"},
		{name: "params", method: "POST", query: "?param_a=" + escape(`x\ty'`) + "&param_b=[1,2]", body: "SELECT {a:String}, {b:Array(UInt8)}", status: 200, answer: "x\\ty\\'\t[1,2]\n"},
		{name: "user", method: "POST", query: "?user=default&password=", body: "SELECT 1", status: 200, answer: "1\n"},
		{name: "SET alone", method: "POST", body: "SET max_threads = 3", status: 200},
		{name: "curl -d", method: "POST", body: "SELECT 1", headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 200, answer: "1\n"},
		{name: "HEAD", method: "HEAD", query: "?query=SELECT+1", status: 200},

		{name: "empty", method: "POST", status: 400, code: "62", answer: "Empty query"},
		{name: "syntax", method: "POST", body: "SELEC 1", status: 400, code: "62", answer: "Syntax error"},
		{name: "bare expression", method: "POST", body: "1 + 1", status: 400, code: "62"},
		{name: "two statements", method: "POST", body: "SELECT 1; SELECT 2", status: 400, code: "62", answer: "Multi-statements"},
		{name: "no table", method: "POST", body: "SELECT * FROM d.none", status: 404, code: "60", answer: "(version 26."},
		{name: "no database", method: "POST", query: "?database=none", body: "SELECT 1", status: 404, code: "81"},
		{name: "no function", method: "POST", body: "SELECT none(1)", status: 404, code: "46"},
		{name: "no column", method: "POST", body: "SELECT none FROM d.t", status: 404, code: "47"},
		{name: "no format", method: "POST", body: "SELECT 1 FORMAT None1", status: 404, code: "73"},
		{name: "no setting", method: "POST", query: "?none=1", body: "SELECT 1", status: 404, code: "115"},
		{name: "odd setting", method: "POST", query: "?a%3Db=1", body: "SELECT 1", status: 404, code: "115"},
		{name: "missing param", method: "POST", body: "SELECT {a:String}", status: 500, code: "456"},
		{name: "timeout", method: "POST", query: "?max_execution_time=1", body: "SELECT sleepEachRow(0.5) FROM numbers(10) SETTINGS max_block_size = 1", status: 408, code: "159"},
		{name: "thrown", method: "POST", body: "SELECT throwIf(1, 'mine')", status: 500, code: "395", answer: "mine"},
		{name: "GET is read-only", method: "GET", query: "?query=" + escape("CREATE TABLE d.x (a UInt8) ENGINE = Memory"), status: 500, code: "164", answer: "GET implies readonly"},
		{name: "readonly", method: "POST", query: "?readonly=1", body: "DROP TABLE d.t", status: 500, code: "164"},
		{name: "password", method: "POST", query: "?user=default&password=x", body: "SELECT 1", status: 403, code: "516"},
		{name: "other user", method: "POST", body: "SELECT 1", headers: []string{"X-ClickHouse-User", "ann"}, status: 403, code: "516"},
		{name: "outfile", method: "POST", body: "SELECT 1 INTO OUTFILE 'x'", status: 500, code: "358"},
		{name: "infile", method: "POST", body: "INSERT INTO d.t FROM INFILE 'x' FORMAT CSV", status: 404, code: "78"},
		{name: "shutdown", method: "POST", body: "SYSTEM SHUTDOWN", status: 403, code: "497"},
		{name: "role", method: "POST", query: "?role=x", body: "SELECT 1", status: 501, code: "48"},
		{name: "external tables", method: "POST", body: "x", headers: []string{"Content-Type", "multipart/form-data; boundary=b"}, status: 501, code: "48"},
		{name: "foreign framing", method: "POST", query: "?client_protocol_version=54460&default_format=Native", body: "SELECT 1", headers: []string{"User-Agent", "other/1"}, status: 501, code: "48"},
		{name: "encoding", method: "POST", body: "SELECT 1", headers: []string{"Content-Encoding", "snappy"}, status: 500, code: "89"},
		{name: "not gzip", method: "POST", body: "SELECT 1", headers: []string{"Content-Encoding", "gzip"}, status: 500, code: "271"},
		{name: "not blocks", method: "POST", query: "?decompress=1", body: "SELECT 1 AS a, 2 AS b, 3 AS c, 4 AS d", status: 500, code: "271"},
		{name: "bad rows", method: "POST", body: "INSERT INTO d.t FORMAT CSV\nx,y\n", status: 400, code: "27"},
		{name: "too large a result", method: "POST", query: "?max_result_bytes=1000", body: "SELECT number FROM numbers(100000)", status: 500, code: "396", answer: "max_result_bytes"},
		{name: "web page", method: "POST", body: "SELECT 1", headers: []string{"Origin", "https://evil.example"}, status: 403, answer: "the embedded ClickHouse takes no requests of web pages\n"},
		{name: "web page without origin", method: "GET", query: "?query=SELECT+1", headers: []string{"Sec-Fetch-Site", "cross-site"}, status: 403, answer: "the embedded ClickHouse takes no requests of web pages\n"},
		{name: "rebound name", method: "POST", body: "SELECT 1", headers: []string{"Host", "evil.example:8123"}, status: 403, answer: "the embedded ClickHouse serves loopback addresses only, not \"evil.example:8123\"\n"},
		{name: "method", method: "DELETE", status: 405, answer: "the method DELETE is not served\n"},
	} {
		r := ask(t, s, c.method, c.query, c.body, c.headers...)
		if r.status != c.status || r.header.Get("X-ClickHouse-Exception-Code") != c.code ||
			(c.code == "" && r.body != c.answer) || !strings.Contains(r.body, c.answer) {
			t.Errorf("%s: status %d, code %q, %.300q; want %d, %q, %q", c.name, r.status, r.header.Get("X-ClickHouse-Exception-Code"), r.body, c.status, c.code, c.answer)
		}
	}
	r := ask(t, s, "POST", "?query_id=mine", "SELECT number FROM numbers(3) FORMAT CSV")
	for name, want := range map[string]string{
		"X-ClickHouse-Query-Id": "mine", "X-ClickHouse-Format": "CSV", "Content-Type": "text/csv; charset=UTF-8; header=absent",
		"X-ClickHouse-Server-Display-Name": "forager-local", "Content-Length": "6",
	} {
		if got := r.header.Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	if got := r.header.Get("X-ClickHouse-Summary"); !strings.HasPrefix(got, `{"read_rows":"3",`) {
		t.Errorf("summary %s", got)
	}
}

func TestInserts(t *testing.T) {
	s := start(t, t.TempDir())
	post(t, s, "CREATE TABLE t (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
	var zipped, z bytes.Buffer
	gz := gzip.NewWriter(&zipped)
	fmt.Fprint(gz, "7\tg\n")
	gz.Close()
	zw, _ := zstd.NewWriter(&z)
	fmt.Fprint(zw, "INSERT INTO t FORMAT TSV\n8\th\n")
	zw.Close()
	native := post(t, s, "SELECT toUInt64(9) AS n, 'i' AS s FORMAT Native")
	long := strings.Repeat("x", 200_000)
	for _, c := range []struct {
		query, body string
		headers     []string
		want        string
	}{
		{"", "INSERT INTO t VALUES (1, 'a'), (1+1, upper('b'));", nil, "1\ta\n2\tB\n"},
		{"", "INSERT INTO t FORMAT CSV\n3,\"c\n\nc\"\n", nil, "3\tc\\n\\nc\n"},
		{"?query=" + escape("INSERT INTO t FORMAT JSONEachRow"), `{"n":4,"s":"d\n\n"}`, nil, "4\td\\n\\n\n"},
		{"?query=" + escape("INSERT INTO t (s, n) SETTINGS format_csv_delimiter = '|' FORMAT CSV"), "e|5", nil, "5\te\n"},
		{"?query=" + escape("INSERT INTO t VALUES (6, 'f')"), "", nil, "6\tf\n"},
		{"?query=" + escape("INSERT INTO t FORMAT TSV"), zipped.String(), []string{"Content-Encoding", "gzip"}, "7\tg\n"},
		{"", z.String(), []string{"Content-Encoding", "zstd"}, "8\th\n"},
		{"?query=" + escape("INSERT INTO t FORMAT Native"), native, nil, "9\ti\n"},
		{"", "INSERT INTO t SELECT 10, 'k'", nil, "10\tk\n"},
		{"", "INSERT INTO t FORMAT TSV\n11\t" + long + "\n12\t\n", nil, "11\t" + long + "\n12\t\n"},
		{"?query=" + escape("INSERT INTO t FORMAT TSV"), "", nil, ""},
	} {
		r := ask(t, s, "POST", c.query, c.body, c.headers...)
		if r.status != 200 || r.body != "" {
			t.Errorf("%.80q %.80q: status %d, %s", c.query, c.body, r.status, r.body)
			continue
		}
		if got := post(t, s, "SELECT * FROM t ORDER BY n"); got != c.want {
			t.Errorf("%.80q %.80q: rows %.200q, want %.200q", c.query, c.body, got, c.want)
		}
		post(t, s, "TRUNCATE TABLE t")
	}
}

func TestAnswersAreCompressedOnDemand(t *testing.T) {
	s := start(t, t.TempDir())
	const sql = "SELECT number FROM numbers(100000)"
	plain := post(t, s, sql)
	r := ask(t, s, "POST", "?enable_http_compression=1", sql, "Accept-Encoding", "zstd;q=0, gzip")
	if enc := r.header.Get("Content-Encoding"); enc != "gzip" {
		t.Fatalf("Content-Encoding %q", enc)
	}
	z, err := gzip.NewReader(strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || string(got) != plain {
		t.Errorf("gzip holds %d bytes, want %d (%v)", len(got), len(plain), err)
	}
	for _, method := range []string{"LZ4", "ZSTD", "NONE"} {
		blocks := ask(t, s, "POST", "?compress=1&network_compression_method="+method, sql)
		if blocks.status != 200 || blocks.body == plain {
			t.Errorf("%s: status %d, compressed: %t", method, blocks.status, blocks.body != plain)
		}
		// The server reads its own blocks: as the text of a statement.
		back := ask(t, s, "POST", "?decompress=1&query="+escape("SELECT length('")+"&max_query_size=10000000", "')")
		if back.status == 200 {
			t.Error("plain text was taken for blocks")
		}
		r := ask(t, s, "POST", "?decompress=1", ask(t, s, "POST", "?compress=1&network_compression_method="+method, "SELECT 'SELECT 5' FORMAT RawBLOB").body)
		if r.body != "5\n" {
			t.Errorf("%s: the statement in blocks answered %q", method, r.body)
		}
	}
	if r := ask(t, s, "POST", "?compress=1&network_compression_method=T64", sql); r.status != 500 || !strings.Contains(r.body, "T64") {
		t.Errorf("an unknown method: %d %.100s", r.status, r.body)
	}
}

func TestSessions(t *testing.T) {
	s := start(t, t.TempDir())
	in := func(sql string) reply { return ask(t, s, "POST", "?session_id=a", sql) }
	in("CREATE TEMPORARY TABLE tt (n UInt8)")
	in("SET max_threads = 3")
	in("INSERT INTO tt VALUES (5)")
	if r := in("SELECT n, getSetting('max_threads') FROM tt"); r.body != "5\t3\n" {
		t.Errorf("in the session: %d %s", r.status, r.body)
	}
	if r := ask(t, s, "POST", "?session_id=b", "SELECT n FROM tt"); r.status != 404 {
		t.Errorf("another session has the table: %d %s", r.status, r.body)
	}
	if r := ask(t, s, "POST", "?session_id=c&session_check=1", "SELECT 1"); r.header.Get("X-ClickHouse-Exception-Code") != "372" {
		t.Errorf("a session that is not there: %d %s", r.status, r.body)
	}
	if r := ask(t, s, "POST", "?session_id=a&session_timeout=99999", "SELECT 1"); r.header.Get("X-ClickHouse-Exception-Code") != "374" {
		t.Errorf("an odd timeout: %d %s", r.status, r.body)
	}
	busy := background(t, s, "?session_id=a&query_id=slow-session", slow)
	waitRunning(t, s, "slow-session")
	if r := in("SELECT 1"); r.header.Get("X-ClickHouse-Exception-Code") != "373" {
		t.Errorf("a busy session: %d %s", r.status, r.body)
	}
	post(t, s, "KILL QUERY WHERE query_id = 'slow-session'")
	<-busy
	if r := in("SELECT n FROM tt"); r.body != "5\n" {
		t.Errorf("the session after a killed query: %d %s", r.status, r.body)
	}
	for i := range 70 {
		r := ask(t, s, "POST", fmt.Sprintf("?session_id=many%d", i), "SELECT 1")
		if i == 69 && r.header.Get("X-ClickHouse-Exception-Code") != "202" {
			t.Errorf("the 72nd session: %d %s", r.status, r.body)
		}
	}
}

const slow = "SELECT sleepEachRow(0.1) FROM numbers(3000) SETTINGS max_block_size = 1"

// background sends a statement and returns a channel of its response.
func background(t *testing.T, s *clickhouse.Server, query, sql string) <-chan reply {
	done := make(chan reply, 1)
	go func() { done <- ask(t, s, "POST", query, sql) }()
	return done
}

func waitRunning(t *testing.T, s *clickhouse.Server, ids ...string) {
	t.Helper()
	for _, id := range ids {
		for post(t, s, "SELECT count() FROM system.processes WHERE Settings['log_comment'] = '"+id+"'") != "1\n" {
			if err := t.Context().Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestReadsDoNotWaitBehindInserts(t *testing.T) {
	s := start(t, t.TempDir())
	post(t, s, "CREATE TABLE t (n UInt8) ENGINE = MergeTree ORDER BY n")
	var inserts []<-chan reply
	var ids []string
	for i := range 6 { // more than may run at once
		id := fmt.Sprintf("insert%d", i)
		inserts = append(inserts, background(t, s, "?query_id="+id, "INSERT INTO t "+slow))
		ids = append(ids, id)
	}
	for post(t, s, "SELECT count() FROM system.processes WHERE query_kind = 'Insert'") != "4\n" {
	}
	if got := post(t, s, "SELECT count() FROM t"); got != "0\n" {
		t.Errorf("rows %q", got)
	}
	for _, in := range inserts {
		select {
		case r := <-in:
			t.Fatalf("an insert ended before it was killed: %+v", r)
		default:
		}
	}
	for ended := 0; ended < len(inserts); {
		for _, id := range ids {
			post(t, s, "KILL QUERY WHERE query_id = '"+id+"'")
		}
		select {
		case r := <-inserts[ended]:
			if r.header.Get("X-ClickHouse-Exception-Code") != "394" {
				t.Errorf("a killed insert: %d %s", r.status, r.body)
			}
			ended++
		default:
		}
	}
}

func TestReadOfAGoneClientIsKilled(t *testing.T) {
	s := start(t, t.TempDir())
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, "POST", s.URL()+"/?query_id=gone", strings.NewReader(slow))
		if err == nil {
			_, err = http.DefaultClient.Do(req)
		}
		gone <- err
	}()
	waitRunning(t, s, "gone")
	hangUp()
	<-gone
	for post(t, s, "SELECT count() FROM system.processes WHERE Settings['log_comment'] = 'gone'") != "0\n" {
	}
}

func TestRestartKeepsTables(t *testing.T) {
	dir := t.TempDir()
	s, err := clickhouse.Start(t.Context(), dir, "127.0.0.1:0", clickhouse.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	post(t, s, "CREATE DATABASE d")
	post(t, s, "CREATE TABLE d.t (n UInt64) ENGINE = MergeTree ORDER BY n")
	post(t, s, "INSERT INTO d.t SELECT number FROM numbers(1000)")
	if _, err := clickhouse.Start(t.Context(), t.TempDir(), "127.0.0.1:0", clickhouse.Settings{}); err == nil {
		t.Error("a second folder was opened with the first")
	}
	if _, err := clickhouse.Start(t.Context(), dir, s.Address(), clickhouse.Settings{}); err == nil {
		t.Error("an address was taken twice")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = start(t, dir)
	if got := post(t, s, "SELECT count() FROM d.t"); got != "1000\n" {
		t.Errorf("after the restart %s rows", got)
	}
	if _, err := clickhouse.Start(t.Context(), dir, "192.0.2.1:8123", clickhouse.Settings{}); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("a foreign address: %v", err)
	}
}

// TestJoinsContinueOnDisk: a query with several joins and an aggregation, as of the view pages, of more than the memory holds. It has a
// process of its own, as that of the embedded ClickHouse: the engine counts what engines before it in the process have used.
func TestJoinsContinueOnDisk(t *testing.T) {
	const own = "FORAGER_TEST_OWN_PROCESS"
	if os.Getenv(own) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestJoinsContinueOnDisk$")
		cmd.Env = append(os.Environ(), own+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	s, err := clickhouse.Start(t.Context(), t.TempDir(), "127.0.0.1:0", clickhouse.Settings{MemoryBytes: 384 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	const rows = "(SELECT lower(hex(sipHash128(number))) AS id, number AS n FROM numbers(1000000))"
	sql := "SELECT count(), sum(r.n = a.n AND a.n = b.n AND b.n = c.n) FROM (SELECT id, max(n) AS n FROM " + rows + " GROUP BY id) AS r"
	for _, joined := range []string{"a", "b", "c"} {
		sql += " LEFT JOIN " + rows + " AS " + joined + " ON " + joined + ".id = r.id"
	}
	// It takes 81 to 96 MiB: several of them fit.
	if r := ask(t, s, "POST", "", sql+" SETTINGS max_memory_usage = 134217728"); r.body != "1000000\t1000000\n" {
		t.Errorf("%d %s", r.status, r.body)
	}
}

package clickhouse

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"forager/infra/local/chdb"
)

const (
	// defaultFormat is that of results, unless the request or the statement names one.
	defaultFormat = "TabSeparated"
	// peekBytes of a body are examined first: usually the statement of an INSERT fits.
	peekBytes = 64 << 10
	// maxTextBytes is the longest statement, without rows of an INSERT.
	maxTextBytes = 16 << 20
	// maxRowsBytes is the largest size of the rows of one INSERT.
	maxRowsBytes = 1 << 30
	// killAgain is the pause between two attempts to kill a query that may not have started.
	killAgain = 100 * time.Millisecond
)

// request is the content of the URL and the headers.
type request struct {
	id, database, format, session string
	sessionTimeout                time.Duration
	sessionCheck                  bool
	protocol                      int
	compress, decompress          bool
	settings                      map[string]string
	params                        []chdb.Param
	encoding                      string // of the response
}

var (
	settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	queryID     = regexp.MustCompile(`^[\x21-\x7e]{1,128}$`)
)

// readRequest reads everything except the statement.
func readRequest(r *http.Request) (*request, error) {
	q := &request{
		id: r.Header.Get("X-ClickHouse-Query-Id"), database: r.Header.Get("X-ClickHouse-Database"),
		format: r.Header.Get("X-ClickHouse-Format"), sessionTimeout: defaultSession, settings: map[string]string{},
	}
	values := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values.Get(name)
		switch name {
		case "query", "user", "password", "quota_key", "buffer_size", "wait_end_of_query", "stacktrace":
			// read elsewhere, or ignored here
		case "database":
			q.database = value
		case "default_format":
			if q.format == "" {
				q.format = value
			}
		case "query_id":
			q.id = value
		case "session_id":
			q.session = value
		case "session_check":
			q.sessionCheck = value == "1"
		case "session_timeout":
			n, err := strconv.ParseUint(value, 10, 31)
			if err != nil || time.Duration(n)*time.Second > maxSessionTimeout {
				return nil, refuse(374, "INVALID_SESSION_TIMEOUT", "Invalid session timeout: '%s', at most %d", value, int(maxSessionTimeout.Seconds()))
			}
			q.sessionTimeout = time.Duration(n) * time.Second
		case "client_protocol_version":
			n, err := strconv.ParseUint(value, 10, 31)
			if err != nil {
				return nil, refuse(36, "BAD_ARGUMENTS", "client_protocol_version is %q, not a number", value)
			}
			q.protocol = int(n)
		case "compress":
			q.compress = value == "1" || value == "true"
		case "decompress":
			q.decompress = value == "1" || value == "true"
		case "role":
			return nil, refuse(48, "NOT_IMPLEMENTED", "The embedded ClickHouse has no roles")
		default:
			if param, ok := strings.CutPrefix(name, "param_"); ok {
				q.params = append(q.params, chdb.Param{Name: param, Value: value})
				continue
			}
			if !settingName.MatchString(name) {
				return nil, refuse(115, "UNKNOWN_SETTING", "Unknown setting '%s'", name)
			}
			q.settings[name] = value
		}
	}
	if !queryID.MatchString(q.id) {
		q.id = rand.Text()
	}
	if v := q.settings["enable_http_compression"]; v == "1" || v == "true" {
		q.encoding = httpEncoding(r.Header.Get("Accept-Encoding"))
	}
	return q, nil
}

// checkUser accepts the user default with the server's password.
func (s *Server) checkUser(r *http.Request) error {
	user, password := r.Header.Get("X-ClickHouse-User"), r.Header.Get("X-ClickHouse-Key")
	if u, p, ok := r.BasicAuth(); ok {
		user, password = u, p
	}
	if v := r.URL.Query(); v.Has("user") || v.Has("password") {
		user, password = v.Get("user"), v.Get("password")
	}
	if (user == "" || user == "default") && subtle.ConstantTimeCompare([]byte(password), []byte(s.password)) == 1 {
		return nil
	}
	return refuse(516, "AUTHENTICATION_FAILED", "%s: Authentication failed: the embedded ClickHouse has the user default only, whose password is in DATA/secrets/clickhouse.json", user)
}

// query handles a request for /.
func (s *Server) query(w http.ResponseWriter, r *http.Request) {
	q, err := readRequest(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("X-ClickHouse-Query-Id", q.id)
	w.Header().Set("X-ClickHouse-Timezone", s.timezone)
	st, rows, err := readStatement(r, q.decompress)
	if err != nil {
		s.fail(w, err)
		return
	}
	if rows != nil {
		defer rows.Close()
	}
	if st == nil { // GET / checks whether the server is up
		_, _ = io.WriteString(w, "Ok.\n")
		return
	}
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && st.kind != read {
		s.fail(w, refuse(164, "READONLY", "Cannot execute query in readonly mode. For queries over HTTP, method GET implies readonly. You should use method POST for modifying queries"))
		return
	}
	if st.kind == read && isHello(st.sql) && strings.EqualFold(q.format, "Native") {
		s.answer(w, q, "Native", &chdb.Result{Data: s.hello(q.protocol)})
		return
	}
	format := cmp.Or(q.format, defaultFormat)
	if st.kind != insertRows && st.format != "" {
		format = st.format
	}
	if err := checkProtocol(q.protocol, format, r.UserAgent()); err != nil {
		s.fail(w, err)
		return
	}
	sql := st.sql
	if st.kind == insertRows {
		sql = fmt.Sprintf("%s\nFROM INFILE '/proc/self/fd/%d' COMPRESSION 'none' %s\nFORMAT %s", st.sql, rows.Fd(), st.settings, st.format)
	}
	result, err := s.run(r.Context(), q, st.kind, sql)
	if err != nil {
		s.fail(w, err)
		return
	}
	defer result.Free()
	if (st.kind == insertRows || st.kind == insertSelect) && s.below(keepFree) {
		// The engine may report rows as written that were not: the client has to repeat the insert.
		s.fail(w, refuse(243, "NOT_ENOUGH_SPACE", "The disk got full while the rows were inserted: insert them again when there is space"))
		return
	}
	s.answer(w, q, format, result)
}

// readStatement reads the statement; the rows of an INSERT are returned as a file in memory. A nil statement
// means that there is none to run.
func readStatement(r *http.Request, decompress bool) (*statement, *os.File, error) {
	source := r.URL.Query().Get("query")
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		if source == "" {
			return nil, nil, nil
		}
		s, err := parse(source)
		return &s, nil, err
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		return nil, nil, refuse(48, "NOT_IMPLEMENTED", "External tables (multipart/form-data) cannot be taken by the embedded ClickHouse: create a temporary table in a session")
	}
	body, err := plainBody(r, decompress)
	if err != nil {
		return nil, nil, err
	}
	if source != "" {
		source += "\n"
	}
	buffer := []byte(source)
	for whole := false; ; {
		old := len(buffer)
		buffer = slices.Grow(buffer, max(peekBytes, old))
		n, err := io.ReadFull(body, buffer[old:cap(buffer)])
		buffer = buffer[:old+n]
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			whole = true
		case err != nil:
			return nil, nil, badBody(err)
		}
		s, err := parse(string(buffer[:min(len(buffer), maxTextBytes)]))
		if err == nil && s.kind == insertRows && (whole || s.data < len(buffer)) {
			rows, err := hold(buffer[s.data:], body, whole)
			return &s, rows, err
		}
		switch {
		case len(buffer) > maxTextBytes:
			return nil, nil, refuse(229, "QUERY_IS_TOO_LARGE", "The statement is longer than %d MiB", maxTextBytes>>20)
		case whole:
			return &s, nil, err
		}
	}
}

func badBody(err error) error {
	var e *chdb.Exception
	if errors.As(err, &e) {
		return e
	}
	return refuse(271, "CANNOT_DECOMPRESS", "Cannot read the body: %v", err)
}

// hold writes the rows to a file in memory: the engine splits rows inside the text of a statement at blank lines.
func hold(begin []byte, rest io.Reader, whole bool) (*os.File, error) {
	f, err := memoryFile()
	if err != nil {
		return nil, fmt.Errorf("hold the rows in memory: %w", err)
	}
	_, err = f.Write(begin)
	var n int64
	if err == nil && !whole {
		n, err = io.Copy(f, io.LimitReader(rest, maxRowsBytes+1))
	}
	switch {
	case err != nil:
		err = badBody(err)
	case n+int64(len(begin)) > maxRowsBytes:
		err = refuse(229, "QUERY_IS_TOO_LARGE", "The rows take more than %d MiB, which is what the embedded ClickHouse holds in memory: insert in smaller batches", maxRowsBytes>>20)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// run runs a statement on a connection of its own, or of its session, when there is a free slot.
func (s *Server) run(ctx context.Context, q *request, k kind, sql string) (*chdb.Result, error) {
	places := s.writes
	if k == read {
		places = s.reads
	}
	if k != kill {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	fresh := false
	open := func() (*chdb.Conn, error) {
		fresh = true
		return chdb.Connect(s.dir, s.args...)
	}
	var conn *chdb.Conn
	var err error
	if q.session == "" {
		if conn, err = open(); err != nil {
			return nil, err
		}
		defer conn.Close()
	} else {
		var giveBack func()
		if conn, giveBack, err = s.sessions.take(q.session, q.sessionTimeout, q.sessionCheck, open); err != nil {
			return nil, err
		}
		defer giveBack()
	}
	if err := prepare(conn, q, fresh); err != nil {
		return nil, err
	}
	if k == read {
		ended, watched := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(watched)
			s.killWhenGone(ctx, q.id, ended)
		}()
		// Its connection must not outlive the request: closing the last one closes the folder.
		defer func() { close(ended); <-watched }()
	}
	if k == change && s.below(metadataFree) {
		return nil, refuse(243, "NOT_ENOUGH_SPACE", "The disk is full: changes of tables need %d MiB", metadataFree>>20)
	}
	return conn.Query(sql, cmp.Or(q.format, defaultFormat), q.params...)
}

// prepare sets the database and the settings of the request on the connection, and on a fresh one those of this server.
func prepare(conn *chdb.Conn, q *request, fresh bool) error {
	settings := map[string]string{}
	if fresh {
		settings["implicit_select"] = "0" // the engine's command line takes bare expressions, a server does not
		settings["max_result_bytes"] = strconv.Itoa(maxResultBytes)
	}
	maps.Copy(settings, q.settings)
	settings["log_comment"] = q.id
	var b strings.Builder
	if q.database != "" {
		fmt.Fprintf(&b, "USE %s;", quote(q.database, '`'))
	}
	for i, name := range slices.Sorted(maps.Keys(settings)) {
		if i == 0 {
			b.WriteString("SET ")
		} else {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s = %s", name, quote(settings[name], '\''))
	}
	r, err := conn.Query(b.String(), "Null")
	if err != nil {
		return err
	}
	r.Free()
	return nil
}

func quote(s string, with byte) string {
	q := string(with)
	return q + strings.NewReplacer(`\`, `\\`, q, `\`+q, "\x00", `\0`).Replace(s) + q
}

// killWhenGone kills the query if its client disconnects before it ends.
func (s *Server) killWhenGone(ctx context.Context, id string, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	conn, err := chdb.Connect(s.dir, s.args...)
	if err != nil {
		return // the server is closing
	}
	defer conn.Close()
	for {
		// It may not have started; then the next attempt finds it.
		if r, err := conn.Query("KILL QUERY WHERE Settings['log_comment'] = "+quote(id, '\''), "Null"); err == nil {
			r.Free()
		}
		select {
		case <-ended:
			return
		case <-time.After(killAgain):
		}
	}
}

// answer sends a result.
func (s *Server) answer(w http.ResponseWriter, q *request, format string, r *chdb.Result) {
	h := w.Header()
	h.Set("X-ClickHouse-Format", format)
	h.Set("Content-Type", contentType(format))
	h.Set("X-ClickHouse-Summary", fmt.Sprintf(`{"read_rows":"%d","read_bytes":"%d","written_rows":"%d","result_bytes":"%d","elapsed_ns":"%d"}`,
		r.ReadRows, r.ReadBytes, r.Written, len(r.Data), int64(r.Seconds*1e9)))
	switch {
	case q.compress:
		if err := writeBlocks(w, r.Data, q.settings["network_compression_method"]); err != nil {
			var e *chdb.Exception
			if errors.As(err, &e) {
				s.fail(w, e)
			}
		}
	case q.encoding != "":
		h.Set("Content-Encoding", q.encoding)
		z, err := encoder(w, q.encoding)
		if err != nil {
			s.fail(w, err)
			return
		}
		_, _ = z.Write(r.Data) // an error means that the client has disconnected
		z.Close()
	default:
		h.Set("Content-Length", strconv.Itoa(len(r.Data)))
		w.Write(r.Data)
	}
}

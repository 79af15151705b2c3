package clickhouse

import (
	"fmt"
	"strings"

	"forager/infra/local/chdb"
)

type kind uint8

const (
	other        kind = iota
	read              // changes nothing: SELECT, SHOW, …
	insertRows        // INSERT whose rows come with the request
	insertSelect      // any other INSERT
	change            // writes files of metadata: CREATE, ALTER, DELETE, …
	kill              // KILL QUERY
)

// statement is the parsed SQL of a request, as far as it must be changed for the engine.
type statement struct {
	kind kind
	// sql is the statement without a closing semicolon; for insertRows, the part before FROM INFILE.
	sql string
	// settings is the SETTINGS clause of insertRows ("SETTINGS a = 1"); may be empty.
	settings string
	// format is that of the FORMAT clause (of the rows, for insertRows); empty = none.
	format string
	// data is the offset in the source at which the rows begin, for insertRows.
	data int
}

// refuse returns an error of this server in the form of the engine's.
func refuse(code int, name, format string, args ...any) *chdb.Exception {
	return &chdb.Exception{Code: code, Message: fmt.Sprintf("Code: %d. DB::Exception: %s. (%s)", code, fmt.Sprintf(format, args...), name)}
}

var firstWords = map[string]kind{
	"SELECT": read, "WITH": read, "FROM": read, "(": read, "SHOW": read, "DESC": read, "DESCRIBE": read,
	"EXPLAIN": read, "EXISTS": read, "CHECK": read,
	"CREATE": change, "REPLACE": change, "ALTER": change, "DELETE": change, "UPDATE": change, "RENAME": change, "EXCHANGE": change,
}

// parse parses source just far enough to find where rows begin, which format is requested and what an embedded
// engine must not run; the engine checks everything else.
func parse(source string) (statement, error) {
	first, ok := next(source, 0)
	if !ok {
		return statement{}, refuse(62, "SYNTAX_ERROR", "Syntax error: Empty query")
	}
	if first.is(source, "INSERT") {
		if s, ok, err := parseInsert(source, first); ok || err != nil {
			return s, err
		}
	}
	var tokens []token
	s := statement{kind: other, sql: source}
	for t, ok := first, true; ok; t, ok = next(source, t.end) {
		if t.is(source, ";") {
			if _, more := next(source, t.end); more {
				return s, refuse(62, "SYNTAX_ERROR", "Syntax error (Multi-statements are not allowed): failed at position %d (end of query)", t.start+1)
			}
			s.sql = source[:t.start]
			break
		}
		tokens = append(tokens, t)
	}
	is := func(i int, what string) bool { return i >= 0 && i < len(tokens) && tokens[i].is(source, what) }
	switch {
	case is(0, "KILL") && is(1, "QUERY"):
		s.kind = kill
		s.sql = killByClientID(s.sql, tokens)
	case len(tokens) > 0 && tokens[0].kind != text && tokens[0].kind != quoted:
		s.kind = firstWords[strings.ToUpper(source[tokens[0].start:tokens[0].end])]
	}
	if err := denied(source, tokens); err != nil {
		return s, err
	}
	for i := range tokens {
		switch {
		case is(i, "OUTFILE") && is(i-1, "INTO") && !is(i-2, "INSERT"):
			return s, refuse(358, "INTO_OUTFILE_NOT_ALLOWED", "INTO OUTFILE is not allowed: files are written by clients")
		case is(i, "INTO") && is(i-1, "INSERT"):
			s.kind = insertSelect // also WITH … INSERT INTO …
		case is(i, "INPUT") && is(i+1, "(") && is(0, "INSERT"):
			return s, refuse(48, "NOT_IMPLEMENTED", "INSERT … SELECT … FROM input() cannot be done by the embedded ClickHouse: insert into a table, then INSERT … SELECT from it")
		case is(i, "FORMAT") && i > 0 && i+1 < len(tokens) && tokens[i+1].kind == word && (i+2 == len(tokens) || is(i+2, "SETTINGS")):
			s.format = source[tokens[i+1].start:tokens[i+1].end]
		}
	}
	return s, nil
}

// parseInsert parses an INSERT whose rows are in the request; ok is false for any other.
func parseInsert(source string, first token) (s statement, ok bool, err error) {
	t, ok := next(source, first.end)
	if !ok || !t.is(source, "INTO") {
		return s, false, nil
	}
	pos := t.end
	advance := func() bool {
		if t, ok = next(source, pos); ok {
			pos = t.end
		}
		return ok
	}
	if !advance() {
		return s, false, nil
	}
	if t.is(source, "TABLE") && !advance() {
		return s, false, nil
	}
	if t.is(source, "FUNCTION") && !advance() {
		return s, false, nil
	}
	if t.kind != word && t.kind != quoted {
		return s, false, nil
	}
	settings, depth := -1, 0
	for advance() {
		if t.kind == symbol {
			switch source[t.start] {
			case '(', '[', '{':
				depth++
			case ')', ']', '}':
				depth--
			case '.': // database.table: a name follows, whatever it is
				if !advance() {
					return s, false, nil
				}
			case ';':
				return s, false, nil
			}
			continue
		}
		if depth != 0 || t.kind != word {
			continue
		}
		switch strings.ToUpper(source[t.start:t.end]) {
		case "SELECT", "WITH", "WATCH":
			return s, false, nil
		case "FROM":
			if advance() && t.is(source, "INFILE") {
				return s, false, refuse(78, "UNKNOWN_TYPE_OF_QUERY", "Query has infile and was sent directly to server: files are read by clients")
			}
			return s, false, nil
		case "SETTINGS":
			settings = t.start
		case "VALUES":
			return insertOf(source, settings, t.start, "Values", t.end), true, nil
		case "FORMAT":
			begin := t.start
			if !advance() || t.kind != word {
				return s, false, nil
			}
			return insertOf(source, settings, begin, source[t.start:t.end], behindFormat(source, t.end)), true, nil
		}
	}
	return s, false, nil
}

func insertOf(source string, settings, end int, format string, data int) statement {
	s := statement{kind: insertRows, sql: source[:end], format: format, data: data}
	if settings >= 0 {
		s.sql, s.settings = source[:settings], source[settings:end]
	}
	return s
}

// behindFormat returns where rows begin after "FORMAT name": a semicolon, blanks and one line break belong to the statement.
func behindFormat(source string, pos int) int {
	at := func(set string) bool { return pos < len(source) && strings.IndexByte(set, source[pos]) >= 0 }
	if at(";") {
		pos++
	}
	for at(" \t\f") {
		pos++
	}
	if at("\r") {
		pos++
	}
	if at("\n") {
		pos++
	}
	return pos
}

// killByClientID lets query_id = 'X' in KILL QUERY match the client's id, too: the engine assigns its own ids,
// and the client's is in the setting log_comment.
func killByClientID(sql string, tokens []token) string {
	var b strings.Builder
	from := 0
	for i := 2; i < len(tokens); i++ {
		a, eq, id := tokens[i-2], tokens[i-1], tokens[i]
		if a.is(sql, "query_id") && eq.is(sql, "=") && id.kind == text {
			b.WriteString(sql[from:a.start])
			fmt.Fprintf(&b, "%s IN (query_id, Settings['log_comment'])", sql[id.start:id.end])
			from = id.end
		}
	}
	b.WriteString(sql[from:])
	return b.String()
}

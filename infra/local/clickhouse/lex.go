package clickhouse

import (
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	word   tokenKind = iota // bare identifier or keyword, or a number
	quoted                  // `identifier` or "identifier"
	text                    // 'string' or $$heredoc$$
	symbol                  // one character
)

// token is a piece of SQL: source[start:end].
type token struct {
	kind       tokenKind
	start, end int
}

// is reports whether the token is this keyword (upper case) or symbol.
func (t token) is(source, what string) bool {
	return (t.kind == word || t.kind == symbol) && strings.EqualFold(source[t.start:t.end], what)
}

// next returns the first token at or after pos; ok is false at the end. Comments are skipped. An unclosed quote
// or comment ends with the source: the engine will report it.
func next(source string, pos int) (t token, ok bool) {
	pos = skipSpace(source, pos)
	if pos >= len(source) {
		return token{}, false
	}
	c := source[pos]
	switch {
	case wordByte(c):
		end := pos + 1
		for end < len(source) && wordByte(source[end]) {
			end++
		}
		return token{word, pos, end}, true
	case c == '\'':
		return token{text, pos, closing(source, pos)}, true
	case c == '`' || c == '"':
		return token{quoted, pos, closing(source, pos)}, true
	case c == '$':
		if end := heredoc(source, pos); end > 0 {
			return token{text, pos, end}, true
		}
	}
	for _, q := range typographic {
		if strings.HasPrefix(source[pos:], q.open) {
			end := len(source)
			if i := strings.Index(source[pos:], q.close); i >= 0 {
				end = pos + i + len(q.close)
			}
			return token{q.kind, pos, end}, true
		}
	}
	_, size := utf8.DecodeRuneInString(source[pos:])
	return token{symbol, pos, pos + size}, true
}

// typographic quotes are equivalent to plain ones; nothing is escaped between them.
var typographic = []struct {
	open, close string
	kind        tokenKind
}{{"‘", "’", text}, {"“", "”", quoted}}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func skipSpace(source string, pos int) int {
	for pos < len(source) {
		rest := source[pos:]
		switch {
		case strings.IndexByte(" \t\n\r\f\v\x00", rest[0]) >= 0:
			pos++
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "# "), strings.HasPrefix(rest, "#!"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				return len(source)
			}
			pos += end + 1
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return len(source)
			}
			pos += end + 4
		default:
			return pos
		}
	}
	return pos
}

// closing returns the end of the quoted text that begins at pos: quotes are doubled or escaped by a backslash inside it.
func closing(source string, pos int) int {
	quote := source[pos]
	for i := pos + 1; i < len(source); i++ {
		switch source[i] {
		case '\\':
			i++
		case quote:
			if i+1 < len(source) && source[i+1] == quote {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(source)
}

// heredoc returns the end of $tag$ … $tag$, or 0 if there is none at pos.
func heredoc(source string, pos int) int {
	end := pos + 1
	for end < len(source) && wordByte(source[end]) {
		end++
	}
	if end == len(source) || source[end] != '$' {
		return 0
	}
	tag := source[pos : end+1]
	i := strings.Index(source[end+1:], tag)
	if i < 0 {
		return 0
	}
	return end + 1 + i + len(tag)
}

package view

import (
	"fmt"
	"strings"
	"unicode"
)

// Plain returns a text of the web as it may be shown: in one line, with control and formatting characters, which could hide or reorder
// what is read, as their numbers.
func Plain(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case r == unicode.ReplacementChar || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

package schemas

import "strings"

// maxDetail is the length of a detail, bytes.
const maxDetail = 300

// DetailOf returns an error in the form of the field detail of a record: one line of valid UTF-8,
// at most 300 bytes.
func DetailOf(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	line = strings.ToValidUTF8(line, "\uFFFD")
	if len(line) > maxDetail {
		line = strings.ToValidUTF8(line[:maxDetail-len(" …")], "") + " …"
	}
	return line
}

package examples

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"forager/internal/classify/taxonomy"
	"forager/internal/page/text"
	"forager/internal/web/weburl"
)

// Bounds of an example.
const (
	// MaxText is the maximum length of a text, bytes.
	MaxText = 16 << 20
	// maxName is the maximum length of the name of a page that is no URL, bytes.
	maxName = 4096
	// maxTopics is the maximum number of topics of an example.
	maxTopics = 1000
)

// Example is a labelled page.
type Example struct {
	// URL is canonical where it is a URL that can be crawled; any other name of a page is unchanged.
	URL string `json:"url"`
	// Topics are names as taxonomy.ParseTopic returns them, or + "/Other"; sorted and distinct, at least one.
	Topics []string `json:"topics"`
	// Text is UTF-8, with at least one word.
	Text string `json:"text"`
}

// Writer writes examples as JSON Lines.
type Writer struct{ to *json.Encoder }

// NewWriter returns a Writer to w, which it does not buffer.
func NewWriter(w io.Writer) *Writer {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return &Writer{to: e}
}

// Write writes one example.
func (w *Writer) Write(e *Example) error { return w.to.Encode(e) }

// cleanURL checks the URL or name of a page.
func cleanURL(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return "", errors.New("url is empty")
	}
	if u, err := weburl.Parse(name); err == nil {
		return u.String(), nil
	}
	if len(name) > maxName {
		return "", fmt.Errorf("url %.60q… has %d bytes", name, len(name))
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", fmt.Errorf("url %.200q is not UTF-8, or has control characters", name)
	}
	return name, nil
}

// cleanTopic returns the canonical form of a topic's name.
func cleanTopic(name string) (string, error) {
	name = strings.Trim(norm.NFC.String(strings.TrimSpace(name)), "/")
	if _, err := taxonomy.ParseTopic(name); err != nil {
		return "", err
	}
	return name, nil
}

// cleanText returns the text of a page as valid UTF-8. Binary data is refused.
func cleanText(s string) (clean string, refused Reason, why string) {
	if len(s) > MaxText {
		return "", TooLong, fmt.Sprintf("%d bytes, more than %d", len(s), MaxText)
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, string(utf8.RuneError))
	}
	odd, all := 0, 0
	for _, r := range s {
		all++
		if r == utf8.RuneError || r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' {
			odd++
		}
	}
	if odd*10 > all {
		return "", NotText, fmt.Sprintf("%d of %d characters are control characters or not UTF-8", odd, all)
	}
	var z text.Scanner
	if z.Reset(s); !z.Next() {
		return "", NoText, "there is no word in it"
	}
	return s, "", ""
}

// below reports whether a topic is one of others, or is below one.
func below(topic string, others []string) bool {
	return slices.ContainsFunc(others, func(o string) bool { return taxonomy.Within(topic, o) })
}

package webarchive

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"forager/internal/testkit/growth"
)

// shared is a gzip member of responses for n URLs.
func shared(n int, body string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for i := range n {
		block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
		fmt.Fprintf(w, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/%d\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", i, len(block), block)
	}
	w.Close()
	return b.String()
}

func TestHostileFilesAreLinear(t *testing.T) {
	growth.Linear(t, 1<<18, 1000, func(b []byte) {
		if _, err := New(bytes.NewReader(b), int64(len(b))); err == nil && !bytes.Contains(b, []byte(shared(1, ""))) {
			t.Errorf("%.20q…: no error", b)
		}
	}, []growth.Case{
		{Name: "version lines", Make: growth.Repeat("", "WARC/1.0\n", "")},
		{Name: "gzip headers", Make: growth.Repeat("", "\x1f\x8b\x08\x04\xff\xff", "")},
		{Name: "one answer again and again", Make: growth.Repeat("", shared(1, ""), "")},
		{Name: "answers that are none", Make: growth.Repeat("", "WARC/1.0\nWARC-Type:response\nWARC-Target-URI:http://a.test/\nContent-Length:0\n\n\n\n", "")},
	})
}

// TestSharedMembersAreBounded: a member may decode to a thousand times its length.
func TestSharedMembersAreBounded(t *testing.T) {
	file := shared(100, strings.Repeat("x", 10_000))
	if a, err := index(strings.NewReader(file), int64(len(file)), 2_000_000); err != nil || len(a.URLs()) != 100 {
		t.Errorf("within the bound: %v", err)
	}
	if _, err := index(strings.NewReader(file), int64(len(file)), 500_000); err == nil || !strings.Contains(err.Error(), "one record a member") {
		t.Errorf("beyond the bound: %v", err)
	}
}

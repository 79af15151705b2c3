package contentcoding

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"forager/internal/testkit/growth"
)

// TestHostileBodiesAreLinear reads at most a megabyte of each body, as clients do.
func TestHostileBodiesAreLinear(t *testing.T) {
	empty := string(encode(t, "gzip", ""))
	extra := "\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\xff\xff"
	for header, cases := range map[string][]growth.Case{
		"gzip": {
			{Name: "empty members", Make: growth.Repeat("", empty, "")},
			{Name: "empty stored blocks", Make: growth.Repeat(empty[:10], "\x00\x00\x00\xff\xff", "")},
			{Name: "magic behind a member", Make: growth.Repeat(empty, "\x1f\x8b\x08", "")},
			{Name: "header with a long field", Make: growth.Repeat(extra, "x", "")},
			{Name: "header with a name without an end", Make: growth.Repeat("\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xff", "x", "")},
			{Name: "members with long fields", Make: growth.Repeat("", extra+strings.Repeat("x", 1<<16-1)+empty[10:], "")},
		},
		"deflate": {{Name: "empty stored blocks", Make: growth.Repeat("", "\x00\x00\x00\xff\xff", "")}},
		"br":      {{Name: "empty metadata blocks", Make: growth.Repeat("", "\x06", "")}, {Name: "zeros", Make: growth.Repeat("", "\x00", "")}},
		"zstd": {
			{Name: "skipped frames", Make: growth.Repeat("", "\x50\x2a\x4d\x18\x00\x00\x00\x00", "")},
			{Name: "empty frames", Make: growth.Repeat("", string(encode(t, "zstd", "x")), "")},
		},
		"gzip, gzip, gzip": {{Name: "empty members in one another", Make: growth.Repeat("", string(encode(t, "gzip", empty)), "")}},
	} {
		// A zstd decoder allocates its tables once.
		growth.Linear(t, 1<<20, 64, func(b []byte) {
			r, err := NewReader(bytes.NewReader(b), header)
			if err != nil {
				return
			}
			defer r.Close()
			io.Copy(io.Discard, io.LimitReader(r, 1<<20))
		}, cases)
	}
	var names strings.Builder
	for names.Len() < 1<<18 {
		names.WriteString("gzip,")
	}
	if _, err := NewReader(strings.NewReader("x"), names.String()); err == nil || len(err.Error()) > 200 {
		t.Errorf("a quarter of a megabyte of codings: %v", err)
	}
}

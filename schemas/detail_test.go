package schemas

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDetailOfIsOneShortLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                  "plain",
		"first\nsecond":          "first",
		"\n panic: x\ngoroutine": "panic: x",
		"bad \xff byte":          "bad \uFFFD byte",
		"":                       "",
	} {
		if got := DetailOf(errors.New(in)); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	for _, long := range []string{strings.Repeat("x", 301), strings.Repeat("é", 200)} {
		got := DetailOf(errors.New(long))
		if len(got) > maxDetail || len(got) < maxDetail-4 || !strings.HasSuffix(got, " …") || !utf8.ValidString(got) {
			t.Errorf("%d bytes give %d: %q", len(long), len(got), got)
		}
	}
	if exact := strings.Repeat("x", maxDetail); DetailOf(errors.New(exact)) != exact {
		t.Error("a line that fits was cut")
	}
}

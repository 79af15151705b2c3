package edgefile

import (
	"bytes"
	"testing"

	"forager/internal/testkit/growth"
)

func TestHostileFilesAreLinear(t *testing.T) {
	cases := []growth.Case{
		{Name: "empty lines", Make: growth.Repeat("", "\n", "")},
		{Name: "spaces", Make: growth.Repeat("", " ", "\n")},
		{Name: "one line", Make: growth.Repeat("", "a", "")},
		{Name: "lines that are too long", Make: growth.Repeat("", string(bytes.Repeat([]byte("a"), maxLine+1))+"\n", "")},
		{Name: "dots", Make: growth.Repeat("1 ", ".", "\n")},
		{Name: "lines of labels", Make: growth.Repeat("", "1 "+string(bytes.Repeat([]byte("a."), maxLine/2-10))+"\n", "")},
		{Name: "links", Make: growth.Repeat("", "http://a.test/ http://b.test/\n", "")},
		{Name: "long URLs", Make: growth.Repeat("", "http://a.test/ http://b.test/"+string(bytes.Repeat([]byte("../"), 10_000))+"\n", "")},
		{Name: "broken lines", Make: growth.Repeat("", "x\n", "")},
	}
	// The scanner's buffer and a URL of 8 KiB in its forms are what a line may need.
	growth.Linear(t, 1<<20, 600, func(b []byte) {
		Links(t.Context(), bytes.NewReader(b), 1, func(string) bool { return true }, func(_, _ string) {})
		Numbers(t.Context(), bytes.NewReader(b), 1, func(_, _ uint64) {})
		Vertices(t.Context(), bytes.NewReader(b), 1, func(uint64, string) {})
	}, cases)
}

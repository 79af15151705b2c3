package robots

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"forager/internal/testkit/growth"
)

// lines is a file of begin and, to about n bytes, the lines of make by their number.
func lines(begin string, make func(i int) string) func(n int) []byte {
	return func(n int) []byte {
		b := []byte(begin)
		for i := 0; len(b) < n; i++ {
			b = append(append(b, make(i)...), '\n')
		}
		return b
	}
}

func repeated(line string) func(int) string { return func(int) string { return line } }

// halves is a file of which one half is of one line and the other of another.
func halves(first, second string) func(n int) []byte {
	return func(n int) []byte {
		return append(bytes.Repeat([]byte(first+"\n"), n/2/(len(first)+1)), bytes.Repeat([]byte(second+"\n"), n/2/(len(second)+1))...)
	}
}

var hostile = []growth.Case{
	{Name: "user-agents, then delays", Make: halves("user-agent:", "crawldelay:1")},
	{Name: "named user-agents, then delays", Make: halves("user-agent:a", "crawldelay:1")},
	{Name: "user-agents, then rules", Make: halves("user-agent:a", "allow:/")},
	{Name: "distinct user-agents, then rules", Make: func(n int) []byte {
		return append(lines("", func(i int) string { return fmt.Sprintf("user-agent:a%d", i) })(n/2), bytes.Repeat([]byte("allow:/\n"), n/16)...)
	}},
	{Name: "groups of one agent", Make: growth.Repeat("", "user-agent:forager\ndisallow:/a\n", "")},
	{Name: "delays of one agent", Make: growth.Repeat("", "user-agent:forager\ncrawl-delay:1\n", "")},
	{Name: "asterisks", Make: growth.Repeat("user-agent:*\ndisallow:", "*", "x\n")},
	{Name: "asterisks between letters", Make: growth.Repeat("user-agent:*\ndisallow:*", "a*", "x\n")},
	{Name: "patterns with asterisks", Make: lines("user-agent:*\n", repeated("allow:*?/z"))},
	{Name: "distinct patterns with asterisks", Make: lines("user-agent:*\n", func(i int) string { return fmt.Sprintf("disallow:*?/z%d", i) })},
	{Name: "long pieces", Make: lines("user-agent:*\n", func(i int) string { return "disallow:*" + strings.Repeat("?", 100) + "z" })},
	{Name: "plain patterns", Make: lines("user-agent:*\n", func(i int) string { return fmt.Sprintf("disallow:/%s%d", strings.Repeat("a", i%100), i) })},
	{Name: "escapes", Make: growth.Repeat("user-agent:*\ndisallow:/?", "%2f/\xff", "\n")},
	{Name: "no line ends", Make: growth.Repeat("", "user-agent:", "")},
	{Name: "comments", Make: growth.Repeat("", "#", "")},
}

var hostilePaths = []string{
	"/", "/" + strings.Repeat("a", 8000), "/" + strings.Repeat("?", 8000), "/" + strings.Repeat("?/", 4000), "/?" + strings.Repeat("/", 8000),
}

func TestHostileFilesAreLinear(t *testing.T) {
	growth.Linear(t, MaxSize-100, 100, func(b []byte) {
		f := Parse(b)
		f.CrawlDelay("forager")
		if f.Size() < len(b) {
			t.Errorf("size %d of a file of %d bytes", f.Size(), len(b))
		}
	}, hostile)
}

// TestWorkIsBounded counts what Allowed compares: linear in the length of the file and, for patterns with
// asterisks, within the budget.
func TestWorkIsBounded(t *testing.T) {
	reached := false
	for _, c := range hostile {
		b := c.Make(MaxSize - 100)
		f := Parse(b)
		for _, path := range hostilePaths {
			_, work := f.allowed("forager", path)
			if work > workBound(b) {
				t.Errorf("%s, path %.10s: %d bytes compared, file of %d", c.Name, path, work, len(b))
			}
			reached = reached || work > matchBudget
		}
	}
	if !reached {
		t.Error("no file uses up the budget")
	}
}

// workBound: an octet may become an escape of three, each is compared in two forms at most.
func workBound(file []byte) int { return 6*len(file) + matchBudget }

// TestBeyondTheBudget: a pattern that is not compared whole disallows what it might disallow, and allows nothing.
func TestBeyondTheBudget(t *testing.T) {
	many := string(lines("user-agent: *\n", func(i int) string { return fmt.Sprintf("disallow: /*?/z%d", i) })(MaxSize / 2))
	long := "/a?" + strings.Repeat("?/", 4000)
	for _, c := range []struct {
		rules, path string
		want        bool
	}{
		{"", "/a?/y", true},
		{"disallow: /a*b\n", long, true},
		{many, "/a?/y", true},
		{many + "disallow: /b*c\n", long, false}, // some "/*?/z…" was not compared
		{strings.ReplaceAll(many, "/*?", "/b*?") + "disallow: /b*c\n", long, true},
		{strings.ReplaceAll(many, "disallow", "allow") + "disallow: /a\n", long, false},
	} {
		text := "user-agent: *\n" + c.rules
		if got := Parse([]byte(text)).Allowed("forager", c.path); got != c.want {
			t.Errorf("%d bytes of rules, %.50s…: %.10s allowed %v", len(c.rules), c.rules, c.path, got)
		}
	}
}

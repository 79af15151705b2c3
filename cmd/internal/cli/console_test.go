package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"forager/internal/platform/progress"
)

// harmless reports whether a terminal shows b as text without control sequences.
func harmless(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 || unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return false
		}
		b = b[n:]
	}
	return true
}

func FuzzPrinter(f *testing.F) {
	f.Add([]byte("a\x1b[2Jb\r\nc\x07\u009b31m\u202e\xff\xe2\x80"), 3)
	f.Add([]byte("Käse \u200d \u2028 日本\x7f"), 6)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		var out bytes.Buffer
		p := &printer{console: newConsole(new(bytes.Buffer)), to: &out}
		cut = min(max(cut, 0), len(b))
		for _, part := range [][]byte{b[:cut], b[cut:]} {
			if n, err := p.Write(part); err != nil || n != len(part) {
				t.Fatalf("%d of %d bytes, %v", n, len(part), err)
			}
		}
		p.flush()
		if !harmless(out.Bytes()) {
			t.Errorf("%q is printed as %q", b, &out)
		}
		if harmless(b) && !bytes.Contains(b, []byte("\u2028")) && !bytes.Contains(b, []byte("\u2029")) && !bytes.Equal(b, out.Bytes()) {
			t.Errorf("%q is text and is printed as %q", b, &out)
		}
	})
}

func FuzzPrinterOfJSON(f *testing.F) {
	f.Add("a\x1b[2J\r\n\u009b\u202e\x7f\xff\u2028")
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		p := &printer{console: newConsole(new(bytes.Buffer)), to: &out, json: true}
		s := &Session{Stdout: p, JSON: true}
		if err := s.Print(map[string]string{"title": text}, nil); err != nil {
			t.Fatal(err)
		}
		p.flush()
		if !harmless(out.Bytes()) {
			t.Errorf("%q is printed as %q", text, &out)
		}
		var back map[string]string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["title"] != strings.ToValidUTF8(text, "\ufffd") && utf8.ValidString(text) {
			t.Errorf("%q is read back as %q, %v", text, back["title"], err)
		}
	})
}

func TestProgressLine(t *testing.T) {
	began := time.Unix(1000, 0)
	for _, c := range []struct {
		base, done, total int64
		want              string
	}{
		{0, 0, 0, "training: 1m0s so far"}, {0, 7, 0, "training: 7, 1m0s so far"}, {0, 0, 10, "training: 0 %, 1m0s so far"},
		{0, 25, 100, "training: 25 %, about 3m0s left"}, {50, 75, 100, "training: 75 %, about 1m0s left"}, {0, 100, 100, "training: 100 %, about 0s left"},
	} {
		task := &progress.Task{What: "training"}
		task.Begin(c.base, c.total)
		task.Reach(c.done, c.total)
		if got := (&watched{task, began}).line(began.Add(time.Minute)); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestProgressInALog: where standard error is no terminal, a task that takes long prints a line a minute with what is left, and
// a short one nothing.
func TestProgressInALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := newConsole(&log)
		task := &progress.Task{What: "training"}
		task.Begin(0, 100)
		end := c.Begin(task)
		for range 31 { // a hundredth each 10 s
			time.Sleep(10 * time.Second)
			task.Reach(task.Done()+1, 100)
		}
		end()
		end = c.Begin(&progress.Task{What: "reading"})
		time.Sleep(45 * time.Second)
		end()
		time.Sleep(time.Hour)
		c.close()
		lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
		if len(lines) != 5 || strings.ContainsAny(log.String(), "\r\x1b") {
			t.Fatalf("in five minutes it printed %q", lines)
		}
		for i, line := range lines {
			percent, left := 0, ""
			if _, err := fmt.Sscanf(line, "training: %d %%, about %s left", &percent, &left); err != nil || percent < 5*(i+1) || percent > 6*(i+1) {
				t.Errorf("line %d is %q (%v)", i, line, err)
			}
			if d, err := time.ParseDuration(left); err != nil || d < 10*time.Minute || d > 20*time.Minute {
				t.Errorf("line %d estimates %q (%v)", i, line, err)
			}
		}
	})
}

// TestProgressOnATerminal: a line of progress is overwritten, and removed before text is printed.
func TestProgressOnATerminal(t *testing.T) {
	var screen bytes.Buffer
	c := newConsole(&screen)
	c.terminal = true
	p := &printer{console: c, to: &screen}
	c.status("one %s", "\x1b]0;evil\x07")
	c.status("two")
	p.Write([]byte("text\n"))
	c.close()
	if want := "\r\x1b[Kone \\x1b]0;evil\\x07\r\x1b[Ktwo\r\x1b[Ktext\n"; screen.String() != want {
		t.Errorf("the terminal got %q, want %q", &screen, want)
	}
}

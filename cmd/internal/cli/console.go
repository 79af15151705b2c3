package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"forager/internal/platform/progress"
)

// console is standard output and standard error of a command. Printed text contains no control characters
// except line ends and tabs, whatever a page's title or a URL contains. Standard error shows at most one line
// of progress: in place on a terminal, once a minute elsewhere.
type console struct {
	mu       sync.Mutex
	err      io.Writer
	terminal bool // standard error is one
	shown    bool // a line of progress is on the terminal
	every    time.Duration
	tasks    []*watched // in the order in which they began
	ticking  bool
	stop     chan struct{}
}

// watched is a task whose progress is shown.
type watched struct {
	*progress.Task
	began time.Time
}

const (
	terminalEvery = 200 * time.Millisecond
	logEvery      = time.Minute
)

func newConsole(err io.Writer) *console {
	c := &console{err: err, terminal: Interactive(err), every: logEvery, stop: make(chan struct{})}
	if c.terminal {
		c.every = terminalEvery
	}
	return c
}

// Begin shows a task until it ends.
func (c *console) Begin(t *progress.Task) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &watched{t, time.Now()}
	c.tasks = append(c.tasks, w)
	if !c.ticking {
		c.ticking = true
		go c.tick()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, x := range c.tasks {
			if x == w {
				c.tasks = append(c.tasks[:i:i], c.tasks[i+1:]...)
				break
			}
		}
		c.erase()
	}
}

// Moved does nothing: progress is shown at the next tick.
func (c *console) Moved(*progress.Task) {}

func (c *console) tick() {
	t := time.NewTicker(c.every)
	defer t.Stop()
	for {
		select {
		case <-c.stop:
			return
		case now := <-t.C:
			c.mu.Lock()
			if len(c.tasks) > 0 {
				c.show(c.tasks[0].line(now))
			}
			c.mu.Unlock()
		}
	}
}

// close ends the lines of progress.
func (c *console) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.stop)
	c.erase()
}

// status replaces the previous line on a terminal, and prints a further line elsewhere.
func (c *console) status(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.show(fmt.Sprintf(format, args...))
}

// show shows a line; the caller holds mu.
func (c *console) show(line string) {
	line = string(escape(nil, []byte(line), true, false))
	if !c.terminal {
		fmt.Fprintln(c.err, line)
		return
	}
	fmt.Fprintf(c.err, "\r\x1b[K%s", line)
	c.shown = true
}

// erase removes the line of progress from the terminal; the caller holds mu.
func (c *console) erase() {
	if c.shown {
		fmt.Fprint(c.err, "\r\x1b[K")
		c.shown = false
	}
}

// line is the progress of a task, with the estimated time of its end.
func (w *watched) line(now time.Time) string {
	spent, done, total := now.Sub(w.began), w.Done(), w.Total()
	made := done - w.Base() // since the task began
	switch {
	case total <= 0 && done == 0:
		return fmt.Sprintf("%s: %s so far", w.What, spent.Round(time.Second))
	case total <= 0:
		return fmt.Sprintf("%s: %d, %s so far", w.What, done, spent.Round(time.Second))
	case made <= 0:
		return fmt.Sprintf("%s: %d %%, %s so far", w.What, 100*done/total, spent.Round(time.Second))
	}
	done = min(done, total)
	left := time.Duration(float64(spent) * float64(total-done) / float64(made))
	return fmt.Sprintf("%s: %d %%, about %s left", w.What, 100*done/total, left.Round(time.Second))
}

// printer writes text to one stream of a console.
type printer struct {
	console *console
	to      io.Writer
	err     error // of the first write that failed: most callers do not check
	raw     bool  // bytes are written unchanged
	json    bool  // escaped as in JSON
	pending []byte
	buffer  []byte
}

func (t *printer) Write(b []byte) (int, error) {
	t.console.mu.Lock()
	defer t.console.mu.Unlock()
	t.console.erase()
	out := b
	if !t.raw {
		in := append(t.pending, b...)
		whole := wholeRunes(in)
		t.buffer = escape(t.buffer[:0], in[:whole], true, t.json)
		t.pending = append([]byte(nil), in[whole:]...)
		out = t.buffer
	}
	if _, err := t.to.Write(out); err != nil {
		if t.err == nil {
			t.err = err
		}
		return 0, err
	}
	return len(b), nil
}

// flush writes the bytes that were kept as the beginning of a character.
func (t *printer) flush() {
	if len(t.pending) > 0 {
		rest := t.pending
		t.pending = nil
		if _, err := t.to.Write(escape(nil, rest, true, t.json)); err != nil && t.err == nil {
			t.err = err
		}
	}
}

// wholeRunes is the length of b without an incomplete encoded character at its end.
func wholeRunes(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return len(b) - n
			}
			break
		}
	}
	return len(b)
}

// escape appends b to dst and escapes everything that could control a terminal: control characters (C0, C1,
// DEL), marks that change the direction of text, line separators, and bytes that are not UTF-8. With lines,
// line ends and tabs are kept; json: as in a string of JSON.
func escape(dst, b []byte, lines, json bool) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1 && json:
			dst = append(dst, "\\ufffd"...)
		case r == utf8.RuneError && n == 1:
			dst = fmt.Appendf(dst, "\\x%02x", b[0])
		case lines && (r == '\n' || r == '\t'):
			dst = append(dst, byte(r))
		case unicode.IsControl(r) && !json && r < 0x100:
			dst = fmt.Appendf(dst, "\\x%02x", r)
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			dst = fmt.Appendf(dst, "\\u%04x", r)
		default:
			dst = append(dst, b[:n]...)
		}
		b = b[n:]
	}
	return dst
}

// Interactive reports whether w is a terminal.
func Interactive(w io.Writer) bool {
	if t, ok := w.(*printer); ok {
		w = t.to
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

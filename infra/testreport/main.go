package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// event is one line of go test -json (see go doc test2json).
type event struct {
	Action      string
	Package     string
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

func main() {
	ok, err := report(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

// report copies the relevant output from r to w and reports whether all tests passed.
func report(r io.Reader, w io.Writer) (bool, error) {
	t := tally{w: w, output: make(map[test][]string)}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		var e event
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			fmt.Fprintf(w, "%s\n", s.Bytes()) // output of the go command itself
			continue
		}
		t.take(&e)
	}
	if err := s.Err(); err != nil {
		return false, fmt.Errorf("read the test output: %w", err)
	}
	return t.end(), nil
}

// test identifies a test, or its package if the name is empty.
type test struct{ pkg, name string }

// tally is the results so far.
type tally struct {
	w                       io.Writer
	passed, failed, skipped int
	broken                  int               // packages that failed or were not built
	output                  map[test][]string // of tests that have not ended
	why                     strings.Builder   // messages of the failed tests, for the end
}

func (t *tally) take(e *event) {
	of := test{e.Package, e.Test}
	switch e.Action {
	case "output":
		t.output[of] = append(t.output[of], e.Output)
	case "build-output":
		fmt.Fprint(t.w, e.Output)
	case "build-fail":
		t.broken++
	case "pass", "fail", "skip":
		text := strings.Join(t.output[of], "")
		delete(t.output, of)
		if e.Test == "" {
			t.endPackage(e, text)
		} else {
			t.endTest(e, text)
		}
	}
}

// endTest counts a test, whose output is text.
func (t *tally) endTest(e *event, text string) {
	switch e.Action {
	case "pass":
		t.passed++
		if strings.Contains(e.Test, "Webs") {
			fmt.Fprint(t.w, figures(text))
		}
	case "skip":
		t.skipped++
		fmt.Fprintf(t.w, "SKIP %s %s\n", e.Package, e.Test)
	case "fail":
		t.failed++
		fmt.Fprint(t.w, text)
		fmt.Fprintf(&t.why, "FAIL %s %s\n%s", e.Package, e.Test, said(text))
	}
}

// endPackage reports how a package ended, and which of its tests did not.
func (t *tally) endPackage(e *event, text string) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(t.w, "ok   %s %.1fs\n", e.Package, e.Elapsed)
	case "fail":
		if e.FailedBuild == "" {
			fmt.Fprint(t.w, text)
		}
		for _, name := range t.unended(e.Package) {
			text := strings.Join(t.output[test{e.Package, name}], "")
			fmt.Fprint(t.w, text)
			t.failed++
			fmt.Fprintf(&t.why, "FAIL %s %s did not end\n%s%s", e.Package, name, said(text), crash(text))
		}
		fmt.Fprintf(t.w, "FAIL %s\n", e.Package)
		t.broken++
	}
}

// end writes the summary and reports whether all tests passed.
func (t *tally) end() bool {
	fmt.Fprint(t.w, t.why.String())
	fmt.Fprintf(t.w, "%d passed, %d failed", t.passed, t.failed)
	if t.skipped > 0 {
		fmt.Fprintf(t.w, ", %d skipped", t.skipped)
	}
	fmt.Fprintln(t.w)
	return t.failed == 0 && t.broken == 0 && t.passed > 0
}

// unended lists the tests of a package with output that neither passed nor failed: on a time-out or a crash.
func (t *tally) unended(pkg string) []string {
	var names []string
	for of := range t.output {
		if of.pkg == pkg && of.name != "" {
			names = append(names, of.name)
		}
	}
	slices.Sort(names)
	return names
}

// crash keeps the line with the reason why a test's process ended, if it is in the text.
func crash(text string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	return ""
}

// saidLines and saidWidth bound what is repeated of one failed test.
const saidLines, saidWidth = 20, 400

// said keeps the first lines that a test logged, from its whole output: the end of that is often the log of a
// program that the test ran.
func said(text string) string {
	var b strings.Builder
	lines := 0
	for line := range strings.Lines(text) {
		if lines == saidLines {
			break
		}
		if at := strings.Index(line, "_test.go:"); at < 0 || strings.ContainsAny(strings.TrimSpace(line[:at]), " \t") {
			continue
		}
		line = strings.TrimRight(line, "\n")
		if len(line) > saidWidth {
			line = line[:saidWidth] + "…"
		}
		fmt.Fprintln(&b, line)
		lines++
	}
	return b.String()
}

// figures keeps what a passing test logged, without the frame added by go test.
func figures(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		t := strings.TrimSpace(line)
		if t == "" || strings.HasPrefix(t, "=== ") || strings.HasPrefix(t, "--- ") {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

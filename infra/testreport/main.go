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
	ImportPath  string
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

// report copies what matters from r to w and says whether all is well.
func report(r io.Reader, w io.Writer) (bool, error) {
	var passed, failed, skipped, broken int
	output := make(map[[2]string][]string)
	var why strings.Builder // what failed tests said themselves, for the end
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		line := s.Bytes()
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			fmt.Fprintf(w, "%s\n", line) // what the go command itself has to say
			continue
		}
		key := [2]string{e.Package, e.Test}
		switch e.Action {
		case "output":
			output[key] = append(output[key], e.Output)
		case "build-output":
			fmt.Fprint(w, e.Output)
		case "build-fail":
			broken++
		case "pass", "fail", "skip":
			text := strings.Join(output[key], "")
			delete(output, key)
			if e.Test == "" {
				if e.Action == "fail" {
					if e.FailedBuild == "" {
						fmt.Fprint(w, text)
					}
					for _, test := range unended(output, e.Package) {
						text := strings.Join(output[[2]string{e.Package, test}], "")
						fmt.Fprint(w, text)
						failed++
						fmt.Fprintf(&why, "FAIL %s %s did not end\n%s%s", e.Package, test, said(text), crash(text))
					}
					fmt.Fprintf(w, "FAIL %s\n", e.Package)
					broken++
				} else if e.Action == "pass" {
					fmt.Fprintf(w, "ok   %s %.1fs\n", e.Package, e.Elapsed)
				}
				continue
			}
			switch e.Action {
			case "pass":
				passed++
				if strings.Contains(e.Test, "Webs") {
					fmt.Fprint(w, figures(text))
				}
			case "skip":
				skipped++
				fmt.Fprintf(w, "SKIP %s %s\n", e.Package, e.Test)
			case "fail":
				failed++
				fmt.Fprint(w, text)
				fmt.Fprintf(&why, "FAIL %s %s\n%s", e.Package, e.Test, said(text))
			}
		}
	}
	if err := s.Err(); err != nil {
		return false, fmt.Errorf("read the test output: %w", err)
	}
	fmt.Fprint(w, why.String())
	fmt.Fprintf(w, "%d passed, %d failed", passed, failed)
	if skipped > 0 {
		fmt.Fprintf(w, ", %d skipped", skipped)
	}
	fmt.Fprintln(w)
	return failed == 0 && broken == 0 && passed > 0, nil
}

// unended lists the tests of a package that wrote something and are neither passed nor failed: its
// time was up, or it crashed.
func unended(output map[[2]string][]string, pkg string) []string {
	var tests []string
	for key := range output {
		if key[0] == pkg && key[1] != "" {
			tests = append(tests, key[1])
		}
	}
	slices.Sort(tests)
	return tests
}

// crash keeps the line that says why a test's process ended, if it is in the text.
func crash(text string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	return ""
}

// saidLines and saidWidth bound what the end repeats of one failed test.
const saidLines, saidWidth = 20, 400

// said keeps the first lines that a test logged by itself, from the text of all it wrote: the
// end of that text is often the log of a program that the test ran.
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

// figures keeps what a passing test logged and drops the frame that go test puts around it.
func figures(text string) string {
	var b strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		t := strings.TrimSpace(line)
		if t == "" || strings.HasPrefix(t, "=== ") || strings.HasPrefix(t, "--- ") {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

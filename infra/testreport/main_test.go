package main

import (
	"strings"
	"testing"
)

const twoPassed = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
{"Action":"pass","Package":"p","Test":"TestB","Elapsed":0.1}
{"Action":"pass","Package":"p","Elapsed":0.2}
`

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		ok   bool
		want []string
	}{
		"passed":  {twoPassed, true, []string{"ok   p 0.2s", "2 passed, 0 failed\n"}},
		"nothing": {"", false, []string{"0 passed, 0 failed\n"}},
		"failed": {`{"Action":"output","Package":"p","Test":"TestC","Output":"c.go:1: why\n"}
{"Action":"fail","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}
`, false, []string{"c.go:1: why", "FAIL p", "0 passed, 1 failed\n"}},
		"failed before a long log": {`{"Action":"output","Package":"p","Test":"TestC","Output":"    c_test.go:1: why\n"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    print.go:9: at p_test.go:7: a log\n"}
{"Action":"output","Package":"p","Test":"TestC","Output":"        time=1 level=INFO of c_test.go:1: a log\n"}
{"Action":"fail","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}
`, false, []string{"a log\nFAIL p\nFAIL p TestC\n    c_test.go:1: why\n0 passed, 1 failed\n"}},
		"build": {twoPassed + `{"Action":"build-output","ImportPath":"q","Output":"q.go:1: no\n"}
{"Action":"build-fail","ImportPath":"q"}
{"Action":"fail","Package":"q","FailedBuild":"q"}
`, false, []string{"q.go:1: no", "FAIL q", "2 passed, 0 failed\n"}},
		"timeout": {twoPassed + `{"Action":"output","Package":"q","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"q"}
`, false, []string{"panic: test timed out"}},
		"time is up": {twoPassed + `{"Action":"run","Package":"p","Test":"TestSlow"}
{"Action":"output","Package":"p","Test":"TestSlow","Output":"    slow_test.go:7: still waiting\n"}
{"Action":"output","Package":"p","Test":"TestSlow","Output":"panic: test timed out after 2s\n"}
{"Action":"output","Package":"p","Test":"TestSlow","Output":"goroutine 17 [running]:\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t2.010s\n"}
{"Action":"fail","Package":"p","Elapsed":2}
`, false, []string{"goroutine 17", "FAIL p TestSlow did not end\n    slow_test.go:7: still waiting\npanic: test timed out after 2s\n2 passed, 1 failed"}},
		"skipped": {twoPassed + `{"Action":"skip","Package":"p","Test":"TestS"}
`, true, []string{"SKIP p TestS", "2 passed, 0 failed, 1 skipped\n"}},
		"foreign": {"go: cannot find main module\n", false, []string{"go: cannot find main module"}},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			ok, err := report(strings.NewReader(c.in), &b)
			if err != nil || ok != c.ok {
				t.Errorf("ok %t (%v), want %t", ok, err, c.ok)
			}
			for _, w := range c.want {
				if !strings.Contains(b.String(), w) {
					t.Errorf("no %q in\n%s", w, b.String())
				}
			}
		})
	}
}

package main

import "testing"

// TestCrawls runs crawls one after another on the same parts and stages, whose state each leaves unchanged. The
// first one must be the first crawl.
func TestCrawls(t *testing.T) {
	g, _ := simulated(t)
	r := newRig(t, g.handler)
	r.parts()
	r.start(stageNames)
	for _, c := range []struct {
		name string
		test func(*testing.T, *demoGround)
	}{
		{"two crawls and their models", r.twoCrawls},
		{"four shards", r.fourShards},
		{"three shards are operated", r.threeShards},
		{"judged anew", r.judgedAnew},
		{"a slow crawl slows nobody", r.slowCrawl},
	} {
		if !r.step(t, c.name, func(t *testing.T) { c.test(t, g) }) {
			break // the state after a failure is undefined
		}
	}
}

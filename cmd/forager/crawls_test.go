package main

import "testing"

// TestCrawls runs crawls one after another on the same parts and stages, which each leaves as it found them. The first one
// wants no other crawl to have been there.
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
			break // what it left may be anything
		}
	}
}

package e2e

import (
	"testing"

	"forager/cmd/forager/demo"
	"forager/cmd/internal/cli"
)

// TestCrawls runs crawls one after another on the same parts and stages, whose state each leaves unchanged. The
// first one must be the first crawl.
func TestCrawls(t *testing.T) {
	t.Parallel()
	g, _ := simulated(t)
	r := newRig(t, g.Handler)
	r.parts()
	r.start(cli.StageNames)
	for _, c := range []struct {
		name string
		test func(*testing.T, *demo.Environment)
	}{
		{"two crawls and their models", r.twoCrawls},
		{"explained", r.explained},
		{"four shards", r.fourShards},
		{"three shards are operated", r.threeShards},
		{"judged again", r.rejudged},
	} {
		if !r.step(t, c.name, func(t *testing.T) { c.test(t, g) }) {
			break // the state after a failure is undefined
		}
	}
}

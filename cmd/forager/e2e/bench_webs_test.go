//go:build webs

package e2e

import (
	"testing"

	"forager/internal/testkit/frozen"
)

// TestWebsBench runs the bench on a frozen web, with and without its dead links.
func TestWebsBench(t *testing.T) {
	_, report := benched(t, "--pages", "60", "--rankers", "soft-focus", "--web", frozen.Path(t, frozen.Webs, "webkb.warc.gz"),
		"--task", "webkb-uni:course/texas", "--requests", "500", "--profiles")
	if len(report.Runs) != 3 {
		t.Fatalf("%d crawls, want that of the synthetic web and two of the frozen one", len(report.Runs))
	}
	inside, open := report.Runs[1], report.Runs[2]
	if inside.Web != "webkb" || inside.Requests > inside.Pages+inside.Pages/4 {
		t.Errorf("inside the web: %+v", inside)
	}
	if open.Web != "webkb-404" || open.Requests < 500 || open.Requests < 2*open.Pages {
		t.Errorf("with dead links: %+v", open)
	}
}

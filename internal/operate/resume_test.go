package operate

import (
	"strings"
	"testing"

	"forager/internal/frontier"
	"forager/schemas"
)

// TestWhatCannotBeResumed names what is missing.
func TestWhatCannotBeResumed(t *testing.T) {
	ctl := func(state schemas.CrawlState) *schemas.CrawlControl {
		return &schemas.CrawlControl{Crawl: "c", State: state, Budget: &schemas.Budget{Pages: 100, Requests: 200}}
	}
	running, stopped := ctl(schemas.CrawlState_CRAWL_STATE_RUNNING), ctl(schemas.CrawlState_CRAWL_STATE_STOPPED)
	end := func(reason string, pages, requests uint64) *schemas.CrawlStatus {
		return &schemas.CrawlStatus{State: schemas.ShardState_SHARD_STATE_FINISHED, EndReason: reason, Pages: pages, Requests: requests}
	}
	going := &schemas.CrawlStatus{State: schemas.ShardState_SHARD_STATE_PAUSED}
	for _, test := range []struct {
		what  string
		c     Resumption
		ctl   *schemas.CrawlControl
		st    *schemas.CrawlStatus
		seeds int    // that are given
		want  string // empty = it continues
	}{
		{"paused", Resumption{}, running, going, 0, ""},
		{"more pages while it runs", Resumption{Pages: 300}, running, going, 0, ""},
		{"fewer pages", Resumption{Pages: 50}, running, going, 0, "only raised"},
		{"fewer requests", Resumption{Requests: 50}, running, going, 0, "only raised"},
		{"stopped", Resumption{}, stopped, end(frontier.EndStopped, 50, 60), 0, ""},
		{"stopped after all of its budget", Resumption{}, stopped, end(frontier.EndStopped, 100, 150), 0, "--pages"},
		{"being stopped", Resumption{}, stopped, going, 0, "is being stopped"},
		{"pages spent", Resumption{RetryFailed: true}, running, end(frontier.EndPages, 100, 150), 1, "--pages"},
		{"pages spent, more given", Resumption{Pages: 101}, running, end(frontier.EndPages, 100, 150), 0, ""},
		{"requests spent", Resumption{Pages: 300}, running, end(frontier.EndRequests, 50, 200), 1, "--requests"},
		{"requests spent, more given", Resumption{Requests: 201}, running, end(frontier.EndRequests, 50, 200), 0, ""},
		{"empty", Resumption{Pages: 300}, running, end(frontier.EndEmpty, 50, 60), 0, "--retry-failed"},
		{"empty, seeds given", Resumption{}, running, end(frontier.EndEmpty, 50, 60), 1, ""},
		{"empty, tried again", Resumption{RetryFailed: true}, running, end(frontier.EndEmpty, 50, 60), 0, ""},
		{"hosts away", Resumption{}, running, end(frontier.EndUnreachable, 50, 60), 0, "--retry-failed"},
		{"never ran", Resumption{Pages: 300}, running, end("refused: unknown policy", 0, 0), 1, "never ran"},
	} {
		test.c.Crawl, test.c.Seeds = "c", make([]string, test.seeds)
		switch err := test.c.refuse(test.ctl, test.st); {
		case (err == nil) != (test.want == ""):
			t.Errorf("%s: %v", test.what, err)
		case err != nil && !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: %q lacks %q", test.what, err, test.want)
		}
	}
}

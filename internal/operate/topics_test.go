package operate

import (
	"strings"
	"testing"

	"forager/schemas"
)

// TestStateNames checks that messages name states without their prefix.
func TestStateNames(t *testing.T) {
	for state, want := range map[schemas.CrawlState]string{
		schemas.CrawlState_CRAWL_STATE_PAUSED: "paused", schemas.CrawlState_CRAWL_STATE_DELETED: "deleted",
	} {
		if got := StateName(&schemas.CrawlControl{State: state}); got != want || strings.Contains(got, "_") {
			t.Errorf("%v is called %q", state, got)
		}
	}
}

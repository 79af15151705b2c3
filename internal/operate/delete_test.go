package operate

import (
	"testing"

	"forager/internal/crawl/controls"
	"forager/schemas"
)

func TestModelsThatOthersNeedStay(t *testing.T) {
	b := &Topics{Controls: controls.New()}
	add := func(crawl, prior, pinned string, state schemas.CrawlState) {
		b.Take(&schemas.CrawlControl{Crawl: crawl, Revision: 1, State: state, Learning: &schemas.Learning{Prior: prior, Pinned: pinned}})
	}
	add("gone", "", "gone/9-own", schemas.CrawlState_CRAWL_STATE_DELETED)
	add("heir", "gone/1-a", "heir/2-b", schemas.CrawlState_CRAWL_STATE_RUNNING)
	add("dead", "gone/3-c", "", schemas.CrawlState_CRAWL_STATE_DELETED)
	add("other", "gone2/4-d", "", schemas.CrawlState_CRAWL_STATE_RUNNING)
	b.Take(&schemas.CrawlControl{Crawl: "led", Revision: 1, Policies: []*schemas.Policy{{Ranker: schemas.Ranker_RANKER_GUIDE, Guide: "near/5"}}})
	b.Take(&schemas.CrawlControl{Crawl: "gone", Revision: 2, State: schemas.CrawlState_CRAWL_STATE_DELETED,
		Policies: []*schemas.Policy{{Ranker: schemas.Ranker_RANKER_GUIDE, Guide: "near/6"}}})
	got := needed(b, "gone")
	for version, want := range map[string]bool{"gone/1-a": true, "gone/9-own": false, "gone/3-c": false, "near/5": true, "near/6": false} {
		if got[version] != want {
			t.Errorf("%s: needed %t, want %t", version, got[version], want)
		}
	}
}

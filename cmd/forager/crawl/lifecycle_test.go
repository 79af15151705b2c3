package crawl

import (
	"testing"
	"time"

	"forager/internal/operate"
	"forager/schemas"
)

// TestAwaitIgnoresEarlierStatuses: a status that prioritize wrote before it had read the control record is no sign that it follows it, even
// if the crawl was at that time as it is to be now.
func TestAwaitIgnoresEarlierStatuses(t *testing.T) {
	const paused = schemas.ShardState_SHARD_STATE_PAUSED
	there := func(st *schemas.CrawlStatus) bool { return st.GetState() == paused }
	ctl := &schemas.CrawlControl{Crawl: "c", Revision: 5, State: schemas.CrawlState_CRAWL_STATE_PAUSED}
	b := operate.New(nil)
	b.Note(ctl)
	for i, st := range []*schemas.CrawlStatus{
		{State: paused, Revision: 3}, {State: schemas.ShardState_SHARD_STATE_FINISHED, Revision: 4}, {State: schemas.ShardState_SHARD_STATE_RUNNING, Revision: 5},
	} {
		st.Crawl, st.At = "c", int64(i+1)
		b.Note(st)
		if err := await(t.Context(), b, ctl, time.Millisecond, there); err == nil {
			t.Errorf("%v is taken for what the record brought about", st)
		}
	}
	b.Note(&schemas.CrawlStatus{Crawl: "c", State: paused, Revision: 6, At: 9}) // another operator's record follows
	if err := await(t.Context(), b, ctl, time.Minute, there); err != nil {
		t.Error(err)
	}
}

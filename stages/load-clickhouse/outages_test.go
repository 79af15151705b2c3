package main

import (
	"fmt"
	"testing"

	"forager/internal/crawl/controls"
	"forager/internal/stream"
	"forager/schemas"
)

// TestOutagesAreRecorded loads the statuses of two shards, one of which lost the network twice, the second time to the
// end.
func TestOutagesAreRecorded(t *testing.T) {
	l := &loader{db: database(t), crawls: controls.New()}
	var rs []stream.Record
	status := func(shard uint32, epoch uint64, at, since int64, cause string) {
		st := &schemas.CrawlStatus{Crawl: "away", Shard: shard, Epoch: epoch, At: at}
		if since > 0 {
			st.Outage = &schemas.Outage{Since: since, Cause: cause}
		}
		rs = append(rs, message(schemas.TopicCrawlStatus, 0, int64(len(rs)), st, nil))
	}
	status(0, 1, 1_000, 0, "")
	status(1, 1, 1_500, 0, "")
	status(0, 1, 2_000, 1_900, "the proxy")
	status(0, 2, 3_000, 1_900, "the resolver") // of the next owner
	status(1, 1, 3_500, 0, "")
	status(0, 2, 4_000, 0, "")
	status(0, 2, 5_000, 4_900, "the proxy")
	status(0, 2, 6_000, 4_900, "the proxy")
	if err := l.load(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	got, err := l.db.Query(t.Context(), `SELECT shard, toUnixTimestamp64Milli(since), toUnixTimestamp64Milli(until), cause
		FROM outages WHERE crawl = 'away' ORDER BY since`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "[[0 1900 4000 the resolver] [0 4900 6000 the proxy]]"; fmt.Sprint(got.Rows) != want {
		t.Errorf("outages %v, want %s", got.Rows, want)
	}
}

package schemas

import "testing"

// Of several shards the one with the least space determines why the crawl is paused.
func TestWholeCrawlNamesTheLowestDisk(t *testing.T) {
	paused := func(dir string, free uint64) *CrawlStatus {
		return &CrawlStatus{State: ShardState_SHARD_STATE_PAUSED, Activity: "disk " + dir, DiskDir: dir, DiskFree: free, DiskNeeded: 100}
	}
	whole := WholeCrawl(&CrawlControl{Crawl: "c", Shards: 3}, map[uint32]*CrawlStatus{
		0: {State: ShardState_SHARD_STATE_PAUSED, Activity: "re-scoring"}, 1: paused("/one", 20), 2: paused("/two", 10),
	})
	if whole.State != ShardState_SHARD_STATE_PAUSED || whole.Activity != "disk /two" || whole.DiskDir != "/two" || whole.DiskFree != 10 || whole.DiskNeeded != 100 {
		t.Errorf("%v", whole)
	}
}

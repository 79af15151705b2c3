package crawls

import (
	"strings"
	"testing"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/crawl/controls"
	"forager/schemas"
)

func newTestBooks() *cli.Topics {
	return &cli.Topics{
		Controls: controls.New(), Statuses: make(map[string]map[uint32]*schemas.CrawlStatus),
		Models: make(map[string]*schemas.ModelPublished), Next: make(map[string]int64),
	}
}

// TestTheNewestStatusCounts: statuses come in any order, from several owners.
func TestTheNewestStatusCounts(t *testing.T) {
	b := newTestBooks()
	b.Take(&schemas.CrawlControl{Crawl: "c", Revision: 1})
	for _, step := range []struct {
		epoch      uint64
		at         int64
		pages      uint64
		wantsPages uint64
	}{{5, 100, 1, 1}, {4, 900, 2, 1}, {5, 300, 3, 3}, {5, 200, 4, 3}, {6, 50, 5, 5}, {5, 999, 6, 5}, {6, 50, 7, 7}} {
		b.Take(&schemas.CrawlStatus{Crawl: "c", Epoch: step.epoch, At: step.at, Pages: step.pages})
		if got := b.Status("c").GetPages(); got != step.wantsPages {
			t.Errorf("after epoch %d at %d: %d pages, want %d", step.epoch, step.at, got, step.wantsPages)
		}
	}
}

// TestTakenWaitsForEveryPartition: the shards of a crawl are in several partitions, each of which must have been read.
func TestTakenWaitsForEveryPartition(t *testing.T) {
	b := newTestBooks()
	b.Take(&schemas.CrawlControl{Crawl: "c", Revision: 1, Shards: 2})
	takeStatus := func(shard uint32, partition uint32, last int64) {
		b.Take(&schemas.CrawlStatus{Crawl: "c", Shard: shard, Epoch: 1, Spans: map[string]*schemas.TopicSpan{
			schemas.TopicLinkFound: {First: map[uint32]int64{partition: 0}, Last: map[uint32]int64{partition: last}},
		}})
	}
	takeStatus(0, 0, 3)
	takeStatus(1, 2, 9)
	asked := map[int]int64{0: 4, 2: 9}
	if err := Taken(t.Context(), b, "c", asked, 10*time.Millisecond); err == nil || !strings.Contains(err.Error(), "has not read the record") {
		t.Errorf("partition 0 has not taken offset 4: %v", err)
	}
	takeStatus(0, 0, 4)
	if err := Taken(t.Context(), b, "c", asked, time.Minute); err != nil {
		t.Error(err)
	}
}

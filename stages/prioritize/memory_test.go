package main

import (
	"fmt"
	"testing"
	"time"

	"forager/internal/rank/linkvalue"
	"forager/internal/stream"
	"forager/schemas"
)

func TestMemoryIsSharedByShardsThatAreAwake(t *testing.T) {
	m := newMemory(10 * shareStep)
	for i, c := range []struct {
		partition int
		usage
		share int
	}{
		{0, usage{0, 0}, 10 * shareStep}, {0, usage{1, 0}, 10 * shareStep}, {1, usage{4, 0}, 2 * shareStep},
		{1, usage{1, 1}, 9 * shareStep / 2}, {0, usage{1, 4 * shareStep}, 5 * shareStep / 2}, {0, usage{1, 100 * shareStep}, 1},
		{0, usage{0, 0}, 9 * shareStep}, {2, usage{20 * shareStep, 0}, 1},
	} {
		if got := m.share(c.partition, c.usage); got != c.share {
			t.Errorf("%d: %d bytes, want %d", i, got, c.share)
		}
	}
}

// TestTenLargeCrawlsThatLearnLeaveMemory: ten crawls whose rankers have learned all that they may leave more than a MiB to each frontier.
func TestTenLargeCrawlsThatLearnLeaveMemory(t *testing.T) {
	if got := newMemory(shipped.frontier).share(0, usage{10, 10 * linkvalue.MostBytes}); got < 1<<20 {
		t.Errorf("%d bytes are left", got)
	}
}

// TestWhatRankersLearnIsPartOfTheMemory: the more the rankers of several crawls learn of large pages, the less the frontiers
// keep, also after another process has taken over.
func TestWhatRankersLearnIsPartOfTheMemory(t *testing.T) {
	d := newDesk(t)
	const bytes = 16 << 20
	d.conf.memory = newMemory(bytes)
	d.open()
	names, next := []string{"a", "b", "c"}, make(map[string]*schemas.FetchRequest)
	step := func(records ...stream.Record) {
		d.now = d.now.Add(time.Second)
		d.step(records...)
		for _, r := range d.requests {
			next[r.GetCrawl()] = r
		}
	}
	for _, name := range names {
		ctl := crawlOf(name)
		ctl.Policies[0].Ranker, ctl.Window, ctl.HostWindow = schemas.Ranker_RANKER_LINK_VALUE, 1, 1
		d.control(ctl)
		step(d.record(seedsOf(name, page+name)))
	}
	learned := func() (sum int) {
		for _, c := range d.p.crawls {
			sum += c.shard.Learned()
		}
		if got := d.p.each*len(names) + sum; got > bytes {
			t.Errorf("frontiers and rankers may take %d bytes, more than %d", got, bytes)
		}
		return sum
	}
	before := learned()
	for i := range 4 {
		for _, name := range names {
			var links []string
			for k := range 2000 {
				links = append(links, fmt.Sprint(page, name, i, "/", k))
			}
			step(d.record(delivered(next[name], links...)))
		}
	}
	after := learned()
	if after < before+3<<20 {
		t.Fatalf("rankers have %d bytes after 24,000 links, had %d", after, before)
	}
	d.open()
	d.step()
	if again := learned(); again != after {
		t.Errorf("rankers have %d bytes after a change of owner, had %d", again, after)
	}
}

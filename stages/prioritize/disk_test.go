package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"forager/internal/platform/disk"
	"forager/schemas"
)

// roomy is a disk that is never low.
var roomy = disk.NewWatch(nil, 0, nil, nil)

// diskOf is a disk with an amount of free space.
type diskOf uint64

func (d *diskOf) watch() *disk.Watch {
	return disk.NewWatch(func() []string { return []string{"/data"} }, 800, func(string) (uint64, error) { return uint64(*d), nil }, nil)
}

// TestALowDiskPausesEveryCrawl: with less free space than the limit nothing new is dispatched, verdicts
// are applied, and the crawls go on by themselves when there is space.
func TestALowDiskPausesEveryCrawl(t *testing.T) {
	d := newDesk(t)
	free := diskOf(1000)
	d.conf.disk = free.watch()
	d.open()
	d.control(crawlOf("one"))
	d.control(crawlOf("two"))
	d.step(d.record(seedsOf("one", page+"1")), d.record(seedsOf("two", page+"2")))
	if got := d.urls(); !slices.Equal(got, []string{page + "1", page + "2"}) {
		t.Fatalf("requested %v", got)
	}
	one, two := d.requests[0], d.requests[1]

	free = 799
	d.now = d.now.Add(time.Second)
	d.step(d.record(delivered(one, page+"11")))
	for range 3 {
		if len(d.requests) > 0 {
			t.Fatalf("requested %v on a disk with 799 bytes", d.urls())
		}
		if want := d.now.Add(time.Second); !d.wake.Equal(want) {
			t.Errorf("looks again at %v, want %v", d.wake, want)
		}
		d.now = d.now.Add(time.Second)
		d.step()
	}
	if st := d.status("one"); st.GetPages() != 1 || st.GetQueued() != 1 || st.GetInFlight() != 0 {
		t.Errorf("the answer was not taken: %v", st)
	}
	for _, name := range []string{"one", "two"} {
		st := d.status(name)
		if st.GetState() != schemas.ShardState_SHARD_STATE_PAUSED || !strings.Contains(st.GetActivity(), "disk /data has 799 B free and needs 800 B") ||
			st.GetDiskDir() != "/data" || st.GetDiskFree() != 799 || st.GetDiskNeeded() != 800 {
			t.Errorf("%s: %v", name, st)
		}
		if w := st.GetWaits(); len(w) != 1 || w[0].GetCause() != schemas.WaitCause_WAIT_CAUSE_DISK || w[0].GetObject() != "/data" || w[0].GetUrls() != st.GetQueued() {
			t.Errorf("%s waits for %v", name, w)
		}
	}
	if n := len(d.statuses["two"]); n > 3 {
		t.Errorf("%d statuses of a crawl that waits for a disk", n)
	}

	free = 900 // an eighth more than the limit
	d.now = d.now.Add(time.Second)
	d.step()
	if got := d.urls(); !slices.Equal(got, []string{page + "11"}) {
		t.Errorf("requested %v", got)
	}
	if st := d.status("one"); st.GetState() != schemas.ShardState_SHARD_STATE_RUNNING || st.GetActivity() != "" || st.GetDiskNeeded() != 0 {
		t.Errorf("with space: %v", st)
	}
	d.step(d.record(delivered(two)), d.record(delivered(d.requests[0])))
	d.now = d.now.Add(2 * time.Second)
	free = 0
	d.step()
	for _, name := range []string{"one", "two"} {
		if st := d.status(name); st.GetState() != schemas.ShardState_SHARD_STATE_FINISHED || st.GetDiskNeeded() != 0 {
			t.Errorf("%s is at its end, whatever the disk is: %v", name, st)
		}
	}
}

// A crawl that its operator stops stops, and the status of one that its operator paused does not
// name the disk.
func TestALowDiskAndOrders(t *testing.T) {
	d := newDesk(t)
	free := diskOf(10)
	d.conf.disk = free.watch()
	d.open()
	ctl := crawlOf("c")
	d.control(ctl)
	d.step(d.record(seedsOf("c", page+"1")))
	ctl.Revision, ctl.State = 2, schemas.CrawlState_CRAWL_STATE_PAUSED
	d.control(ctl)
	d.step()
	if st := d.status("c"); st.GetState() != schemas.ShardState_SHARD_STATE_PAUSED || st.GetDiskNeeded() != 0 {
		d.now = d.now.Add(2 * time.Second)
		d.step()
		if st = d.status("c"); st.GetDiskNeeded() != 0 {
			t.Errorf("paused: %v", st)
		}
	}
	ctl.Revision, ctl.State = 3, schemas.CrawlState_CRAWL_STATE_STOPPED
	d.control(ctl)
	d.now = d.now.Add(2 * time.Second)
	d.step()
	if st := d.status("c"); st.GetState() != schemas.ShardState_SHARD_STATE_FINISHED || st.GetEndReason() != "stopped" || len(d.log) != 0 {
		t.Errorf("stopped: %v, %d requests", st, len(d.log))
	}
}

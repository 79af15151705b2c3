package main

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// keys counts the keys of the store except states.
func (d *desk) keys() (n int) {
	d.t.Helper()
	err := d.store.Scan([]byte{1}, []byte{0xff}, func(key, _ []byte) (bool, error) {
		if key[0] != ownPrefix || key[1] != stateKind {
			n++
		}
		return true, nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

// A deleted crawl leaves a state and a last status; later records of it change nothing, also for
// later owners, also without a state.
func TestDeleted(t *testing.T) {
	d := newDesk(t)
	ctl := crawlOf("c")
	ctl.Scope = &schemas.Scope{UrlList: "list"} // so that records and decisions wait, too
	d.objects["list"] = page + "1\n" + page + "2\n"
	d.control(ctl)
	d.step(d.record(seedsOf("c", page+"1")))
	d.step(d.record(delivered(d.requests[0], page+"1", page+"2")))
	request := d.requests[0]
	d.step(d.record(seedsOf("other", page+"o"))) // it waits for its control record
	others := 1
	d.p.crawls["c"].ready = false
	d.step(d.record(seedsOf("c", page+"2")))
	if n := d.keys(); n < 10 {
		t.Fatalf("%d keys", n)
	}

	gone := proto.CloneOf(ctl)
	gone.Revision, gone.State = 2, schemas.CrawlState_CRAWL_STATE_DELETED
	d.control(gone)
	late := func() {
		t.Helper()
		d.now = d.now.Add(time.Minute)
		d.step(d.record(delivered(request, page+"3")), d.record(seedsOf("c", page+"4")), d.raw([]byte{0xff}, schemas.RequestHeaders(request)))
		if len(d.requests)+len(d.leaps)+len(d.letters) > 0 || d.keys() != others {
			t.Errorf("records of a deleted crawl led to %v, %v, %v, %d keys", d.requests, d.leaps, d.letters, d.keys())
		}
		for _, r := range d.log {
			if err := d.p.Recover(r); err != nil {
				t.Fatal(err)
			}
		}
		if st := d.status("c"); st.GetState() != schemas.ShardState_SHARD_STATE_FINISHED || st.GetEndReason() != "deleted" || st.GetEpoch() != d.epoch || len(st.GetSpans()) > 0 {
			t.Errorf("status %v", st)
		}
	}
	late()
	words := len(d.statuses["c"])
	d.control(gone) // a late copy
	late()
	if n := len(d.statuses["c"]); n != words {
		t.Errorf("%d statuses more", n-words)
	}
	d.open()
	late()
	if n := len(d.statuses["c"]); n != words+1 {
		t.Errorf("a new owner sent %d statuses, want one", n-words)
	}

	lost := newDesk(t)
	lost.conf.book = d.conf.book
	lost.open()
	others = 0
	d.p, d.store, d.epoch = lost.p, lost.store, lost.epoch
	d.step()
	late()
}

// TestDeletionIsFinal: statuses of one millisecond have increasing times; the one with the reason "deleted" comes
// after them, and readers that compare times take no other for the newest.
func TestDeletionIsFinal(t *testing.T) {
	d := newDesk(t)
	ctl := crawlOf("c")
	for _, state := range []schemas.CrawlState{
		schemas.CrawlState_CRAWL_STATE_RUNNING, schemas.CrawlState_CRAWL_STATE_PAUSED, schemas.CrawlState_CRAWL_STATE_RUNNING,
		schemas.CrawlState_CRAWL_STATE_DELETED,
	} {
		ctl.State = state
		d.control(ctl)
		d.step()
		ctl.Revision++
	}
	all := d.statuses["c"]
	if n := len(all); n != 4 || all[n-1].GetEndReason() != endDeleted || all[n-1].GetAt() <= all[n-2].GetAt() {
		t.Errorf("statuses %v", all)
	}
}

package main

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"forager/schemas"
)

// TestAStatusNamesItsRevision: a status has the revision of the newest control record, whether it is in force, was refused, or finds the
// crawl finished and out of memory. The writer of a record can thus distinguish the statuses that follow it from those before.
func TestAStatusNamesItsRevision(t *testing.T) {
	d := newDesk(t)
	ctl := crawlOf("c")
	next := func(what string, change func()) {
		t.Helper()
		if ctl.Revision > 1 || len(d.log) > 0 {
			ctl.Revision++
		}
		change()
		d.control(ctl)
		for range 2 { // within a second after another one a status waits
			d.now = d.now.Add(2 * time.Second)
			d.step()
		}
		if st := d.status("c"); st.GetRevision() != ctl.Revision {
			t.Errorf("%s, revision %d: %v", what, ctl.Revision, st)
		}
	}
	d.control(ctl)
	d.step(d.record(seedsOf("c", page+"1")))
	first := d.requests[0]
	next("paused", func() { ctl.State = schemas.CrawlState_CRAWL_STATE_PAUSED })
	next("refused", func() { ctl.Window, ctl.State = 1<<30, schemas.CrawlState_CRAWL_STATE_RUNNING })
	next("running", func() { ctl.Window = 10 })
	d.step(d.record(delivered(first)))
	d.now = d.now.Add(2 * time.Second)
	d.step()
	if c := d.p.crawls["c"]; !c.asleep() {
		t.Fatalf("the crawl has not finished: %v", d.status("c"))
	}
	d.open()
	d.step()
	if st := d.status("c"); st.GetRevision() != ctl.Revision || st.GetState() != schemas.ShardState_SHARD_STATE_FINISHED {
		t.Errorf("the next owner repeats %v", st)
	}
	next("finished, and another budget", func() { ctl.Budget = &schemas.Budget{Pages: 200} })
}

// TestRejectedPages: a status counts the delivered pages off the focus by their best class, later ones for more, also across owners.
func TestRejectedPages(t *testing.T) {
	d := newDesk(t)
	d.control(crawlOf("c"))
	d.step(d.record(seedsOf("c", page+"0")))
	want := make(map[string]uint64)
	for i := range 90 {
		rec := delivered(d.requests[0], fmt.Sprint(page, i+1))
		topic := fmt.Sprint("/", "aab"[i%3:i%3+1])
		rec.Judgement.BestIsFocus = i%9 == 4
		rec.Judgement.Topics = []*schemas.TopicScore{{Topic: topic}, {Topic: "/second"}}
		if !rec.Judgement.BestIsFocus {
			want[topic]++
		}
		if i == 40 {
			d.open()
		}
		d.now = d.now.Add(2 * time.Second)
		d.step(d.record(rec), d.record(rec)) // a repeated record is not counted
	}
	if got := d.status("c").GetRejected(); !maps.Equal(got, want) {
		t.Errorf("rejected %v, want %v", got, want)
	}
	m := &crawlState{rejected: make(map[string]uint64)}
	for i := range 1000 {
		m.reject(&schemas.Judgement{Topics: []*schemas.TopicScore{{Topic: fmt.Sprint("/", i/500)}}})
	}
	if sum := m.rejected["/0"] + m.rejected["/1"]; sum >= rejectedPages || m.rejected["/0"] > 10 || m.rejected["/1"] < 90 {
		t.Errorf("after 500 pages of each: %v", m.rejected)
	}
	for i := range 5000 {
		m.reject(&schemas.Judgement{Topics: []*schemas.TopicScore{{Topic: fmt.Sprint("/", i)}}})
	}
	if len(m.rejected) > rejectedPages {
		t.Errorf("%d classes are kept", len(m.rejected))
	}
}

// The last status of a crawl at rest is that of its end state, whenever the report before was.
func TestLastStatusIsOfTheState(t *testing.T) {
	for _, took := range []time.Duration{time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 700 * time.Millisecond, time.Second} {
		d := newDesk(t)
		ctl := crawlOf("c")
		ctl.Window = 1
		d.control(ctl)
		urls := pagesUpTo(30 * d.conf.rescoreBatch)
		d.step(d.record(seedsOf("c", page+"1")))
		d.step(d.record(delivered(d.requests[0], urls...)))
		d.step(d.record(delivered(d.requests[0])))
		ctl.State = schemas.CrawlState_CRAWL_STATE_PAUSED
		ctl.Revision++
		ctl.Excludes = &schemas.Excludes{Urls: []string{"7$"}}
		d.control(ctl)
		for d.step(); !d.wake.IsZero(); d.step() {
			d.now = d.now.Add(took)
			if d.wake.After(d.now) {
				d.now = d.wake
			}
		}
		is, result := d.p.crawls["c"].shard.Status(d.now), d.status("c")
		if result.GetActivity() != is.GetActivity() || result.GetQueued() != is.GetQueued() || result.GetRefused()["excluded"] == 0 {
			t.Errorf("steps of %s: the last status is %v, the state %v", took, result, is)
		}
	}
}

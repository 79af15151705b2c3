package main

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// TestTheRankerIsSwitchedAsAModelArrives: a crawl of one policy gets two in the step in which a newer model has arrived. What
// is read of the last commit has the places of one policy then.
func TestTheRankerIsSwitchedAsAModelArrives(t *testing.T) {
	d := newDesk(t)
	var arriving []func()
	d.conf.library.begin = func(f func()) { arriving = append(arriving, f) }
	arrive := func() {
		for _, f := range arriving {
			f()
		}
		arriving = nil
	}
	ctl := apprenticeCrawl("c")
	ctl.Learning.Sync = false
	ctl.Window, ctl.HostWindow = 1, 1
	for _, version := range []string{"c/1-x", "c/2-x"} {
		d.objects[schemas.ModelObject("apprentice", version)] = "good"
	}
	d.control(ctl)
	d.step(d.record(seedsOf("c", page+"1")))
	d.step(d.record(delivered(d.requests[0], page+"2", page+"3", page+"4", page+"5")))
	d.publish(&schemas.ModelPublished{Kind: "apprentice", Crawl: "c", Version: "c/1-x", Pages: 1, Leaps: 1})
	d.step()
	arrive()
	d.step()
	d.publish(&schemas.ModelPublished{Kind: "apprentice", Crawl: "c", Version: "c/2-x", Pages: 2, Leaps: 2})
	d.step() // requests it from the library
	arrive()
	ctl.Revision++
	ctl.Policies = []*schemas.Policy{{Name: "soft", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}, {Name: "p", Ranker: schemas.Ranker_RANKER_APPRENTICE}}
	ctl.Mixture = &schemas.Mixture{}
	d.control(ctl)
	d.step()
	d.now = d.now.Add(2 * time.Second)
	d.step()
	if st := d.status("c"); st.GetModel() != "c/2-x" || st.GetActivity() != "" || st.GetInFlight() != 1 || st.GetQueued() != 3 {
		t.Errorf("status %v", st)
	}
}

// TestRebuiltUnderAnotherRanker: a crawl is ranked by the apprentice, then by soft focus; its state, rebuilt from the topics,
// counts what the topics have.
func TestRebuiltUnderAnotherRanker(t *testing.T) {
	d := newDesk(t)
	ctl := apprenticeCrawl("c")
	ctl.Learning.Sync = false
	ctl.Window, ctl.HostWindow, ctl.Budget.Pages = 1, 1, 4
	d.control(ctl)
	var inbox []*schemas.LinkFound
	settled := make(map[string]bool)
	step := func(rec *schemas.LinkFound) {
		t.Helper()
		d.now = d.now.Add(2 * time.Second)
		d.step(d.record(rec))
		for _, l := range d.leaps {
			settled[string(l.GetId())] = true
		}
	}
	come := func(rec *schemas.LinkFound) { inbox = append(inbox, rec); step(rec) }
	come(seedsOf("c", page+"1", page+"2", page+"3", page+"4"))
	come(delivered(d.requests[0], page+"2"))
	come(delivered(d.requests[0], page+"3"))
	ctl.Revision++
	ctl.Policies = []*schemas.Policy{{Name: "soft", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}}
	d.control(ctl)
	come(delivered(d.requests[0], page+"4"))
	come(delivered(d.requests[0]))
	d.now = d.now.Add(2 * time.Second)
	d.step()
	before, sent := d.status("c"), len(settled)
	if n := before.GetSpans()[schemas.TopicLeapSettled].GetCount(); before.GetState() != schemas.ShardState_SHARD_STATE_FINISHED || n != uint64(sent) {
		t.Fatalf("%d leaps and boundaries were sent, status %v", sent, before)
	}
	d.lose()
	for _, rec := range inbox {
		step(rec)
	}
	d.now = d.now.Add(2 * time.Second)
	d.step()
	after := d.status("c")
	if len(settled) != sent || after.GetState() != before.GetState() || !proto.Equal(after.GetSpans()[schemas.TopicLeapSettled], before.GetSpans()[schemas.TopicLeapSettled]) {
		t.Errorf("%d leaps and boundaries were sent in all, status %v, was %v", len(settled), after, before)
	}
}

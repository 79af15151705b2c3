package frontier

import (
	"testing"

	"forager/schemas"
)

// TestSyncWaitsForTheGuideOfEachBoundary: breadth first until there are enough targets, then at every multiple; the next owner
// continues with the number of targets, and requests name the revision under which they were chosen.
func TestSyncWaitsForTheGuideOfEachBoundary(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) {
		c.Learning.Sync = true
		c.Policies[0].Ranker = schemas.Ranker_RANKER_UNFOCUSED
		c.Renewal = &schemas.Renewal{Every: 2, Bootstrap: 2, Then: &schemas.Policy{Name: "p", Ranker: schemas.Ranker_RANKER_GUIDE}}
	})
	s.seed(onA("a"), onA("b"), onA("c"), onA("d"), onA("e"), onA("f"))
	waits := func(pages uint64) {
		t.Helper()
		s.open()
		s.want(s.dispatch(1))
		if a := s.shard.Status(s.now).GetActivity(); a != "guide wait" {
			t.Errorf("activity %q", a)
		}
		s.ctl.Revision++
		s.ctl.Renewal.Pages = pages
		s.ctl.Policies[0].Ranker, s.ctl.Policies[0].Guide = schemas.Ranker_RANKER_GUIDE, "g/1"
		s.configure()
	}
	for i, name := range []string{"a", "b", "c"} { // one of them is no target
		s.want(s.dispatch(1), onA(name))
		s.deliver(onA(name), .4+float64(i)/10, true)
	}
	waits(3)
	s.want(s.dispatch(1), onA("d"))
	if r := s.last[onA("d")]; r.GetRevision() != 2 {
		t.Errorf("revision %d", r.GetRevision())
	}
	s.deliver(onA("d"), 0, true)
	waits(4)
	s.want(s.dispatch(1), onA("e"))
	s.deliver(onA("e"), 1, true)
	s.want(s.dispatch(1), onA("f"))
}

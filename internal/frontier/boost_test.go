package frontier

import (
	"testing"

	"forager/internal/frontier/storage"
	"forager/schemas"
)

func (s *script) raise(pages uint64, want bool, urls ...string) {
	s.t.Helper()
	var ids []schemas.ID
	for _, u := range urls {
		ids = append(ids, schemas.URLID(u))
	}
	if taken, err := s.shard.Raise(pages, ids); err != nil || taken != want {
		s.t.Fatalf("hubs behind %d pages: taken %t, %v; want %t", pages, taken, err, want)
	}
}

func raising(every uint64, sync bool) func(*schemas.CrawlControl) {
	return func(c *schemas.CrawlControl) {
		c.Policies[0].Raise, c.Distiller = true, &schemas.Distiller{Every: every}
		c.Learning.Sync = sync
	}
}

func TestWhatHubsLinkToComesFirst(t *testing.T) {
	s := newScript(t, raising(100, false))
	s.seed(onA("hub"))
	s.dispatch(1)
	s.deliver(onA("hub"), .5, true, onA("best"), onA("v"), onA("w"), onA("moved"), onA("late"))
	s.want(s.dispatch(1), onA("best"))
	s.deliver(onA("best"), .75, true, onA("late"))
	s.raise(3, false, onA("w")) // the shard has not delivered so many pages
	s.raise(2, true, onA("moved"), onA("w"), onA("hub"), onA("nowhere"))
	s.open() // the state survives
	s.want(s.dispatch(1), onA("w"))
	if r := s.last[onA("w")]; r.GetScore() != 2 || r.GetVia() != onA("hub") {
		t.Errorf("w is asked for with %v", r)
	}
	s.apply(s.answer(onA("w"), schemas.Outcome_OUTCOME_TIMEOUT))
	s.want(s.dispatch(1), onA("moved"))
	s.redirect(onA("moved"), onA("target"))
	s.want(s.dispatch(1), onA("target")) // a hub links to it by its other name
	s.deliver(onA("target"), .875, true, onA("v"))
	s.raise(1, true, onA("late")) // an older ranking
	s.want(s.dispatch(1), onA("v"))
	s.deliver(onA("v"), .1, false)
	s.want(s.dispatch(1), onA("late"))
	s.deliver(onA("late"), 1, true, onA("new"))
	s.want(s.dispatch(1), onA("new"))
	s.deliver(onA("new"), 1, true)
	at, ok := s.shard.Wake(s.now)
	if !ok {
		t.Fatal("w waits for nothing")
	}
	s.now = at
	s.want(s.dispatch(1), onA("w")) // its second try
	if r := s.last[onA("w")]; r.GetScore() != 2 {
		t.Errorf("its second try is asked for with %v", r)
	}
	s.deliver(onA("w"), 0, false)
	s.ended(EndEmpty)
	for ordinal := uint64(1); ordinal <= s.shard.state.Counters.Entries; ordinal++ {
		if e, err := s.shard.state.Entry(ordinal); err != nil || e.Raised {
			t.Errorf("%+v is still raised; %v", e, err)
		}
	}
}

func TestSyncWaitsForTheHubsOfEachBoundary(t *testing.T) {
	s := newScript(t, raising(2, true))
	s.seed(onA("a"), onA("b"), onA("c"), onA("d"), onA("e"))
	for i, name := range []string{"a", "b", "c", "d"} {
		s.want(s.dispatch(1), onA(name))
		s.deliver(onA(name), .5, true)
		if i%2 == 0 {
			continue
		}
		s.want(s.dispatch(1))
		if a := s.shard.Status(s.now).GetActivity(); a != "hub wait" {
			t.Errorf("activity %q", a)
		}
		s.raise(uint64(i+1), true)
	}
	s.want(s.dispatch(1), onA("e"))
}

// TestOtherPoliciesForgetNoHub: entries stay raised while no policy raises; and a distiller that
// lacks pages of the crawl is not waited for.
func TestOtherPoliciesForgetNoHub(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) { c.Learning.Sync = true })
	s.seed(onA("hub"))
	s.dispatch(1)
	s.deliver(onA("hub"), .5, true, onA("a"), onA("b"), onA("c"))
	s.raise(1, true, onA("b"), onA("c"))
	raises := func(raise bool) {
		s.ctl.Revision++
		s.ctl.Policies[0].Raise, s.ctl.Distiller = raise, &schemas.Distiller{Every: 1}
		s.configure()
	}
	raises(true)
	s.want(s.dispatch(1), onA("b"))
	s.deliver(onA("b"), 0, false)
	raises(false)
	s.want(s.dispatch(1), onA("a"))
	s.deliver(onA("a"), 0, false, onA("d"))
	raises(true)
	s.want(s.dispatch(1), onA("c"))
}

// TestALateDistillerIsNotWaitedFor: a running crawl was changed to one with a distiller, and the state of its shard was lost. The replay
// begins with an empty shard that raises, and the distiller will never have as many pages.
func TestALateDistillerIsNotWaitedFor(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := newScript(t, raising(2, true))
		s.ctl.Revision++
		s.ctl.Distiller.Late = late
		s.shard, s.store = nil, storage.NewMemory()
		s.open()
		s.seed(onA("a"), onA("b"), onA("c"))
		for _, name := range []string{"a", "b"} {
			s.want(s.dispatch(1), onA(name))
			s.deliver(onA(name), .5, true)
		}
		var next []string
		if late {
			next = []string{onA("c")}
		}
		s.want(s.dispatch(1), next...)
	}
}

package frontier

import (
	"fmt"
	"testing"
	"time"

	"forager/schemas"
)

// held is a crawl whose two best entries wait for the window of host a, one request of which is in
// flight; 15 of its 16 slots are free, b has an entry of the same score and c poorer ones.
func held(t *testing.T, change func(*schemas.CrawlControl)) *script {
	s := newScript(t, func(ctl *schemas.CrawlControl) {
		ctl.Window, ctl.HostWindow = 16, 1
		if change != nil {
			change(ctl)
		}
	})
	s.seed("http://good.example/", "http://poor.example/")
	s.want(s.dispatch(9), "http://good.example/", "http://poor.example/")
	s.deliver("http://good.example/", .5, true, onA("1"), onA("2"), onA("3"), "http://b.example/1")
	s.deliver("http://poor.example/", .25, false, "http://c.example/1", "http://d.example/1", "http://e.example/1")
	return s
}

func TestASlotIsLeftEmptyForABetterEntry(t *testing.T) {
	s := held(t, nil)
	// b's is no worse than what a holds back. With two of 16 in flight an eighth of the window is filled.
	s.want(s.dispatch(9), onA("1"), "http://b.example/1")
	s.deliver("http://b.example/1", .25, false)
	s.want(s.dispatch(9), "http://c.example/1") // less than an eighth: the crawl goes on
	s.deliver(onA("1"), .5, true)
	s.want(s.dispatch(9), onA("2"))
	s.deliver(onA("2"), .5, true)
	s.want(s.dispatch(9), onA("3"), "http://d.example/1", "http://e.example/1") // a holds back nothing any more
}

func TestWhatNeverWaits(t *testing.T) {
	for name, change := range map[string]func(*schemas.CrawlControl){
		"unfocused":     func(c *schemas.CrawlControl) { c.Policies[0].Ranker = schemas.Ranker_RANKER_UNFOCUSED },
		"a wide window": func(c *schemas.CrawlControl) { c.Window = 49 },
		"a capped host": func(c *schemas.CrawlControl) { c.Scope = &schemas.Scope{HostCap: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			s := held(t, change)
			s.want(s.dispatch(9), onA("1"), "http://b.example/1", "http://c.example/1", "http://d.example/1", "http://e.example/1")
		})
	}
}

// A host that has not responded for long holds back nothing: it is unknown when it will take the next request.
func TestALateHostHoldsBackNothing(t *testing.T) {
	s := held(t, nil)
	s.want(s.dispatch(9), onA("1"), "http://b.example/1")
	wake := func(after time.Duration) {
		t.Helper()
		if at, ok := s.shard.Wake(s.now); !ok || !at.Equal(s.now.Add(after)) {
			t.Fatalf("wakes at %v, %t; want %v", at, ok, s.now.Add(after))
		}
	}
	wake(time.Second)
	s.now = s.now.Add(999 * time.Millisecond)
	wake(time.Millisecond)
	s.want(s.dispatch(9))
	s.now = s.now.Add(time.Millisecond)
	s.want(s.dispatch(9), "http://c.example/1", "http://d.example/1", "http://e.example/1")
	if at, ok := s.shard.Wake(s.now); ok {
		t.Fatalf("wakes at %v although nothing waits", at)
	}
}

// A late host does not end the wait: another one holds the slot back.
func TestTheNextLateHostIsWaitedFor(t *testing.T) {
	s := newScript(t, func(ctl *schemas.CrawlControl) { ctl.Window, ctl.HostWindow = 16, 1 })
	s.seed("http://good.example/", "http://poor.example/")
	s.want(s.dispatch(9), "http://good.example/", "http://poor.example/")
	s.deliver("http://good.example/", .5, true, onA("1"), onA("2"), "http://b.example/1", "http://b.example/2")
	s.deliver("http://poor.example/", .25, false, "http://c.example/1")
	s.want(s.dispatch(1), onA("1"))
	s.now = s.now.Add(500 * time.Millisecond)
	s.want(s.dispatch(9), "http://b.example/1")
	s.now = s.now.Add(600 * time.Millisecond)
	s.want(s.dispatch(9))
	if at, ok := s.shard.Wake(s.now); !ok || !at.Equal(s.now.Add(400*time.Millisecond)) {
		t.Fatalf("wakes at %v, %t; now it is %v", at, ok, s.now)
	}
}

// Late is relative: if responses take 10 s, a host is late after 40.
func TestSlowHostsAreNotLateAmongSlowOnes(t *testing.T) {
	s := newScript(t, func(ctl *schemas.CrawlControl) { ctl.Window, ctl.HostWindow = 16, 1 })
	var links []string
	for i := range 4 {
		links = append(links, fmt.Sprintf("http://seed%d.example/", i))
	}
	s.seed(links...)
	s.want(s.dispatch(9), links...)
	s.now = s.now.Add(10 * time.Second)
	s.deliver(links[0], .5, true, onA("1"), onA("2"), "http://b.example/1")
	s.deliver(links[1], .25, false, "http://c.example/1")
	s.deliver(links[2], .25, false)
	s.deliver(links[3], .25, false)
	s.want(s.dispatch(9), onA("1"), "http://b.example/1")
	s.now = s.now.Add(40*time.Second - time.Millisecond)
	s.want(s.dispatch(9))
	s.now = s.now.Add(time.Millisecond)
	s.want(s.dispatch(9), "http://c.example/1")
}

// A host that waits holds back nothing, although a request to it is in flight.
func TestASleepingHostHoldsBackNothing(t *testing.T) {
	s := newScript(t, func(ctl *schemas.CrawlControl) { ctl.Window, ctl.HostWindow = 16, 3 })
	s.seed("http://good.example/", "http://poor.example/")
	s.want(s.dispatch(9), "http://good.example/", "http://poor.example/")
	s.deliver("http://good.example/", .5, true, onA("1"), onA("2"), onA("3"), onA("4"))
	s.deliver("http://poor.example/", .25, false, "http://c.example/1")
	s.want(s.dispatch(9), onA("1"), onA("2"), onA("3"))
	rec := s.answer(onA("1"), schemas.Outcome_OUTCOME_DEFERRED)
	rec.NotBefore = s.now.Add(time.Hour).UnixMilli()
	s.apply(rec)
	s.ctl.Revision, s.ctl.HostWindow = 2, 2 // so that what is left in flight fills it
	s.configure()
	s.want(s.dispatch(9), "http://c.example/1")
}

package frontier

import (
	"fmt"
	"testing"
	"time"

	"forager/schemas"
)

// down applies a verdict with an outcome by which nothing was reached; at is its time of the next try.
func (s *script) down(url string, o schemas.Outcome, notBefore time.Time) {
	s.t.Helper()
	rec := s.answer(url, o)
	rec.Detail, rec.FetchedAt, rec.NotBefore = "dial: refused", s.now.UnixMilli(), notBefore.UnixMilli()
	s.apply(rec)
}

// TestANetworkOutageCostsNothing interrupts the network of a crawl of one host for two hours, with a window that is full
// when it begins, and restarts the owner in the middle.
func TestANetworkOutageCostsNothing(t *testing.T) {
	s := newScript(t, func(ctl *schemas.CrawlControl) {
		ctl.Window, ctl.Budget = 50, &schemas.Budget{Pages: 300, Requests: 300}
	})
	var urls []string
	for i := range 200 {
		urls = append(urls, onA(fmt.Sprint(i)))
	}
	s.seed(urls...)
	sent := 0
	for end := s.now.Add(2 * time.Hour); s.now.Before(end); {
		got := s.dispatch(1000)
		sent += len(got)
		for _, u := range got {
			s.down(u, schemas.Outcome_OUTCOME_NETWORK_UNREACHABLE, s.now.Add(time.Minute))
		}
		st := s.shard.Status(s.now)
		if st.GetOutage().GetSince() != 1_000_000 || st.GetOutage().GetCause() != "dial: refused" || st.GetQueued() != 200 {
			t.Fatalf("the status is %v", st)
		}
		if at, ok := s.shard.Wake(s.now); !ok || !at.After(s.now) {
			t.Fatalf("after %v the shard is to be called at %v, %t", s.now, at, ok)
		} else {
			s.now = at
		}
		s.open()
	}
	if sent > 50+2*121 {
		t.Errorf("%d requests were sent in two hours of probes a minute apart", sent)
	}
	got := s.dispatch(1000)
	s.want(got, got[0], got[1])
	s.now = s.now.Add(time.Second)
	for _, u := range got {
		rec := s.answer(u, schemas.Outcome_OUTCOME_CLIENT_ERROR)
		rec.Status, rec.FetchedAt = 404, s.now.UnixMilli()
		s.apply(rec)
	}
	st := s.shard.Status(s.now)
	if st.GetOutage() != nil || st.GetRequests() != 2 || st.GetQueued() != 198 {
		t.Errorf("after the outage: %v", st)
	}
	if n := len(s.dispatch(1000)); n != 50 {
		t.Errorf("%d requests fill the window, want 50", n)
	}
}

// TestProbesGoToOtherHosts: a host that is down itself is not the only one that is probed during an outage.
func TestProbesGoToOtherHosts(t *testing.T) {
	s := newScript(t, func(ctl *schemas.CrawlControl) { ctl.Window = 1 })
	s.seed(onA("1"), onA("2"), "http://b.example/")
	for range 3 {
		s.want(s.dispatch(1), onA("1"))
		s.down(onA("1"), schemas.Outcome_OUTCOME_NETWORK_UNREACHABLE, s.now.Add(time.Second))
		s.now = s.now.Add(time.Second)
		s.want(s.dispatch(2), "http://b.example/")
		s.down("http://b.example/", schemas.Outcome_OUTCOME_NETWORK_UNREACHABLE, s.now.Add(time.Second))
		s.now = s.now.Add(2 * time.Second)
	}
}

// TestAHostThatFailsAloneKeepsItsURLs: one host of two is unreachable for an hour.
func TestAHostThatFailsAloneKeepsItsURLs(t *testing.T) {
	s := newScript(t, func(ctl *schemas.CrawlControl) { ctl.Window = 10 })
	s.seed(onA("1"), onA("2"), onA("3"), "http://b.example/1", "http://b.example/2")
	tries, delivered := 0, 0
	for end := s.now.Add(time.Hour); s.now.Before(end); s.open() {
		for _, u := range s.dispatch(100) {
			if u[:16] == onA("")[:16] {
				tries++
				s.down(u, schemas.Outcome_OUTCOME_HOST_UNREACHABLE, time.UnixMilli(0))
			} else {
				delivered++
				s.deliver(u, 1, true)
			}
		}
		at, ok := s.shard.Wake(s.now)
		if !ok {
			t.Fatal("the shard waits for nothing")
		}
		s.now = at
	}
	st := s.shard.Status(s.now)
	if u := st.GetUnreachable(); delivered != 2 || tries < 6 || tries > 20 || st.GetRequests() != 2 || u.GetHosts() != 1 || u.GetUrls() != 3 || u.GetHost() != "a.example" {
		t.Fatalf("%d delivered, %d tries: %v", delivered, tries, st)
	}
	got := s.dispatch(100)
	if len(got) != 1 {
		t.Fatalf("a host that was away is asked for %q at once", got)
	}
	s.deliver(got[0], 1, true)
	if got = s.dispatch(100); len(got) != 2 {
		t.Fatalf("then it is asked for %q", got)
	}
}

// TestDeadHostsEndAnOutage: if only dead hosts are left, it can seem that the network is unreachable. The crawl ends nevertheless.
func TestDeadHostsEndAnOutage(t *testing.T) {
	s := newScript(t, func(ctl *schemas.CrawlControl) { ctl.Window, ctl.HostPatienceS = 10, 1800 })
	s.seed(onA("1"), "http://b.example/1")
	for begin, tries := s.now, 0; ; tries++ {
		for _, u := range s.dispatch(100) {
			if tries == 0 {
				s.down(u, schemas.Outcome_OUTCOME_HOST_UNREACHABLE, time.UnixMilli(0))
			} else {
				s.down(u, schemas.Outcome_OUTCOME_NETWORK_UNREACHABLE, s.now.Add(time.Minute))
			}
		}
		if _, ok := s.shard.Finished(); ok {
			break
		}
		at, ok := s.shard.Wake(s.now)
		if !ok || s.now.Sub(begin) > 2*time.Hour {
			t.Fatalf("after %v the crawl has not ended", s.now.Sub(begin))
		}
		s.now = at
	}
	s.ended(EndUnreachable)
}

// TestACrawlEndsWhenOnlyDeadHostsAreLeft, and goes on when they are to be tried again.
func TestACrawlEndsWhenOnlyDeadHostsAreLeft(t *testing.T) {
	s := newScript(t, func(ctl *schemas.CrawlControl) { ctl.Window, ctl.HostPatienceS, ctl.MaxAttempts = 10, 1800, 1 })
	s.seed(onA("1"), onA("2"), "http://b.example/1", "http://b.example/2")
	begin := s.now
	for {
		for _, u := range s.dispatch(100) {
			switch u {
			case "http://b.example/1":
				s.apply(s.answer(u, schemas.Outcome_OUTCOME_TIMEOUT))
			case "http://b.example/2":
				s.apply(s.answer(u, schemas.Outcome_OUTCOME_CLIENT_ERROR))
			default:
				s.down(u, schemas.Outcome_OUTCOME_HOST_UNREACHABLE, time.UnixMilli(0))
			}
		}
		if _, ok := s.shard.Finished(); ok {
			break
		}
		at, ok := s.shard.Wake(s.now)
		if !ok || s.now.Sub(begin) > 3*time.Hour {
			t.Fatalf("after %v the crawl has not ended", s.now.Sub(begin))
		}
		s.now = at
	}
	s.ended(EndUnreachable)
	if took := s.now.Sub(begin); took < 30*time.Minute || took > 75*time.Minute {
		t.Errorf("it ended after %v, the patience is 30m", took)
	}
	s.now = s.now.Add(3 * time.Hour)
	s.want(s.dispatch(100))
	s.open()
	s.ended(EndUnreachable)
	s.apply(schemas.RetryFailed("c", 0, 2))
	got := s.dispatch(100)
	s.want(got, onA("1"), onA("2"), "http://b.example/1")
	for _, u := range got {
		s.deliver(u, 1, true)
	}
	s.ended(EndEmpty)
	if effects, err := s.shard.Apply(schemas.RetryFailed("c", 0, 2), s.now); err != nil || !effects.Duplicate {
		t.Errorf("the same ask counts twice: %v, %v", effects, err)
	}
}

package frontier

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"forager/internal/crawl/crawlfile"
	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/web/scope"
	"forager/schemas"
)

// checkHosts compares what is stored of the hosts, their index and the counts over them with the queues and entries, from which
// all of it follows.
func checkHosts(t interface{ Fatalf(string, ...any) }, s *Shard) {
	all := scanHosts(t, s)
	var total [state.HostStates]state.Backlog
	var failing [state.HostStates]uint64
	index := make(map[string]bool)
	for n := range s.state.Counters.Hosts {
		r, err := s.hosts.ReadHost(n)
		if err != nil {
			t.Fatalf("host %d: %v", n, err)
		}
		want := all.hosts[n]
		b := r.BacklogSince(s.state.Counters.ShapeBegan)
		if b != want.backlog {
			t.Fatalf("host %s has %+v to fetch, want %+v", r.Name, b, want.backlog)
		}
		total[s.hosts.Reachability(r.Dispatched, r.FailingSince, r.FailedAt, r.Rest)].Add(int(b.Queued), int(b.Waiting))
		if r.FailingSince > 0 {
			failing[s.hosts.Reachability(0, r.FailingSince, r.FailedAt, r.Rest)]++
		}
		checkWaiting(t, s, n, r)
		checkFronts(t, s, n, r, want)
		if h, resident := s.hosts.Cache.Peek(n); resident != all.resident[n] || resident && h.InFlight != want.inFlight || !resident && want.inFlight > 0 {
			t.Fatalf("host %+v is in memory: %t, by the store: %t; %d requests in flight", h, resident, all.resident[n], want.inFlight)
		} else if !resident {
			for key := range indexKeys(s, n, r) {
				index[key] = true
			}
		}
	}
	if total != s.state.Counters.Backlog || failing != s.state.Counters.Failing {
		t.Fatalf("%+v to be fetched, %v hosts are unreachable; want %+v, %v", s.state.Counters.Backlog, s.state.Counters.Failing, total, failing)
	}
	for key := range all.index {
		if !index[key] {
			t.Fatalf("the index has the key %x too many", key)
		}
	}
	if len(all.index) != len(index) {
		t.Fatalf("the index has %d keys, want %d", len(all.index), len(index))
	}
}

// checkWaiting looks for the keys by which a host that waits, or is unreachable, is found.
func checkWaiting(t interface{ Fatalf(string, ...any) }, s *Shard, n uint32, r *queue.StoredHost) {
	_, sleeps, err := s.state.Store.Get(s.state.Keys.Sleeping(r.FailingSince > 0, r.NotBefore, n))
	if err != nil || sleeps != (r.NotBefore > 0) {
		t.Fatalf("host %+v has a key of its wait: %t; %v", r, sleeps, err)
	}
	_, failing, err := s.state.Store.Get(s.state.Keys.Failing(r.FailingSince, n))
	if err != nil || failing != (r.FailingSince > 0) {
		t.Fatalf("host %+v has a key of its failure: %t; %v", r, failing, err)
	}
}

// hostFacts are the facts of a host that follow from entries and queues.
type hostFacts struct {
	backlog  state.Backlog
	inFlight uint32
	queues   map[queueOf][]state.Order
}

type queueOf struct {
	policy     uint8
	generation uint32
}

type storedHosts struct {
	hosts    map[uint32]*hostFacts
	resident map[uint32]bool
	index    map[string]bool
}

func scanHosts(t interface{ Fatalf(string, ...any) }, s *Shard) storedHosts {
	all := storedHosts{make(map[uint32]*hostFacts), make(map[uint32]bool), make(map[string]bool)}
	for n := range s.state.Counters.Hosts {
		all.hosts[n] = &hostFacts{queues: make(map[queueOf][]state.Order)}
	}
	for ordinal := uint64(1); ordinal <= s.state.Counters.Entries; ordinal++ {
		e, err := state.ReadEntry(s.state.Store.Get, &s.state.Keys, ordinal, s.state.Counters.Hosts)
		if err != nil {
			t.Fatalf("%v", err)
		}
		switch {
		case e.State == state.Waiting:
			all.hosts[e.Host].backlog.Waiting++
		case e.State == state.Queued && !s.queues.Unranked(e.Places) && s.queues.Within(e.Places):
			all.hosts[e.Host].backlog.Queued++
		}
	}
	for _, f := range s.flights.byID {
		all.hosts[f.host].inFlight++
	}
	prefix := slices.Clone(s.state.Keys.Buf[:s.state.Keys.Prefix])
	err := s.state.Store.Scan(prefix, state.After(prefix), func(key, _ []byte) (bool, error) {
		switch key[len(prefix)] {
		case state.KindQueue:
			k, err := s.state.Keys.ParseQueue(key)
			if err != nil {
				return false, err
			}
			if slot, err := s.state.Generations[k.Policy].Slot(k.Generation); err != nil || s.hosts.LeftBehind(int(k.Policy), slot, k.Order.Ordinal) {
				return err == nil, err
			}
			of := queueOf{k.Policy, k.Generation}
			all.hosts[k.Host].queues[of] = append(all.hosts[k.Host].queues[of], k.Order)
		case state.KindResident:
			n, err := s.state.Keys.ParseU32(key)
			all.resident[n] = true
			return err == nil, err
		case state.KindIndex:
			all.index[string(key)] = true
		}
		return true, nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return all
}

// checkFronts compares the fronts of a host with its queues.
func checkFronts(t interface{ Fatalf(string, ...any) }, s *Shard, n uint32, r *queue.StoredHost, want *hostFacts) {
	some := 0
	for _, f := range r.Fronts {
		if int(f.Policy) >= len(s.state.Generations) {
			continue
		}
		if _, err := s.state.Generations[f.Policy].Slot(f.Generation); err != nil {
			continue
		}
		some++
		queue := want.queues[queueOf{f.Policy, f.Generation}]
		if int(f.Stored) != len(queue) || queue[0].Less(f.Bound) || !f.Unread && queue[0] != f.Bound {
			t.Fatalf("host %d: front %+v of %v", n, f, queue)
		}
	}
	if some != len(want.queues) {
		t.Fatalf("host %d has %d queues, want %d", n, some, len(want.queues))
	}
}

// indexKeys are the keys in the index of a host that is not in memory.
func indexKeys(s *Shard, n uint32, r *queue.StoredHost) map[string]bool {
	keys := make(map[string]bool)
	for _, f := range r.Fronts {
		if int(f.Policy) < len(s.state.Generations) {
			if _, err := s.state.Generations[f.Policy].Slot(f.Generation); err == nil {
				keys[string(s.state.Keys.Index(f.Policy, f.Generation, r.Place-1, state.Indexed{Order: f.Bound, Host: n}))] = true
			}
		}
	}
	return keys
}

// TestHostsStayWithinTheirMemory: what hosts take in memory is bounded however many there are, whether they have one page, are at
// their cap, wait, or have nothing left; and all of them are fetched in the end.
func TestHostsStayWithinTheirMemory(t *testing.T) {
	const hosts, memory = 3000, 1 << 20
	for _, ranker := range []string{"soft-focus", "mixture"} {
		s := newHostsShard(t, storage.NewMemory(), ranker, memory, &schemas.CrawlControl{Window: 16, Scope: &schemas.Scope{HostCap: 2}})
		now, fetched := int64(1_000_000), make(map[string]int)
		bounded := func() {
			t.Helper()
			if s.hosts.Cache.Used > s.hosts.Memory+16*(queue.HostCost+4*queue.HostQueueCost) {
				t.Fatalf("%d hosts take %d bytes of %d", len(s.hosts.Cache.At), s.hosts.Cache.Used, s.hosts.Memory)
			}
			used := 0
			for _, x := range s.hosts.Cache.At {
				used += x.Item.Cost()
			}
			if used != s.hosts.Cache.Used || len(s.hosts.HostByName) != len(s.hosts.Cache.At) {
				t.Fatalf("%d hosts take %d bytes, %d are counted", len(s.hosts.Cache.At), used, s.hosts.Cache.Used)
			}
		}
		for n := 0; n < hosts; n += 500 {
			var links []*schemas.Link
			for i := range 500 {
				for page := range 3 {
					links = append(links, &schemas.Link{Url: fmt.Sprintf("http://host-number-%d.example/%d", n+i, page)})
				}
			}
			if _, err := s.Apply(seedPage("c", n, links), time.UnixMilli(now)); err != nil {
				t.Fatal(err)
			}
			bounded()
		}
		if n := len(s.hosts.Cache.At); n == 0 || n > hosts/4 {
			t.Fatalf("%d of %d hosts are in memory: the test is void", n, hosts)
		}
		for {
			rs, err := s.Dispatch(time.UnixMilli(now), 16)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rs {
				outcome := schemas.Outcome_OUTCOME_CLIENT_ERROR
				if r.GetOrdinal()%5 == 0 {
					outcome = schemas.Outcome_OUTCOME_DEFERRED
				} else {
					fetched[r.GetHost()]++
				}
				rec := &schemas.LinkFound{Id: r.GetId(), Crawl: "c", Url: r.GetUrl(), Outcome: outcome, NotBefore: now + 60_000, Request: encoded(r)}
				if _, err := s.Apply(rec, time.UnixMilli(now)); err != nil {
					t.Fatal(err)
				}
			}
			bounded()
			if at, ok := s.Wake(time.UnixMilli(now)); len(rs) == 0 && ok {
				now = max(now+1, at.UnixMilli())
			} else if len(rs) == 0 {
				break
			}
		}
		checkHosts(t, s)
		for host, n := range fetched {
			if n != 2 {
				t.Fatalf("%s: %d pages of %s were fetched, want its cap", ranker, n, host)
			}
		}
		if reason, ended := s.Finished(); len(fetched) != hosts || reason != EndEmpty || !ended {
			t.Errorf("%s: %d hosts of %d were asked; end: %q", ranker, len(fetched), hosts, reason)
		}
	}
}

func newHostsShard(t testing.TB, store storage.Store, ranker string, memory int, ctl *schemas.CrawlControl) *Shard {
	s, err := Open(store, "c", 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := crawlfile.Rank(ranker)
	if err != nil {
		t.Fatal(err)
	}
	ctl.Crawl, ctl.Revision, ctl.State = "c", 1, schemas.CrawlState_CRAWL_STATE_RUNNING
	ctl.Budget, ctl.Policies, ctl.Mixture = &schemas.Budget{Pages: 1 << 40}, r.Policies, r.Mixture
	ctl.Learning = &schemas.Learning{DMax: 5}
	sc, err := scope.New(ctl.GetScope(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Configure(ctl, sc, Options{Epoch: 1, Memory: memory}); err != nil {
		t.Fatal(err)
	}
	return s
}

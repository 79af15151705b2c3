package frontier

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"forager/internal/crawl/crawlfile"
	"forager/internal/web/scope"
	"forager/schemas"
)

// checkHosts compares what is stored of the hosts, their index and the counts over them with the queues and entries, from which
// all of it follows.
func checkHosts(t interface{ Fatalf(string, ...any) }, s *Shard) {
	all := scanHosts(t, s)
	var total [standings]backlog
	var failing [standings]uint64
	index := make(map[string]bool)
	for n := range s.c.hosts {
		r, err := s.readHost(n)
		if err != nil {
			t.Fatalf("host %d: %v", n, err)
		}
		want := all.hosts[n]
		b := r.backlogSince(s.c.shapeBegan)
		if b != want.backlog {
			t.Fatalf("host %s has %+v to fetch, want %+v", r.name, b, want.backlog)
		}
		total[s.standing(r.dispatched, r.failingSince, r.failedAt)].add(int(b.queued), int(b.waiting))
		if r.failingSince > 0 {
			failing[s.standing(0, r.failingSince, r.failedAt)]++
		}
		checkWaiting(t, s, n, r)
		checkFronts(t, s, n, r, want)
		if h, resident := s.hosts.peek(n); resident != all.resident[n] || resident && h.inFlight != want.inFlight || !resident && want.inFlight > 0 {
			t.Fatalf("host %+v is in memory: %t, by the store: %t; %d requests in flight", h, resident, all.resident[n], want.inFlight)
		} else if !resident {
			for key := range indexKeys(s, n, r) {
				index[key] = true
			}
		}
	}
	if total != s.c.backlog || failing != s.c.failing {
		t.Fatalf("%+v to be fetched, %v hosts are unreachable; want %+v, %v", s.c.backlog, s.c.failing, total, failing)
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
func checkWaiting(t interface{ Fatalf(string, ...any) }, s *Shard, n uint32, r *storedHost) {
	_, sleeps, err := s.store.Get(s.keys.sleeping(r.failingSince > 0, r.notBefore, n))
	if err != nil || sleeps != (r.notBefore > 0) {
		t.Fatalf("host %+v has a key of its wait: %t; %v", r, sleeps, err)
	}
	_, failing, err := s.store.Get(s.keys.failing(r.failingSince, n))
	if err != nil || failing != (r.failingSince > 0) {
		t.Fatalf("host %+v has a key of its failure: %t; %v", r, failing, err)
	}
}

// hostFacts are the facts of a host that follow from entries and queues.
type hostFacts struct {
	backlog  backlog
	inFlight uint32
	queues   map[queueOf][]order
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
	for n := range s.c.hosts {
		all.hosts[n] = &hostFacts{queues: make(map[queueOf][]order)}
	}
	for ordinal := uint64(1); ordinal <= s.c.entries; ordinal++ {
		e, err := readEntry(s.store.Get, &s.keys, ordinal, s.c.hosts)
		if err != nil {
			t.Fatalf("%v", err)
		}
		switch {
		case e.state == stateWaiting:
			all.hosts[e.host].backlog.waiting++
		case e.state == stateQueued && !s.unranked(e.places) && s.within(e.places):
			all.hosts[e.host].backlog.queued++
		}
	}
	for _, f := range s.flights {
		all.hosts[f.host].inFlight++
	}
	prefix := slices.Clone(s.keys.buf[:s.keys.prefix])
	err := s.store.Scan(prefix, after(prefix), func(key, _ []byte) (bool, error) {
		switch key[len(prefix)] {
		case kindQueue:
			k, err := s.keys.parseQueue(key)
			if err != nil {
				return false, err
			}
			if slot, err := s.generations[k.policy].slot(k.generation); err != nil || s.leftBehind(int(k.policy), slot, k.order.ordinal) {
				return err == nil, err
			}
			of := queueOf{k.policy, k.generation}
			all.hosts[k.host].queues[of] = append(all.hosts[k.host].queues[of], k.order)
		case kindResident:
			n, err := s.keys.parseU32(key)
			all.resident[n] = true
			return err == nil, err
		case kindIndex:
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
func checkFronts(t interface{ Fatalf(string, ...any) }, s *Shard, n uint32, r *storedHost, want *hostFacts) {
	some := 0
	for _, f := range r.fronts {
		if int(f.policy) >= len(s.generations) {
			continue
		}
		if _, err := s.generations[f.policy].slot(f.generation); err != nil {
			continue
		}
		some++
		queue := want.queues[queueOf{f.policy, f.generation}]
		if int(f.stored) != len(queue) || queue[0].less(f.bound) || !f.unread && queue[0] != f.bound {
			t.Fatalf("host %d: front %+v of %v", n, f, queue)
		}
	}
	if some != len(want.queues) {
		t.Fatalf("host %d has %d queues, want %d", n, some, len(want.queues))
	}
}

// indexKeys are the keys in the index of a host that is not in memory.
func indexKeys(s *Shard, n uint32, r *storedHost) map[string]bool {
	keys := make(map[string]bool)
	for _, f := range r.fronts {
		if int(f.policy) < len(s.generations) {
			if _, err := s.generations[f.policy].slot(f.generation); err == nil {
				keys[string(s.keys.index(f.policy, f.generation, r.place-1, indexed{f.bound, n}))] = true
			}
		}
	}
	return keys
}

// TestRangeHead compares a rangeHead with a sorted list that is used as the store.
func TestRangeHead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []int
		r := rangeHead[int]{compare: func(a, b int) int { return a - b }, scan: func(from *int, f func(int) bool) error {
			for _, k := range all {
				if (from == nil || k >= *from) && !f(k) {
					break
				}
			}
			return nil
		}}
		for range rapid.IntRange(0, 300).Draw(t, "before") {
			if at, found := slices.BinarySearch(all, rapid.IntRange(0, 1000).Draw(t, "key")); !found {
				all = slices.Insert(all, at, at)
				slices.Sort(all)
				all = slices.Compact(all)
			}
		}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "op") {
			case 0:
				k := rapid.IntRange(0, 1000).Draw(t, "key")
				at, found := slices.BinarySearch(all, k)
				if !found {
					all = slices.Insert(all, at, k)
					r.insert(k)
				}
			case 1:
				if len(all) > 0 {
					at := rapid.IntRange(0, len(all)-1).Draw(t, "at")
					k := all[at]
					all = slices.Delete(all, at, at+1)
					r.remove(k)
				}
			default: // the first ones are taken
				for range rapid.IntRange(1, 2*headRead).Draw(t, "taken") {
					k, ok, err := r.least()
					if err != nil || ok != (len(all) > 0) || ok && k != all[0] {
						t.Fatalf("least %d %t %v of %v", k, ok, err, all)
					}
					if ok {
						all = all[1:]
						r.remove(k)
					}
				}
			}
			if len(r.keys) > 2*headRead {
				t.Fatalf("%d keys are in memory", len(r.keys))
			}
		}
	})
}

// TestIndexKeysSortAsTheOrderDoes compares the order of keys of the index with the order that they encode.
func TestIndexKeysSortAsTheOrderDoes(t *testing.T) {
	k := newKeys(shardPrefix(ShardName{"crawl", 3}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := indexed{drawOrder(t), rapid.Uint32().Draw(t, "host")}, indexed{drawOrder(t), rapid.Uint32().Draw(t, "host")}
		x, y := slices.Clone(k.index(1, 70_000, 3, a)), slices.Clone(k.index(1, 70_000, 3, b))
		if got, want := bytes.Compare(x, y), compareIndexed(a, b); got != want {
			t.Fatalf("keys of %+v and %+v compare as %d, want %d", a, b, got, want)
		}
		if got, err := k.parseIndex(x); err != nil || got != a {
			t.Fatalf("%+v comes back as %+v, %v", a, got, err)
		}
	})
}

// TestHostsStayWithinTheirMemory: what hosts take in memory is bounded however many there are, whether they have one page, are at
// their cap, wait, or have nothing left; and all of them are fetched in the end.
func TestHostsStayWithinTheirMemory(t *testing.T) {
	const hosts, memory = 3000, 1 << 20
	for _, ranker := range []string{"soft-focus", "mixture"} {
		s := newHostsShard(t, NewMemory(), ranker, memory, &schemas.CrawlControl{Window: 16, Scope: &schemas.Scope{HostCap: 2}})
		now, fetched := int64(1_000_000), make(map[string]int)
		bounded := func() {
			t.Helper()
			if s.hosts.used > s.hostMemory+16*(hostCost+4*hostQueueCost) {
				t.Fatalf("%d hosts take %d bytes of %d", len(s.hosts.at), s.hosts.used, s.hostMemory)
			}
			used := 0
			for _, x := range s.hosts.at {
				used += x.item.cost()
			}
			if used != s.hosts.used || len(s.hostByName) != len(s.hosts.at) {
				t.Fatalf("%d hosts take %d bytes, %d are counted", len(s.hosts.at), used, s.hosts.used)
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
		if n := len(s.hosts.at); n == 0 || n > hosts/4 {
			t.Fatalf("%d of %d hosts are in memory: the test says nothing", n, hosts)
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

func newHostsShard(t testing.TB, store Store, ranker string, memory int, ctl *schemas.CrawlControl) *Shard {
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

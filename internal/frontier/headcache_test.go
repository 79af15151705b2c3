package frontier

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"forager/internal/frontier/place"
	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/web/scope"
	"forager/schemas"
)

// TestHeadsWhileAPassGoesOn: whatever was swept, dispatched and read again of the queues, their heads are the best entries that
// are queued, also for a shard that is opened in the middle of the pass.
func TestHeadsWhileAPassGoesOn(t *testing.T) {
	b := newBench(t, storage.NewMemory(), schemas.Ranker_RANKER_APPRENTICE)
	for range 60 {
		b.page(t)
	}
	s, unread := b.shard, 0
	s.SetMemory(1)
	models := []place.Model{b.model(t), b.model(t)}
	for i, m := range models {
		if err := s.SetModel(fmt.Sprint(i), m, uint64(i+1)); err != nil {
			t.Fatal(err)
		}
		for more, n := true, 0; more; n++ {
			if n%3 == 1 {
				b.page(t)
			}
			var err error
			if more, err = s.Rescore(16); err != nil {
				t.Fatal(err)
			}
			unread += checkHeads(t, s)
			if n%3 == 2 {
				s = reopenBench(t, b, fmt.Sprint(i), m, uint64(i+1))
				s.SetMemory(1)
				checkHeads(t, s)
			}
		}
	}
	if unread < 50 {
		t.Errorf("%d fronts were unread: the test is void", unread)
	}
}

// reopenBench opens the shard again on what it has stored.
func reopenBench(t *testing.T, b *bench, version string, m place.Model, pages uint64) *Shard {
	ctl := b.shard.cfg.ctl
	var err error
	if b.shard, err = Open(b.store, "bench", 0); err != nil {
		t.Fatal(err)
	}
	sc, err := scope.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.shard.Configure(ctl, sc, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := b.shard.SetModel(version, m, pages); err != nil {
		t.Fatal(err)
	}
	return b.shard
}

func hostOf(t *testing.T, s *Shard, number uint32) *queue.Host {
	h, err := s.hosts.Host(number)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// checkHeads compares the heads of all queues with the entries, and returns how many of them had to be read.
func checkHeads(t *testing.T, s *Shard) (unread int) {
	all, old := make(map[uint32]state.Order), make(map[uint32]state.Order)
	least := func(of map[uint32]state.Order, host uint32, o state.Order) {
		if first, ok := of[host]; !ok || o.Less(first) {
			of[host] = o
		}
	}
	queued := 0
	for ordinal := uint64(1); ordinal <= s.state.Counters.Entries; ordinal++ {
		e, err := s.state.Entry(ordinal)
		if err != nil {
			t.Fatal(err)
		}
		if e.State != state.Queued {
			continue
		}
		queued++
		least(all, e.Host, e.Order(0))
		if s.queues.IsOld(e) {
			least(old, e.Host, e.Order(0))
		}
	}
	if n := int(s.state.Generations[0].Keys[state.SlotOld] + s.state.Generations[0].Keys[state.SlotNew]); n != queued {
		t.Fatalf("%d keys are queued, want %d", n, queued)
	}
	for n := range s.state.Counters.Hosts {
		if q := &hostOf(t, s, n).Queues[0]; !q.Empty() && q.Fronts[q.Better()].Unread {
			unread++
		}
	}
	best := slices.SortedFunc(maps.Values(all), state.CompareOrders)
	heads, err := s.queues.BestHeads(4)
	if s.hosts.RebuildHeaps(); err != nil || !slices.EqualFunc(heads, best[:4], func(a uint64, b state.Order) bool { return a == b.Ordinal }) {
		t.Fatalf("best heads %v, want %v; %v", heads, best[:4], err)
	}
	for n := range s.state.Counters.Hosts {
		h := hostOf(t, s, n)
		q := &h.Queues[0]
		want, some := all[h.Number]
		if q.Empty() == some {
			t.Fatalf("host %d: queue empty: %t, entries: %t", h.Number, q.Empty(), some)
		}
		if !some {
			continue
		}
		if got, err := s.queues.Head(h, 0); err != nil || got != want {
			t.Fatalf("host %d: head %+v, want %+v; %v", h.Number, got, want, err)
		}
	}
	if s.queues.HasOld(0) != (len(old) > 0) {
		t.Fatalf("old entries: %t, want %d", s.queues.HasOld(0), len(old))
	}
	if len(old) > 0 {
		want := slices.MinFunc(slices.Collect(maps.Values(old)), state.CompareOrders)
		if got, err := s.queues.OldHead(0); err != nil || got != want {
			t.Fatalf("old head %+v, want %+v; %v", got, want, err)
		}
	}
	return unread
}

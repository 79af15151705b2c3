package frontier

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"forager/internal/web/scope"
	"forager/schemas"
)

// TestHeadsWhileAPassGoesOn: whatever was swept, dispatched and read again of the queues, their heads are the best entries that
// are queued, also for a shard that is opened in the middle of the pass.
func TestHeadsWhileAPassGoesOn(t *testing.T) {
	b := newBench(t, NewMemory(), schemas.Ranker_RANKER_APPRENTICE)
	for range 60 {
		b.page(t)
	}
	s, unread := b.shard, 0
	s.SetMemory(1)
	models := []Model{b.model(t), b.model(t)}
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
		t.Errorf("%d fronts were unread: the test says nothing", unread)
	}
}

// reopenBench opens the shard again on what it has stored.
func reopenBench(t *testing.T, b *bench, version string, m Model, pages uint64) *Shard {
	ctl := b.shard.ctl
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

func hostOf(t *testing.T, s *Shard, number uint32) *host {
	h, err := s.host(number)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// checkHeads compares the heads of all queues with the entries, and returns how many of them had to be read.
func checkHeads(t *testing.T, s *Shard) (unread int) {
	all, old := make(map[uint32]order), make(map[uint32]order)
	least := func(of map[uint32]order, host uint32, o order) {
		if first, ok := of[host]; !ok || o.less(first) {
			of[host] = o
		}
	}
	queued := 0
	for ordinal := uint64(1); ordinal <= s.c.entries; ordinal++ {
		e, err := s.entry(ordinal)
		if err != nil {
			t.Fatal(err)
		}
		if e.state != stateQueued {
			continue
		}
		queued++
		least(all, e.host, e.order(0))
		if s.isOld(e) {
			least(old, e.host, e.order(0))
		}
	}
	if n := int(s.generations[0].keys[slotOld] + s.generations[0].keys[slotNew]); n != queued {
		t.Fatalf("%d keys are queued, want %d", n, queued)
	}
	for n := range s.c.hosts {
		if q := &hostOf(t, s, n).queues[0]; !q.empty() && q.fronts[q.better()].unread {
			unread++
		}
	}
	best := slices.SortedFunc(maps.Values(all), compareOrders)
	heads, err := s.bestHeads(4)
	if s.rebuildHeaps(); err != nil || !slices.EqualFunc(heads, best[:4], func(a uint64, b order) bool { return a == b.ordinal }) {
		t.Fatalf("best heads %v, want %v; %v", heads, best[:4], err)
	}
	for n := range s.c.hosts {
		h := hostOf(t, s, n)
		q := &h.queues[0]
		want, some := all[h.number]
		if q.empty() == some {
			t.Fatalf("host %d: queue empty: %t, entries: %t", h.number, q.empty(), some)
		}
		if !some {
			continue
		}
		if got, err := s.head(h, 0); err != nil || got != want {
			t.Fatalf("host %d: head %+v, want %+v; %v", h.number, got, want, err)
		}
	}
	if s.hasOld(0) != (len(old) > 0) {
		t.Fatalf("old entries: %t, want %d", s.hasOld(0), len(old))
	}
	if len(old) > 0 {
		want := slices.MinFunc(slices.Collect(maps.Values(old)), compareOrders)
		if got, err := s.oldHead(0); err != nil || got != want {
			t.Fatalf("old head %+v, want %+v; %v", got, want, err)
		}
	}
	return unread
}

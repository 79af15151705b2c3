package queue

import (
	"fmt"
	"slices"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
)

// newHeaps makes the heaps of one policy over the hosts in memory: open hosts by the best of their
// heads, and, for a pass, all hosts by the head of their old generation.
func newHeaps(p int) (ready, old *storage.Heap[*Host]) {
	ready = &storage.Heap[*Host]{
		Less: func(a, b *Host) bool { return a.Queues[p].Bound().Less(b.Queues[p].Bound()) },
		At:   func(h *Host) *int { return &h.Queues[p].ready },
	}
	old = &storage.Heap[*Host]{
		Less: func(a, b *Host) bool {
			return a.Queues[p].Fronts[state.SlotOld].bound().Less(b.Queues[p].Fronts[state.SlotOld].bound())
		},
		At: func(h *Host) *int { return &h.Queues[p].old },
	}
	return ready, old
}

// Queues are the queues of unvisited entries: one for each policy, generation and host.
type Queues struct {
	state *state.Records
	hosts *Hosts
	// AllLead: every policy may lead, as in a mixture; else the first one does.
	AllLead bool
}

// NewQueues returns the queues of hosts.
func NewQueues(state *state.Records, hosts *Hosts) *Queues {
	return &Queues{state: state, hosts: hosts}
}

// RebuildHeaps rebuilds everything in memory that follows from the queues' heads and the limits.
func (hs *Hosts) RebuildHeaps() {
	hs.ready, hs.old = nil, nil
	for p := range hs.state.Generations {
		ready, old := newHeaps(p)
		hs.ready, hs.old = append(hs.ready, ready), append(hs.old, old)
	}
	for _, x := range hs.Cache.At {
		for p := range x.Item.Queues {
			x.Item.Queues[p].ready, x.Item.Queues[p].old = -1, -1
		}
		hs.Refresh(x.Item)
	}
	hs.countBusy()
}

// Head is the head of a host's queue under policy p, which is not empty.
func (qs *Queues) Head(h *Host, p int) (state.Order, error) {
	for {
		unread, err := qs.hosts.fill(h, p, h.Queues[p].Better())
		if err != nil || !unread {
			return h.Queues[p].Bound(), err
		}
		qs.hosts.refreshQueue(h, p, qs.hosts.open(h))
	}
}

// BestReady is the open host with the best head; there must be one. Its bound is its head.
func (qs *Queues) BestReady(p int) (*Host, error) {
	for {
		x, ok, err := qs.hosts.leastIndexed(p, true, state.SlotOld, state.SlotNew)
		if err != nil {
			return nil, err
		}
		if ok && (qs.hosts.ready[p].Len() == 0 || x.Less(qs.hosts.ready[p].Top().Queues[p].Bound())) {
			if _, err := qs.hosts.Host(x.Host); err != nil {
				return nil, err
			}
			continue
		}
		h := qs.hosts.ready[p].Top()
		unread, err := qs.hosts.fill(h, p, h.Queues[p].Better())
		if err != nil || !unread {
			return h, err
		}
		qs.hosts.refreshQueue(h, p, true)
	}
}

// HasReady reports whether an open host has an entry in the queue of policy p. Then one of them is in memory.
func (qs *Queues) HasReady(p int) (bool, error) {
	for qs.hosts.ready[p].Len() == 0 {
		x, ok, err := qs.hosts.leastIndexed(p, true, state.SlotOld, state.SlotNew)
		if err != nil || !ok {
			return false, err
		}
		if _, err := qs.hosts.Host(x.Host); err != nil {
			return false, err
		}
	}
	return true, nil
}

// HasOld reports whether a pass of re-scoring has entries left under policy p.
func (qs *Queues) HasOld(p int) bool {
	return qs.state.Generations[p].Passing() && qs.state.Generations[p].Keys[state.SlotOld] > 0
}

// OldHead is the best key in the old generation of policy p, which has some.
func (qs *Queues) OldHead(p int) (state.Order, error) {
	for {
		x, ok, err := qs.hosts.leastIndexed(p, false, state.SlotOld)
		if err != nil {
			return state.Order{}, err
		}
		if ok && (qs.hosts.old[p].Len() == 0 || x.Less(qs.hosts.old[p].Top().Queues[p].Fronts[state.SlotOld].bound())) {
			if _, err := qs.hosts.Host(x.Host); err != nil {
				return state.Order{}, err
			}
			continue
		}
		h := qs.hosts.old[p].Top()
		unread, err := qs.hosts.fill(h, p, state.SlotOld)
		if err != nil || !unread {
			return h.Queues[p].Fronts[state.SlotOld].bound(), err
		}
		qs.hosts.refreshQueue(h, p, qs.hosts.open(h))
	}
}

// Refresh restores the host's position in every heap.
func (hs *Hosts) Refresh(h *Host) {
	open := hs.open(h)
	for p := range hs.ready {
		hs.refreshQueue(h, p, open)
	}
}

func (hs *Hosts) refreshQueue(h *Host, p int, open bool) {
	q := &h.Queues[p]
	hs.ready[p].Fix(h, open && !q.Empty())
	hs.old[p].Fix(h, hs.state.Generations[p].Passing() && !q.Fronts[state.SlotOld].empty())
}

// Enqueue puts the entry into the queue of every policy that has a place for it.
func (qs *Queues) Enqueue(e *state.Entry) error {
	for p := range qs.state.Generations {
		if err := qs.put(e, p, e.Places[p].Generation); err != nil {
			return err
		}
	}
	return qs.countQueued(e, 1)
}

// Dequeue takes the entry out of all queues.
func (qs *Queues) Dequeue(e *state.Entry) error {
	if qs.Unranked(e.Places) {
		qs.state.Counters.Unranked--
		return nil
	}
	for p := range qs.state.Generations {
		if err := qs.remove(e, p, e.Places[p]); err != nil {
			return err
		}
	}
	return qs.countQueued(e, -1)
}

// Requeue moves a queued entry from where its places were before to where they are now.
func (qs *Queues) Requeue(e *state.Entry, before []state.Placed) error {
	if qs.Unranked(before) {
		qs.state.Counters.Unranked--
		return qs.Enqueue(e)
	}
	for p := range qs.state.Generations {
		was, is := before[p], e.Places[p]
		if was.In == is.In && was.Generation == is.Generation && was.Tier == is.Tier && was.Score == is.Score {
			continue
		}
		if err := qs.remove(e, p, was); err != nil {
			return err
		}
		if err := qs.put(e, p, is.Generation); err != nil {
			return err
		}
	}
	is := qs.Within(e.Places)
	if is == qs.Within(before) {
		return nil
	}
	by := 1
	if !is {
		by = -1
	}
	qs.state.Counters.Outside -= uint64(by)
	h, err := qs.hosts.Host(e.Host)
	if err == nil {
		qs.hosts.countBacklog(h, by, 0)
	}
	return err
}

// Within reports whether a policy that leads has a place for an entry.
func (qs *Queues) Within(places []state.Placed) bool {
	if !qs.AllLead {
		return places[0].In
	}
	return slices.ContainsFunc(places, func(p state.Placed) bool { return p.In })
}

// Passing reports whether a pass of re-scoring is under way.
func (qs *Queues) Passing() bool {
	for p := range qs.state.Generations {
		if qs.state.Generations[p].Passing() {
			return true
		}
	}
	return false
}

// BeginPass begins to move the entries of some policies to a new generation.
func (qs *Queues) BeginPass(moves func(policy int) bool) {
	qs.state.Counters.Generation++
	for p := range qs.state.Generations {
		if moves(p) {
			qs.state.Generations[p].Next = qs.state.Counters.Generation
			qs.hosts.index[p][state.SlotNew] = qs.hosts.newClasses(p, qs.state.Counters.Generation)
		}
	}
	for _, x := range qs.hosts.Cache.At {
		qs.hosts.Refresh(x.Item)
	}
}

// EndPass makes the new generations the only ones.
func (qs *Queues) EndPass() error {
	for p := range qs.state.Generations {
		g := &qs.state.Generations[p]
		if !g.Passing() {
			continue
		}
		// A scan leaves old keys in place (LeftBehind); others were deleted and have tombstones. The range covers both.
		for _, kind := range []byte{state.KindQueue, state.KindIndex} {
			from := append([]byte(nil), qs.state.Keys.Generation(kind, uint8(p), g.Current)...)
			if err := qs.state.Store.DeleteRange(from, state.After(from)); err != nil {
				return err
			}
		}
		*g = state.Generations{Current: g.Next, Next: g.Next, Keys: [state.Slots]uint64{state.SlotOld: g.Keys[state.SlotNew]}}
		qs.hosts.index[p] = [state.Slots][]*storage.RangeHead[state.Indexed]{state.SlotOld: qs.hosts.index[p][state.SlotNew]}
		for _, x := range qs.hosts.Cache.At {
			q := &x.Item.Queues[p]
			q.Fronts = [state.Slots]headCache{state.SlotOld: q.Fronts[state.SlotNew]}
		}
	}
	return nil
}

// Reset empties all queues. What was in them is unranked until it is queued under so many policies.
func (qs *Queues) Reset(policies int) error {
	for _, kind := range []byte{state.KindQueue, state.KindIndex} {
		from := append([]byte(nil), qs.state.Keys.Kind(kind)...)
		if err := qs.state.Store.DeleteRange(from, state.After(from)); err != nil {
			return err
		}
	}
	c := &qs.state.Counters
	c.Unranked += c.Outside
	for i := range c.Backlog {
		c.Unranked += c.Backlog[i].Queued
		c.Backlog[i].Queued = 0
	}
	for _, x := range qs.hosts.Cache.At { // hosts that are not in memory are stored with the generation of their queues
		h := x.Item
		h.Queues, h.backlog.Queued = newHostQueues(policies), 0
		qs.hosts.change(h)
	}
	c.Outside, c.Scanned = 0, 0
	c.Generation++
	c.ShapeBegan = c.Generation
	qs.state.Generations = make([]state.Generations, policies)
	for p := range qs.state.Generations {
		qs.state.Generations[p] = state.Generations{Current: c.Generation, Next: c.Generation}
	}
	qs.hosts.newIndex()
	qs.hosts.RebuildHeaps()
	return nil
}

// HasOldEntries reports whether a pass of re-scoring has entries left.
func (qs *Queues) HasOldEntries() bool {
	for p := range qs.state.Generations {
		if qs.HasOld(p) {
			return true
		}
	}
	return false
}

// BestOld returns the best entry that the pass has not scored yet, or nil.
func (qs *Queues) BestOld() (*state.Entry, error) {
	for p := range qs.state.Generations {
		if qs.HasOld(p) {
			o, err := qs.OldHead(p)
			if err != nil {
				return nil, err
			}
			return qs.state.Entry(o.Ordinal)
		}
	}
	return nil, nil
}

// IsOld reports whether a queued entry is unranked, or has a key in the old generation of a pass.
func (qs *Queues) IsOld(e *state.Entry) bool { return qs.IsOldWhile(qs.state.Counters.Unranked > 0, e) }

// IsOldWhile is IsOld with the information whether there are unranked entries. An entry read from the last commit may still have
// the places of other policies, in any number, although it has been ranked since; it is old then.
func (qs *Queues) IsOldWhile(ranking bool, e *state.Entry) bool {
	if other := e.Places[0].Generation < qs.state.Counters.ShapeBegan; other || ranking {
		return other
	}
	for p := range qs.state.Generations {
		g := &qs.state.Generations[p]
		if g.Passing() && e.Places[p].In && e.Places[p].Generation == g.Current {
			return true
		}
	}
	return false
}

// IsQueued reports whether an entry's value is that of a queued one.
func IsQueued(value []byte) bool {
	return len(value) >= 2 && state.EntryState(value[1]) == state.Queued
}

// IsUnvisited reports whether an entry's value is that of one that is queued, waits or is excluded.
func IsUnvisited(value []byte) bool {
	if len(value) < 2 {
		return false
	}
	s := state.EntryState(value[1])
	return s == state.Queued || s == state.Waiting || s == state.Excluded
}

// BestHeads returns the heads of the n hosts that are best under the first policy, best first. It discards the
// heaps.
func (qs *Queues) BestHeads(n int) (ordinals []uint64, err error) {
	if len(qs.state.Generations) == 0 {
		return nil, nil // the first policies
	}
	all, _ := newHeaps(0)
	qs.hosts.ready, qs.hosts.old = nil, nil
	for _, x := range qs.hosts.Cache.At {
		x.Item.Queues[0].ready = -1
		all.Fix(x.Item, !x.Item.Queues[0].Empty())
	}
	for len(ordinals) < n {
		x, ok, err := qs.hosts.leastIndexed(0, false, state.SlotOld, state.SlotNew)
		if err != nil {
			return nil, err
		}
		if ok && (all.Len() == 0 || x.Less(all.Top().Queues[0].Bound())) {
			h, err := qs.hosts.Host(x.Host)
			if err != nil {
				return nil, err
			}
			all.Fix(h, true)
			continue
		}
		if all.Len() == 0 {
			break
		}
		h := all.Top()
		unread, err := qs.hosts.fill(h, 0, h.Queues[0].Better())
		if err != nil {
			return nil, err
		}
		if !unread {
			ordinals = append(ordinals, h.Queues[0].Bound().Ordinal)
		}
		all.Fix(h, unread)
	}
	return ordinals, nil
}

// Unranked reports whether the places of a queued entry are those of another shape.
func (qs *Queues) Unranked(places []state.Placed) bool {
	return qs.state.Counters.Unranked > 0 && places[0].Generation < qs.state.Counters.ShapeBegan
}

// countQueued counts the entry as one that can be fetched, or as left outside.
func (qs *Queues) countQueued(e *state.Entry, by int) error {
	if !qs.Within(e.Places) {
		qs.state.Counters.Outside += uint64(by)
		return nil
	}
	h, err := qs.hosts.Host(e.Host)
	if err == nil {
		qs.hosts.countBacklog(h, by, 0)
	}
	return err
}

// put writes the queue key of the entry under policy p.
func (qs *Queues) put(e *state.Entry, p int, generation uint32) error {
	if !e.Places[p].In {
		return nil
	}
	slot, err := qs.state.Generations[p].Slot(generation)
	if err != nil {
		return err
	}
	h, err := qs.hosts.Host(e.Host)
	if err != nil {
		return err
	}
	o := e.Order(p)
	if err := qs.state.Store.Set(qs.state.Keys.Queue(uint8(p), generation, e.Host, o), nil); err != nil {
		return err
	}
	qs.state.Generations[p].Keys[slot]++
	f := &h.Queues[p].Fronts[slot]
	if f.insert(o, qs.hosts.frontSize); f.bound() == o {
		qs.hosts.refreshQueue(h, p, qs.hosts.open(h))
	}
	qs.hosts.change(h)
	return nil
}

// LeftBehind reports whether a key in a queue of policy p was left behind by a scan: its entry was moved, and the key
// remains until the end of the pass, which clears all that are left.
func (hs *Hosts) LeftBehind(p, slot int, ordinal uint64) bool {
	return slot == state.SlotOld && ordinal <= hs.state.Counters.Scanned && hs.state.Generations[p].Passing()
}

// remove deletes the queue key that the entry has under policy p and place was.
func (qs *Queues) remove(e *state.Entry, p int, was state.Placed) error {
	if !was.In {
		return nil
	}
	slot, err := qs.state.Generations[p].Slot(was.Generation)
	if err != nil {
		return err
	}
	h, err := qs.hosts.Host(e.Host)
	if err != nil {
		return err
	}
	o := state.Order{Tier: was.Tier, Tries: e.Tries, Score: was.Score, Ordinal: e.Ordinal}
	if !qs.hosts.LeftBehind(p, slot, e.Ordinal) {
		if err := qs.state.Store.Delete(qs.state.Keys.Queue(uint8(p), was.Generation, e.Host, o)); err != nil {
			return err
		}
	}
	qs.state.Generations[p].Keys[slot]--
	f := &h.Queues[p].Fronts[slot]
	if f.empty() {
		return fmt.Errorf("frontier: entry %d is not in the queue of its host %d", e.Ordinal, h.Number)
	}
	before := f.bound()
	if f.remove(o); f.empty() || f.bound() != before {
		qs.hosts.refreshQueue(h, p, qs.hosts.open(h))
	}
	qs.hosts.change(h)
	return nil
}

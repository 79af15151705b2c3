package queue

import (
	"fmt"
	"slices"

	"forager/internal/frontier/state"
)

// headCache caches the first keys of one queue, so that the next head is rarely read from the
// store: a scan at a queue's beginning steps over the tombstones of all heads deleted since the last
// compaction. A front whose keys are all deleted is not read again before its head is needed; until
// then its host is in the heaps with the last deleted key, which comes before whatever is left. So
// queues that a pass empties are read only when their host's turn comes.
type headCache struct {
	keys []state.Order // ascending; at least one if anything is stored
	// stored is the number of keys that the store has of the queue.
	stored uint32
	// Unread: the only one of keys was deleted, and all that is stored comes after it.
	Unread bool
}

func (f *headCache) empty() bool { return f.stored == 0 }

// bound is the head of a front that is not empty, or comes before it if the front is unread.
func (f *headCache) bound() state.Order { return f.keys[0] }

// more reports whether the store has keys after the last one of keys.
func (f *headCache) more() bool { return int(f.stored) > len(f.keys) || f.Unread }

// insert notes that a key was put into the store. A front grows to twice the size that is read at
// a time.
func (f *headCache) insert(o state.Order, size int) {
	at, more := len(f.keys), f.more()
	f.stored++
	switch {
	case f.Unread && o.Less(f.bound()):
		f.keys[0], f.Unread = o, false
		return
	case !f.Unread:
		at, _ = slices.BinarySearchFunc(f.keys, o, state.CompareOrders)
	}
	if more && at == len(f.keys) {
		return
	}
	f.keys = slices.Insert(f.keys, at, o)
	f.cut(size)
}

// cut shortens a front that is longer than twice the size.
func (f *headCache) cut(size int) {
	if len(f.keys) > 2*size {
		f.keys = slices.Clone(f.keys[:size])
	}
}

// remove notes that a key was deleted from the store.
func (f *headCache) remove(o state.Order) {
	f.stored--
	if f.stored == 0 {
		f.keys, f.Unread = nil, false
		return
	}
	at, found := slices.BinarySearchFunc(f.keys, o, state.CompareOrders)
	switch {
	case !found:
	case len(f.keys) == 1:
		f.Unread = true
	case at == 0:
		f.keys = f.keys[1:]
	default:
		f.keys = slices.Delete(f.keys, at, at+1)
	}
}

// fill reads the first keys of a host's queue under policy p if its front is unread, and reports whether it was. The host's
// position in the heaps changes then.
func (hs *Hosts) fill(h *Host, p, slot int) (unread bool, err error) {
	f := &h.Queues[p].Fronts[slot]
	if !f.Unread {
		return false, nil
	}
	generation := hs.state.Generations[p].Of(slot)
	n := min(int(f.stored), hs.frontSize)
	hs.state.KeyBuffer = append(hs.state.KeyBuffer[:0], hs.state.Keys.Queue(uint8(p), generation, h.Number, f.bound())...)
	f.keys, f.Unread = make([]state.Order, 0, n), false
	err = hs.state.Store.Scan(hs.state.KeyBuffer, state.After(hs.state.Keys.QueueHost(uint8(p), generation, h.Number)), func(key, _ []byte) (bool, error) {
		k, err := hs.state.Keys.ParseQueue(key)
		if err != nil {
			return false, err
		}
		if !hs.LeftBehind(p, slot, k.Order.Ordinal) {
			f.keys = append(f.keys, k.Order)
		}
		return len(f.keys) < n, nil
	})
	if err == nil && len(f.keys) < n {
		err = fmt.Errorf("frontier: of %d keys in the queue of host %d only %d are there", f.stored, h.Number, len(f.keys))
	}
	hs.weigh(h)
	return true, err
}

package frontier

import (
	"fmt"
	"slices"
)

// front caches the first keys of one queue, so that the next head is rarely read from the
// store: a scan at a queue's beginning steps over the tombstones of all heads deleted since the last
// compaction. A front whose keys are all deleted is not read again before its head is needed; until
// then its host is in the heaps with the last deleted key, which comes before whatever is left. So
// queues that a pass empties are read only when their host's turn comes.
type front struct {
	keys []order // ascending; at least one if anything is stored
	// stored is the number of keys that the store has of the queue.
	stored uint32
	// unread: the only one of keys was deleted, and all that is stored comes after it.
	unread bool
}

func (f *front) empty() bool { return f.stored == 0 }

// bound is the head of a front that is not empty, or comes before it if the front is unread.
func (f *front) bound() order { return f.keys[0] }

// more reports whether the store has keys after the last one of keys.
func (f *front) more() bool { return int(f.stored) > len(f.keys) || f.unread }

func compareOrders(a, b order) int {
	switch {
	case a.less(b):
		return -1
	case b.less(a):
		return 1
	}
	return 0
}

// insert notes that a key was put into the store. A front grows to twice the size that is read at
// a time.
func (f *front) insert(o order, size int) {
	at, more := len(f.keys), f.more()
	f.stored++
	switch {
	case f.unread && o.less(f.bound()):
		f.keys[0], f.unread = o, false
		return
	case !f.unread:
		at, _ = slices.BinarySearchFunc(f.keys, o, compareOrders)
	}
	if more && at == len(f.keys) {
		return
	}
	f.keys = slices.Insert(f.keys, at, o)
	f.cut(size)
}

// cut shortens a front that is longer than twice the size.
func (f *front) cut(size int) {
	if len(f.keys) > 2*size {
		f.keys = slices.Clone(f.keys[:size])
	}
}

// remove notes that a key was deleted from the store.
func (f *front) remove(o order) {
	f.stored--
	if f.stored == 0 {
		f.keys, f.unread = nil, false
		return
	}
	at, found := slices.BinarySearchFunc(f.keys, o, compareOrders)
	switch {
	case !found:
	case len(f.keys) == 1:
		f.unread = true
	case at == 0:
		f.keys = f.keys[1:]
	default:
		f.keys = slices.Delete(f.keys, at, at+1)
	}
}

// fill reads the first keys of a host's queue under policy p if its front is unread, and reports whether it was. The host's
// position in the heaps changes then.
func (s *Shard) fill(h *host, p, slot int) (unread bool, err error) {
	f := &h.queues[p].fronts[slot]
	if !f.unread {
		return false, nil
	}
	generation := s.generations[p].of(slot)
	n := min(int(f.stored), s.frontSize)
	s.from = append(s.from[:0], s.keys.queue(uint8(p), generation, h.number, f.bound())...)
	f.keys, f.unread = make([]order, 0, n), false
	err = s.store.Scan(s.from, after(s.keys.queueHost(uint8(p), generation, h.number)), func(key, _ []byte) (bool, error) {
		k, err := s.keys.parseQueue(key)
		if err != nil {
			return false, err
		}
		if !s.leftBehind(p, slot, k.order.ordinal) {
			f.keys = append(f.keys, k.order)
		}
		return len(f.keys) < n, nil
	})
	if err == nil && len(f.keys) < n {
		err = fmt.Errorf("frontier: of %d keys in the queue of host %d only %d are there", f.stored, h.number, len(f.keys))
	}
	s.weigh(h)
	return true, err
}

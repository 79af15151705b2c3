package frontier

import "slices"

// front is the begin of one queue in memory, so that the next head is rarely sought in the
// store: a scan over a queue's begin meets the tombstones of all heads deleted since the last
// compaction.
type front struct {
	keys []order // ascending
	// more: the store has keys behind the last one of keys.
	more bool
}

func (f *front) empty() bool { return len(f.keys) == 0 }

func (f *front) head() order { return f.keys[0] }

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
	at, found := slices.BinarySearchFunc(f.keys, o, compareOrders)
	if found || (f.more && at == len(f.keys)) {
		return
	}
	f.keys = slices.Insert(f.keys, at, o)
	f.cut(size)
}

// cut shortens a front that is longer than twice the size.
func (f *front) cut(size int) {
	if len(f.keys) > 2*size {
		f.keys, f.more = slices.Clone(f.keys[:size]), true
	}
}

// remove notes that a key was deleted from the store. Afterwards a front that is empty and has
// more must be filled.
func (f *front) remove(o order) {
	at, found := slices.BinarySearchFunc(f.keys, o, compareOrders)
	switch {
	case !found:
	case at == 0:
		f.keys = f.keys[1:]
	default:
		f.keys = slices.Delete(f.keys, at, at+1)
	}
}

// fill reads the begin of a queue, whose first key is not before from.
func (s *Shard) fill(f *front, p int, generation, host uint32, from []byte) error {
	f.keys, f.more = make([]order, 0, s.frontSize), false
	return s.store.Scan(from, after(s.keys.queueHost(uint8(p), generation, host)), func(key, _ []byte) (bool, error) {
		k, err := s.keys.parseQueue(key)
		if err != nil {
			return false, err
		}
		f.append(k.order, s.frontSize)
		return !f.more, nil
	})
}

// append adds the next key of the store.
func (f *front) append(o order, size int) {
	if len(f.keys) >= size {
		f.more = true
		return
	}
	f.keys = append(f.keys, o)
}

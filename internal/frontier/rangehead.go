package frontier

import "slices"

// rangeHead caches the least keys of an ordered range of the store. Repeated scans for the first key of a range would
// step over the tombstones of all keys deleted since the last compaction; a rangeHead continues after the last key that it removed.
type rangeHead[K any] struct {
	compare func(a, b K) int
	// scan calls f for the keys that the store has of the range, ascending, from a key on (nil = the first one), while f returns
	// true.
	scan func(from *K, f func(K) bool) error
	// keys are the least keys of the range, ascending; complete: there are no others.
	keys     []K
	complete bool
	// last is the key that was removed last when keys were used up: reading continues after it. nil: it begins at the range's start.
	last *K
}

// headRead is the number of keys that a rangeHead reads at a time. It holds at most twice as many.
const headRead = 64

// least returns the least key of the range; ok is false if the range is empty.
func (r *rangeHead[K]) least() (key K, ok bool, err error) {
	if len(r.keys) == 0 && !r.complete {
		r.complete = true
		err = r.scan(r.last, func(k K) bool {
			r.complete = len(r.keys) < headRead
			if r.complete {
				r.keys = append(r.keys, k)
			}
			return r.complete
		})
		if err != nil {
			r.keys, r.complete = nil, false
			return key, false, err
		}
	}
	if len(r.keys) == 0 {
		return key, false, nil
	}
	return r.keys[0], true, nil
}

// insert notes that a key was put into the store.
func (r *rangeHead[K]) insert(key K) {
	at, found := slices.BinarySearchFunc(r.keys, key, r.compare)
	switch {
	case found:
	case at < len(r.keys) || r.complete || len(r.keys) == 0 && r.last != nil && r.compare(key, *r.last) < 0:
		r.keys = slices.Insert(r.keys, at, key)
		if len(r.keys) > 2*headRead {
			r.keys, r.complete = slices.Clone(r.keys[:headRead]), false
		}
	}
}

// remove notes that a key was deleted from the store.
func (r *rangeHead[K]) remove(key K) {
	at, found := slices.BinarySearchFunc(r.keys, key, r.compare)
	if !found {
		return
	}
	if r.keys = slices.Delete(r.keys, at, at+1); len(r.keys) == 0 && !r.complete {
		r.last = &key
	}
}

package storage

import (
	"slices"
)

// RangeHead caches the least keys of an ordered range of the store. Repeated scans for the first key of a range would
// step over the tombstones of all keys deleted since the last compaction; a RangeHead continues after the last key that it removed.
type RangeHead[K any] struct {
	Compare func(a, b K) int
	// Scan calls f for the keys that the store has of the range, ascending, from a key on (nil = the first one), while f returns
	// true.
	Scan func(from *K, f func(K) bool) error
	// keys are the least keys of the range, ascending; complete: there are no others.
	keys     []K
	complete bool
	// last is the key that was removed last when keys were used up: reading continues after it. nil: it begins at the range's start.
	last *K
}

// headRead is the number of keys that a RangeHead reads at a time. It holds at most twice as many.
const headRead = 64

// Least returns the least key of the range; ok is false if the range is empty.
func (r *RangeHead[K]) Least() (key K, ok bool, err error) {
	if len(r.keys) == 0 && !r.complete {
		r.complete = true
		err = r.Scan(r.last, func(k K) bool {
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

// Insert notes that a key was put into the store.
func (r *RangeHead[K]) Insert(key K) {
	at, found := slices.BinarySearchFunc(r.keys, key, r.Compare)
	switch {
	case found:
	case at < len(r.keys) || r.complete || len(r.keys) == 0 && r.last != nil && r.Compare(key, *r.last) < 0:
		r.keys = slices.Insert(r.keys, at, key)
		if len(r.keys) > 2*headRead {
			r.keys, r.complete = slices.Clone(r.keys[:headRead]), false
		}
	}
}

// Remove notes that a key was deleted from the store.
func (r *RangeHead[K]) Remove(key K) {
	at, found := slices.BinarySearchFunc(r.keys, key, r.Compare)
	if !found {
		return
	}
	if r.keys = slices.Delete(r.keys, at, at+1); len(r.keys) == 0 && !r.complete {
		r.last = &key
	}
}

package state

import (
	"bytes"
	"slices"

	"github.com/tidwall/btree"
)

// changes are the writes to a Store that are not in Pebble yet: the last write of every key, in the
// order of the keys. Pebble's own indexed batch keeps every write, in the order of the calls, which
// costs half as much again to commit, and it cannot be read during its commit.
//
// Several goroutines may read them while none writes.
type changes struct {
	keys *btree.BTreeG[change]
	// cleared ranges come before keys: earlier values in them are deleted.
	cleared []span
	// buffer has copies of keys and values.
	buffer []byte
}

// change is a key with its new value, or its deletion.
type change struct {
	key, value []byte
	deleted    bool
}

// span is from ≤ key < to; an empty to is the end.
type span struct{ from, to []byte }

func (s span) has(key []byte) bool {
	return bytes.Compare(key, s.from) >= 0 && (len(s.to) == 0 || bytes.Compare(key, s.to) < 0)
}

func newChanges() *changes {
	return &changes{keys: btree.NewBTreeGOptions(func(a, b change) bool { return bytes.Compare(a.key, b.key) < 0 }, btree.Options{NoLocks: true})}
}

// bufferChunk is the size by which the buffer of changes grows, bytes.
const bufferChunk = 64 << 10

// copy returns a copy of b.
func (c *changes) copy(b []byte) []byte {
	if len(b) > cap(c.buffer)-len(c.buffer) {
		c.buffer = make([]byte, 0, max(bufferChunk, len(b)))
	}
	at := len(c.buffer)
	c.buffer = append(c.buffer, b...)
	return c.buffer[at:len(c.buffer):len(c.buffer)]
}

func (c *changes) set(key, value []byte) { c.keys.Set(change{key: c.copy(key), value: c.copy(value)}) }

func (c *changes) delete(key []byte) { c.keys.Set(change{key: c.copy(key), deleted: true}) }

func (c *changes) clear(s span) {
	s = span{from: c.copy(s.from), to: c.copy(s.to)}
	var gone []change
	c.keys.Ascend(change{key: s.from}, func(x change) bool {
		if !s.has(x.key) {
			return false
		}
		gone = append(gone, x)
		return true
	})
	for _, x := range gone {
		c.keys.Delete(x)
	}
	c.cleared = append(c.cleared, s)
}

// get returns the change of a key; found is false if there is none.
func (c *changes) get(key []byte) (x change, found bool) {
	if x, found = c.keys.Get(change{key: key}); found {
		return x, true
	}
	return change{key: key, deleted: true}, c.clears(key)
}

func (c *changes) clears(key []byte) bool {
	return slices.ContainsFunc(c.cleared, func(s span) bool { return s.has(key) })
}

// cursor goes through the keys of one layer of a Store in ascending order.
type cursor interface {
	// at returns the current change; ok is false at the end.
	at() (x change, ok bool)
	next()
}

// changesCursor is a cursor over changes.
type changesCursor struct {
	it btree.IterG[change]
	ok bool
}

func (c *changes) from(key []byte) *changesCursor {
	cur := &changesCursor{it: c.keys.Iter()}
	cur.ok = cur.it.Seek(change{key: key})
	return cur
}

func (c *changesCursor) at() (change, bool) {
	if !c.ok {
		return change{}, false
	}
	return c.it.Item(), true
}

func (c *changesCursor) next() { c.ok = c.it.Next() }

// merge calls f for the keys of a range in base with the layers applied to it, the newest layer
// first, until f returns false.
func merge(layers []*changes, base cursor, s span, f func(key, value []byte) (more bool, err error)) error {
	cursors := make([]cursor, 0, len(layers)+1)
	for _, l := range layers {
		cursors = append(cursors, l.from(s.from))
	}
	cursors = append(cursors, base)
	for {
		first := -1
		var least change
		for i, cur := range cursors {
			if x, ok := cur.at(); ok && s.has(x.key) && (first < 0 || bytes.Compare(x.key, least.key) < 0) {
				first, least = i, x
			}
		}
		if first < 0 {
			return nil
		}
		hidden := least.deleted || slices.ContainsFunc(layers[:first], func(l *changes) bool { return l.clears(least.key) })
		if !hidden {
			if more, err := f(least.key, least.value); err != nil || !more {
				return err
			}
		}
		// The lower layers have older changes of the same key.
		for _, cur := range cursors[first+1:] {
			if x, ok := cur.at(); ok && bytes.Equal(x.key, least.key) {
				cur.next()
			}
		}
		cursors[first].next()
	}
}

package storage

// LRU keeps the most recently used items, up to a budget of bytes (as estimated by the
// callers). Its last item stays whatever it costs.
type LRU[K comparable, V any] struct {
	budget, Used int
	// Ring is the head of a circular list: Ring.older is the most recently used item, Ring.Newer the least recently used.
	Ring Cached[K, V]
	At   map[K]*Cached[K, V]
}

// Cached is an item with its place in an LRU.
type Cached[K comparable, V any] struct {
	key          K
	Item         V
	cost         int
	Newer, older *Cached[K, V]
}

// NewLRU returns an empty cache of so many bytes.
func NewLRU[K comparable, V any](budget int) *LRU[K, V] {
	c := &LRU[K, V]{budget: budget, At: make(map[K]*Cached[K, V])}
	c.Ring.Newer, c.Ring.older = &c.Ring, &c.Ring
	return c
}

// Get returns the item of a key and marks it as used.
func (c *LRU[K, V]) Get(key K) (item V, ok bool) {
	x, ok := c.At[key]
	if !ok {
		return item, false
	}
	c.Touch(x)
	return x.Item, true
}

// Peek is Get without marking the item as used.
func (c *LRU[K, V]) Peek(key K) (item V, ok bool) {
	x, ok := c.At[key]
	if !ok {
		return item, false
	}
	return x.Item, true
}

// Put adds or replaces the item of a key, with its cost, and returns its place.
func (c *LRU[K, V]) Put(key K, item V, cost int) *Cached[K, V] {
	x, ok := c.At[key]
	if !ok {
		x = &Cached[K, V]{key: key}
		c.At[key] = x
		c.link(x)
	}
	x.Item = item
	c.Renew(x, cost)
	return x
}

// Kept reports whether a place is still in the list.
func (x *Cached[K, V]) Kept() bool { return x != nil && x.older != nil }

// Touch marks the item of a place that is kept as used.
func (c *LRU[K, V]) Touch(x *Cached[K, V]) {
	if c.Ring.older == x {
		return
	}
	x.unlink()
	c.link(x)
}

// Renew is Put for an item whose place is kept.
func (c *LRU[K, V]) Renew(x *Cached[K, V], cost int) {
	c.Touch(x)
	c.Used += cost - x.cost
	x.cost = cost
	c.Limit(c.budget)
}

// link makes a place the most recent one of the list.
func (c *LRU[K, V]) link(x *Cached[K, V]) {
	x.Newer, x.older = &c.Ring, c.Ring.older
	x.Newer.older, x.older.Newer = x, x
}

func (x *Cached[K, V]) unlink() {
	x.Newer.older, x.older.Newer = x.older, x.Newer
	x.Newer, x.older = nil, nil
}

// Limit sets the budget.
func (c *LRU[K, V]) Limit(budget int) {
	c.budget = budget
	for c.Used > c.budget && len(c.At) > 1 {
		c.Drop(c.Ring.Newer.key)
	}
}

// Drop removes an item.
func (c *LRU[K, V]) Drop(key K) {
	x, ok := c.At[key]
	if !ok {
		return
	}
	c.Used -= x.cost
	x.unlink()
	delete(c.At, key)
}

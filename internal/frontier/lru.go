package frontier

// lru keeps the most recently used items, up to a budget of bytes (as estimated by the
// callers). Its last item stays whatever it costs.
type lru[K comparable, V any] struct {
	budget, used int
	// ring is the head of a circular list: ring.older is the most recently used item, ring.newer the least recently used.
	ring cached[K, V]
	at   map[K]*cached[K, V]
}

// cached is an item with its place in an lru.
type cached[K comparable, V any] struct {
	key          K
	item         V
	cost         int
	newer, older *cached[K, V]
}

func newLRU[K comparable, V any](budget int) *lru[K, V] {
	c := &lru[K, V]{budget: budget, at: make(map[K]*cached[K, V])}
	c.ring.newer, c.ring.older = &c.ring, &c.ring
	return c
}

func (c *lru[K, V]) get(key K) (item V, ok bool) {
	x, ok := c.at[key]
	if !ok {
		return item, false
	}
	c.touch(x)
	return x.item, true
}

// peek is get without marking the item as used.
func (c *lru[K, V]) peek(key K) (item V, ok bool) {
	x, ok := c.at[key]
	if !ok {
		return item, false
	}
	return x.item, true
}

// put adds or replaces the item of a key, with its cost, and returns its place.
func (c *lru[K, V]) put(key K, item V, cost int) *cached[K, V] {
	x, ok := c.at[key]
	if !ok {
		x = &cached[K, V]{key: key}
		c.at[key] = x
		c.link(x)
	}
	x.item = item
	c.renew(x, cost)
	return x
}

// kept reports whether a place is still in the list.
func (x *cached[K, V]) kept() bool { return x != nil && x.older != nil }

// touch marks the item of a place that is kept as used.
func (c *lru[K, V]) touch(x *cached[K, V]) {
	if c.ring.older == x {
		return
	}
	x.unlink()
	c.link(x)
}

// renew is put for an item whose place is kept.
func (c *lru[K, V]) renew(x *cached[K, V], cost int) {
	c.touch(x)
	c.used += cost - x.cost
	x.cost = cost
	c.limit(c.budget)
}

// link makes a place the most recent one of the list.
func (c *lru[K, V]) link(x *cached[K, V]) {
	x.newer, x.older = &c.ring, c.ring.older
	x.newer.older, x.older.newer = x, x
}

func (x *cached[K, V]) unlink() {
	x.newer.older, x.older.newer = x.older, x.newer
	x.newer, x.older = nil, nil
}

// limit sets the budget.
func (c *lru[K, V]) limit(budget int) {
	c.budget = budget
	for c.used > c.budget && len(c.at) > 1 {
		c.drop(c.ring.newer.key)
	}
}

// drop removes an item.
func (c *lru[K, V]) drop(key K) {
	x, ok := c.at[key]
	if !ok {
		return
	}
	c.used -= x.cost
	x.unlink()
	delete(c.at, key)
}

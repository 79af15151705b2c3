package frontier

import "container/list"

// lru keeps what was used last, up to a budget of bytes (as those who put things in estimate
// them). Its last item stays whatever it costs.
type lru[K comparable, V any] struct {
	budget, used int
	recent       list.List // of *cached, the most recent first
	at           map[K]*list.Element
}

type cached[K comparable, V any] struct {
	key  K
	item V
	cost int
}

func newLRU[K comparable, V any](budget int) *lru[K, V] {
	return &lru[K, V]{budget: budget, at: make(map[K]*list.Element)}
}

func (c *lru[K, V]) get(key K) (item V, ok bool) {
	e, ok := c.at[key]
	if !ok {
		return item, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cached[K, V]).item, true
}

// peek is get for who has no use for the item of its own.
func (c *lru[K, V]) peek(key K) (item V, ok bool) {
	e, ok := c.at[key]
	if !ok {
		return item, false
	}
	return e.Value.(*cached[K, V]).item, true
}

// put adds an item, or gives the one of that key a new cost.
func (c *lru[K, V]) put(key K, item V, cost int) {
	if e, ok := c.at[key]; ok {
		old := e.Value.(*cached[K, V])
		c.used += cost - old.cost
		old.item, old.cost = item, cost
		c.recent.MoveToFront(e)
	} else {
		c.used += cost
		c.at[key] = c.recent.PushFront(&cached[K, V]{key, item, cost})
	}
	c.limit(c.budget)
}

// limit sets the budget.
func (c *lru[K, V]) limit(budget int) {
	c.budget = budget
	for c.used > c.budget && c.recent.Len() > 1 {
		c.drop(c.recent.Back().Value.(*cached[K, V]).key)
	}
}

// drop takes an item out.
func (c *lru[K, V]) drop(key K) {
	e, ok := c.at[key]
	if !ok {
		return
	}
	old := e.Value.(*cached[K, V])
	c.used -= old.cost
	c.recent.Remove(e)
	delete(c.at, key)
}

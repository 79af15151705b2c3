package experiment

import "sync"

// resultCache has results that are computed once a key, also for concurrent callers. The zero value is empty.
type resultCache[K comparable, V any] struct{ results sync.Map }

func (c *resultCache[K, V]) get(key K, compute func() (V, error)) (V, error) {
	result, _ := c.results.LoadOrStore(key, sync.OnceValues(compute))
	return result.(func() (V, error))()
}

// clear drops all results.
func (c *resultCache[K, V]) clear() { c.results.Clear() }

package qlearning

import "math"

// horizon is the number of pages after v that Values considers: later ones are worth at most γ^horizon.
const horizon = 12

// Values returns Q of every page of a known web, with pages numbered from 0. children are the links of each page in their
// order, gamma is the discount, in (0,1).
func Values(children [][]uint32, targets []uint32, gamma float64) []float64 {
	w := &walk{children: children, target: make([]bool, len(children)), seen: make([]uint32, len(children)), parent: make([]uint32, len(children)), fetched: make([]uint32, len(children))}
	for _, t := range targets {
		w.target[t] = true
	}
	values := make([]float64, len(children))
	for v := range values {
		values[v] = w.from(uint32(v), gamma)
	}
	return values
}

// walk is one crawler with the whole graph of the web.
type walk struct {
	children [][]uint32
	target   []bool
	pages    []uint32 // fetched, in their order
	fetched  []uint32 // by page: the walk in which it was fetched last, from 1
	walk     uint32

	// A search for the nearest target: whether a page was reached in it, and from where.
	search       uint32
	seen, parent []uint32
	queue, next  []uint32
}

func (w *walk) from(v uint32, gamma float64) float64 {
	w.walk++
	w.pages = w.pages[:0]
	w.fetch(v)
	var q float64
	if w.target[v] {
		q = 1
	}
	for {
		way := w.nearest(horizon - (len(w.pages) - 1))
		if way == nil {
			return q
		}
		for _, u := range way {
			w.fetch(u)
		}
		q += math.Pow(gamma, float64(len(w.pages)-1))
	}
}

func (w *walk) fetch(v uint32) {
	w.pages = append(w.pages, v)
	w.fetched[v] = w.walk
}

// nearest returns the shortest path, of at most so many pages, to a target that was not fetched; nil if there is none.
func (w *walk) nearest(most int) []uint32 {
	w.search++
	w.queue = append(w.queue[:0], w.pages...)
	for length := 1; length <= most; length++ {
		w.next = w.next[:0]
		for _, u := range w.queue {
			for _, v := range w.children[u] {
				if w.fetched[v] == w.walk || w.seen[v] == w.search {
					continue
				}
				w.seen[v], w.parent[v] = w.search, u
				if w.target[v] {
					return w.way(v, length)
				}
				w.next = append(w.next, v)
			}
		}
		w.queue, w.next = w.next, w.queue
	}
	return nil
}

// way returns the path to v, of the given length.
func (w *walk) way(v uint32, length int) []uint32 {
	way := make([]uint32, length)
	for i := length - 1; i >= 0; i-- {
		way[i] = v
		v = w.parent[v]
	}
	return way
}

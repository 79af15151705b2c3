package storage

// Heap is a binary min-heap whose items store their positions, so that one whose rank changed
// can be found and moved.
type Heap[T any] struct {
	items []T
	Less  func(a, b T) bool
	// At points to where an item keeps its position; −1 = not in the heap.
	At func(T) *int
}

// Len is the number of items.
func (h *Heap[T]) Len() int { return len(h.items) }

// Top is the least item of a heap that is not empty.
func (h *Heap[T]) Top() T { return h.items[0] }

// Fix adds x to the heap or restores its position if in is true, and removes x otherwise.
func (h *Heap[T]) Fix(x T, in bool) {
	at := h.At(x)
	switch {
	case in && *at < 0:
		h.items = append(h.items, x)
		*at = len(h.items) - 1
		h.up(*at)
	case in:
		if !h.up(*at) {
			h.down(*at)
		}
	case *at >= 0:
		i, last := *at, len(h.items)-1
		h.swap(i, last)
		clear(h.items[last:])
		h.items = h.items[:last]
		*at = -1
		if i < last && !h.up(i) {
			h.down(i)
		}
	}
}

func (h *Heap[T]) swap(i, j int) {
	if i == j {
		return
	}
	h.items[i], h.items[j] = h.items[j], h.items[i]
	*h.At(h.items[i]), *h.At(h.items[j]) = i, j
}

func (h *Heap[T]) up(i int) (moved bool) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.Less(h.items[i], h.items[parent]) {
			break
		}
		h.swap(i, parent)
		i, moved = parent, true
	}
	return moved
}

func (h *Heap[T]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			return
		}
		if right := child + 1; right < len(h.items) && h.Less(h.items[right], h.items[child]) {
			child = right
		}
		if !h.Less(h.items[child], h.items[i]) {
			return
		}
		h.swap(i, child)
		i = child
	}
}

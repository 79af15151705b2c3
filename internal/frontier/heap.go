package frontier

// heap is a binary min-heap whose items store their positions, so that one whose rank changed
// can be found and moved.
type heap[T any] struct {
	items []T
	less  func(a, b T) bool
	// at points to where an item keeps its position; −1 = not in the heap.
	at func(T) *int
}

func (h *heap[T]) len() int { return len(h.items) }

func (h *heap[T]) top() T { return h.items[0] }

// fix adds x to the heap or restores its position if in is true, and removes x otherwise.
func (h *heap[T]) fix(x T, in bool) {
	at := h.at(x)
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

func (h *heap[T]) swap(i, j int) {
	if i == j {
		return
	}
	h.items[i], h.items[j] = h.items[j], h.items[i]
	*h.at(h.items[i]), *h.at(h.items[j]) = i, j
}

func (h *heap[T]) up(i int) (moved bool) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(h.items[i], h.items[parent]) {
			break
		}
		h.swap(i, parent)
		i, moved = parent, true
	}
	return moved
}

func (h *heap[T]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			return
		}
		if right := child + 1; right < len(h.items) && h.less(h.items[right], h.items[child]) {
			child = right
		}
		if !h.less(h.items[child], h.items[i]) {
			return
		}
		h.swap(i, child)
		i = child
	}
}

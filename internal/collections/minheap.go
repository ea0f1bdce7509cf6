package collections

// Heap is a heap with the least item at the top. Use NewHeap to create one.
type Heap[T any] struct {
	items []T
	less  func(a, b *T) bool
	moved T // the item being moved, which is written only once, to its final position
}

// NewHeap returns an empty heap ordered by less.
func NewHeap[T any](less func(a, b *T) bool) Heap[T] { return Heap[T]{less: less} }

// Len returns the number of items.
func (h *Heap[T]) Len() int { return len(h.items) }

// Top returns the least item. After changing it, call Fix.
func (h *Heap[T]) Top() *T { return &h.items[0] }

// Push adds an item.
func (h *Heap[T]) Push(item T) {
	h.items = append(h.items, item)
	i := len(h.items) - 1
	h.moved = item
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(&h.moved, &h.items[parent]) {
			break
		}
		h.items[i] = h.items[parent]
		i = parent
	}
	h.items[i] = h.moved
}

// Pop removes and returns the least item.
func (h *Heap[T]) Pop() T {
	least, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
	if last > 0 {
		h.Fix()
	}
	return least
}

// Fix restores the order after the top item has changed.
func (h *Heap[T]) Fix() {
	h.moved = h.items[0]
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			break
		}
		if child+1 < len(h.items) && h.less(&h.items[child+1], &h.items[child]) {
			child++
		}
		if !h.less(&h.items[child], &h.moved) {
			break
		}
		h.items[i] = h.items[child]
		i = child
	}
	h.items[i] = h.moved
}

package controls

import "sync"

// Bell wakes whoever waits for a change. The zero Bell is ready; it may be used by several
// goroutines.
type Bell struct {
	mu      sync.Mutex
	waiting map[chan struct{}]bool
}

// Subscribe returns a channel that gets a value after the bell was rung, until cancel: one for
// all rings that were not yet noticed.
func (b *Bell) Subscribe() (rung <-chan struct{}, cancel func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = make(map[chan struct{}]bool)
	}
	b.waiting[c] = true
	return c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiting, c)
	}
}

// Ring wakes all who wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.waiting {
		select {
		case c <- struct{}{}:
		default: // one is on its way
		}
	}
}

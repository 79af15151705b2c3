package controls

import "sync"

// Bell notifies subscribers of changes. The zero Bell is ready; it is safe for concurrent
// use.
type Bell struct {
	mu      sync.Mutex
	waiting map[chan struct{}]bool
}

// Subscribe returns a channel that gets a value after Ring, until cancel is called: one for
// all calls since the last value was received.
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

// Ring notifies all subscribers.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.waiting {
		select {
		case c <- struct{}{}:
		default: // a value is pending
		}
	}
}

package controls

import "sync"

// Notifier notifies subscribers of changes. The zero Notifier is ready; it is safe for concurrent
// use.
type Notifier struct {
	mu      sync.Mutex
	waiting map[chan struct{}]bool
}

// Subscribe returns a channel that gets a value after Notify, until cancel is called: one for
// all calls since the last value was received.
func (n *Notifier) Subscribe() (notified <-chan struct{}, cancel func()) {
	c := make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting == nil {
		n.waiting = make(map[chan struct{}]bool)
	}
	n.waiting[c] = true
	return c, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.waiting, c)
	}
}

// Notify notifies all subscribers.
func (n *Notifier) Notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.waiting {
		select {
		case c <- struct{}{}:
		default: // a value is pending
		}
	}
}

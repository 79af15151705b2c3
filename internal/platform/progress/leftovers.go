package progress

import (
	"context"
	"slices"
	"sync"
)

// Leftovers are temporary files, child processes and the like, which must be removed if the process ends before the
// computations that made them have noticed the end of their context.
type Leftovers struct {
	mu     sync.Mutex
	remove []*func()
}

// Remove removes all of them, the newest first. Nothing can be added afterwards: Leave blocks.
func (l *Leftovers) Remove() {
	l.mu.Lock() // never released: the process is about to end
	for _, f := range slices.Backward(l.remove) {
		(*f)()
	}
}

type leftoversKey struct{}

// Keep returns a context with which Leave adds to l.
func Keep(ctx context.Context, l *Leftovers) context.Context {
	return context.WithValue(ctx, leftoversKey{}, l)
}

// Leave creates something temporary and registers its removal, in case the process ends early. The caller calls done
// once there is nothing left to remove. In a process that is about to end neither returns.
func Leave(ctx context.Context, create func() (remove func(), err error)) (done func(), err error) {
	l, ok := ctx.Value(leftoversKey{}).(*Leftovers)
	if !ok {
		_, err := create()
		return func() {}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	remove, err := create()
	if err != nil {
		return func() {}, err
	}
	l.remove = append(l.remove, &remove)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.remove = slices.DeleteFunc(l.remove, func(x *func()) bool { return x == &remove })
	}, nil
}

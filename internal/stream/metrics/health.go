package metrics

import (
	"sync"
	"time"
)

// health tracks what the probes of the process need: whether it has its partitions, with their state, and for how long
// its oldest step has been in progress.
type health struct {
	mu      sync.Mutex
	member  any // the generation of the group that the process is a member of; nil while it is of none
	opening int // claims of it whose state is not restored yet
	steps   map[*step]struct{}
	waits   int       // waits in progress for something unavailable
	waited  time.Time // end of the last one
}

// step is a call that should end within minutes, unless something is unavailable.
type step struct{ began time.Time }

// Joined notes a new generation with a number of claims.
func (h *health) Joined(generation any, claims int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.member, h.opening = generation, claims
}

// Left notes the end of a generation.
func (h *health) Left(generation any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.member == generation {
		h.member = nil
	}
}

// Opened notes that a claim of a generation has its state.
func (h *health) Opened(generation any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.member == generation {
		h.opening--
	}
}

// ready is 1 if the process is a member of its group and all its claims have their state, and 0 otherwise.
func (h *health) ready() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.member != nil && h.opening == 0 {
		return 1
	}
	return 0
}

// Begin notes a step; end must be called after it.
func (h *health) Begin() (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &step{time.Now()}
	if h.steps == nil {
		h.steps = make(map[*step]struct{})
	}
	h.steps[s] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.steps, s)
	}
}

// wait notes the beginning (1) or the end (-1) of a wait for something unavailable.
func (h *health) wait(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waits += n; h.waits == 0 {
		h.waited = time.Now()
	}
}

// busy returns how long the oldest step has been in progress without a wait, in seconds; 0 while something is waited for.
func (h *health) busy() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	oldest := now
	for s := range h.steps {
		if s.began.Before(oldest) {
			oldest = s.began
		}
	}
	switch {
	case h.waits > 0:
		return 0
	case oldest.Before(h.waited):
		oldest = h.waited
	}
	return now.Sub(oldest).Seconds()
}

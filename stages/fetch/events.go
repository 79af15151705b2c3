package main

import (
	"container/heap"
	"time"
)

// event is a call at a time, made under the lock.
type event struct {
	at time.Time
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	old[len(old)-1] = event{}
	*e = old[:len(old)-1]
	return last
}

func (s *scheduler) at(at time.Time, do func()) { heap.Push(&s.events, event{at, do}) }

// setTimer sets the timer to the next event, never to one due at once: in a synctest bubble such a timer uses the race detector's
// context of the bubble's timers while other threads may, and Go 1.26 crashes.
func (s *scheduler) setTimer() {
	if len(s.events) > 0 && !s.closed {
		s.timer.Reset(max(time.Until(s.events[0].at), 1))
	}
}

// wake handles the events that are due.
func (s *scheduler) wake() {
	s.mu.Lock()
	defer s.unlock()
	for now := time.Now(); len(s.events) > 0 && !s.events[0].at.After(now); {
		heap.Pop(&s.events).(event).do()
	}
}

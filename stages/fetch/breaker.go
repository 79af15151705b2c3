package main

import (
	"math/rand/v2"
	"time"
)

// breaker holds back requests to something that cannot be reached, except for one probe a pause. The pause doubles with
// each probe that fails. The zero value is closed: no request is held back. Time is an argument.
type breaker struct {
	// since is when it opened; zero = it is closed.
	since time.Time
	// failed is when a request failed last.
	failed time.Time
	// next is when a probe may be sent.
	next  time.Time
	pause time.Duration
	cause string
}

// open reports whether requests are held back.
func (b *breaker) open() bool { return !b.since.IsZero() }

// allow reports whether a request may be made now, and whether it is a probe. A probe whose result is never reported
// delays the next one for a pause.
func (b *breaker) allow(now time.Time) (ok, probe bool) {
	if !b.open() {
		return true, false
	}
	if now.Before(b.next) {
		return false, false
	}
	b.wait(now)
	return true, true
}

// wait sets the time of the next probe: a pause from now, with a jitter of a fifth.
func (b *breaker) wait(now time.Time) {
	b.next = now.Add(b.pause*4/5 + rand.N(b.pause*2/5+1))
}

// trip opens the breaker, or, where a probe has failed, doubles the pause. A request in flight when it opened
// changes only the time of the last failure.
func (b *breaker) trip(now time.Time, probe bool, cause string, first, last time.Duration) {
	switch {
	case !b.open():
		b.since, b.pause = now, first
		b.wait(now)
	case probe:
		b.pause = min(2*b.pause, last)
		b.wait(now)
	}
	b.failed, b.cause = now, cause
}

// succeed closes the breaker after the success of a request that began after the last failure; it reports whether it
// was open.
func (b *breaker) succeed(began time.Time) bool {
	if !b.open() || began.Before(b.failed) {
		return false
	}
	*b = breaker{}
	return true
}

package kafka

import (
	"context"
	"fmt"
	"time"

	"forager/internal/stream"
)

// Pauses between calls while something is unavailable, and between log lines about it.
const (
	FirstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
	LogPause     = 10 * time.Second
)

// Waiting is one wait for something unavailable: back-off, a log line at its beginning, every
// LogPause and at its end; the metric waiting counts it.
type Waiting struct {
	cluster *cluster
	what    func() string // a function, because few waits are ever described
	began   time.Time
	logged  time.Time
	pause   time.Duration
}

// Waiting returns a wait, which has not begun, for something that what describes.
func (c *cluster) Waiting(what func() string) *Waiting { return &Waiting{cluster: c, what: what} }

// WaitingFor returns a wait for what the logic of a stage needs for a record.
func (c *cluster) WaitingFor(r *stream.Record) *Waiting {
	return c.Waiting(func() string { return fmt.Sprintf("what %s/%d offset %d needs", r.Topic, r.Partition, r.Offset) })
}

// note begins the wait, or logs that it continues.
func (w *Waiting) note(cause error) {
	now := time.Now()
	if w.began.IsZero() {
		w.began, w.pause = now, FirstPause
		w.cluster.Metrics.Wait(1)
	}
	// A short wait (a new topic, a new leader) is not logged.
	if now.Sub(w.began) >= 4*FirstPause && now.Sub(w.logged) >= LogPause {
		w.logged = now
		w.cluster.Log.Warn("waiting", "for", w.what(), "since", w.began.UTC(), "cause", w.cluster.conns.explain(cause))
	}
}

// Wait sleeps. It returns an error that wraps cause when ctx or the client ended meanwhile.
func (w *Waiting) Wait(ctx context.Context, cause error) error {
	w.note(cause)
	cause = w.cluster.conns.explain(cause)
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	w.pause = min(2*w.pause, longestPause)
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return stream.Mark(stream.ClassEnded, fmt.Errorf("%w, waiting for %s: %w", ctx.Err(), w.what(), cause))
	case <-w.cluster.life.Done():
		return stream.Mark(stream.ClassEnded, fmt.Errorf("%w, waiting for %s: %w", context.Cause(w.cluster.life), w.what(), cause))
	}
}

// Sleep is Wait without a way to cancel it.
func (w *Waiting) Sleep(cause error) {
	w.note(cause)
	time.Sleep(w.pause)
	w.pause = min(2*w.pause, longestPause)
}

// Over ends the wait, if there was one.
func (w *Waiting) Over() {
	if w.began.IsZero() {
		return
	}
	w.cluster.Metrics.Wait(-1)
	if !w.logged.IsZero() {
		w.cluster.Log.Info("waited", "for", w.what(), "seconds", time.Since(w.began).Seconds())
	}
	*w = Waiting{cluster: w.cluster, what: w.what}
}

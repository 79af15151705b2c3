package httpmodel

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// queue gathers pages, as they are sent (Q), into requests, and returns the result for each (A). It has no
// goroutine of its own: adding a page and the end of a request send the next one.
type queue[Q, A any] struct {
	batch, concurrent int
	timeout           time.Duration // of a request
	send              func([]Q) (answers []A, refused []string, err error)

	mu      sync.Mutex
	waiting []*ask[Q, A]
	running int
	breaker breaker
}

// ask is a page that waits for its result.
type ask[Q, A any] struct {
	page Q
	// alone: a request with others failed, so it is sent by itself.
	alone  bool
	done   chan struct{} // closed when the rest is set
	answer A
	err    error
}

// newQueue returns the queue of the service with a name.
func newQueue[Q, A any](name string, s Service, batch int, o Options, send func([]Q) ([]A, []string, error)) queue[Q, A] {
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return queue[Q, A]{
		batch: batch, concurrent: s.Concurrent, timeout: s.Timeout, send: send,
		breaker: breaker{Breaker: s.Breaker, log: log.With("predicate", name)},
	}
}

// askSoon is ask that waits for twice the timeout at most.
func (q *queue[Q, A]) askSoon(ctx context.Context, page Q) (A, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*q.timeout, &Failure{Timeout, "too many pages wait"})
	defer cancel()
	return q.ask(ctx, page)
}

// ask returns the result for one page, after one request or, where one with others failed for a reason that may be
// another page's, two.
func (q *queue[Q, A]) ask(ctx context.Context, page Q) (answer A, err error) {
	a := &ask[Q, A]{page: page, done: make(chan struct{})}
	err = q.wait(ctx, a)
	if err == nil && a.alone {
		a = &ask[Q, A]{page: page, alone: true, done: make(chan struct{})}
		err = q.wait(ctx, a)
	}
	if err != nil {
		return answer, err // the request may still write into a
	}
	return a.answer, nil
}

// wait puts an ask into the queue and waits for its result. Where it must be sent alone there is no result, and no
// error.
func (q *queue[Q, A]) wait(ctx context.Context, a *ask[Q, A]) error {
	q.mu.Lock()
	q.waiting = append(q.waiting, a)
	q.pump()
	q.mu.Unlock()
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		q.waiting = slices.DeleteFunc(q.waiting, func(w *ask[Q, A]) bool { return w == a })
		return context.Cause(ctx)
	}
}

// pump sends the requests that are permitted; the caller holds mu.
func (q *queue[Q, A]) pump() {
	now := time.Now()
	for len(q.waiting) > 0 && q.running < q.concurrent {
		if f := q.breaker.refuses(now); f != nil {
			for _, a := range q.waiting {
				a.fail(f)
			}
			q.waiting = nil
			return
		}
		if q.breaker.trying && q.running > 0 {
			return // the one that is under way decides for all
		}
		n := 1
		for !q.waiting[0].alone && n < min(q.batch, len(q.waiting)) && !q.waiting[n].alone {
			n++
		}
		asks := slices.Clone(q.waiting[:n])
		q.waiting = slices.Delete(q.waiting, 0, n)
		q.running++
		go q.run(asks)
	}
}

func (q *queue[Q, A]) run(asks []*ask[Q, A]) {
	pages := make([]Q, len(asks))
	for i, a := range asks {
		pages[i] = a.page
	}
	answers, refused, err := q.recovered(pages)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	q.breaker.note(err, time.Now())
	for i, a := range asks {
		switch f, _ := err.(*Failure); {
		case f != nil && len(asks) > 1 && (f.Reason == Status || f.Reason == Rubbish) && q.breaker.refuses(time.Now()) == nil:
			a.alone = true
			a.fail(nil)
		case err != nil:
			a.fail(err)
		case refused[i] != "":
			a.fail(&Failure{Refused, refused[i]})
		default:
			a.answer = answers[i]
			close(a.done)
		}
	}
	q.pump()
}

// recovered is send; a panic while reading a response is a failure, as it would end the process.
func (q *queue[Q, A]) recovered(pages []Q) (answers []A, refused []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Failure{Rubbish, fmt.Sprintf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return q.send(pages)
}

// fail ends an ask without a result.
func (a *ask[Q, A]) fail(err error) {
	a.err = err
	close(a.done)
}

// failingFor returns how long the service has failed without a success.
func (q *queue[Q, A]) failingFor() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.breaker.since.IsZero() {
		return 0
	}
	return time.Since(q.breaker.since)
}

// breaker suspends requests to a service that has failed often. The queue's lock guards it.
type breaker struct {
	Breaker
	log *slog.Logger

	row   int       // failures in a row
	since time.Time // of the first of them
	until time.Time // no request is sent before
	// trying: the pause is over, and one request is tried.
	trying bool
}

// refuses returns the reason why no request is permitted now; nil = permitted.
func (b *breaker) refuses(now time.Time) *Failure {
	if now.Before(b.until) {
		return &Failure{Open, "it failed so often that it is left alone for now"}
	}
	return nil
}

// note records the result of a request.
func (b *breaker) note(err error, now time.Time) {
	if err == nil {
		if b.trying {
			b.log.Info("the predicate answers again", "failed_for", now.Sub(b.since).String())
		}
		b.row, b.since, b.until, b.trying = 0, time.Time{}, time.Time{}, false
		return
	}
	if b.row == 0 {
		b.since = now
	}
	if b.row++; b.row < b.Failures {
		return
	}
	if !b.trying {
		b.log.Warn("the predicate failed too often and is left alone for a while", "failures", b.row, "pause", b.Pause.String(), "error", err)
	}
	b.until, b.trying = now.Add(b.Pause), true
}

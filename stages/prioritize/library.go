package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"forager/internal/frontier"
	"forager/internal/stream"
	"forager/internal/web/scope"
	"forager/schemas"
)

// library fetches what crawls need from the object store: URL lists and apprentice models. It
// fetches in goroutines of its own, so that one crawl's object, or an unavailable store, delays no other
// crawl; a caller that requests an object that is not available yet requests it again later. It is safe for
// concurrent use.
type library struct {
	// get reads an object.
	get func(ctx context.Context, key string) ([]byte, error)
	// readModel reads the bytes of an apprentice model.
	readModel func([]byte) (frontier.Model, error)
	// begin runs a fetch; arrived is called after each.
	begin   func(func())
	arrived func()
	log     *slog.Logger

	mu      sync.Mutex
	objects map[string]*object
}

// object is one that was requested and not returned yet.
type object struct {
	fetching bool
	value    any // *scope.List or frontier.Model
	err      error
	failures int
	retryAt  time.Time
}

// Pauses between two tries to fetch an object, and the timeout of a try.
const (
	firstRetry   = time.Second
	longestRetry = 30 * time.Second
	fetchTimeout = 2 * time.Minute
)

func newLibrary(get func(context.Context, string) ([]byte, error), readModel func([]byte) (frontier.Model, error), arrived func(), log *slog.Logger) *library {
	return &library{
		get: get, readModel: readModel, arrived: arrived, log: log,
		begin:   func(f func()) { go f() },
		objects: make(map[string]*object),
	}
}

// waitingError names what is awaited, and when to request it again.
type waitingError struct {
	what string
	at   time.Time // zero = when the cache changes
}

func (e *waitingError) Error() string { return "waiting for " + e.what }

// list returns the URL list in an object. It is returned once; the error is a *waitingError if it
// is not available yet.
func (l *library) list(key string, now time.Time) (*scope.List, error) {
	value, err := l.take("list "+key, now, func(ctx context.Context) (any, error) {
		b, err := l.get(ctx, key)
		if err != nil {
			return nil, err
		}
		return scope.ReadList(bytes.NewReader(b))
	})
	if err != nil {
		return nil, err
	}
	return value.(*scope.List), nil
}

// model returns the apprentice model of a version, like list.
func (l *library) model(version string, now time.Time) (frontier.Model, error) {
	value, err := l.take("model "+version, now, func(ctx context.Context) (any, error) {
		b, err := l.get(ctx, schemas.ModelObject("apprentice", version))
		if err != nil {
			return nil, err
		}
		return l.readModel(b)
	})
	if err != nil {
		return nil, err
	}
	return value.(frontier.Model), nil
}

// forget drops a model that was requested and is no longer needed.
func (l *library) forget(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.objects, "model "+version)
}

func (l *library) take(what string, now time.Time, fetch func(context.Context) (any, error)) (any, error) {
	l.mu.Lock()
	o := l.objects[what]
	if o == nil {
		o = new(object)
		l.objects[what] = o
	}
	if !o.fetching && o.value == nil && !now.Before(o.retryAt) {
		o.fetching = true
		l.mu.Unlock()
		l.begin(func() { l.fetch(o, what, now, fetch) })
		l.mu.Lock()
	}
	defer l.mu.Unlock()
	if o.value != nil {
		delete(l.objects, what)
		return o.value, nil
	}
	if o.fetching {
		return nil, &waitingError{what: what}
	}
	return nil, &waitingError{what: fmt.Sprintf("%s (%v)", what, o.err), at: o.retryAt}
}

func (l *library) fetch(o *object, what string, now time.Time, fetch func(context.Context) (any, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	var value any
	err := stream.Recovered(func() (err error) { // a damaged object may cause a panic
		value, err = fetch(ctx)
		return err
	})
	l.mu.Lock()
	o.fetching = false
	if err != nil {
		pause := min(firstRetry<<min(o.failures, 10), longestRetry)
		o.err, o.retryAt = err, now.Add(pause)
		o.failures++
		l.log.Warn("waiting for an object", "object", what, "tries", o.failures, "error", err)
	} else {
		o.value = value
	}
	l.mu.Unlock()
	l.arrived()
}

package progress

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// Observer is notified of tasks. It must be safe for concurrent use.
type Observer interface {
	// Begin is called for a new task; the returned function, when the task has ended.
	Begin(t *Task) (end func())
	// Moved is called when a task has made progress.
	Moved(t *Task)
}

// Task is a computation of a number of units.
type Task struct {
	// What describes the task to a user: "training".
	What string

	total, done, base atomic.Int64
}

// Begin sets the number of units and how many of them an earlier run has done.
func (t *Task) Begin(done, total int64) {
	t.base.Store(done)
	t.Reach(done, total)
}

// Reach sets the progress of the task.
func (t *Task) Reach(done, total int64) {
	t.total.Store(total)
	t.done.Store(done)
}

// Base returns the number of units that were done before the task began.
func (t *Task) Base() int64 { return t.base.Load() }

// Done returns the number of finished units.
func (t *Task) Done() int64 { return t.done.Load() }

// Total returns the number of units; 0 = unknown.
func (t *Task) Total() int64 { return t.total.Load() }

type observerKey struct{}
type taskKey struct{}

// Observe returns a context whose tasks are reported to o.
func Observe(ctx context.Context, o Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// Start begins a task of total units, 0 = unknown, to which Add adds with the returned context. The caller calls end.
// A task within a task is a part of it: it is not reported, and its units are not counted.
func Start(ctx context.Context, what string, total int64) (_ context.Context, end func()) {
	ctx, t, end := StartTask(ctx, what)
	t.total.Store(total)
	return ctx, end
}

// StartTask is Start for a caller that counts by the methods of the task. end may be called twice.
func StartTask(ctx context.Context, what string) (_ context.Context, t *Task, end func()) {
	o, ok := ctx.Value(observerKey{}).(Observer)
	if !ok || ctx.Value(taskKey{}) != nil {
		t = new(Task)
		return context.WithValue(ctx, taskKey{}, t), t, func() {}
	}
	t = &Task{What: what}
	return context.WithValue(ctx, taskKey{}, t), t, sync.OnceFunc(o.Begin(t))
}

// Reader returns a reader of r that counts its bytes as units, and ends with the error of ctx.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, r} }

type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if ctxErr := Add(r.ctx, int64(n)); ctxErr != nil {
		err = ctxErr
	}
	return n, err
}

// ReaderAt is Reader of an io.ReaderAt that is read from its beginning to its end.
func ReaderAt(ctx context.Context, r io.ReaderAt) io.ReaderAt { return &readerAt{ctx, r} }

type readerAt struct {
	ctx context.Context
	r   io.ReaderAt
}

func (r *readerAt) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.r.ReadAt(b, at)
	if ctxErr := Add(r.ctx, int64(n)); ctxErr != nil {
		err = ctxErr
	}
	return n, err
}

// Add counts n finished units of the task of the context. It returns the context's error: the caller ends with it.
func Add(ctx context.Context, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t, _ := ctx.Value(taskKey{}).(*Task)
	if t == nil || n == 0 {
		return nil
	}
	t.done.Add(n)
	if o, ok := ctx.Value(observerKey{}).(Observer); ok && t.What != "" {
		o.Moved(t)
	}
	return nil
}

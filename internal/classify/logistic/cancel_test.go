package logistic

import (
	"context"
	"errors"
	"testing"

	"forager/internal/platform/progress"
)

// moved counts the units of a task and cancels its context after some.
type moved struct {
	cancel context.CancelFunc
	after  int64
	units  int64
}

func (m *moved) Begin(*progress.Task) func() { return func() {} }

func (m *moved) Moved(t *progress.Task) {
	if m.units = t.Done(); m.units == m.after {
		m.cancel()
	}
}

func TestFitEndsWithItsContext(t *testing.T) {
	examples := make([]Example, 1000)
	for i := range examples {
		examples[i] = Example{Row{[]uint32{uint32(i % 7)}, []float32{1}}, []int{i % 3}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := &moved{cancel: cancel, after: 384}
	ctx, end := progress.Start(progress.Observe(ctx, m), "training", int64(len(examples)*Epochs(len(examples))))
	defer end()
	if _, err := Fit(ctx, examples, Settings{Classes: 3, Features: 7, Workers: 1}); !errors.Is(err, context.Canceled) {
		t.Fatalf("a fit whose context ended: %v", err)
	}
	if m.units != m.after {
		t.Errorf("%d examples were fitted after the context had ended", m.units-m.after)
	}
}

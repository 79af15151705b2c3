package pulearning

import (
	"context"
	"errors"
	"testing"
)

// countdown is done after it was checked the given number of times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestFitEndsWithItsContext: a fit checks its context at every step.
func TestFitEndsWithItsContext(t *testing.T) {
	rows := []Row{{Features: []uint32{0}, Values: []float32{1}}, {Features: []uint32{1}, Values: []float32{1}}}
	pages := []labelled{{&rows[0], .5, true}, {&rows[1], .5, false}}
	for left := range 5 {
		l, err := fit(&countdown{t.Context(), left}, pages, 2, 1e-4)
		if l != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("ended at the %d. look: %v, %v", left, l, err)
		}
	}
	if _, err := fit(t.Context(), pages, 2, 1e-4); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Train(ctx, "like", examples(1, 10, 40, .2), nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

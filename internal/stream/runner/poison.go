package runner

import (
	"context"
	"fmt"
	"time"

	"forager/internal/stream"
)

// tryPause is the pause between two tries of a record.
const tryPause = 20 * time.Millisecond

// try calls f up to tries times; it returns f's last error and the number of calls.
func try(ctx context.Context, tries int, f func() ([]stream.Out, error)) (outs []stream.Out, made int, err error) {
	for made = 1; ; made++ {
		outs = nil
		err = stream.Recovered(func() (err error) {
			outs, err = f()
			return err
		})
		if err == nil || stream.ClassOf(err) != stream.ClassRecord || made >= tries {
			return outs, made, err
		}
		timer := time.NewTimer(tryPause << (made - 1))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, made, stream.Mark(stream.ClassEnded, ctx.Err())
		}
	}
}

// poisoned returns the outputs for a record that failed: those of poison, and the dead letter. An
// error is Unavailable or Broken.
func poisoned(stage string, poison func(stream.Record, error) ([]stream.Out, error), r stream.Record, cause error, tries int) ([]stream.Out, error) {
	var outs []stream.Out
	if poison != nil {
		err := stream.Recovered(func() (err error) {
			outs, err = poison(r, cause)
			return err
		})
		switch stream.ClassOf(err) {
		case stream.ClassUnavailable, stream.ClassBroken, stream.ClassEnded:
			return nil, fmt.Errorf("poison record %s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		if err != nil {
			outs, cause = nil, fmt.Errorf("%w; nothing travels on: %w", cause, err)
		}
	}
	letter, err := stream.DeadLetter(stage, r, cause, tries)
	if err != nil {
		return nil, stream.Broken(err)
	}
	return append(outs, letter), nil
}

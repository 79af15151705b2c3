package stream

import (
	"context"
	"fmt"
	"time"
)

// tryPause is the pause between two tries of a record.
const tryPause = 20 * time.Millisecond

// try calls f up to tries times; it returns f's last error and the number of calls.
func try(ctx context.Context, tries int, f func() ([]Out, error)) (outs []Out, made int, err error) {
	for made = 1; ; made++ {
		outs = nil
		err = Recovered(func() (err error) {
			outs, err = f()
			return err
		})
		if err == nil || classOf(err) != perRecord || made >= tries {
			return outs, made, err
		}
		timer := time.NewTimer(tryPause << (made - 1))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, made, classify(ended, ctx.Err())
		}
	}
}

// poisoned returns the outputs for a record that failed: those of poison, and the dead letter. An
// error is Unavailable or Broken.
func poisoned(stage string, poison func(Record, error) ([]Out, error), r Record, cause error, tries int) ([]Out, error) {
	var outs []Out
	if poison != nil {
		var err error
		err = Recovered(func() (err error) {
			outs, err = poison(r, cause)
			return err
		})
		switch classOf(err) {
		case unavailable, broken, ended:
			return nil, fmt.Errorf("poison record %s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		if err != nil {
			outs, cause = nil, fmt.Errorf("%w; nothing travels on: %w", cause, err)
		}
	}
	letter, err := DeadLetter(stage, r, cause, tries)
	if err != nil {
		return nil, Broken(err)
	}
	return append(outs, letter), nil
}

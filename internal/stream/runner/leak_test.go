package runner_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/runner"
	"forager/internal/stream/streamtest"
)

// Not parallel: it looks at the goroutines of the whole process.
func TestNothingStaysBehindAClosedClient(t *testing.T) {
	b := streamtest.Start(t)
	w := streamtest.NewWorld(b)
	in, out, control := w.Topic(t, "in", 2), w.Topic(t, "out", 2), w.Compacted(t, "control")
	before := goleak.IgnoreCurrent()
	ctx := streamtest.Within(t, 60*time.Second)
	c, err := kafka.Dial(b.Config(), w.Topics, streamtest.Discard, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Follow(ctx, control, func(stream.Record) error { return nil }); err != nil {
		t.Fatal(err)
	}
	streamtest.Send(t, c, append(streamtest.Numbers(in, 0, 50), streamtest.Numbers(in, 1, 50)...))
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- streamtest.CopyTo("leak", in, out).Run(running, c) }()
	go func() {
		ended <- runner.Unordered{Stage: "leak2", Input: in, Handle: func(_ context.Context, r stream.Record, done func([]stream.Out, error)) { done(nil, nil) }}.Run(running, c)
	}()
	streamtest.Eventually(t, func() bool { return w.Count(t, c, out) == 100 })
	stop()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	c.Close()
	goleak.VerifyNone(t, before)
}

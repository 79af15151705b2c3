package stream

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"forager/internal/stream/streamtest"
)

// Not parallel: it looks at the goroutines of the whole process.
func TestNothingStaysBehindAClosedClient(t *testing.T) {
	b := streamtest.Start(t)
	w := newWorld(t, b)
	in, out, control := w.topic(t, "in", 2), w.topic(t, "out", 2), w.compacted(t, "control")
	before := goleak.IgnoreCurrent()
	ctx := within(t, 60*time.Second)
	c, err := Dial(b.Config(), w.topics, discard, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Follow(ctx, control, func(Record) error { return nil }); err != nil {
		t.Fatal(err)
	}
	send(t, c, append(numbers(in, 0, 50), numbers(in, 1, 50)...))
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- copyTo("leak", in, out).Run(running, c) }()
	go func() {
		ended <- Unordered{Stage: "leak2", Input: in, Handle: func(_ context.Context, r Record, done func([]Out, error)) { done(nil, nil) }}.Run(running, c)
	}()
	eventually(t, func() bool { return w.count(t, c, out) == 100 })
	stop()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	c.Close()
	goleak.VerifyNone(t, before)
}

package stream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forager/internal/platform/pipeline"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

func (w *world) compacted(t testing.TB, name string) string {
	t.Helper()
	name = w.broker.Topic(name)
	w.topics[name] = pipeline.Topic{Partitions: 1, Compact: true, MaxMessageBytes: 1 << 20}
	w.setup(t)
	return name
}

func TestFollowReadsToTheEndAndGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	topic := w.compacted(t, "control")
	c, _ := w.dial(t)
	ctx := within(t, 60*time.Second)
	put := func(from, to int) {
		var outs []Out
		for i := from; i < to; i++ {
			outs = append(outs, Out{Topic: topic, Key: fmt.Append(nil, i), Value: fmt.Append(nil, i), Headers: map[string]string{schemas.HeaderVersion: "1"}})
		}
		outs[len(outs)-1].Value = nil // a tombstone comes through
		send(t, c, outs)
	}
	empty, err := c.Follow(ctx, topic, func(Record) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	put(0, 1000)
	var n, tombstones, inside atomic.Int64
	var there atomic.Bool
	f, err := c.Follow(ctx, topic, func(r Record) error {
		if inside.Add(1) != 1 {
			return errors.New("two calls at a time")
		}
		defer inside.Add(-1)
		if r.Offset == 500 && !there.Swap(true) {
			return Unavailable(errors.New("the store is away"))
		}
		if string(r.Key) != fmt.Sprint(n.Load()) {
			return fmt.Errorf("key %q after %d records", r.Key, n.Load())
		}
		if r.Value == nil {
			tombstones.Add(1)
		}
		n.Add(1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n.Load() != 1000 {
		t.Fatalf("%d records when Follow returned, want 1000", n.Load())
	}
	put(1000, 1100)
	eventually(t, func() bool { return n.Load() == 1100 })
	if tombstones.Load() != 2 {
		t.Errorf("%d tombstones", tombstones.Load())
	}
	f.Close()
	if f.err != nil {
		t.Error(f.err)
	}
}

func TestFollowerErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	topic, in, out := w.compacted(t, "control"), w.topic(t, "in", 1), w.topic(t, "out", 1)
	ctx := within(t, 60*time.Second)
	put := func(c *Client, version string) {
		send(t, c, []Out{{Topic: topic, Key: []byte("k"), Headers: map[string]string{schemas.HeaderVersion: version}}})
	}
	c, _ := w.dial(t)
	if _, err := c.Follow(ctx, in, nil); err != nil {
		t.Errorf("a topic of one partition: %v", err)
	}
	put(c, "1")
	if _, err := c.Follow(ctx, topic, func(Record) error { return Broken(errors.New("broken promise")) }); err == nil || !strings.Contains(err.Error(), "offset 0: broken promise") {
		t.Errorf("an error before the end: %v", err)
	}
	f, err := c.Follow(ctx, topic, func(Record) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, func(ctx context.Context) error { return copyTo("followed", in, out).Run(ctx, c) })
	feeder, _ := w.dial(t)
	put(feeder, "7") // a newer program wrote it
	<-f.done
	if !IsBroken(f.err) {
		t.Errorf("the follower ended with %v", f.err)
	}
	if err := r.wait(ctx); !IsBroken(err) || !strings.Contains(err.Error(), `schema version "7"`) {
		t.Errorf("the stage ended with %v", err)
	}
	if _, err := c.Follow(ctx, topic, func(Record) error { return nil }); err == nil {
		t.Error("a client that failed goes on")
	}
}

// TestFollowSkipsWhatCannotBeRead: a record of another program costs its own key, and no stage.
func TestFollowSkipsWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	topic, in, out := w.compacted(t, "control"), w.topic(t, "in", 1), w.topic(t, "out", 1)
	c, l := w.dial(t)
	put := func(key, value, version string) {
		send(t, c, []Out{{Topic: topic, Key: []byte(key), Value: []byte(value), Headers: map[string]string{schemas.HeaderVersion: version}}})
	}
	put("a", "good", "1")
	put("b", "bad", "1")
	put("d", "good", "none")
	var seen atomic.Int64
	f, err := c.Follow(within(t, 60*time.Second), topic, func(r Record) error {
		switch string(r.Value) {
		case "bad":
			return errors.New("unreadable")
		case "worse":
			panic("cannot happen")
		}
		seen.Add(1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, func(ctx context.Context) error { return copyTo("followed", in, out).Run(ctx, c) })
	put("b", "worse", "1")
	put("c", "good", "1")
	eventually(t, func() bool { return seen.Load() == 2 })
	select {
	case <-f.done:
		t.Fatalf("the follower ended with %v", f.err)
	default:
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
	if got := count(c.Metrics.skipped.WithLabelValues(topic)); got != 3 {
		t.Errorf("%v records counted as skipped, want 3", got)
	}
	for _, want := range []string{"offset=1 key=b error=unreadable", "offset=2 key=d", "offset=3 key=b", "forager doctor --repair"} {
		if !strings.Contains(l.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	topic := w.compacted(t, "control")
	c, _ := w.dial(t)
	send(t, c, []Out{{Topic: topic, Key: []byte("k")}})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.Follow(ctx, topic, func(Record) error {
		cancel()
		return Unavailable(errors.New("never there"))
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

func TestFollowReadsToTheEndAndGoesOn(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	topic := w.Compacted(t, "control")
	c, _ := w.Dial(t)
	ctx := streamtest.Within(t, 60*time.Second)
	put := func(from, to int) {
		var outs []stream.Out
		for i := from; i < to; i++ {
			outs = append(outs, stream.Out{Topic: topic, Key: fmt.Append(nil, i), Value: fmt.Append(nil, i), Headers: map[string]string{schemas.HeaderVersion: "1"}})
		}
		outs[len(outs)-1].Value = nil // a tombstone comes through
		streamtest.Send(t, c, outs)
	}
	empty, err := c.Follow(ctx, topic, func(stream.Record) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	put(0, 1000)
	var n, tombstones, inside atomic.Int64
	var there atomic.Bool
	f, err := c.Follow(ctx, topic, func(r stream.Record) error {
		if inside.Add(1) != 1 {
			return errors.New("two calls at a time")
		}
		defer inside.Add(-1)
		if r.Offset == 500 && !there.Swap(true) {
			return stream.Unavailable(errors.New("the store is away"))
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
	streamtest.Eventually(t, func() bool { return n.Load() == 1100 })
	if tombstones.Load() != 2 {
		t.Errorf("%d tombstones", tombstones.Load())
	}
	f.Close()
	if err := f.Err(); err != nil {
		t.Error(err)
	}
}

func TestFollowerErrors(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	topic, in, out := w.Compacted(t, "control"), w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	ctx := streamtest.Within(t, 60*time.Second)
	put := func(c *kafka.Client, version string) {
		streamtest.Send(t, c, []stream.Out{{Topic: topic, Key: []byte("k"), Headers: map[string]string{schemas.HeaderVersion: version}}})
	}
	c, _ := w.Dial(t)
	if _, err := c.Follow(ctx, in, nil); err != nil {
		t.Errorf("a topic of one partition: %v", err)
	}
	put(c, "1")
	if _, err := c.Follow(ctx, topic, func(stream.Record) error { return stream.Broken(errors.New("broken promise")) }); err == nil || !strings.Contains(err.Error(), "offset 0: broken promise") {
		t.Errorf("an error before the end: %v", err)
	}
	f, err := c.Follow(ctx, topic, func(stream.Record) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	r := streamtest.Run(t, func(ctx context.Context) error { return streamtest.CopyTo("followed", in, out).Run(ctx, c) })
	feeder, _ := w.Dial(t)
	put(feeder, "7") // a newer program wrote it
	if err := f.Err(); !stream.IsBroken(err) {
		t.Errorf("the follower ended with %v", err)
	}
	if err := r.Wait(ctx); !stream.IsBroken(err) || !strings.Contains(err.Error(), `schema version "7"`) {
		t.Errorf("the stage ended with %v", err)
	}
	if _, err := c.Follow(ctx, topic, func(stream.Record) error { return nil }); err == nil {
		t.Error("a client that failed goes on")
	}
}

// TestFollowSkipsWhatCannotBeRead: a record of another program costs its own key, and no stage.
func TestFollowSkipsWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	topic, in, out := w.Compacted(t, "control"), w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	c, l := w.Dial(t)
	put := func(key, value, version string) {
		streamtest.Send(t, c, []stream.Out{{Topic: topic, Key: []byte(key), Value: []byte(value), Headers: map[string]string{schemas.HeaderVersion: version}}})
	}
	put("a", "good", "1")
	put("b", "bad", "1")
	put("d", "good", "none")
	var seen atomic.Int64
	f, err := c.Follow(streamtest.Within(t, 60*time.Second), topic, func(r stream.Record) error {
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
	r := streamtest.Run(t, func(ctx context.Context) error { return streamtest.CopyTo("followed", in, out).Run(ctx, c) })
	put("b", "worse", "1")
	put("c", "good", "1")
	streamtest.Eventually(t, func() bool { return seen.Load() == 2 })
	select {
	case <-f.Done():
		t.Fatalf("the follower ended with %v", f.Err())
	default:
	}
	if err := r.End(); err != nil {
		t.Error(err)
	}
	if got := streamtest.Count(c.Metrics.Skipped.WithLabelValues(topic)); got != 3 {
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
	w := streamtest.NewWorld(streamtest.Start(t))
	topic := w.Compacted(t, "control")
	c, _ := w.Dial(t)
	streamtest.Send(t, c, []stream.Out{{Topic: topic, Key: []byte("k")}})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.Follow(ctx, topic, func(stream.Record) error {
		cancel()
		return stream.Unavailable(errors.New("never there"))
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

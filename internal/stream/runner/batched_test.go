package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/runner"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// shelf is a store that batches are written to.
type shelf struct {
	mu      sync.Mutex
	batches [][]stream.Record
}

func (s *shelf) take(_ context.Context, rs []stream.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = append(s.batches, slices.Clone(rs))
	return nil
}

// rows are the values by partition, in the order in which they came.
func (s *shelf) rows() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := map[string][]string{}
	for _, b := range s.batches {
		for _, r := range b {
			key := fmt.Sprintf("%s/%d", r.Topic, r.Partition)
			m[key] = append(m[key], string(r.Value))
		}
	}
	return m
}

func (s *shelf) size() (n int) {
	for _, vs := range s.rows() {
		n += len(vs)
	}
	return n
}

func produced(t *testing.T, c *kafka.Client, topic string, partitions, n int) {
	t.Helper()
	for p := range partitions {
		streamtest.Send(t, c, streamtest.Numbers(topic, p, n))
	}
}

func TestBatchesHoldManyRecordsInTheirOrder(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	a, b := w.Topic(t, "a", 2), w.Topic(t, "b", 1)
	c, _ := w.Dial(t)
	const n = 500
	produced(t, c, a, 2, n)
	produced(t, c, b, 1, n)
	var s shelf
	r := streamtest.Run(t, func(ctx context.Context) error {
		return runner.Batched{Stage: "order", Inputs: []string{a, b}, MaxRecords: 400, Flush: 200 * time.Millisecond, Handle: s.take}.Run(ctx, c)
	})
	streamtest.Eventually(t, func() bool { return s.size() >= 3*n })
	// The last records wait for time to pass, not for a full batch.
	produced(t, c, b, 1, 1)
	streamtest.Eventually(t, func() bool { return s.size() == 3*n+1 })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	for key, vs := range s.rows() {
		for i, v := range vs[:n] {
			if v != strconv.Itoa(i) {
				t.Fatalf("%s: %s at place %d", key, v, i)
			}
		}
	}
	if len(s.batches) > 40 {
		t.Errorf("%d batches for %d records", len(s.batches), 3*n+1)
	}
	for _, batch := range s.batches {
		if len(batch) > 400 {
			t.Errorf("a batch of %d records", len(batch))
		}
	}
	for p := range 2 {
		if at, _ := w.Committed(t, "order", a, p); at != n {
			t.Errorf("%s/%d: committed %d, want %d", a, p, at, n)
		}
	}
	if at, _ := w.Committed(t, "order", b, 0); at != n+1 {
		t.Errorf("%s: committed %d, want %d", b, at, n+1)
	}
}

// TestRewoundStageReadsAgain: all that the topics hold comes once more, but not while the stage runs.
func TestRewoundStageReadsAgain(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, other := w.Topic(t, "in", 2), w.Topic(t, "other", 1)
	c, _ := w.Dial(t)
	const n = 50
	produced(t, c, in, 2, n)
	produced(t, c, other, 1, n)
	if records, err := c.Rewind(t.Context(), "again"); err != nil || records != 0 {
		t.Errorf("of a stage that never ran %d records, %v", records, err)
	}
	for round := range 2 {
		var s shelf
		r := streamtest.Run(t, func(ctx context.Context) error {
			return runner.Batched{Stage: "again", Inputs: []string{in}, MaxRecords: 20, Flush: 50 * time.Millisecond, Handle: s.take}.Run(ctx, c)
		})
		streamtest.Eventually(t, func() bool { return s.size() == 2*n })
		streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "again", in, 0); return at == n })
		if _, err := c.Rewind(t.Context(), "again"); !errors.Is(err, kafka.ErrRuns) {
			t.Errorf("while it runs: %v", err)
		}
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
		if records, err := c.Rewind(t.Context(), "again"); err != nil || records != 2*n {
			t.Errorf("round %d: %d records, %v; want %d", round, records, err, 2*n)
		}
	}
	if at, _ := w.Committed(t, "again", other, 0); at != -1 {
		t.Errorf("committed %d in a topic that it does not read", at)
	}
}

func TestBatchesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in := w.Topic(t, "in", 1)
	c, _ := w.Dial(t)
	var outs []stream.Out
	for range 20 {
		outs = append(outs, stream.Out{Topic: in, Value: make([]byte, 100_000), Headers: map[string]string{schemas.HeaderVersion: "1"}})
	}
	streamtest.Send(t, c, outs)
	var s shelf
	r := streamtest.Run(t, func(ctx context.Context) error {
		return runner.Batched{Stage: "bytes", Inputs: []string{in}, MaxBytes: 250_000, Flush: time.Hour, Handle: s.take}.Run(ctx, c)
	})
	streamtest.Eventually(t, func() bool { return s.size() >= 18 })
	if err := r.End(); err != nil { // the rest is handed on when the stage is stopped
		t.Fatal(err)
	}
	if s.size() != 20 {
		t.Errorf("%d records came, want 20", s.size())
	}
	for _, batch := range s.batches {
		if len(batch) > 3 {
			t.Errorf("a batch of %d records", len(batch))
		}
	}
	if at, _ := w.Committed(t, "bytes", in, 0); at != 20 {
		t.Errorf("committed %d, want 20", at)
	}
}

func TestBatchIsHalvedUntilThePoisonIsFound(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in := w.Topic(t, "in", 1)
	c, _ := w.Dial(t)
	outs := streamtest.Numbers(in, 0, 100)
	outs[17].Value = []byte("bad")
	outs[60].Value = []byte("panic")
	outs[61].Headers = nil
	outs[62].Value = []byte("once")
	streamtest.Send(t, c, outs)
	var s shelf
	var calls, once atomic.Int64
	r := streamtest.Run(t, func(ctx context.Context) error {
		return runner.Batched{Stage: "poison", Inputs: []string{in}, MaxRecords: 100, Flush: time.Hour, Tries: 2, Handle: func(ctx context.Context, rs []stream.Record) error {
			calls.Add(1)
			for _, r := range rs {
				switch v := string(r.Value); {
				case v == "bad":
					return errors.New("this one is bad")
				case v == "panic":
					panic("this one, too")
				case v == "once" && len(rs) == 1 && once.Add(1) == 1:
					return errors.New("only once")
				case v == "once" && once.Load() == 0:
					return errors.New("not in company")
				}
			}
			return s.take(ctx, rs)
		}}.Run(ctx, c)
	})
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "poison", in, 0); return at == 100 })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	got := s.rows()[in+"/0"]
	if len(got) != 97 || !slices.Contains(got, "once") || !slices.IsSortedFunc(slices.DeleteFunc(slices.Clone(got), func(v string) bool { return v == "once" }), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	}) {
		t.Errorf("%d records were taken: %v", len(got), got)
	}
	if n := calls.Load(); n > 60 {
		t.Errorf("%d calls to find three records of a hundred", n)
	}
	want := map[int64]string{17: "this one is bad", 60: "panic: this one, too", 61: "no program of Forager"}
	ls := letters(t, c, in)
	for _, l := range ls {
		if !strings.Contains(l.Error, want[l.Offset]) || want[l.Offset] == "" || l.Stage != "poison" {
			t.Errorf("dead letter of offset %d: %.200s", l.Offset, l.Error)
		}
	}
	if len(ls) != 3 {
		t.Errorf("%d dead letters, want 3", len(ls))
	}
}

func TestBatchWaitsForWhatIsAway(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in := w.Topic(t, "in", 1)
	c, _ := w.Dial(t)
	produced(t, c, in, 1, 50)
	var s shelf
	var away atomic.Bool
	var calls atomic.Int64
	away.Store(true)
	b := runner.Batched{Stage: "away", Inputs: []string{in}, MaxRecords: 10, Flush: 10 * time.Millisecond, Handle: func(ctx context.Context, rs []stream.Record) error {
		calls.Add(1)
		if away.Load() {
			return stream.Unavailable(errors.New("the store is away"))
		}
		return s.take(ctx, rs)
	}}
	r := streamtest.Run(t, func(ctx context.Context) error { return b.Run(ctx, c) })
	streamtest.Eventually(t, func() bool { return calls.Load() >= 3 })
	// Stopped while the store is unavailable: nothing was handled, so nothing may be committed,
	// also if the store is available again while the stage drains.
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if at, _ := w.Committed(t, "away", in, 0); at > 0 || s.size() > 0 {
		t.Errorf("committed %d, taken %d, while the store was away", at, s.size())
	}
	b.Handle = func(ctx context.Context, rs []stream.Record) error {
		if calls.Add(1)%3 != 0 {
			return stream.Unavailable(errors.New("the store is away"))
		}
		return s.take(ctx, rs)
	}
	r = streamtest.Run(t, func(ctx context.Context) error { return b.Run(ctx, c) })
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "away", in, 0); return at == 50 })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if got := s.rows()[in+"/0"]; len(got) != 50 {
		t.Errorf("%d records were taken, want 50", len(got))
	}
}

// TestNoBatchPassesOneThatWasLeft has the store come back at the very moment of draining: the
// batch that was left must not be overtaken by the next one's commit.
func TestNoBatchPassesOneThatWasLeft(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in := w.Topic(t, "in", 2)
	c, _ := w.Dial(t)
	produced(t, c, in, 2, 400)
	for i := range 5 {
		var s shelf
		var calls atomic.Int64
		stage := "left" + strconv.Itoa(i)
		ctx, stop := context.WithCancel(t.Context())
		err := runner.Batched{Stage: stage, Inputs: []string{in}, MaxRecords: 20, Flush: time.Millisecond, Handle: func(ctx context.Context, rs []stream.Record) error {
			if calls.Add(1) == int64(3*i+1) {
				stop()
				return stream.Unavailable(errors.New("away, just now"))
			}
			return s.take(ctx, rs)
		}}.Run(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		rows := s.rows()
		for p := range 2 {
			at, _ := w.Committed(t, stage, in, p)
			if taken := len(rows[fmt.Sprintf("%s/%d", in, p)]); at > int64(taken) {
				t.Errorf("%s: partition %d: committed %d, taken %d", stage, p, at, taken)
			}
		}
	}
}

func TestBrokenBatchStopsTheStage(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in := w.Topic(t, "in", 3)
	c, _ := w.Dial(t)
	produced(t, c, in, 3, 10)
	err := runner.Batched{Stage: "broken", Inputs: []string{in}, Flush: time.Millisecond, Handle: func(context.Context, []stream.Record) error {
		return stream.Broken(errors.New("the table is gone"))
	}}.Run(streamtest.Within(t, 60*time.Second), c)
	if err == nil || !stream.IsBroken(err) || !strings.Contains(err.Error(), "the table is gone") {
		t.Errorf("it ended with %v", err)
	}
	for p := range 3 {
		if at, _ := w.Committed(t, "broken", in, p); at > 0 {
			t.Errorf("partition %d: committed %d", p, at)
		}
	}
	outs := streamtest.Numbers(in, 1, 1)
	outs[0].Headers[schemas.HeaderVersion] = "99"
	streamtest.Send(t, c, outs)
	var s shelf
	err = runner.Batched{Stage: "version", Inputs: []string{in}, Flush: time.Millisecond, Handle: s.take}.Run(streamtest.Within(t, 60*time.Second), c)
	if err == nil || !strings.Contains(err.Error(), `schema version "99"`) {
		t.Errorf("a record of another version: %v", err)
	}
}

func init() {
	streamtest.Children["batch"] = func() {
		in := os.Getenv("BATCH_IN")
		topics := map[string]pipeline.Topic{in: {Partitions: 2, Retention: time.Hour, MaxMessageBytes: 1 << 20}}
		c, err := kafka.Dial(pipeline.Kafka{Brokers: []string{os.Getenv("BATCH_BROKER")}, Group: os.Getenv("BATCH_GROUP"), SessionTimeout: time.Second}, topics, streamtest.Discard, nil)
		if err != nil {
			panic(err)
		}
		err = runner.Batched{Stage: "crash", Inputs: []string{in}, MaxRecords: 30, Flush: time.Millisecond, Handle: func(_ context.Context, rs []stream.Record) error {
			for _, r := range rs {
				fmt.Printf("%d %s\n", r.Partition, r.Value)
			}
			return nil
		}}.Run(context.Background(), c)
		panic(err)
	}
}

func TestKilledBehindABatchNothingIsLost(t *testing.T) {
	t.Parallel()
	b := streamtest.Start(t)
	w := streamtest.NewWorld(b)
	in := w.Topic(t, "in", 2)
	c, _ := w.Dial(t)
	const n = 200
	produced(t, c, in, 2, n)
	var taken [2][]string
	for i := range 3 {
		out, killed := streamtest.Child(t, "batch", "BATCH_IN="+in, "BATCH_BROKER="+b.Addr, "BATCH_GROUP="+b.Config().Group, stream.FailpointVariable+"=inserted-before-commit:"+strconv.Itoa(i+1))
		if !killed {
			t.Fatal("the failpoint did not kill the child")
		}
		for line := range strings.Lines(out) {
			var p int
			var v string
			if _, err := fmt.Sscan(line, &p, &v); err != nil {
				t.Fatal(err)
			}
			taken[p] = append(taken[p], v)
		}
	}
	var s shelf
	r := streamtest.Run(t, func(ctx context.Context) error {
		return runner.Batched{Stage: "crash", Inputs: []string{in}, Flush: time.Millisecond, Handle: s.take}.Run(ctx, c)
	})
	streamtest.Eventually(t, func() bool {
		for p := range 2 {
			if at, _ := w.Committed(t, "crash", in, p); at != n {
				return false
			}
		}
		return true
	})
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	duplicates := 0
	for p := range 2 {
		duplicates += streamtest.CountedOn(t, p, append(taken[p], s.rows()[fmt.Sprintf("%s/%d", in, p)]...), n)
	}
	if duplicates == 0 {
		t.Error("no record came twice, though each child died before it committed")
	}
}

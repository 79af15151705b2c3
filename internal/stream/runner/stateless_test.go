package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/runner"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

func TestStatelessKeepsTheOrderThoughItWorksInParallel(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 3), w.Topic(t, "out", 3)
	c, _ := w.Dial(t)
	const n = 600
	for p := range 3 {
		streamtest.Send(t, c, streamtest.Numbers(in, p, n))
	}
	// The even record of each pair ends after the following odd one.
	var mu sync.Mutex
	ends := map[string]chan struct{}{}
	end := func(p, i int) chan struct{} {
		mu.Lock()
		defer mu.Unlock()
		key := fmt.Sprint(p, " ", i)
		if ends[key] == nil {
			ends[key] = make(chan struct{})
		}
		return ends[key]
	}
	var most, now atomic.Int64
	s := streamtest.CopyTo("order", in, out)
	s.Workers = 16
	s.MaxInFlight = 32
	copyOne := s.Handle
	s.Handle = func(ctx context.Context, r stream.Record) ([]stream.Out, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		i, err := strconv.Atoi(string(r.Value))
		if err != nil {
			return nil, err
		}
		if i%2 == 0 {
			select {
			case <-end(r.Partition, i+1):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		} else {
			defer func() { close(end(r.Partition, i)) }()
		}
		return copyOne(ctx, r)
	}
	r := streamtest.Run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	streamtest.Eventually(t, func() bool { return w.Count(t, c, out) >= 3*n })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	for p := range 3 {
		for i, v := range streamtest.Values(t, c, out, p) {
			if v != strconv.Itoa(i) {
				t.Fatalf("partition %d: %s at place %d", p, v, i)
			}
		}
		if at, _ := w.Committed(t, "order", in, p); at != n {
			t.Errorf("partition %d: committed %d, want %d", p, at, n)
		}
	}
	if most.Load() > 16 || most.Load() < 2 {
		t.Errorf("%d records were handled at a time, with 16 workers", most.Load())
	}
}

func init() {
	streamtest.Children["copy"] = func() {
		w := &streamtest.World{Topics: map[string]pipeline.Topic{}}
		in, out := os.Getenv("COPY_IN"), os.Getenv("COPY_OUT")
		for _, t := range []string{in, out} {
			w.Topics[t] = pipeline.Topic{Partitions: 2, Retention: time.Hour, MaxMessageBytes: 1 << 20}
		}
		n, _ := strconv.ParseInt(os.Getenv("COPY_COUNT"), 10, 64)
		c, err := kafka.Dial(pipeline.Kafka{Brokers: []string{os.Getenv("COPY_BROKER")}, Group: os.Getenv("COPY_GROUP"), SessionTimeout: time.Second}, w.Topics, streamtest.Discard, nil)
		if err != nil {
			panic(err)
		}
		defer c.Close()
		ctx, cancel := context.WithCancel(context.Background())
		s := streamtest.CopyTo("crash", in, out)
		var handled atomic.Int64
		copyOne := s.Handle
		s.Handle = func(ctx context.Context, r stream.Record) ([]stream.Out, error) {
			if handled.Add(1) == n {
				defer cancel()
			}
			return copyOne(ctx, r)
		}
		if err := s.Run(ctx, c); err != nil {
			panic(err)
		}
	}
}

func TestKilledBetweenAcknowledgementAndCommitNothingIsLost(t *testing.T) {
	t.Parallel()
	b := streamtest.Start(t)
	w := streamtest.NewWorld(b)
	in, out := w.Topic(t, "in", 2), w.Topic(t, "out", 2)
	c, _ := w.Dial(t)
	const n = 400
	for p := range 2 {
		streamtest.Send(t, c, streamtest.Numbers(in, p, n))
	}
	env := []string{"COPY_IN=" + in, "COPY_OUT=" + out, "COPY_BROKER=" + b.Addr, "COPY_GROUP=" + b.Config().Group, "COPY_COUNT=1000000000"}
	for i := range 3 {
		if _, killed := streamtest.Child(t, "copy", append(env, stream.FailpointVariable+"=acked-before-commit:"+strconv.Itoa(i+1))...); !killed {
			t.Fatal("the failpoint did not kill the child")
		}
	}
	before := w.Count(t, c, out)
	r := streamtest.Run(t, func(ctx context.Context) error { return streamtest.CopyTo("crash", in, out).Run(ctx, c) })
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
		duplicates += streamtest.CountedOn(t, p, streamtest.Values(t, c, out, p), n)
	}
	if duplicates == 0 {
		t.Errorf("no record came twice, after %d had been acknowledged and not committed", before)
	}
}

func TestTwoMembersShareJoinAndLeave(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 4), w.Topic(t, "out", 4)
	feeder, _ := w.Dial(t)
	ctx := streamtest.Within(t, 90*time.Second)
	var produced atomic.Int64
	feed := streamtest.Run(t, func(ctx context.Context) error {
		for i := 0; ctx.Err() == nil; i++ {
			var outs []stream.Out
			for p := range 4 {
				outs = append(outs, stream.Out{Topic: in, Partition: p, Value: []byte(strconv.Itoa(i)), Headers: map[string]string{schemas.HeaderVersion: "1"}})
			}
			if _, err := feeder.Produce(t.Context(), outs); err != nil {
				return err
			}
			produced.Store(int64(i + 1))
		}
		return nil
	})
	member := func() (*streamtest.Running, *sync.Map) {
		c, _ := w.Dial(t)
		var mine sync.Map
		s := streamtest.CopyTo("share", in, out)
		copyOne := s.Handle
		s.Handle = func(ctx context.Context, r stream.Record) ([]stream.Out, error) {
			mine.Store(r.Partition, true)
			return copyOne(ctx, r)
		}
		return streamtest.Run(t, func(ctx context.Context) error { return s.Run(ctx, c) }), &mine
	}
	size := func(m *sync.Map) (n int) {
		m.Range(func(any, any) bool { n++; return true })
		return n
	}
	first, mine1 := member()
	streamtest.Eventually(t, func() bool { return size(mine1) == 4 })
	second, mine2 := member()
	streamtest.Eventually(t, func() bool { return size(mine2) == 2 })
	if err := first.End(); err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, func() bool { return size(mine2) == 4 })
	third, mine3 := member()
	streamtest.Eventually(t, func() bool { return size(mine3) == 2 })
	if err := feed.End(); err != nil {
		t.Fatal(err)
	}
	n := produced.Load()
	streamtest.Eventually(t, func() bool {
		for p := range 4 {
			if at, _ := w.Committed(t, "share", in, p); at != n {
				return false
			}
		}
		return ctx.Err() == nil
	})
	for _, r := range []*streamtest.Running{second, third} {
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
	}
	duplicates := 0
	for p := range 4 {
		duplicates += streamtest.CountedOn(t, p, streamtest.Values(t, feeder, out, p), int(n))
	}
	t.Logf("%d records, %d came twice", 4*n, duplicates)
	// A process that ends in order commits before. Only if the coordinator refuses the commit,
	// because the next generation has begun on a busy machine, the records in flight come again.
	if inHand := 32; duplicates > inHand {
		t.Errorf("%d records came twice though no process died, more than the %d in hand", duplicates, inHand)
	}
}

// letters are the dead letters of a topic.
func letters(t testing.TB, c *kafka.Client, topic string) []*schemas.DeadLetter {
	t.Helper()
	var ls []*schemas.DeadLetter
	for _, r := range streamtest.ReadAll(t, c, schemas.TopicDeadLetter, 0) {
		l := new(schemas.DeadLetter)
		if err := proto.Unmarshal(r.Value, l); err != nil {
			t.Fatal(err)
		}
		if l.Topic == topic {
			ls = append(ls, l)
			if r.Headers[schemas.HeaderVersion] != "1" || !bytes.Equal(r.Key, l.Key) {
				t.Errorf("dead letter with key %q and headers %v", r.Key, r.Headers)
			}
		}
	}
	return ls
}

func TestPoison(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	c, l := w.Dial(t)
	headers := map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: "birds", schemas.HeaderURL: "http://a/"}
	var outs []stream.Out
	for _, v := range []string{"0", "error", "2", "panic", "once", "large", "mute", "7"} {
		outs = append(outs, stream.Out{Topic: in, Key: []byte("k" + v), Value: []byte(v), Headers: headers})
	}
	outs = append(outs, stream.Out{Topic: in, Key: []byte("foreign"), Value: []byte("8")}, stream.Out{Topic: in, Value: []byte("9"), Headers: headers})
	streamtest.Send(t, c, outs)
	var calls sync.Map
	s := streamtest.CopyTo("poison", in, out)
	copyOne := s.Handle
	s.Handle = func(ctx context.Context, r stream.Record) ([]stream.Out, error) {
		n, _ := calls.LoadOrStore(string(r.Value), new(atomic.Int64))
		made := n.(*atomic.Int64).Add(1)
		switch string(r.Value) {
		case "error", "mute":
			return nil, fmt.Errorf("cannot take %q", r.Value)
		case "panic":
			panic("out of luck")
		case "once":
			if made == 1 {
				return nil, errors.New("not yet")
			}
		case "large":
			return []stream.Out{{Topic: out, Value: make([]byte, 2<<20)}}, nil
		}
		return copyOne(ctx, r)
	}
	s.Poison = func(r stream.Record, cause error) ([]stream.Out, error) {
		if string(r.Value) == "mute" {
			return nil, errors.New("no receiver")
		}
		return []stream.Out{{Topic: out, Value: fmt.Appendf(nil, "failed %s", r.Value), Headers: r.Headers}}, nil
	}
	r := streamtest.Run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "poison", in, 0); return at == int64(len(outs)) })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(streamtest.Values(t, c, out, 0), ", "), "0, failed error, 2, failed panic, once, failed large, 7, failed 8, 9"; got != want {
		t.Errorf("sent on: %s\nwant:    %s", got, want)
	}
	want := []struct {
		offset int64
		tries  uint32
		text   string
	}{
		{1, 3, `cannot take "error"`}, {3, 3, "out of luck"}, {5, 3, "message of 2"},
		{6, 3, "no receiver"}, {8, 0, `no header "v"`},
	}
	ls := letters(t, c, in)
	if len(ls) != len(want) {
		t.Fatalf("%d dead letters, want %d", len(ls), len(want))
	}
	for i, k := range want {
		d := ls[i]
		if d.Offset != k.offset || d.Tries != k.tries || !strings.Contains(d.Error, k.text) || d.Stage != "poison" ||
			!bytes.Equal(d.Value, outs[k.offset].Value) || !bytes.Equal(d.Key, outs[k.offset].Key) || len(d.Headers) != len(outs[k.offset].Headers) {
			t.Errorf("dead letter %d: %v", i, d)
		}
	}
	for v, n := range map[string]int64{"error": 3, "panic": 3, "once": 2, "0": 1} {
		if got, _ := calls.Load(v); got.(*atomic.Int64).Load() != n {
			t.Errorf("%q was handled %d times, want %d", v, got.(*atomic.Int64).Load(), n)
		}
	}
	if !strings.Contains(l.String(), "poison") {
		t.Error("the log has no line about it")
	}
}

func TestADeadLetterOfEightMebibytes(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in := w.Broker.Topic("in")
	w.Topics[in] = pipeline.Topic{Partitions: 1, Retention: time.Hour, MaxMessageBytes: 12 << 20}
	w.Setup(t)
	c, _ := w.Dial(t)
	big := bytes.Repeat([]byte("0123456789"), 1<<20)
	streamtest.Send(t, c, []stream.Out{{Topic: in, Value: big, Headers: map[string]string{schemas.HeaderVersion: "1"}}})
	s := runner.Stateless{Stage: "big", Inputs: []string{in}, Tries: 1, Handle: func(context.Context, stream.Record) ([]stream.Out, error) { return nil, errors.New("too big for me") }}
	r := streamtest.Run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "big", in, 0); return at == 1 })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	ls := letters(t, c, in)
	if len(ls) != 1 || len(ls[0].Value) != 7<<20 || !strings.Contains(ls[0].Error, "cut") {
		t.Errorf("%d dead letters", len(ls))
	}
}

func TestUnavailableIsWaitedForInOrder(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	c, l := w.Dial(t)
	streamtest.Send(t, c, streamtest.Numbers(in, 0, 20))
	var there atomic.Bool
	s := streamtest.CopyTo("wait", in, out)
	copyOne := s.Handle
	s.Handle = func(ctx context.Context, r stream.Record) ([]stream.Out, error) {
		if string(r.Value) == "5" && !there.Load() {
			return nil, stream.Unavailable(errors.New("no critic yet"))
		}
		return copyOne(ctx, r)
	}
	s.Poison = func(stream.Record, error) ([]stream.Out, error) { panic("nothing is poison here") }
	r := streamtest.Run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	streamtest.Eventually(t, func() bool { return strings.Contains(l.String(), "no critic yet") })
	streamtest.Eventually(t, func() bool { return w.Count(t, c, out) >= 5 })
	if at := streamtest.Gauge(c.Metrics.Waiting); at != 1 {
		t.Errorf("the metric waiting is %v", at)
	}
	if n := w.Count(t, c, out); n != 5 {
		t.Errorf("%d records were sent, want the 5 before the one that waits", n)
	}
	there.Store(true)
	streamtest.Eventually(t, func() bool { return w.Count(t, c, out) == 20 })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(streamtest.Values(t, c, out, 0), " "); got != "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19" {
		t.Error(got)
	}
	if at := streamtest.Gauge(c.Metrics.Waiting); at != 0 {
		t.Errorf("the metric waiting is %v at the end", at)
	}
}

func TestBrokenStopsAndTheRecordStaysUncommitted(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	c, _ := w.Dial(t)
	ctx := streamtest.Within(t, 60*time.Second)
	for _, k := range []struct {
		name    string
		headers map[string]string
		handle  func(r stream.Record) error
		want    string
	}{
		{"handle", map[string]string{schemas.HeaderVersion: "1"}, func(stream.Record) error { return stream.Broken(errors.New("impossible")) }, "impossible"},
		{"version", map[string]string{schemas.HeaderVersion: "99"}, func(stream.Record) error { return nil }, `schema version "99"`},
	} {
		_, start, err := c.Offsets(ctx, in, 0)
		if err != nil {
			t.Fatal(err)
		}
		outs := []stream.Out{{Topic: in, Value: []byte("good"), Headers: map[string]string{schemas.HeaderVersion: "1"}}, {Topic: in, Value: []byte("bad"), Headers: k.headers}}
		streamtest.Send(t, c, outs)
		s := streamtest.CopyTo(k.name, in, out)
		copyOne := s.Handle
		s.Handle = func(ctx context.Context, r stream.Record) ([]stream.Out, error) {
			if r.Offset == start+1 {
				if err := k.handle(r); err != nil {
					return nil, err
				}
			}
			return copyOne(ctx, r)
		}
		if start > 0 { // what the case before left is not this one's
			w.CommitAt(t, k.name, in, 0, start)
		}
		err = streamtest.Run(t, func(ctx context.Context) error { return s.Run(ctx, c) }).Wait(ctx)
		if !stream.IsBroken(err) || !strings.Contains(err.Error(), k.want) || !strings.Contains(err.Error(), fmt.Sprintf("offset %d", start+1)) {
			t.Errorf("%s: %v", k.name, err)
		}
		if at, _ := w.Committed(t, k.name, in, 0); at != start+1 {
			t.Errorf("%s: committed %d, want %d", k.name, at, start+1)
		}
	}
}

func TestDrainFinishesWhatWasBegun(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	c, l := w.Dial(t)
	streamtest.Send(t, c, streamtest.Numbers(in, 0, 50))
	begun, gate := make(chan struct{}, 100), make(chan struct{})
	s := streamtest.CopyTo("drain", in, out)
	s.Workers = 2
	copyOne := s.Handle
	s.Handle = func(ctx context.Context, r stream.Record) ([]stream.Out, error) {
		begun <- struct{}{}
		<-gate
		return copyOne(ctx, r)
	}
	r := streamtest.Run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	<-begun
	<-begun
	r.Stop()
	streamtest.Eventually(t, func() bool { return strings.Contains(l.String(), "draining") })
	select {
	case <-r.Done:
		t.Fatal("it did not wait for what was begun")
	default:
	}
	close(gate)
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	sent := streamtest.Values(t, c, out, 0)
	at, _ := w.Committed(t, "drain", in, 0)
	if len(sent) != 2 || len(begun) != 0 || at != 2 {
		t.Errorf("%d begun, %d sent, committed %d", 2+len(begun), len(sent), at)
	}
}

func TestDrainHasAnEnd(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	cfg := w.Broker.Config()
	cfg.SessionTimeout = time.Second
	c, _ := streamtest.Dial(t, cfg, w.Topics)
	streamtest.Send(t, c, streamtest.Numbers(in, 0, 1))
	begun, never := make(chan struct{}), make(chan struct{})
	defer close(never)
	s := streamtest.CopyTo("hang", in, out)
	s.Handle = func(context.Context, stream.Record) ([]stream.Out, error) {
		close(begun)
		<-never
		return nil, nil
	}
	r := streamtest.Run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	<-begun
	r.Stop()
	if err := r.Wait(streamtest.Within(t, 60*time.Second)); err != nil {
		t.Fatal(err)
	}
	if at, _ := w.Committed(t, "hang", in, 0); at != -1 {
		t.Errorf("committed %d though nothing was dealt with", at)
	}
}

func TestLagIsWhatWaitsBeforeAStage(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, other, out := w.Topic(t, "in", 2), w.Topic(t, "other", 1), w.Topic(t, "out", 2)
	c, _ := w.Dial(t)
	ctx := streamtest.Within(t, 60*time.Second)
	lag := func() int64 {
		n, err := c.Lag(ctx, "lagging", in, other)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	streamtest.Send(t, c, append(streamtest.Numbers(in, -1, 100), streamtest.Numbers(other, 0, 20)...))
	if n := lag(); n != 120 {
		t.Errorf("lag %d before the first commit, want 120", n)
	}
	streamtest.DeleteBelow(t, w.Broker.Addr, other, 0, 5)
	if n := lag(); n != 115 {
		t.Errorf("lag %d after 5 records were deleted, want 115", n)
	}
	behind, done, err := c.Behind(ctx, "lagging", other)
	if err != nil || done != 5 || len(behind) != 1 || behind[0].Records != 15 || time.Since(behind[0].Oldest).Abs() > time.Minute {
		t.Errorf("behind %+v, done %d, %v, want 15 records that are new, after 5", behind, done, err)
	}
	ends, err := c.Ends(ctx, in, other)
	if err != nil {
		t.Fatal(err)
	}
	r := streamtest.Run(t, func(ctx context.Context) error { return streamtest.CopyTo("lagging", in, out).Run(ctx, c) })
	streamtest.Eventually(t, func() bool { return lag() == 15 })
	if behind, done, err := c.Behind(ctx, "lagging", in); err != nil || len(behind) > 0 || done != 100 {
		t.Errorf("behind %+v, done %d, %v after all was read", behind, done, err)
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	streamtest.Send(t, c, streamtest.Numbers(in, -1, 30))
	if n, err := c.LagTo(ctx, "lagging", ends); err != nil || n != 15 || lag() != 45 {
		t.Errorf("lag %d to the ends of before (%v), %d to those of now, want 15 and 45", n, err, lag())
	}
}

func TestApplyIsThePathWithoutABroker(t *testing.T) {
	s := runner.Stateless{Stage: "unit", Tries: 2, Handle: func(_ context.Context, r stream.Record) ([]stream.Out, error) {
		switch string(r.Value) {
		case "bad":
			return nil, errors.New("bad")
		case "wait":
			return nil, stream.Unavailable(errors.New("later"))
		}
		return []stream.Out{{Topic: "out", Value: r.Value}}, nil
	}, Poison: func(r stream.Record, cause error) ([]stream.Out, error) {
		return []stream.Out{{Topic: "out", Value: []byte("failed: " + cause.Error())}}, nil
	}}
	record := func(v string) stream.Record {
		return stream.Record{Topic: "in", Partition: 3, Offset: 7, Value: []byte(v), Headers: map[string]string{schemas.HeaderVersion: "1"}}
	}
	outs, err := s.Apply(t.Context(), record("good"))
	if err != nil || len(outs) != 1 || string(outs[0].Value) != "good" {
		t.Errorf("good: %v, %v", outs, err)
	}
	outs, err = s.Apply(t.Context(), record("bad"))
	if err != nil || len(outs) != 2 || string(outs[0].Value) != "failed: bad" || outs[1].Topic != schemas.TopicDeadLetter {
		t.Errorf("bad: %v, %v", outs, err)
	}
	var letter schemas.DeadLetter
	if err := proto.Unmarshal(outs[1].Value, &letter); err != nil || letter.Offset != 7 || letter.Partition != 3 || letter.Tries != 2 || letter.Stage != "unit" {
		t.Errorf("letter %v, %v", &letter, err)
	}
	if _, err = s.Apply(t.Context(), record("wait")); !stream.IsUnavailable(err) {
		t.Errorf("wait: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = s.Apply(over, record("bad")); stream.ClassOf(err) != stream.ClassEnded {
		t.Errorf("over: %v", err)
	}
}

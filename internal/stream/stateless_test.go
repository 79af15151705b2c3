package stream

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

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"forager/internal/platform/pipeline"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// values reads a partition's values.
func values(t testing.TB, c *Client, topic string, partition int) []string {
	t.Helper()
	var vs []string
	for _, r := range readAll(t, c, topic, partition) {
		vs = append(vs, string(r.Value))
	}
	return vs
}

// count is the number of records of a topic.
func (w *world) count(t testing.TB, c *Client, topic string) (n int64) {
	t.Helper()
	ctx := within(t, 60*time.Second)
	for p := range w.topics[topic].Partitions {
		first, end, err := c.Offsets(ctx, topic, p)
		if err != nil {
			t.Fatal(err)
		}
		n += end - first
	}
	return n
}

func TestStatelessKeepsTheOrderThoughItWorksInParallel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in, out := w.topic(t, "in", 3), w.topic(t, "out", 3)
	c, _ := w.dial(t)
	const n = 600
	for p := range 3 {
		send(t, c, numbers(in, p, n))
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
	s := copyTo("order", in, out)
	s.Workers = 16
	s.MaxInFlight = 32
	copyOne := s.Handle
	s.Handle = func(ctx context.Context, r Record) ([]Out, error) {
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
	r := run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	eventually(t, func() bool { return w.count(t, c, out) >= 3*n })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	for p := range 3 {
		for i, v := range values(t, c, out, p) {
			if v != strconv.Itoa(i) {
				t.Fatalf("partition %d: %s at place %d", p, v, i)
			}
		}
		if at, _ := committed(t, c, "order", in, p); at != n {
			t.Errorf("partition %d: committed %d, want %d", p, at, n)
		}
	}
	if most.Load() > 16 || most.Load() < 2 {
		t.Errorf("%d records were handled at a time, with 16 workers", most.Load())
	}
}

func init() {
	children["copy"] = func() {
		w := &world{topics: map[string]pipeline.Topic{}}
		in, out := os.Getenv("COPY_IN"), os.Getenv("COPY_OUT")
		for _, t := range []string{in, out} {
			w.topics[t] = pipeline.Topic{Partitions: 2, Retention: time.Hour, MaxMessageBytes: 1 << 20}
		}
		n, _ := strconv.ParseInt(os.Getenv("COPY_COUNT"), 10, 64)
		c, err := Dial(pipeline.Kafka{Brokers: []string{os.Getenv("COPY_BROKER")}, Group: os.Getenv("COPY_GROUP"), SessionTimeout: time.Second}, w.topics, discard, nil)
		if err != nil {
			panic(err)
		}
		defer c.Close()
		ctx, cancel := context.WithCancel(context.Background())
		s := copyTo("crash", in, out)
		var handled atomic.Int64
		copyOne := s.Handle
		s.Handle = func(ctx context.Context, r Record) ([]Out, error) {
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
	w := newWorld(t, b)
	in, out := w.topic(t, "in", 2), w.topic(t, "out", 2)
	c, _ := w.dial(t)
	const n = 400
	for p := range 2 {
		send(t, c, numbers(in, p, n))
	}
	env := []string{"COPY_IN=" + in, "COPY_OUT=" + out, "COPY_BROKER=" + b.Addr, "COPY_GROUP=" + b.Config().Group, "COPY_COUNT=1000000000"}
	for i := range 3 {
		if _, killed := child(t, "copy", append(env, FailpointVariable+"=acked-before-commit:"+strconv.Itoa(i+1))...); !killed {
			t.Fatal("the failpoint did not kill the child")
		}
	}
	before := w.count(t, c, out)
	r := run(t, func(ctx context.Context) error { return copyTo("crash", in, out).Run(ctx, c) })
	eventually(t, func() bool {
		for p := range 2 {
			if at, _ := committed(t, c, "crash", in, p); at != n {
				return false
			}
		}
		return true
	})
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	duplicates := 0
	for p := range 2 {
		duplicates += countedOn(t, p, values(t, c, out, p), n)
	}
	if duplicates == 0 {
		t.Errorf("no record came twice, after %d had been acknowledged and not committed", before)
	}
}

func TestTwoMembersShareJoinAndLeave(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in, out := w.topic(t, "in", 4), w.topic(t, "out", 4)
	feeder, _ := w.dial(t)
	ctx := within(t, 90*time.Second)
	var produced atomic.Int64
	feed := run(t, func(ctx context.Context) error {
		for i := 0; ctx.Err() == nil; i++ {
			var outs []Out
			for p := range 4 {
				outs = append(outs, Out{Topic: in, Partition: p, Value: []byte(strconv.Itoa(i)), Headers: map[string]string{schemas.HeaderVersion: "1"}})
			}
			if _, err := feeder.Produce(t.Context(), outs); err != nil {
				return err
			}
			produced.Store(int64(i + 1))
		}
		return nil
	})
	member := func() (*running, *sync.Map) {
		c, _ := w.dial(t)
		var mine sync.Map
		s := copyTo("share", in, out)
		copyOne := s.Handle
		s.Handle = func(ctx context.Context, r Record) ([]Out, error) {
			mine.Store(r.Partition, true)
			return copyOne(ctx, r)
		}
		return run(t, func(ctx context.Context) error { return s.Run(ctx, c) }), &mine
	}
	size := func(m *sync.Map) (n int) {
		m.Range(func(any, any) bool { n++; return true })
		return n
	}
	first, mine1 := member()
	eventually(t, func() bool { return size(mine1) == 4 })
	second, mine2 := member()
	eventually(t, func() bool { return size(mine2) == 2 })
	if err := first.end(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return size(mine2) == 4 })
	third, mine3 := member()
	eventually(t, func() bool { return size(mine3) == 2 })
	if err := feed.end(); err != nil {
		t.Fatal(err)
	}
	n := produced.Load()
	eventually(t, func() bool {
		for p := range 4 {
			if at, _ := committed(t, feeder, "share", in, p); at != n {
				return false
			}
		}
		return ctx.Err() == nil
	})
	for _, r := range []*running{second, third} {
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
	}
	duplicates := 0
	for p := range 4 {
		duplicates += countedOn(t, p, values(t, feeder, out, p), int(n))
	}
	t.Logf("%d records, %d came twice", 4*n, duplicates)
	// A process that ends in order commits before. Only if the coordinator refuses the commit,
	// because the next generation has begun on a busy machine, the records in flight come again.
	if inHand := 32; duplicates > inHand {
		t.Errorf("%d records came twice though no process died, more than the %d in hand", duplicates, inHand)
	}
}

// letters are the dead letters of a topic.
func letters(t testing.TB, c *Client, topic string) []*schemas.DeadLetter {
	t.Helper()
	var ls []*schemas.DeadLetter
	for _, r := range readAll(t, c, schemas.TopicDeadLetter, 0) {
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
	w := newWorld(t, streamtest.Start(t))
	in, out := w.topic(t, "in", 1), w.topic(t, "out", 1)
	c, l := w.dial(t)
	headers := map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: "birds", schemas.HeaderURL: "http://a/"}
	var outs []Out
	for _, v := range []string{"0", "error", "2", "panic", "once", "large", "mute", "7"} {
		outs = append(outs, Out{Topic: in, Key: []byte("k" + v), Value: []byte(v), Headers: headers})
	}
	outs = append(outs, Out{Topic: in, Key: []byte("foreign"), Value: []byte("8")}, Out{Topic: in, Value: []byte("9"), Headers: headers})
	send(t, c, outs)
	var calls sync.Map
	s := copyTo("poison", in, out)
	copyOne := s.Handle
	s.Handle = func(ctx context.Context, r Record) ([]Out, error) {
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
			return []Out{{Topic: out, Value: make([]byte, 2<<20)}}, nil
		}
		return copyOne(ctx, r)
	}
	s.Poison = func(r Record, cause error) ([]Out, error) {
		if string(r.Value) == "mute" {
			return nil, errors.New("no receiver")
		}
		return []Out{{Topic: out, Value: fmt.Appendf(nil, "failed %s", r.Value), Headers: r.Headers}}, nil
	}
	r := run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	eventually(t, func() bool { at, _ := committed(t, c, "poison", in, 0); return at == int64(len(outs)) })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(values(t, c, out, 0), ", "), "0, failed error, 2, failed panic, once, failed large, 7, failed 8, 9"; got != want {
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
		t.Error("the log does not say so")
	}
}

func TestADeadLetterOfEightMebibytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in := w.broker.Topic("in")
	w.topics[in] = pipeline.Topic{Partitions: 1, Retention: time.Hour, MaxMessageBytes: 12 << 20}
	w.setup(t)
	c, _ := w.dial(t)
	big := bytes.Repeat([]byte("0123456789"), 1<<20)
	send(t, c, []Out{{Topic: in, Value: big, Headers: map[string]string{schemas.HeaderVersion: "1"}}})
	s := Stateless{Stage: "big", Inputs: []string{in}, Tries: 1, Handle: func(context.Context, Record) ([]Out, error) { return nil, errors.New("too big for me") }}
	r := run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	eventually(t, func() bool { at, _ := committed(t, c, "big", in, 0); return at == 1 })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	ls := letters(t, c, in)
	if len(ls) != 1 || len(ls[0].Value) != maxLetterValue || !strings.Contains(ls[0].Error, "cut") {
		t.Errorf("%d dead letters", len(ls))
	}
}

func TestUnavailableIsWaitedForInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in, out := w.topic(t, "in", 1), w.topic(t, "out", 1)
	c, l := w.dial(t)
	send(t, c, numbers(in, 0, 20))
	var there atomic.Bool
	s := copyTo("wait", in, out)
	copyOne := s.Handle
	s.Handle = func(ctx context.Context, r Record) ([]Out, error) {
		if string(r.Value) == "5" && !there.Load() {
			return nil, Unavailable(errors.New("no critic yet"))
		}
		return copyOne(ctx, r)
	}
	s.Poison = func(Record, error) ([]Out, error) { panic("nothing is poison here") }
	r := run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	eventually(t, func() bool { return strings.Contains(l.String(), "no critic yet") })
	if at := gauge(c.Metrics.waiting); at != 1 {
		t.Errorf("the metric waiting is %v", at)
	}
	if n := w.count(t, c, out); n != 5 {
		t.Errorf("%d records were sent, want the 5 before the one that waits", n)
	}
	there.Store(true)
	eventually(t, func() bool { return w.count(t, c, out) == 20 })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(values(t, c, out, 0), " "); got != "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19" {
		t.Error(got)
	}
	if at := gauge(c.Metrics.waiting); at != 0 {
		t.Errorf("the metric waiting is %v at the end", at)
	}
}

func TestBrokenStopsAndTheRecordStaysUncommitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in, out := w.topic(t, "in", 1), w.topic(t, "out", 1)
	c, _ := w.dial(t)
	ctx := within(t, 60*time.Second)
	for _, k := range []struct {
		name    string
		headers map[string]string
		handle  func(r Record) error
		want    string
	}{
		{"handle", map[string]string{schemas.HeaderVersion: "1"}, func(Record) error { return Broken(errors.New("impossible")) }, "impossible"},
		{"version", map[string]string{schemas.HeaderVersion: "99"}, func(Record) error { return nil }, `schema version "99"`},
	} {
		_, start, err := c.Offsets(ctx, in, 0)
		if err != nil {
			t.Fatal(err)
		}
		outs := []Out{{Topic: in, Value: []byte("good"), Headers: map[string]string{schemas.HeaderVersion: "1"}}, {Topic: in, Value: []byte("bad"), Headers: k.headers}}
		send(t, c, outs)
		s := copyTo(k.name, in, out)
		copyOne := s.Handle
		s.Handle = func(ctx context.Context, r Record) ([]Out, error) {
			if r.Offset == start+1 {
				if err := k.handle(r); err != nil {
					return nil, err
				}
			}
			return copyOne(ctx, r)
		}
		if start > 0 { // what the case before left is not this one's
			commitAt(t, c, k.name, in, 0, start)
		}
		err = run(t, func(ctx context.Context) error { return s.Run(ctx, c) }).wait(ctx)
		if !IsBroken(err) || !strings.Contains(err.Error(), k.want) || !strings.Contains(err.Error(), fmt.Sprintf("offset %d", start+1)) {
			t.Errorf("%s: %v", k.name, err)
		}
		if at, _ := committed(t, c, k.name, in, 0); at != start+1 {
			t.Errorf("%s: committed %d, want %d", k.name, at, start+1)
		}
	}
}

func TestDrainFinishesWhatWasBegun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in, out := w.topic(t, "in", 1), w.topic(t, "out", 1)
	c, l := w.dial(t)
	send(t, c, numbers(in, 0, 50))
	begun, gate := make(chan struct{}, 100), make(chan struct{})
	s := copyTo("drain", in, out)
	s.Workers = 2
	copyOne := s.Handle
	s.Handle = func(ctx context.Context, r Record) ([]Out, error) {
		begun <- struct{}{}
		<-gate
		return copyOne(ctx, r)
	}
	r := run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	<-begun
	<-begun
	r.stop()
	eventually(t, func() bool { return strings.Contains(l.String(), "draining") })
	select {
	case <-r.done:
		t.Fatal("it did not wait for what was begun")
	default:
	}
	close(gate)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	sent := values(t, c, out, 0)
	at, _ := committed(t, c, "drain", in, 0)
	if len(sent) != 2 || len(begun) != 0 || at != 2 {
		t.Errorf("%d begun, %d sent, committed %d", 2+len(begun), len(sent), at)
	}
}

func TestDrainHasAnEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in, out := w.topic(t, "in", 1), w.topic(t, "out", 1)
	cfg := w.broker.Config()
	cfg.SessionTimeout = time.Second
	c, _ := dial(t, cfg, w.topics)
	send(t, c, numbers(in, 0, 1))
	begun, never := make(chan struct{}), make(chan struct{})
	defer close(never)
	s := copyTo("hang", in, out)
	s.Handle = func(context.Context, Record) ([]Out, error) {
		close(begun)
		<-never
		return nil, nil
	}
	r := run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	<-begun
	r.stop()
	if err := r.wait(within(t, 60*time.Second)); err != nil {
		t.Fatal(err)
	}
	if at, _ := committed(t, c, "hang", in, 0); at != -1 {
		t.Errorf("committed %d though nothing was dealt with", at)
	}
}

func TestLagIsWhatWaitsBeforeAStage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in, other, out := w.topic(t, "in", 2), w.topic(t, "other", 1), w.topic(t, "out", 2)
	c, _ := w.dial(t)
	ctx := within(t, 60*time.Second)
	lag := func() int64 {
		n, err := c.Lag(ctx, "lagging", in, other)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	send(t, c, append(numbers(in, -1, 100), numbers(other, 0, 20)...))
	if n := lag(); n != 120 {
		t.Errorf("lag %d before the first commit, want 120", n)
	}
	streamtest.DeleteBelow(t, c.cfg.Brokers[0], other, 0, 5)
	if n := lag(); n != 115 {
		t.Errorf("lag %d after 5 records were deleted, want 115", n)
	}
	ends, err := c.Ends(ctx, in, other)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, func(ctx context.Context) error { return copyTo("lagging", in, out).Run(ctx, c) })
	eventually(t, func() bool { return lag() == 15 })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	send(t, c, numbers(in, -1, 30))
	if n, err := c.LagTo(ctx, "lagging", ends); err != nil || n != 15 || lag() != 45 {
		t.Errorf("lag %d to the ends of before (%v), %d to those of now, want 15 and 45", n, err, lag())
	}
}

func TestApplyIsThePathWithoutABroker(t *testing.T) {
	s := Stateless{Stage: "unit", Tries: 2, Handle: func(_ context.Context, r Record) ([]Out, error) {
		switch string(r.Value) {
		case "bad":
			return nil, errors.New("bad")
		case "wait":
			return nil, Unavailable(errors.New("later"))
		}
		return []Out{{Topic: "out", Value: r.Value}}, nil
	}, Poison: func(r Record, cause error) ([]Out, error) {
		return []Out{{Topic: "out", Value: []byte("failed: " + cause.Error())}}, nil
	}}
	record := func(v string) Record {
		return Record{Topic: "in", Partition: 3, Offset: 7, Value: []byte(v), Headers: map[string]string{schemas.HeaderVersion: "1"}}
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
	if _, err = s.Apply(t.Context(), record("wait")); !IsUnavailable(err) {
		t.Errorf("wait: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = s.Apply(over, record("bad")); classOf(err) != ended {
		t.Errorf("over: %v", err)
	}
}

// A step that does not return shows; a broker that is away does not.
func TestHealthOfAStatelessStage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in, out := w.topic(t, "in", 1), w.topic(t, "out", 1)
	reg := prometheus.NewPedanticRegistry()
	c, err := Dial(w.broker.Config(), w.topics, discard, reg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var n network
	n.through(c)
	send(t, c, numbers(in, 0, 3))
	series := func(name string) float64 { return gathered(t, reg)["forager_stage_"+name] }
	gate := make(chan struct{})
	s := copyTo("health", in, out)
	copyOne := s.Handle
	s.Handle = func(ctx context.Context, r Record) ([]Out, error) {
		<-gate
		return copyOne(ctx, r)
	}
	if series("ready") != 0 {
		t.Error("ready before the group is joined")
	}
	r := run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	eventually(t, func() bool { return series("ready") == 1 && series("busy_seconds") > .5 })
	n.set(true)
	close(gate)
	eventually(t, func() bool { return series("waiting") > 0 && series("busy_seconds") == 0 })
	n.set(false)
	eventually(t, func() bool { at, _ := committed(t, c, "health", in, 0); return at == 3 && series("ready") == 1 })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if series("ready") != 0 {
		t.Error("ready after the stage has left its group")
	}
}

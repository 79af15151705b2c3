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

	"github.com/twmb/franz-go/pkg/kmsg"

	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/runner"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// held is an unordered stage whose records a test completes at any time.
type held struct {
	mu    sync.Mutex
	begun []string
	done  map[string]func([]stream.Out, error)
	ctx   context.Context
}

func (h *held) handle(ctx context.Context, r stream.Record, done func([]stream.Out, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done == nil {
		h.done = map[string]func([]stream.Out, error){}
	}
	h.ctx = ctx
	h.begun = append(h.begun, string(r.Value))
	h.done[string(r.Value)] = done
}

func (h *held) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.begun)
}

func (h *held) answer(t testing.TB, v string, outs []stream.Out, err error) {
	t.Helper()
	streamtest.Eventually(t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.done[v] != nil
	})
	h.mu.Lock()
	done := h.done[v]
	delete(h.done, v)
	h.mu.Unlock()
	done(outs, err)
}

func reply(topic, v string) []stream.Out {
	return []stream.Out{{Topic: topic, Value: []byte(v), Headers: map[string]string{schemas.HeaderVersion: "1"}}}
}

func TestUnorderedSendsAtOnceAndCommitsTheLowestUnderWay(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	c, _ := w.Dial(t)
	streamtest.Send(t, c, streamtest.Numbers(in, 0, 6))
	var h held
	var assigned, revoked atomic.Int64
	assigned.Store(-1)
	u := runner.Unordered{Stage: "unordered", Input: in, Handle: h.handle,
		OnAssign: func(_ context.Context, partition int, from int64) error { assigned.Store(from); return nil },
		OnRevoke: func(int) { revoked.Add(1) },
	}
	r := streamtest.Run(t, func(ctx context.Context) error { return u.Run(ctx, c) })
	streamtest.Eventually(t, func() bool { return h.count() == 6 })
	for _, v := range []string{"5", "1", "0"} {
		h.answer(t, v, reply(out, v), nil)
		streamtest.Eventually(t, func() bool { vs := streamtest.Values(t, c, out, 0); return len(vs) > 0 && vs[len(vs)-1] == v })
	}
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "unordered", in, 0); return at == 2 })
	h.answer(t, "3", nil, nil) // nothing to send
	r.Stop()
	<-h.ctx.Done() // draining: what has not really begun is called off
	h.answer(t, "4", nil, h.ctx.Err())
	h.answer(t, "2", reply(out, "2"), nil)
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if at, _ := w.Committed(t, "unordered", in, 0); at != 4 {
		t.Errorf("committed %d, want 4: 5 is answered, 4 is not", at)
	}
	if assigned.Load() != 0 || revoked.Load() != 1 {
		t.Errorf("assigned from %d, revoked %d times", assigned.Load(), revoked.Load())
	}
	var again held
	u.Handle = again.handle
	r = streamtest.Run(t, func(ctx context.Context) error { return u.Run(ctx, c) })
	again.answer(t, "4", reply(out, "4"), nil)
	again.answer(t, "5", nil, nil)
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "unordered", in, 0); return at == 6 })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if assigned.Load() != 4 || fmt.Sprint(again.begun) != "[4 5]" {
		t.Errorf("the second run began at %d with %v", assigned.Load(), again.begun)
	}
	if got := fmt.Sprint(streamtest.Values(t, c, out, 0)); got != "[5 1 0 2 4]" {
		t.Errorf("sent %s", got)
	}
}

// TestUnorderedLingers: outputs are sent together while other records are in flight, and at once if
// there is none.
func TestUnorderedLingers(t *testing.T) {
	t.Parallel()
	broker := streamtest.Embedded(t)
	w := streamtest.NewWorld(broker)
	in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	c, _ := w.Dial(t)
	if _, err := c.Produce(streamtest.Within(t, 60*time.Second), streamtest.Numbers(in, 0, 9)); err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	broker.Fake().ControlKey(kmsg.Produce.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		broker.Fake().KeepControl()
		requests.Add(1)
		return nil, nil, false
	})
	var h held
	const linger = 2 * time.Second
	r := streamtest.Run(t, func(ctx context.Context) error {
		return runner.Unordered{Stage: "lingers", Input: in, Handle: h.handle, Linger: linger}.Run(ctx, c)
	})
	streamtest.Eventually(t, func() bool { return h.count() == 9 })
	for v := range 8 {
		h.answer(t, strconv.Itoa(v), reply(out, strconv.Itoa(v)), nil)
	}
	streamtest.Eventually(t, func() bool { return len(streamtest.Values(t, c, out, 0)) == 8 })
	// The timer begins with the first of them; the rest came within it, however busy the machine,
	// or in one batch more.
	if n := requests.Load(); n > 2 {
		t.Errorf("8 answers took %d requests", n)
	}
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "lingers", in, 0); return at == 8 })
	h.answer(t, "8", reply(out, "8"), nil)
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if got := streamtest.Values(t, c, out, 0); len(got) != 9 || got[8] != "8" {
		t.Errorf("sent %v", got)
	}
}

func TestUnorderedErrors(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	c, l := w.Dial(t)
	ctx := streamtest.Within(t, 60*time.Second)
	outs := streamtest.Numbers(in, 0, 5)
	outs = append(outs, stream.Out{Topic: in, Value: []byte("foreign")})
	outs = append(outs, stream.Out{Topic: in, Value: []byte("owner"), Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderOwner: "nobody"}})
	streamtest.Send(t, c, outs)
	var mu sync.Mutex
	calls := map[string]int{}
	u := runner.Unordered{Stage: "errors", Input: in, Tries: 2,
		Handle: func(_ context.Context, r stream.Record, done func([]stream.Out, error)) {
			v := string(r.Value)
			mu.Lock()
			calls[v]++
			n := calls[v]
			mu.Unlock()
			switch {
			case v == "1":
				go done(nil, errors.New("no good"))
			case v == "2":
				panic("out of luck")
			case v == "3" && n < 4:
				done(nil, stream.Unavailable(errors.New("S3 is away")))
			default:
				done(reply(out, v), nil)
				done(reply(out, "twice"), nil) // counts for nothing
			}
		},
		Poison: func(r stream.Record, cause error) ([]stream.Out, error) {
			return reply(out, "failed "+string(r.Value)), nil
		},
	}
	r := streamtest.Run(t, func(ctx context.Context) error { return u.Run(ctx, c) })
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "errors", in, 0); return at == 7 })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	vs := streamtest.Values(t, c, out, 0)
	slices.Sort(vs)
	if got := strings.Join(vs, ", "); got != "0, 3, 4, failed 1, failed 2, failed foreign, failed owner" {
		t.Errorf("sent %s", got)
	}
	if calls["1"] != 2 || calls["2"] != 2 || calls["3"] != 4 || calls["foreign"] != 0 || calls["owner"] != 0 {
		t.Errorf("calls %v", calls)
	}
	var at []int64
	for _, d := range letters(t, c, in) {
		at = append(at, d.Offset)
	}
	slices.Sort(at)
	if fmt.Sprint(at) != "[1 2 5 6]" {
		t.Errorf("dead letters of offsets %v", at)
	}
	if !strings.Contains(l.String(), "poison") {
		t.Error("the log does not name poison")
	}

	start := len(outs)
	streamtest.Send(t, c, streamtest.Numbers(in, 0, 2))
	u.Handle = func(_ context.Context, r stream.Record, done func([]stream.Out, error)) {
		if string(r.Value) == "1" {
			done(nil, stream.Broken(errors.New("impossible")))
			return
		}
		done(nil, nil)
	}
	err := streamtest.Run(t, func(ctx context.Context) error { return u.Run(ctx, c) }).Wait(ctx)
	if !stream.IsBroken(err) || !strings.Contains(err.Error(), fmt.Sprintf("offset %d: impossible", start+1)) {
		t.Errorf("broken: %v", err)
	}
	if at, _ := w.Committed(t, "errors", in, 0); at != int64(start+1) {
		t.Errorf("committed %d, want %d", at, start+1)
	}
}

func TestUnorderedBoundsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in := w.Topic(t, "in", 1)
	c, _ := w.Dial(t)
	const n, most = 500, 7
	streamtest.Send(t, c, streamtest.Numbers(in, 0, n))
	var now, worst atomic.Int64
	jobs := make(chan func([]stream.Out, error), n)
	u := runner.Unordered{Stage: "bound", Input: in, MaxInFlight: most, Handle: func(_ context.Context, _ stream.Record, done func([]stream.Out, error)) {
		worst.Store(max(worst.Load(), now.Add(1)))
		jobs <- done
	}}
	r := streamtest.Run(t, func(ctx context.Context) error { return u.Run(ctx, c) })
	// The first record is completed last: the others must pass it, within the window.
	streamtest.Eventually(t, func() bool { return len(jobs) == most })
	first := <-jobs
	for range most*runner.WindowPerFlight - 1 {
		done := <-jobs
		now.Add(-1)
		done(nil, nil)
	}
	if at, _ := w.Committed(t, "bound", in, 0); at > 0 {
		t.Errorf("committed %d before the first record is answered", at)
	}
	now.Add(-1)
	first(nil, nil)
	for range n - most*runner.WindowPerFlight {
		done := <-jobs
		now.Add(-1)
		done(nil, nil)
	}
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "bound", in, 0); return at == n })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if worst.Load() > most {
		t.Errorf("%d records were in flight, want at most %d", worst.Load(), most)
	}
}

// The state of a fence as of the committed offset is part of the commit, no more and no less.
func TestFenceOfAnUnorderedStageSurvivesRestarts(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in := w.Topic(t, "in", 1)
	c, _ := w.Dial(t)
	put := func(r stream.Record, v string) {
		streamtest.Send(t, c, []stream.Out{{Topic: in, Value: []byte(v), Headers: r.Headers}})
	}
	marker := func(owner uint32, epoch uint64) stream.Record {
		return stream.Record{Headers: stream.OwnerHeaders(owner, epoch)}
	}
	put(decision(1, 3), "a")                                      // 0
	put(stream.Record{Headers: stream.OwnerHeaders(1, 0)}, "own") // 1 a claim
	put(decision(1, 3), "b")                                      // epoch 2 before the marker: not void
	put(marker(1, 2), "mark")                                     // 3
	put(decision(1, 2), "c")                                      // 4
	put(marker(1, 5), "mark")                                     // 5
	put(decision(1, 3), "void")                                   // 6
	put(decision(1, 5), "d")                                      // 7
	put(decision(2, 1), "e")                                      // 8
	var h held
	u := runner.Unordered{Stage: "fence", Input: in, Handle: h.handle}
	r := streamtest.Run(t, func(ctx context.Context) error { return u.Run(ctx, c) })
	streamtest.Eventually(t, func() bool { return h.count() == 5 })
	for _, v := range []string{"a", "b", "d"} {
		h.answer(t, v, nil, nil)
	}
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "fence", in, 0); return at == 4 })
	if _, m := w.Committed(t, "fence", in, 0); m != "fence1 1=2" {
		t.Errorf("metadata at offset 4: %q; the marker at 5 is not behind it", m)
	}
	r.Stop()
	<-h.ctx.Done()
	h.answer(t, "c", nil, nil)
	h.answer(t, "e", nil, runner.CalledOff)
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if at, m := w.Committed(t, "fence", in, 0); at != 8 || m != "fence1 1=5" {
		t.Errorf("committed %d with %q, want 8", at, m)
	}
	put(decision(1, 3), "void") // 9
	put(decision(1, 6), "f")    // 10
	var again held
	u.Handle = again.handle
	r = streamtest.Run(t, func(ctx context.Context) error { return u.Run(ctx, c) })
	again.answer(t, "e", nil, nil)
	again.answer(t, "f", nil, nil)
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "fence", in, 0); return at == 11 })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(h.begun, again.begun); got != "[a b c d e] [e f]" {
		t.Errorf("handled %s", got)
	}
}

func init() {
	streamtest.Children["unordered"] = func() {
		in, out := os.Getenv("COPY_IN"), os.Getenv("COPY_OUT")
		topics := map[string]pipeline.Topic{in: {Partitions: 1, MaxMessageBytes: 1 << 20}, out: {Partitions: 1, MaxMessageBytes: 1 << 20}}
		c, err := kafka.Dial(pipeline.Kafka{Brokers: []string{os.Getenv("COPY_BROKER")}, Group: os.Getenv("COPY_GROUP"), SessionTimeout: time.Second}, topics, streamtest.Discard, nil)
		if err != nil {
			panic(err)
		}
		defer c.Close()
		if err := (runner.Unordered{Stage: "crash", Input: in, MaxInFlight: 8, Handle: func(_ context.Context, r stream.Record, done func([]stream.Out, error)) {
			done(reply(out, string(r.Value)), nil)
		}}).Run(context.Background(), c); err != nil {
			panic(err)
		}
	}
}

func TestUnorderedKilledLosesNothing(t *testing.T) {
	t.Parallel()
	b := streamtest.Start(t)
	w := streamtest.NewWorld(b)
	in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	c, _ := w.Dial(t)
	const n = 300
	streamtest.Send(t, c, streamtest.Numbers(in, 0, n))
	if _, killed := streamtest.Child(t, "unordered", "COPY_IN="+in, "COPY_OUT="+out, "COPY_BROKER="+b.Addr, "COPY_GROUP="+b.Config().Group, stream.FailpointVariable+"=acked-before-commit:100"); !killed {
		t.Fatal("the failpoint did not kill the child")
	}
	r := streamtest.Run(t, func(ctx context.Context) error {
		return runner.Unordered{Stage: "crash", Input: in, Handle: func(_ context.Context, r stream.Record, done func([]stream.Out, error)) {
			done(reply(out, string(r.Value)), nil)
		}}.Run(ctx, c)
	})
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "crash", in, 0); return at == n })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, v := range streamtest.Values(t, c, out, 0) {
		seen[v]++
	}
	twice := 0
	for i := range n {
		switch seen[strconv.Itoa(i)] {
		case 0:
			t.Errorf("%d was lost", i)
		case 1:
		default:
			twice++
		}
	}
	if twice == 0 {
		t.Error("no record came twice")
	}
}

func decision(owner uint32, epoch uint64) stream.Record {
	h := stream.OwnerHeaders(owner, epoch)
	h[schemas.HeaderID] = "00112233445566778899aabbccddeeff"
	return stream.Record{Headers: h}
}

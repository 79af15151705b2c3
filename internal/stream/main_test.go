package stream

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"

	"forager/internal/platform/pipeline"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// children are programs that tests run as processes of their own, to kill them: the test binary
// executes itself with STREAM_CHILD naming one. Tests add theirs in init.
var children = map[string]func(){}

func TestMain(m *testing.M) {
	if name := os.Getenv("STREAM_CHILD"); name != "" {
		children[name]()
		return
	}
	os.Exit(m.Run())
}

// child runs a program of children with further environment variables and waits for its end. It
// returns its output; killed: SIGKILL must end it, otherwise it must exit with 0.
func child(t *testing.T, name string, env ...string) (output string, killed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), "STREAM_CHILD="+name), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	err := cmd.Run()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return out.String(), s.Signal() == syscall.SIGKILL
	}
	if err != nil {
		t.Fatalf("child %s: %v", name, err)
	}
	return out.String(), false
}

// within is a context that ends a test which hangs.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// logs keeps a test's log, to look at and to print when the test fails.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// dial makes a client that ends with the test.
func dial(t testing.TB, cfg pipeline.Kafka, topics map[string]pipeline.Topic) (*Client, *logs) {
	t.Helper()
	l := new(logs)
	c, err := Dial(cfg, topics, slog.New(slog.NewTextHandler(l, nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if t.Failed() {
			t.Logf("log:\n%s", l)
		}
	})
	return c, l
}

// topic makes a topic of the test's own, and dead.letter, and returns a client with their metadata.
func (w *world) topic(t testing.TB, name string, partitions int) string {
	t.Helper()
	name = w.broker.Topic(name)
	w.topics[name] = pipeline.Topic{Partitions: partitions, Retention: time.Hour, MaxMessageBytes: 1 << 20}
	w.setup(t)
	return name
}

// world is a broker with topics.
type world struct {
	broker *streamtest.Broker
	topics map[string]pipeline.Topic
}

func newWorld(t testing.TB, b *streamtest.Broker) *world {
	return &world{broker: b, topics: map[string]pipeline.Topic{
		schemas.TopicDeadLetter: {Partitions: 1, Retention: 720 * time.Hour, MaxMessageBytes: 8 << 20},
	}}
}

func (w *world) setup(t testing.TB) {
	t.Helper()
	c, _ := w.dial(t)
	defer c.Close()
	states, err := c.Setup(within(t, 60*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states {
		if !s.OK() {
			t.Fatal(s)
		}
	}
}

func (w *world) dial(t testing.TB) (*Client, *logs) { return dial(t, w.broker.Config(), w.topics) }

// numbers are outs with the values 0 … n-1 as text, key = value, for partition p (-1: by key).
func numbers(topic string, p, n int) []Out {
	outs := make([]Out, n)
	for i := range outs {
		text := fmt.Appendf(nil, "%d", i)
		outs[i] = Out{Topic: topic, Partition: p, Key: text, Value: text, Headers: map[string]string{schemas.HeaderVersion: "1"}}
	}
	return outs
}

// send produces messages and returns once they are acknowledged.
func send(t testing.TB, c *Client, outs []Out) {
	t.Helper()
	if _, err := c.Produce(within(t, 60*time.Second), outs); err != nil {
		t.Fatal(err)
	}
}

// countedOn fails unless the values are the numbers 0 … n-1 in order, each possibly repeated later,
// and returns how many came again.
func countedOn(t testing.TB, partition int, values []string, n int) (again int) {
	t.Helper()
	next := 0
	for _, v := range values {
		switch i, err := strconv.Atoi(v); {
		case err != nil || i > next:
			t.Fatalf("partition %d: %q comes before %d", partition, v, next)
		case i == next:
			next++
		default:
			again++
		}
	}
	if next != n {
		t.Errorf("partition %d: %d records, want %d", partition, next, n)
	}
	return again
}

// readAll reads a partition from its first record to its end.
func readAll(t testing.TB, c *Client, topic string, partition int) []Record {
	t.Helper()
	ctx := within(t, 60*time.Second)
	first, end, err := c.Offsets(ctx, topic, partition)
	if err != nil {
		t.Fatal(err)
	}
	var rs []Record
	if err := c.Read(ctx, topic, partition, first, end, func(r Record) error {
		rs = append(rs, r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return rs
}

// eventually waits until ok holds.
func eventually(t testing.TB, ok func() bool) {
	t.Helper()
	ctx := within(t, 60*time.Second)
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatal("it did not happen within a minute")
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// running is a Run method in progress.
type running struct {
	stop func()
	done chan struct{}
	err  error
}

// run starts f; the test ends it.
func run(t testing.TB, f func(context.Context) error) *running {
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = f(ctx)
	}()
	t.Cleanup(func() { cancel(); <-r.done })
	return r
}

// end stops it, and returns its error.
func (r *running) end() error {
	r.stop()
	<-r.done
	return r.err
}

// committed is the offset that a group committed for a partition, and its metadata; -1 = none.
func committed(t testing.TB, c *Client, stage, topic string, partition int) (int64, string) {
	t.Helper()
	all, err := c.stageCommits(within(t, 60*time.Second), stage, topic)
	if err != nil {
		t.Fatal(err)
	}
	return all[partition].CommittedOffset, all[partition].Metadata
}

// roundTripper responds to fetches with the result of a function of the requested offset.
type roundTripper func(from int64) []kafkago.Record

func (f roundTripper) RoundTrip(_ context.Context, _ net.Addr, req kafkago.Request) (kafkago.Response, error) {
	r, ok := req.(*fetch.Request)
	if !ok {
		return nil, fmt.Errorf("%T is not answered", req)
	}
	var records kafkago.RecordReader
	if rs := f(r.Topics[0].Partitions[0].FetchOffset); len(rs) > 0 {
		records = kafkago.NewRecordReader(rs...)
	}
	return &fetch.Response{Topics: []fetch.ResponseTopic{{Topic: r.Topics[0].Topic, Partitions: []fetch.ResponsePartition{{
		HighWatermark: 30, RecordSet: protocol.RecordSet{Records: records},
	}}}}}, nil
}

// wait waits for its own end.
func (r *running) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return fmt.Errorf("still running: %w", ctx.Err())
	}
}

// commitAt sets a group's offset while it has no member.
func commitAt(t testing.TB, c *Client, stage, topic string, partition int, offset int64) {
	t.Helper()
	ctx := within(t, 60*time.Second)
	err := c.retry(ctx, "commit", func(ctx context.Context) error {
		r, err := c.kafka.OffsetCommit(ctx, &kafkago.OffsetCommitRequest{
			GroupID: c.groupName(stage), GenerationID: -1,
			Topics: map[string][]kafkago.OffsetCommit{topic: {{Partition: partition, Offset: offset}}},
		})
		if err != nil {
			return err
		}
		return r.Topics[topic][0].Error
	})
	if err != nil {
		t.Fatal(err)
	}
}

var discard = slog.New(slog.DiscardHandler)

func gauge(g prometheus.Metric) float64 {
	var m dto.Metric
	if err := g.Write(&m); err != nil {
		panic(err)
	}
	return m.GetGauge().GetValue()
}

func count(c prometheus.Metric) float64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		panic(err)
	}
	return m.GetCounter().GetValue()
}

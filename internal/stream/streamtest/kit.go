package streamtest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/stream"
	"forager/internal/stream/kafka"

	dto "github.com/prometheus/client_model/go"

	kafkago "github.com/segmentio/kafka-go"

	"forager/internal/platform/pipeline"
	"forager/schemas"
)

// Children are programs that tests run as processes of their own, to kill them: the test binary
// executes itself with STREAM_CHILD naming one. Tests add theirs in init.
var Children = map[string]func(){}

// Main runs the tests of a package that has Children.
func Main(m *testing.M) {
	if name := os.Getenv("STREAM_CHILD"); name != "" {
		Children[name]()
		return
	}
	os.Exit(m.Run())
}

// Child runs a program of children with further environment variables and waits for its end. It
// returns its output; killed: SIGKILL must end it, otherwise it must exit with 0.
func Child(t *testing.T, name string, env ...string) (output string, killed bool) {
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

// Within is a context that ends a test which hangs.
func Within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Logs keeps a test's log, to look at and to print when the test fails.
type Logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *Logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Dial makes a client that ends with the test.
func Dial(t testing.TB, cfg pipeline.Kafka, topics map[string]pipeline.Topic) (*kafka.Client, *Logs) {
	t.Helper()
	l := new(Logs)
	c, err := kafka.Dial(cfg, topics, slog.New(slog.NewTextHandler(l, nil)), nil)
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

// Topic makes a topic of the test's own, and dead.letter, and returns a client with their metadata.
func (w *World) Topic(t testing.TB, name string, partitions int) string {
	t.Helper()
	name = w.Broker.Topic(name)
	w.Topics[name] = pipeline.Topic{Partitions: partitions, Retention: time.Hour, MaxMessageBytes: 1 << 20}
	w.Setup(t)
	return name
}

// World is a broker with topics.
type World struct {
	Broker *Broker
	Topics map[string]pipeline.Topic
}

// NewWorld returns a broker with the topic dead.letter.
func NewWorld(b *Broker) *World {
	return &World{Broker: b, Topics: map[string]pipeline.Topic{
		schemas.TopicDeadLetter: {Partitions: 1, Retention: 720 * time.Hour, MaxMessageBytes: 8 << 20},
	}}
}

// Setup makes the topics that do not exist.
func (w *World) Setup(t testing.TB) {
	t.Helper()
	c, _ := w.Dial(t)
	defer c.Close()
	states, err := c.Setup(Within(t, 60*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states {
		if !s.OK() {
			t.Fatal(s)
		}
	}
}

// Dial makes a client that ends with the test.
func (w *World) Dial(t testing.TB) (*kafka.Client, *Logs) {
	return Dial(t, w.Broker.Config(), w.Topics)
}

// Numbers are outs with the values 0 … n-1 as text, key = value, for partition p (-1: by key).
func Numbers(topic string, p, n int) []stream.Out {
	outs := make([]stream.Out, n)
	for i := range outs {
		text := fmt.Appendf(nil, "%d", i)
		outs[i] = stream.Out{Topic: topic, Partition: p, Key: text, Value: text, Headers: map[string]string{schemas.HeaderVersion: "1"}}
	}
	return outs
}

// Send produces messages and returns once they are acknowledged.
func Send(t testing.TB, c *kafka.Client, outs []stream.Out) {
	t.Helper()
	if _, err := c.Produce(Within(t, 60*time.Second), outs); err != nil {
		t.Fatal(err)
	}
}

// CountedOn fails unless the values are the numbers 0 … n-1 in order, each possibly repeated later,
// and returns how many came again.
func CountedOn(t testing.TB, partition int, values []string, n int) (again int) {
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

// ReadAll reads a partition from its first record to its end.
func ReadAll(t testing.TB, c *kafka.Client, topic string, partition int) []stream.Record {
	t.Helper()
	ctx := Within(t, 60*time.Second)
	first, end, err := c.Offsets(ctx, topic, partition)
	if err != nil {
		t.Fatal(err)
	}
	var rs []stream.Record
	if err := c.Read(ctx, topic, partition, first, end, func(r stream.Record) error {
		rs = append(rs, r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return rs
}

// Eventually waits until ok holds.
func Eventually(t testing.TB, ok func() bool) {
	t.Helper()
	ctx := Within(t, 2*time.Minute)
	for began := time.Now(); !ok(); began = time.Now() {
		select {
		case <-ctx.Done():
			t.Fatal("it did not happen within two minutes")
		case <-time.After(max(2*time.Millisecond, time.Since(began))): // what is waited for needs the processors, too
		}
	}
}

// Running is a Run method in progress.
type Running struct {
	Stop func()
	Done chan struct{}
	Err  error
}

// Run starts f; the test ends it.
func Run(t testing.TB, f func(context.Context) error) *Running {
	ctx, cancel := context.WithCancel(t.Context())
	r := &Running{Stop: cancel, Done: make(chan struct{})}
	go func() {
		defer close(r.Done)
		r.Err = f(ctx)
	}()
	t.Cleanup(func() { cancel(); <-r.Done })
	return r
}

// End stops it, and returns its error.
func (r *Running) End() error {
	r.Stop()
	<-r.Done
	return r.Err
}

// Wait waits for its own end.
func (r *Running) Wait(ctx context.Context) error {
	select {
	case <-r.Done:
		return r.Err
	case <-ctx.Done():
		return fmt.Errorf("still running: %w", ctx.Err())
	}
}

// Discard is a log that is not kept.
var Discard = slog.New(slog.DiscardHandler)

// Gauge returns the value of a gauge.
func Gauge(g prometheus.Metric) float64 {
	var m dto.Metric
	if err := g.Write(&m); err != nil {
		panic(err)
	}
	return m.GetGauge().GetValue()
}

// Count returns the value of a counter.
func Count(c prometheus.Metric) float64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		panic(err)
	}
	return m.GetCounter().GetValue()
}

// Values reads a partition's values.
func Values(t testing.TB, c *kafka.Client, topic string, partition int) []string {
	t.Helper()
	var vs []string
	for _, r := range ReadAll(t, c, topic, partition) {
		vs = append(vs, string(r.Value))
	}
	return vs
}

// Count is the number of records of a topic.
func (w *World) Count(t testing.TB, c *kafka.Client, topic string) (n int64) {
	t.Helper()
	ctx := Within(t, 60*time.Second)
	for p := range w.Topics[topic].Partitions {
		first, end, err := c.Offsets(ctx, topic, p)
		if err != nil {
			t.Fatal(err)
		}
		n += end - first
	}
	return n
}

// Compacted makes a compacted topic of the test's own.
func (w *World) Compacted(t testing.TB, name string) string {
	t.Helper()
	name = w.Broker.Topic(name)
	w.Topics[name] = pipeline.Topic{Partitions: 1, Compact: true, MaxMessageBytes: 1 << 20}
	w.Setup(t)
	return name
}

// Gathered are all series by name and label values; of a histogram, its count.
func Gathered(t testing.TB, reg prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			series[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return series
}

// Committed is the offset that the group of a stage committed for a partition, and its metadata; -1 = none.
func (w *World) Committed(t testing.TB, stage, topic string, partition int) (offset int64, metadata string) {
	t.Helper()
	w.group(t, func(ctx context.Context, c *kafkago.Client) error {
		r, err := c.OffsetFetch(ctx, &kafkago.OffsetFetchRequest{GroupID: w.groupOf(stage), Topics: map[string][]int{topic: {partition}}})
		if err != nil {
			return err
		}
		offset, metadata = -1, ""
		for _, p := range r.Topics[topic] {
			offset, metadata, err = p.CommittedOffset, p.Metadata, p.Error
		}
		return err
	})
	return offset, metadata
}

// CommitAt sets the offset of a stage's group while it has no member.
func (w *World) CommitAt(t testing.TB, stage, topic string, partition int, offset int64) {
	t.Helper()
	w.group(t, func(ctx context.Context, c *kafkago.Client) error {
		r, err := c.OffsetCommit(ctx, &kafkago.OffsetCommitRequest{
			GroupID: w.groupOf(stage), GenerationID: -1,
			Topics: map[string][]kafkago.OffsetCommit{topic: {{Partition: partition, Offset: offset}}},
		})
		if err != nil {
			return err
		}
		return r.Topics[topic][0].Error
	})
}

func (w *World) groupOf(stage string) string { return w.Broker.Config().Group + "." + stage }

// group calls f with a client until it succeeds.
func (w *World) group(t testing.TB, f func(context.Context, *kafkago.Client) error) {
	t.Helper()
	transport := &kafkago.Transport{}
	defer transport.CloseIdleConnections()
	c := &kafkago.Client{Addr: kafkago.TCP(w.Broker.Addr), Timeout: 10 * time.Second, Transport: transport}
	Eventually(t, func() bool { return f(t.Context(), c) == nil })
}

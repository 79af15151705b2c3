package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"forager/internal/stream"
	"forager/internal/stream/kafka"

	"github.com/prometheus/client_golang/prometheus"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// Network is a client's way to the broker, which a test can cut.
type Network struct {
	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
	dials int
}

// Through makes the client use the network.
func (n *Network) Through(c *kafka.Client) {
	n.conns = map[net.Conn]bool{}
	c.SetDial(n.dial)
}

func (n *Network) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	n.mu.Lock()
	n.dials++
	cut := n.cut
	n.mu.Unlock()
	if cut {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("the network is cut")}
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut { // meanwhile
		conn.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("the network is cut")}
	}
	n.conns[conn] = true
	return conn, nil
}

func (n *Network) Set(cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = cut
	if cut {
		for conn := range n.conns {
			conn.Close()
		}
		clear(n.conns)
	}
}

func (n *Network) dialed() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials
}

// checkCopies fails unless each partition of out holds 0 … n-1 in order, duplicates of what
// came before allowed, and everything is committed.
func checkCopies(t *testing.T, w *streamtest.World, c *kafka.Client, stage, in, out string, partitions, n int) {
	t.Helper()
	for p := range partitions {
		next := 0
		for _, v := range streamtest.Values(t, c, out, p) {
			i, err := strconv.Atoi(v)
			if err != nil || i > next {
				t.Fatalf("partition %d: %q comes before %d", p, v, next)
			}
			if i == next {
				next++
			}
		}
		if next != n {
			t.Errorf("partition %d: %d records, want %d", p, next, n)
		}
		if at, _ := w.Committed(t, stage, in, p); at != int64(n) {
			t.Errorf("partition %d: committed %d, want %d", p, at, n)
		}
	}
}

func TestBrokerAwayInTheMiddle(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 2), w.Topic(t, "out", 2)
	feeder, _ := w.Dial(t)
	c, l := w.Dial(t)
	var n Network
	n.Through(c)
	const half = 300
	feed := func(from, to int) {
		for p := range 2 {
			streamtest.Send(t, feeder, streamtest.Numbers(in, p, to)[from:])
		}
	}
	feed(0, half)
	r := streamtest.Run(t, func(ctx context.Context) error { return streamtest.CopyTo("away", in, out).Run(ctx, c) })
	streamtest.Eventually(t, func() bool { return w.Count(t, feeder, out) > 0 })
	n.Set(true)
	feed(half, 2*half)
	streamtest.Eventually(t, func() bool { return strings.Contains(l.String(), "level=WARN msg=waiting") })
	if streamtest.Gauge(c.Metrics.Waiting) < 1 {
		t.Error("the metric waiting does not show it")
	}
	before := n.dialed()
	streamtest.Eventually(t, func() bool { return n.dialed() > before+3 }) // it keeps trying
	n.Set(false)
	streamtest.Eventually(t, func() bool {
		for p := range 2 {
			if at, _ := w.Committed(t, "away", in, p); at != 2*half {
				return false
			}
		}
		return true
	})
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	checkCopies(t, w, feeder, "away", in, out, 2, 2*half)
	if at := streamtest.Gauge(c.Metrics.Waiting); at != 0 {
		t.Errorf("the metric waiting is %v at the end", at)
	}
}

func TestBrokerAwayAtStartAndStoppedInTheMiddle(t *testing.T) {
	t.Parallel()
	b := streamtest.Embedded(t)
	w := streamtest.NewWorld(b)
	in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	feeder, _ := w.Dial(t)
	streamtest.Send(t, feeder, streamtest.Numbers(in, 0, 100))
	b.Stop()
	c, l := w.Dial(t)
	r := streamtest.Run(t, func(ctx context.Context) error { return streamtest.CopyTo("late", in, out).Run(ctx, c) })
	streamtest.Eventually(t, func() bool { return strings.Contains(l.String(), "level=WARN msg=waiting") })
	b.Restart(t)
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "late", in, 0); return at == 100 })
	b.Stop()
	wrote := make(chan error, 1)
	go func() { // waits for the broker, as a stage does
		_, err := feeder.Produce(streamtest.Within(t, 60*time.Second), streamtest.Numbers(in, 0, 200)[100:])
		wrote <- err
	}()
	streamtest.Eventually(t, func() bool { return strings.Count(l.String(), "level=WARN msg=waiting") > 1 })
	b.Restart(t)
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "late", in, 0); return at == 200 })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	checkCopies(t, w, feeder, "late", in, out, 1, 200)
}

// TestAnAbsentBrokerIsNamed: what a client logs while its broker is down names the broker, whatever kafka-go makes of it.
func TestAnAbsentBrokerIsNamed(t *testing.T) {
	t.Parallel()
	b := streamtest.Embedded(t)
	w := streamtest.NewWorld(b)
	in, out := w.Topic(t, "in", 2), w.Topic(t, "out", 2)
	c, l := w.Dial(t)
	streamtest.Send(t, c, streamtest.Numbers(in, 0, 10))
	r := streamtest.Run(t, func(ctx context.Context) error { return streamtest.CopyTo("named", in, out).Run(ctx, c) })
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "named", in, 0); return at == 10 })
	b.Stop()
	wrote := make(chan error, 1)
	ctx := streamtest.Within(t, 60*time.Second)
	go func() {
		_, err := c.Produce(ctx, streamtest.Numbers(in, 0, 1))
		wrote <- err
	}()
	var lines []string
	streamtest.Eventually(t, func() bool {
		lines = nil
		for line := range strings.Lines(l.String()) {
			if strings.Contains(line, "msg=waiting") {
				lines = append(lines, line)
			}
		}
		return len(lines) >= 4
	})
	for _, line := range lines {
		if !strings.Contains(line, "no connection to the Kafka broker at "+b.Addr) || !strings.Contains(line, "connection refused") || !strings.Contains(line, "forager up --parts") {
			t.Errorf("the line does not name the outage: %s", line)
		}
	}
	b.Restart(t)
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
}

// TestIdleConnectionsOfAnAbsentBrokerCostOneTry: a client that had many connections open when its broker became
// unavailable reconnects at the first try that can succeed.
func TestIdleConnectionsOfAnAbsentBrokerCostOneTry(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in := w.Topic(t, "in", 1)
	c, _ := w.Dial(t)
	feeder, _ := w.Dial(t)
	var n Network
	n.Through(c)
	const idle = 8
	var wg sync.WaitGroup
	for range idle {
		wg.Go(func() { // all of them wait for the first record at once, each on a connection of its own
			if _, err := c.Fetch(t.Context(), &kafkago.FetchRequest{Topic: in, MinBytes: 1, MaxBytes: 1, MaxWait: 5 * time.Second}); err != nil {
				t.Error(err)
			}
		})
	}
	streamtest.Eventually(t, func() bool { return n.dialed() >= idle })
	streamtest.Send(t, feeder, streamtest.Numbers(in, 0, 1))
	wg.Wait()
	n.Set(true)
	n.Set(false)
	streamtest.Send(t, c, streamtest.Numbers(in, 0, 1))
	if tries := streamtest.Count(c.Metrics.Errors.WithLabelValues(stream.ClassUnavailable.String())); tries > 2 {
		t.Errorf("%v tries failed", tries)
	}
}

// errorIn returns a response to a request with an error of the broker.
func errorIn(req kmsg.Request, code int16) kmsg.Response {
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, rt := range req.Topics {
			t := kmsg.NewProduceResponseTopic()
			t.Topic = rt.Topic
			for _, rp := range rt.Partitions {
				p := kmsg.NewProduceResponseTopicPartition()
				p.Partition, p.ErrorCode = rp.Partition, code
				t.Partitions = append(t.Partitions, p)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.FetchRequest:
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		for _, rt := range req.Topics {
			t := kmsg.NewFetchResponseTopic()
			t.Topic = rt.Topic
			for _, rp := range rt.Partitions {
				p := kmsg.NewFetchResponseTopicPartition()
				p.Partition, p.ErrorCode = rp.Partition, code
				t.Partitions = append(t.Partitions, p)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.OffsetCommitRequest:
		resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, rt := range req.Topics {
			t := kmsg.NewOffsetCommitResponseTopic()
			t.Topic = rt.Topic
			for _, rp := range rt.Partitions {
				p := kmsg.NewOffsetCommitResponseTopicPartition()
				p.Partition, p.ErrorCode = rp.Partition, code
				t.Partitions = append(t.Partitions, p)
			}
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	case *kmsg.HeartbeatRequest:
		resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
		resp.ErrorCode = code
		return resp
	}
	panic(fmt.Sprintf("no answer to %T", req))
}

// Every second request of a kind fails, in every way that passes; nothing is lost.
func TestPassingFaultsOfTheBroker(t *testing.T) {
	t.Parallel()
	const every, times = 2, 3
	faults := map[string]struct {
		key int16
		err *kerr.Error // nil = the connection is closed
	}{
		"produce not leader":        {kmsg.Produce.Int16(), kerr.NotLeaderForPartition},
		"produce too few replicas":  {kmsg.Produce.Int16(), kerr.NotEnoughReplicasAfterAppend},
		"produce timed out":         {kmsg.Produce.Int16(), kerr.RequestTimedOut},
		"produce unknown topic":     {kmsg.Produce.Int16(), kerr.UnknownTopicOrPartition},
		"produce connection closed": {kmsg.Produce.Int16(), nil},
		"fetch not leader":          {kmsg.Fetch.Int16(), kerr.NotLeaderForPartition},
		"fetch out of range":        {kmsg.Fetch.Int16(), kerr.OffsetOutOfRange}, // and ListOffsets denies it
		"fetch connection closed":   {kmsg.Fetch.Int16(), nil},
		"commit not coordinator":    {kmsg.OffsetCommit.Int16(), kerr.NotCoordinator},
		"commit connection closed":  {kmsg.OffsetCommit.Int16(), nil},
		"commit stale generation":   {kmsg.OffsetCommit.Int16(), kerr.IllegalGeneration},
		"heartbeat rebalance":       {kmsg.Heartbeat.Int16(), kerr.RebalanceInProgress},
		"heartbeat unknown member":  {kmsg.Heartbeat.Int16(), kerr.UnknownMemberID},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := streamtest.Embedded(t)
			w := streamtest.NewWorld(b)
			in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
			c, _ := w.Dial(t)
			var asked, failed atomic.Int64
			b.Fake().ControlKey(fault.key, func(req kmsg.Request) (kmsg.Response, error, bool) {
				b.Fake().KeepControl()
				if asked.Add(1)%every != 0 || failed.Load() >= times {
					return nil, nil, false
				}
				failed.Add(1)
				if fault.err == nil {
					return nil, errors.New("closed"), true
				}
				return errorIn(req, fault.err.Code), nil, true
			})
			r := streamtest.Run(t, func(ctx context.Context) error { return streamtest.CopyTo("faults", in, out).Run(ctx, c) })
			n := 0
			outs := streamtest.Numbers(in, 0, 1000)
			for ; failed.Load() < times && n < len(outs); n += 10 {
				before := asked.Load()
				streamtest.Send(t, c, outs[n:n+10])
				streamtest.Eventually(t, func() bool { return asked.Load() > before })
			}
			streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "faults", in, 0); return at == int64(n) })
			if failed.Load() < times {
				t.Errorf("the broker failed %d times only", failed.Load())
			}
			if err := r.End(); err != nil {
				t.Fatal(err)
			}
			checkCopies(t, w, c, "faults", in, out, 1, n)
		})
	}
}

func TestLastingFaultsOfTheBrokerAreBroken(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]struct {
		key int16
		err *kerr.Error
	}{
		"produce not allowed": {kmsg.Produce.Int16(), kerr.TopicAuthorizationFailed},
		"produce refused":     {kmsg.Produce.Int16(), kerr.InvalidRecord},
		"fetch not allowed":   {kmsg.Fetch.Int16(), kerr.TopicAuthorizationFailed},
		"commit not allowed":  {kmsg.OffsetCommit.Int16(), kerr.GroupAuthorizationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := streamtest.Embedded(t)
			w := streamtest.NewWorld(b)
			in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
			c, _ := w.Dial(t)
			streamtest.Send(t, c, streamtest.Numbers(in, 0, 3))
			b.Fake().ControlKey(fault.key, func(req kmsg.Request) (kmsg.Response, error, bool) {
				b.Fake().KeepControl()
				return errorIn(req, fault.err.Code), nil, true
			})
			r := streamtest.Run(t, func(ctx context.Context) error { return streamtest.CopyTo("faults", in, out).Run(ctx, c) })
			if err := r.Wait(streamtest.Within(t, 60*time.Second)); !stream.IsBroken(err) || !errors.Is(err, kafkago.Error(fault.err.Code)) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestOffsetsOutOfRangeAreBrokenAndSuggestARemedy(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	c, _ := w.Dial(t)
	ctx := streamtest.Within(t, 60*time.Second)
	streamtest.Send(t, c, streamtest.Numbers(in, 0, 100))
	streamtest.DeleteBelow(t, w.Broker.Addr, in, 0, 40)
	for _, k := range []struct {
		stage string
		at    int64
		want  string
	}{{"before", 30, "retention"}, {"behind", 101, "created again"}} {
		w.CommitAt(t, k.stage, in, 0, k.at)
		err := streamtest.Run(t, func(ctx context.Context) error { return streamtest.CopyTo(k.stage, in, out).Run(ctx, c) }).Wait(ctx)
		var oe *stream.OffsetError
		if !errors.As(err, &oe) || oe.Offset != k.at || oe.First != 40 || oe.End != 100 || !stream.IsBroken(err) {
			t.Fatalf("%s: %v", k.stage, err)
		}
		for _, want := range []string{k.want, w.Broker.Config().Group + "." + k.stage, "--reset-offsets", fmt.Sprint(k.at), "[40, 100)"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not contain %q", k.stage, err, want)
			}
		}
	}
	// A reader that retention overtakes while it reads.
	n := 0
	err := c.Consume(ctx, kafka.Source{Topic: in, From: 10, To: kafka.Endless}.CommittedBy("g"), func(kafka.Chunk) error { n++; return nil })
	if !errors.As(err, new(*stream.OffsetError)) || n != 0 {
		t.Errorf("after %d chunks: %v", n, err)
	}
	if n := w.Count(t, c, out); n != 0 {
		t.Errorf("%d records were handled", n)
	}
	// Without a commit a group begins with what there is.
	r := streamtest.Run(t, func(ctx context.Context) error { return streamtest.CopyTo("new", in, out).Run(ctx, c) })
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "new", in, 0); return at == 100 })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if vs := streamtest.Values(t, c, out, 0); len(vs) != 60 || vs[0] != "40" {
		t.Errorf("%d records, from %v", len(vs), vs)
	}
}

// A stalled owner's commit comes after another generation has the partition.
func TestACommitOfAnOlderGenerationIsRefused(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in := w.Topic(t, "in", 1)
	ctx := streamtest.Within(t, 60*time.Second)
	claims := make(chan *kafka.Claim, 2)
	member := func() (*kafka.Client, *streamtest.Running) {
		c, _ := w.Dial(t)
		return c, streamtest.Run(t, func(ctx context.Context) error {
			return c.RunGroup(ctx, "stale", []string{in}, func(ctx context.Context, cl *kafka.Claim) error {
				claims <- cl
				<-ctx.Done()
				return nil
			})
		})
	}
	c, first := member()
	streamtest.Send(t, c, []stream.Out{{Topic: in, Headers: map[string]string{schemas.HeaderVersion: "1"}}, {Topic: in}, {Topic: in}})
	old := <-claims
	old.Commit(1, "first")
	if err := old.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := first.End(); err != nil {
		t.Fatal(err)
	}
	_, second := member()
	new := <-claims
	if new.Offset != 1 || new.Metadata != "first" {
		t.Errorf("the next owner begins at %d with %q", new.Offset, new.Metadata)
	}
	new.Commit(2, "second")
	if err := new.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	old.Commit(3, "late")
	if err := old.Flush(ctx); stream.ClassOf(err) != stream.ClassLost {
		t.Errorf("the late commit: %v", err)
	}
	if at, metadata := w.Committed(t, "stale", in, 0); at != 2 || metadata != "second" {
		t.Errorf("committed %d %q", at, metadata)
	}
	if err := second.End(); err != nil {
		t.Fatal(err)
	}
}

// A step that does not return shows; a broker that is away does not.
func TestHealthOfAStatelessStage(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 1), w.Topic(t, "out", 1)
	reg := prometheus.NewPedanticRegistry()
	c, err := kafka.Dial(w.Broker.Config(), w.Topics, streamtest.Discard, reg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var n Network
	n.Through(c)
	streamtest.Send(t, c, streamtest.Numbers(in, 0, 3))
	series := func(name string) float64 { return streamtest.Gathered(t, reg)["forager_stage_"+name] }
	gate := make(chan struct{})
	s := streamtest.CopyTo("health", in, out)
	copyOne := s.Handle
	s.Handle = func(ctx context.Context, r stream.Record) ([]stream.Out, error) {
		<-gate
		return copyOne(ctx, r)
	}
	if series("ready") != 0 {
		t.Error("ready before the group is joined")
	}
	r := streamtest.Run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	streamtest.Eventually(t, func() bool { return series("ready") == 1 && series("busy_seconds") > .5 })
	n.Set(true)
	close(gate)
	streamtest.Eventually(t, func() bool { return series("waiting") > 0 && series("busy_seconds") == 0 })
	n.Set(false)
	streamtest.Eventually(t, func() bool {
		at, _ := w.Committed(t, "health", in, 0)
		return at == 3 && series("ready") == 1
	})
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if series("ready") != 0 {
		t.Error("ready after the stage has left its group")
	}
}

package stream

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

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// network is a client's way to the broker, which a test can cut.
type network struct {
	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
	dials int
}

// through makes the client use the network.
func (n *network) through(c *Client) {
	n.conns = map[net.Conn]bool{}
	c.transport.Load().Dial = n.dial
}

func (n *network) dial(ctx context.Context, network, addr string) (net.Conn, error) {
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
	n.conns[conn] = true
	return conn, nil
}

func (n *network) set(cut bool) {
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

func (n *network) dialed() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials
}

// checkCopies fails unless each partition of out holds 0 … n-1 in order, duplicates of what
// came before allowed, and everything is committed.
func checkCopies(t *testing.T, c *Client, stage, in, out string, partitions, n int) {
	t.Helper()
	for p := range partitions {
		next := 0
		for _, v := range values(t, c, out, p) {
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
		if at, _ := committed(t, c, stage, in, p); at != int64(n) {
			t.Errorf("partition %d: committed %d, want %d", p, at, n)
		}
	}
}

func TestBrokerAwayInTheMiddle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in, out := w.topic(t, "in", 2), w.topic(t, "out", 2)
	feeder, _ := w.dial(t)
	c, l := w.dial(t)
	var n network
	n.through(c)
	const half = 300
	feed := func(from, to int) {
		for p := range 2 {
			send(t, feeder, numbers(in, p, to)[from:])
		}
	}
	feed(0, half)
	r := run(t, func(ctx context.Context) error { return copyTo("away", in, out).Run(ctx, c) })
	eventually(t, func() bool { return w.count(t, feeder, out) > 0 })
	n.set(true)
	feed(half, 2*half)
	eventually(t, func() bool { return strings.Contains(l.String(), "level=WARN msg=waiting") })
	if gauge(c.Metrics.waiting) < 1 {
		t.Error("the metric waiting does not show it")
	}
	before := n.dialed()
	eventually(t, func() bool { return n.dialed() > before+3 }) // it keeps trying
	n.set(false)
	eventually(t, func() bool {
		for p := range 2 {
			if at, _ := committed(t, feeder, "away", in, p); at != 2*half {
				return false
			}
		}
		return true
	})
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	checkCopies(t, feeder, "away", in, out, 2, 2*half)
	if at := gauge(c.Metrics.waiting); at != 0 {
		t.Errorf("the metric waiting is %v at the end", at)
	}
}

func TestBrokerAwayAtStartAndStoppedInTheMiddle(t *testing.T) {
	t.Parallel()
	b := streamtest.Embedded(t)
	w := newWorld(t, b)
	in, out := w.topic(t, "in", 1), w.topic(t, "out", 1)
	feeder, _ := w.dial(t)
	send(t, feeder, numbers(in, 0, 100))
	b.Stop()
	c, l := w.dial(t)
	r := run(t, func(ctx context.Context) error { return copyTo("late", in, out).Run(ctx, c) })
	eventually(t, func() bool { return strings.Contains(l.String(), "level=WARN msg=waiting") })
	b.Restart(t)
	eventually(t, func() bool { at, _ := committed(t, feeder, "late", in, 0); return at == 100 })
	b.Stop()
	wrote := make(chan error, 1)
	go func() { // waits for the broker, as a stage does
		_, err := feeder.Produce(within(t, 60*time.Second), numbers(in, 0, 200)[100:])
		wrote <- err
	}()
	eventually(t, func() bool { return strings.Count(l.String(), "level=WARN msg=waiting") > 1 })
	b.Restart(t)
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { at, _ := committed(t, feeder, "late", in, 0); return at == 200 })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	checkCopies(t, feeder, "late", in, out, 1, 200)
}

// TestAnAbsentBrokerIsNamed: what a client logs while its broker is down names the broker, whatever kafka-go makes of it.
func TestAnAbsentBrokerIsNamed(t *testing.T) {
	t.Parallel()
	b := streamtest.Embedded(t)
	w := newWorld(t, b)
	in, out := w.topic(t, "in", 2), w.topic(t, "out", 2)
	c, l := w.dial(t)
	send(t, c, numbers(in, 0, 10))
	r := run(t, func(ctx context.Context) error { return copyTo("named", in, out).Run(ctx, c) })
	eventually(t, func() bool { at, _ := committed(t, c, "named", in, 0); return at == 10 })
	b.Stop()
	wrote := make(chan error, 1)
	ctx := within(t, 60*time.Second)
	go func() {
		_, err := c.Produce(ctx, numbers(in, 0, 1))
		wrote <- err
	}()
	var lines []string
	eventually(t, func() bool {
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
			t.Errorf("the line does not say that the broker is away: %s", line)
		}
	}
	b.Restart(t)
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
}

// TestIdleConnectionsOfAnAbsentBrokerCostOneTry: a client that had many connections open when its broker became
// unavailable reconnects at the first try that can succeed.
func TestIdleConnectionsOfAnAbsentBrokerCostOneTry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in := w.topic(t, "in", 1)
	c, _ := w.dial(t)
	feeder, _ := w.dial(t)
	var n network
	n.through(c)
	const idle = 8
	var wg sync.WaitGroup
	for range idle {
		wg.Go(func() { // all of them wait for the first record at once, each on a connection of its own
			if _, err := c.kafka.Fetch(t.Context(), &kafkago.FetchRequest{Topic: in, MinBytes: 1, MaxBytes: 1, MaxWait: 5 * time.Second}); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, func() bool { return n.dialed() >= idle })
	send(t, feeder, numbers(in, 0, 1))
	wg.Wait()
	n.set(true)
	n.set(false)
	send(t, c, numbers(in, 0, 1))
	if tries := count(c.Metrics.errors.WithLabelValues(unavailable.String())); tries > 2 {
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
			w := newWorld(t, b)
			in, out := w.topic(t, "in", 1), w.topic(t, "out", 1)
			c, _ := w.dial(t)
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
			r := run(t, func(ctx context.Context) error { return copyTo("faults", in, out).Run(ctx, c) })
			n := 0
			outs := numbers(in, 0, 1000)
			for ; failed.Load() < times && n < len(outs); n += 10 {
				before := asked.Load()
				send(t, c, outs[n:n+10])
				eventually(t, func() bool { return asked.Load() > before })
			}
			eventually(t, func() bool { at, _ := committed(t, c, "faults", in, 0); return at == int64(n) })
			if failed.Load() < times {
				t.Errorf("the broker failed %d times only", failed.Load())
			}
			if err := r.end(); err != nil {
				t.Fatal(err)
			}
			checkCopies(t, c, "faults", in, out, 1, n)
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
			w := newWorld(t, b)
			in, out := w.topic(t, "in", 1), w.topic(t, "out", 1)
			c, _ := w.dial(t)
			send(t, c, numbers(in, 0, 3))
			b.Fake().ControlKey(fault.key, func(req kmsg.Request) (kmsg.Response, error, bool) {
				b.Fake().KeepControl()
				return errorIn(req, fault.err.Code), nil, true
			})
			r := run(t, func(ctx context.Context) error { return copyTo("faults", in, out).Run(ctx, c) })
			if err := r.wait(within(t, 60*time.Second)); !IsBroken(err) || !errors.Is(err, kafkago.Error(fault.err.Code)) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestOffsetsOutOfRangeAreBrokenAndSuggestARemedy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in, out := w.topic(t, "in", 1), w.topic(t, "out", 1)
	c, _ := w.dial(t)
	ctx := within(t, 60*time.Second)
	send(t, c, numbers(in, 0, 100))
	streamtest.DeleteBelow(t, c.cfg.Brokers[0], in, 0, 40)
	for _, k := range []struct {
		stage string
		at    int64
		want  string
	}{{"before", 30, "retention"}, {"behind", 101, "created again"}} {
		commitAt(t, c, k.stage, in, 0, k.at)
		err := run(t, func(ctx context.Context) error { return copyTo(k.stage, in, out).Run(ctx, c) }).wait(ctx)
		var oe *OffsetError
		if !errors.As(err, &oe) || oe.Offset != k.at || oe.First != 40 || oe.End != 100 || !IsBroken(err) {
			t.Fatalf("%s: %v", k.stage, err)
		}
		for _, want := range []string{k.want, c.groupName(k.stage), "--reset-offsets", fmt.Sprint(k.at), "[40, 100)"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", k.stage, err, want)
			}
		}
	}
	// A reader that retention overtakes while it reads.
	n := 0
	err := c.consume(ctx, source{topic: in, from: 10, to: endless, group: "g"}, func(chunk) error { n++; return nil })
	if !errors.As(err, new(*OffsetError)) || n != 0 {
		t.Errorf("after %d chunks: %v", n, err)
	}
	if n := w.count(t, c, out); n != 0 {
		t.Errorf("%d records were handled", n)
	}
	// Without a commit a group begins with what there is.
	r := run(t, func(ctx context.Context) error { return copyTo("new", in, out).Run(ctx, c) })
	eventually(t, func() bool { at, _ := committed(t, c, "new", in, 0); return at == 100 })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if vs := values(t, c, out, 0); len(vs) != 60 || vs[0] != "40" {
		t.Errorf("%d records, from %v", len(vs), vs)
	}
}

// A stalled owner's commit comes after another generation has the partition.
func TestACommitOfAnOlderGenerationIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in := w.topic(t, "in", 1)
	ctx := within(t, 60*time.Second)
	claims := make(chan *claim, 2)
	member := func() (*Client, *running) {
		c, _ := w.dial(t)
		return c, run(t, func(ctx context.Context) error {
			return c.runGroup(ctx, "stale", []string{in}, func(ctx context.Context, cl *claim) error {
				claims <- cl
				<-ctx.Done()
				return nil
			})
		})
	}
	c, first := member()
	send(t, c, []Out{{Topic: in, Headers: map[string]string{schemas.HeaderVersion: "1"}}, {Topic: in}, {Topic: in}})
	old := <-claims
	old.Commit(1, "first")
	if err := old.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := first.end(); err != nil {
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
	if err := old.Flush(ctx); classOf(err) != lost {
		t.Errorf("the late commit: %v", err)
	}
	if at, metadata := committed(t, c, "stale", in, 0); at != 2 || metadata != "second" {
		t.Errorf("committed %d %q", at, metadata)
	}
	if err := second.end(); err != nil {
		t.Fatal(err)
	}
}

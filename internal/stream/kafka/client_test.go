package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"forager/internal/stream"
	"forager/internal/stream/kafka"

	"forager/internal/platform/pipeline"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

func TestProduceReturnsPositionsAndReadGivesThemBack(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	topic := w.Topic(t, "numbers", 3)
	c, _ := w.Dial(t)
	ctx := streamtest.Within(t, 60*time.Second)
	outs := streamtest.Numbers(topic, -1, 5000)
	positions, err := c.Produce(ctx, outs)
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		partition int
		offset    int64
	}
	at := map[place]stream.Record{}
	for p := range 3 {
		for i, r := range streamtest.ReadAll(t, c, topic, p) {
			if r.Offset != int64(i) {
				t.Fatalf("record %d of partition %d has offset %d", i, p, r.Offset)
			}
			at[place{p, r.Offset}] = r
		}
	}
	if len(at) != len(outs) {
		t.Fatalf("%d records, want %d", len(at), len(outs))
	}
	last := map[int]int64{0: -1, 1: -1, 2: -1}
	for i, pos := range positions {
		r := at[place{pos.Partition, pos.Offset}]
		if !bytes.Equal(r.Key, outs[i].Key) || !bytes.Equal(r.Value, outs[i].Value) || r.Headers[schemas.HeaderVersion] != "1" {
			t.Fatalf("message %d %q was acknowledged at %v; there is %q %q %v", i, outs[i].Key, pos, r.Key, r.Value, r.Headers)
		}
		if pos.Partition != stream.PartitionOf(outs[i].Key, 3) {
			t.Errorf("message %d is in partition %d", i, pos.Partition)
		}
		if pos.Offset <= last[pos.Partition] {
			t.Errorf("message %d is out of order", i)
		}
		last[pos.Partition] = pos.Offset
		if time.Since(r.Time) > time.Minute || time.Until(r.Time) > time.Minute {
			t.Errorf("message %d has time %v", i, r.Time)
		}
	}
}

func TestProduceFromManyGoroutinesKeepsTheOrderOfEach(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	topic := w.Topic(t, "many", 2)
	c, _ := w.Dial(t)
	ctx := streamtest.Within(t, 60*time.Second)
	const writers, calls = 8, 60
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			for i := range calls {
				outs := []stream.Out{
					{Topic: topic, Partition: 0, Value: fmt.Appendf(nil, "%d %d", g, 2*i)},
					{Topic: topic, Partition: 1, Value: fmt.Appendf(nil, "%d %d", g, i)},
					{Topic: topic, Partition: 0, Value: fmt.Appendf(nil, "%d %d", g, 2*i+1)},
				}
				if _, err := c.Produce(ctx, outs); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for p, each := range []int{2 * calls, calls} {
		next := map[int]int{}
		for _, r := range streamtest.ReadAll(t, c, topic, p) {
			var g, i int
			if _, err := fmt.Sscanf(string(r.Value), "%d %d", &g, &i); err != nil || i != next[g] {
				t.Fatalf("partition %d: %q, want number %d of writer %d (%v)", p, r.Value, next[g], g, err)
			}
			next[g]++
		}
		for g := range writers {
			if next[g] != each {
				t.Errorf("partition %d: %d of writer %d, want %d", p, next[g], g, each)
			}
		}
	}
}

func TestMessagesOfEverySizeTravel(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	large := w.Broker.Topic("large")
	w.Topics[large] = pipeline.Topic{Partitions: 1, Retention: time.Hour, MaxMessageBytes: 8 << 20}
	w.Setup(t)
	c, _ := w.Dial(t)
	ctx := streamtest.Within(t, 60*time.Second)
	noise := make([]byte, 8<<20)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(noise)
	full := 8<<20 - 8<<20>>12 - 2*(&stream.Out{}).Size() // what fits, however badly it compresses
	outs := []stream.Out{
		{Topic: large, Value: nil, Key: []byte("tombstone")},
		{Topic: large, Value: []byte{}, Key: []byte("empty")},
		{Topic: large, Value: noise[:1<<20], Key: []byte("1 MiB")},
		{Topic: large, Value: noise[:full], Key: []byte("8 MiB")},
		{Topic: large, Value: bytes.Repeat([]byte("word "), full/5), Key: []byte("8 MiB of words")},
		{Topic: large, Value: []byte("end"), Key: []byte("end")},
	}
	streamtest.Send(t, c, outs)
	rs := streamtest.ReadAll(t, c, large, 0)
	if len(rs) != len(outs) {
		t.Fatalf("%d records, want %d", len(rs), len(outs))
	}
	for i, r := range rs {
		if !bytes.Equal(r.Value, outs[i].Value) || (r.Value == nil) != (outs[i].Value == nil) {
			t.Errorf("%s: %d bytes (nil: %v), want %d", r.Key, len(r.Value), r.Value == nil, len(outs[i].Value))
		}
	}
	_, err := c.Produce(ctx, []stream.Out{{Topic: large, Value: []byte("small")}, {Topic: large, Value: noise}})
	var size *stream.SizeError
	if !errors.As(err, &size) || size.Topic != large || size.Max != 8<<20 {
		t.Errorf("a message too large: %v", err)
	}
	if _, end, _ := c.Offsets(ctx, large, 0); end != int64(len(outs)) {
		t.Errorf("something of a refused call was written: end %d", end)
	}
}

func TestReadBounds(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	topic := w.Topic(t, "bounds", 1)
	c, _ := w.Dial(t)
	ctx := streamtest.Within(t, 60*time.Second)
	streamtest.Send(t, c, streamtest.Numbers(topic, 0, 100))
	for _, k := range []struct {
		from, to int64
		bad      bool
	}{{0, 100, false}, {10, 20, false}, {99, 100, false}, {7, 7, false}, {50, 101, true}, {101, 102, true}, {-1, 5, true}} {
		var got []int64
		err := c.Read(ctx, topic, 0, k.from, k.to, func(r stream.Record) error {
			got = append(got, r.Offset)
			return nil
		})
		var oe *stream.OffsetError
		if errors.As(err, &oe) != k.bad || (err != nil) != k.bad {
			t.Errorf("[%d,%d): %v", k.from, k.to, err)
		}
		if k.bad {
			if !stream.IsBroken(err) {
				t.Errorf("[%d,%d): %v is not broken", k.from, k.to, err)
			}
			continue
		}
		if n := k.to - k.from; int64(len(got)) != n || (n > 0 && (got[0] != k.from || got[n-1] != k.to-1)) {
			t.Errorf("[%d,%d): %d records: %v", k.from, k.to, len(got), got)
		}
	}
	stop := errors.New("enough")
	if err := c.Read(ctx, topic, 0, 0, 100, func(r stream.Record) error {
		if r.Offset == 41 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) {
		t.Errorf("f's error came back as %v", err)
	}
}

func TestReadRefusesAnUnknownVersion(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	topic := w.Topic(t, "versions", 1)
	c, _ := w.Dial(t)
	ctx := streamtest.Within(t, 60*time.Second)
	for _, v := range []string{"1", "2"} {
		streamtest.Send(t, c, []stream.Out{{Topic: topic, Value: []byte("x"), Headers: map[string]string{schemas.HeaderVersion: v}}})
	}
	n := 0
	err := c.Read(ctx, topic, 0, 0, 2, func(stream.Record) error { n++; return nil })
	if !stream.IsBroken(err) || n != 1 || !strings.Contains(err.Error(), "offset 1") {
		t.Errorf("after %d records: %v", n, err)
	}
}

func TestWrongNumberOfPartitionsIsBroken(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	topic := w.Topic(t, "four", 4)
	topics := map[string]pipeline.Topic{topic: {Partitions: 3}}
	c, _ := streamtest.Dial(t, w.Broker.Config(), topics)
	if _, err := c.Partitions(streamtest.Within(t, 60*time.Second), topic); !stream.IsBroken(err) || !strings.Contains(err.Error(), "has 4 partitions and pipeline.yaml has 3") {
		t.Errorf("partitions: %v", err)
	}
}

func TestWaitingForATopicEndsWhenItIsMade(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	topic := w.Broker.Topic("later")
	w.Topics[topic] = pipeline.Topic{Partitions: 2, Retention: time.Hour, MaxMessageBytes: 1 << 20}
	c, l := w.Dial(t)
	ctx := streamtest.Within(t, 60*time.Second)
	wrote := make(chan error, 1)
	go func() {
		_, err := c.Produce(ctx, streamtest.Numbers(topic, -1, 10))
		wrote <- err
	}()
	streamtest.Eventually(t, func() bool { return strings.Contains(l.String(), "forager setup makes it") })
	w.Setup(t)
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
}

func TestWaitEndsWithContextAndNamesItsTopic(t *testing.T) {
	t.Parallel()
	c, l := streamtest.Dial(t, pipeline.Kafka{Brokers: []string{streamtest.FreeAddr(t)}}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for !strings.Contains(l.String(), "waiting") {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, _, err := c.Offsets(ctx, "t", 0)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "offsets of t") {
		t.Errorf("offsets without a broker: %v", err)
	}
}

func TestDialNamesTheSettingThatIsWrong(t *testing.T) {
	for _, k := range []struct {
		cfg  pipeline.Kafka
		want string
	}{
		{pipeline.Kafka{}, "kafka.brokers"},
		{pipeline.Kafka{Brokers: []string{"a:1"}, TLS: pipeline.TLS{Enabled: true, CA: "/no/such/file"}}, "kafka.tls.ca"},
		{pipeline.Kafka{Brokers: []string{"a:1"}, SASL: pipeline.SASL{Mechanism: "plain", PasswordEnv: "NO_SUCH_VARIABLE"}}, "kafka.sasl.password_env"},
		{pipeline.Kafka{Brokers: []string{"a:1"}, SASL: pipeline.SASL{Mechanism: "gssapi", PasswordEnv: "PATH"}}, "kafka.sasl.mechanism"},
	} {
		if _, err := kafka.Dial(k.cfg, nil, nil, nil); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("want an error about %s, got %v", k.want, err)
		}
	}
}

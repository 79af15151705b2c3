package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/metrics"
)

// requestTimeout is the time that one request may take; a broker that takes longer is unavailable.
const requestTimeout = 10 * time.Second

// dialTimeout is the time that making a connection may take.
const dialTimeout = 5 * time.Second

// cluster makes the requests that the parts of a Client have in common, and has what they share.
type cluster struct {
	Log     *slog.Logger
	Metrics *metrics.Stage

	cfg       pipeline.Kafka
	login     *pipeline.LateLogin
	topics    map[string]pipeline.Topic
	kafka     *kafka.Client
	transport transport
	conns     *connections

	// life ends with Close, or with the error of a Follower: every stage that runs returns it.
	life context.Context
	fail context.CancelCauseFunc

	mu         sync.Mutex
	partitions map[string]int // topics seen, with their number of partitions
	running    sync.WaitGroup // lanes and followers
}

// start runs f in a goroutine that Close waits for. It returns why the client has ended, if it has.
func (c *cluster) start(f func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() == nil {
		c.running.Go(f)
	}
	return context.Cause(c.life)
}

// errClosed is the cause of life's end after Close.
var errClosed = errors.New("the Kafka client is closed")

// Close stops the client's goroutines and closes its connections.
func (c *cluster) Close() {
	c.mu.Lock() // no goroutine is started after it
	c.fail(errClosed)
	c.mu.Unlock()
	c.running.Wait()
	c.transport.Load().CloseIdleConnections()
	c.conns.close()
}

// transport is the transport in use; logIn replaces it.
type transport struct {
	atomic.Pointer[kafka.Transport]
}

// RoundTrip sends a request by the transport in use.
func (t *transport) RoundTrip(ctx context.Context, addr net.Addr, request kafka.Request) (kafka.Response, error) {
	return t.Load().RoundTrip(ctx, addr, request)
}

// dialer makes the connections of consumer groups.
func (c *cluster) dialer() *kafka.Dialer {
	t := c.transport.Load()
	return &kafka.Dialer{ClientID: t.ClientID, Timeout: dialTimeout, DialFunc: t.Dial, TLS: t.TLS, SASLMechanism: t.SASL}
}

// logIn uses the login of the embedded broker once there is one.
func (c *cluster) logIn() {
	old := c.transport.Load()
	if old.SASL != nil {
		return
	}
	mechanism, err := saslOf(c.login)
	if err != nil {
		c.Log.Warn("no login", "part", "kafka", "error", err)
	}
	if mechanism == nil {
		return
	}
	now := &kafka.Transport{ClientID: old.ClientID, TLS: old.TLS, SASL: mechanism, Dial: old.Dial, DialTimeout: old.DialTimeout, MetadataTTL: old.MetadataTTL}
	if c.transport.CompareAndSwap(old, now) {
		old.CloseIdleConnections()
	}
}

// Partitions returns the number of partitions of a topic. It waits while the topic does not exist
// (a new topic is not known at once). A number other than that of pipeline.yaml is Broken, as keys
// would go to other partitions.
func (c *cluster) Partitions(ctx context.Context, topic string) (int, error) {
	c.mu.Lock()
	n := c.partitions[topic]
	c.mu.Unlock()
	if n > 0 {
		return n, nil
	}
	err := c.retry(ctx, "partitions of "+topic, func(ctx context.Context) error {
		meta, err := c.kafka.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
		if err != nil {
			return err
		}
		if len(meta.Topics) != 1 {
			return fmt.Errorf("metadata of %d topics, want that of %s", len(meta.Topics), topic)
		}
		if err := meta.Topics[0].Error; err != nil {
			if errors.Is(err, kafka.UnknownTopicOrPartition) {
				return fmt.Errorf("topic %s does not exist; forager setup makes it: %w", topic, err)
			}
			return err
		}
		if n = len(meta.Topics[0].Partitions); n == 0 {
			return fmt.Errorf("topic %s has no partition yet", topic)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("partitions of %s: %w", topic, err)
	}
	if t, ok := c.topics[topic]; ok && t.Partitions != n {
		return 0, stream.Broken(fmt.Errorf("topic %s has %d partitions and pipeline.yaml has %d: their number is fixed once the topic is made; correct pipeline.yaml or create the topic again", topic, n, t.Partitions))
	}
	c.mu.Lock()
	c.partitions[topic] = n
	c.mu.Unlock()
	return n, nil
}

// Offsets returns the offset of the first record in the partition, and the offset after its last
// record.
func (c *cluster) Offsets(ctx context.Context, topic string, partition int) (first, end int64, err error) {
	at, err := c.offsets(ctx, topic, partition, kafka.FirstOffsetOf(partition), kafka.LastOffsetOf(partition))
	return at.FirstOffset, at.LastOffset, err
}

// End returns the offset after the last record of the partition. It is one request, where Offsets
// needs two.
func (c *cluster) End(ctx context.Context, topic string, partition int) (int64, error) {
	at, err := c.offsets(ctx, topic, partition, kafka.LastOffsetOf(partition))
	return at.LastOffset, err
}

func (c *cluster) offsets(ctx context.Context, topic string, partition int, wanted ...kafka.OffsetRequest) (at kafka.PartitionOffsets, err error) {
	err = c.retry(ctx, "offsets of "+topic, func(ctx context.Context) error {
		r, err := c.kafka.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: wanted}})
		if err != nil {
			return err
		}
		for _, p := range r.Topics[topic] {
			if p.Partition == partition {
				at = p
				return p.Error
			}
		}
		return fmt.Errorf("no offsets of partition %d in the answer", partition)
	})
	if err != nil {
		return kafka.PartitionOffsets{}, fmt.Errorf("offsets of %s/%d: %w", topic, partition, err)
	}
	return at, nil
}

// SessionTimeout is the time after which the broker takes a silent member of a group for lost.
func (c *cluster) SessionTimeout() time.Duration { return c.cfg.SessionTimeout }

// Retention returns how long a topic keeps its records; 0 = forever.
func (c *cluster) Retention(topic string) time.Duration { return c.topics[topic].Retention }

// maxMessage returns the largest message that a topic accepts, bytes.
func (c *cluster) maxMessage(topic string) int {
	if t := c.topics[topic]; t.MaxMessageBytes > 0 {
		return t.MaxMessageBytes
	}
	return 1 << 20 // the broker's default
}

// NotePoison logs and counts a record for which a dead letter is written.
func (c *cluster) NotePoison(r *stream.Record, cause error) {
	c.Metrics.Poison.WithLabelValues(r.Topic).Inc()
	c.Metrics.Failed(stream.ClassRecord)
	c.Log.Error("poison", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "error", cause)
}

// retry calls f until it succeeds or fails permanently. While the broker is unavailable it waits
// between calls. The error is marked, or is that of ctx with a description of the wait.
func (c *cluster) retry(ctx context.Context, what string, f func(context.Context) error) error {
	w := c.Waiting(func() string { return what })
	defer w.Over()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		switch class := c.failed(err); {
		case ctx.Err() != nil:
			return ctx.Err()
		case class == stream.ClassBroken || class == stream.ClassLost:
			return stream.Mark(class, err)
		}
		if err := w.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// failed is brokerClass for an error of c.kafka. If the error is not a broker's, idle connections are closed:
// kafka-go keeps those to a lost broker, and each would cost a try and the pause after it.
func (c *cluster) failed(err error) stream.Class {
	class := brokerClass(err)
	if err != nil && class == stream.ClassUnavailable && !errors.As(err, new(kafka.Error)) {
		c.transport.Load().CloseIdleConnections()
		c.logIn()
	}
	return class
}

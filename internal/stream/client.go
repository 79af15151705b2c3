package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"forager/internal/platform/pipeline"
	"forager/internal/stream/state"
)

// Client is a client of one Kafka cluster. While the broker is unavailable its methods wait with
// back-off until their context ends, which the log and the metric waiting show. The errors that
// they return are marked (Broken), or that of the context. It is safe for concurrent use.
type Client struct {
	cfg       pipeline.Kafka
	login     *pipeline.LateLogin
	topics    map[string]pipeline.Topic
	log       *slog.Logger
	metrics   *metrics
	health    *health
	kafka     *kafka.Client
	transport transport
	conns     *connections

	// life ends with Close, or with the error of a Follower: every Run method returns it.
	life context.Context
	fail context.CancelCauseFunc

	mu         sync.Mutex
	partitions map[string]int // topics seen, with their number of partitions
	lanes      map[lane]*laneQueue
	running    sync.WaitGroup // lanes and followers
	produce    produceLimit
}

// requestTimeout is the time that one request may take; a broker that takes longer is unavailable.
const requestTimeout = 10 * time.Second

// dialTimeout is the time that making a connection may take.
const dialTimeout = 5 * time.Second

// transport is the transport in use; logIn replaces it.
type transport struct {
	atomic.Pointer[kafka.Transport]
}

// RoundTrip sends a request by the transport in use.
func (t *transport) RoundTrip(ctx context.Context, addr net.Addr, request kafka.Request) (kafka.Response, error) {
	return t.Load().RoundTrip(ctx, addr, request)
}

// dialer makes the connections of consumer groups.
func (c *Client) dialer() *kafka.Dialer {
	t := c.transport.Load()
	return &kafka.Dialer{ClientID: t.ClientID, Timeout: dialTimeout, DialFunc: t.Dial, TLS: t.TLS, SASLMechanism: t.SASL}
}

// logIn uses the login of the embedded broker once there is one.
func (c *Client) logIn() {
	old := c.transport.Load()
	if old.SASL != nil {
		return
	}
	mechanism, err := saslOf(c.login)
	if err != nil {
		c.log.Warn("no login", "part", "kafka", "err", err)
	}
	if mechanism == nil {
		return
	}
	now := &kafka.Transport{ClientID: old.ClientID, TLS: old.TLS, SASL: mechanism, Dial: old.Dial, DialTimeout: old.DialTimeout, MetadataTTL: old.MetadataTTL}
	if c.transport.CompareAndSwap(old, now) {
		old.CloseIdleConnections()
	}
}

// errClosed is the cause of life's end after Close.
var errClosed = errors.New("the Kafka client is closed")

// Dial returns a client without connecting: its errors concern the settings. topics are those of
// pipeline.yaml; reg may be nil.
func Dial(cfg pipeline.Kafka, topics map[string]pipeline.Topic, log *slog.Logger, reg prometheus.Registerer) (*Client, error) {
	if len(cfg.Brokers) == 0 {
		return nil, errors.New("kafka.brokers is empty")
	}
	if cfg.SessionTimeout == 0 {
		cfg.SessionTimeout = 10 * time.Second
	}
	tlsConfig, err := tlsOf(cfg.TLS)
	if err != nil {
		return nil, err
	}
	login := pipeline.Later(cfg.Login)
	mechanism, err := saslOf(login)
	if err != nil {
		return nil, err
	}
	health := new(health)
	m, err := newMetrics(reg, health)
	if err != nil {
		return nil, err
	}
	conns := &connections{open: map[*connection]bool{}}
	c := &Client{
		conns: conns, cfg: cfg, login: login, topics: maps.Clone(topics), log: log, metrics: m, health: health,
		partitions: map[string]int{},
		lanes:      map[lane]*laneQueue{},
		produce:    newProduceLimit(),
	}
	c.transport.Store(&kafka.Transport{
		ClientID: "forager", TLS: tlsConfig, SASL: mechanism,
		Dial:        conns.dial,
		DialTimeout: dialTimeout,
		// A leader's change or a new topic is seen after this time at most.
		MetadataTTL: time.Second,
	})
	c.kafka = &kafka.Client{Addr: kafka.TCP(cfg.Brokers...), Timeout: requestTimeout, Transport: &c.transport}
	c.life, c.fail = context.WithCancelCause(context.Background())
	return c, nil
}

// Close stops the client's goroutines and closes its connections.
func (c *Client) Close() {
	c.fail(errClosed)
	c.running.Wait()
	c.transport.Load().CloseIdleConnections()
	c.conns.close()
}

func tlsOf(cfg pipeline.TLS) (*tls.Config, error) {
	if !cfg.Enabled {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // no system store: kafka.tls.ca has to name one
	}
	if cfg.CA != "" {
		pem, err := os.ReadFile(cfg.CA)
		if err != nil {
			return nil, fmt.Errorf("kafka.tls.ca: %w", err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("kafka.tls.ca: %s holds no certificate in PEM form", cfg.CA)
		}
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

func saslOf(late *pipeline.LateLogin) (sasl.Mechanism, error) {
	login, err := late.Get()
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(login.Mechanism) {
	case "":
		return nil, nil
	case "plain":
		return plain.Mechanism{Username: login.User, Password: login.Password}, nil
	case "scram-sha-256":
		return scram.Mechanism(scram.SHA256, login.User, login.Password)
	case "scram-sha-512":
		return scram.Mechanism(scram.SHA512, login.User, login.Password)
	}
	return nil, fmt.Errorf("kafka.sasl.mechanism: %q is none of plain, scram-sha-256, scram-sha-512", login.Mechanism)
}

// Partitions returns the number of partitions of a topic. It waits while the topic does not exist
// (a new topic is not known at once). A number other than that of pipeline.yaml is Broken, as keys
// would go to other partitions.
func (c *Client) Partitions(ctx context.Context, topic string) (int, error) {
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
		return 0, Broken(fmt.Errorf("topic %s has %d partitions and pipeline.yaml has %d: their number is fixed once the topic is made; correct pipeline.yaml or create the topic again", topic, n, t.Partitions))
	}
	c.mu.Lock()
	c.partitions[topic] = n
	c.mu.Unlock()
	return n, nil
}

// Offsets returns the offset of the first record in the partition, and the offset after its last
// record.
func (c *Client) Offsets(ctx context.Context, topic string, partition int) (first, end int64, err error) {
	at, err := c.offsets(ctx, topic, partition, kafka.FirstOffsetOf(partition), kafka.LastOffsetOf(partition))
	return at.FirstOffset, at.LastOffset, err
}

// End returns the offset after the last record of the partition. It is one request, where Offsets
// needs two.
func (c *Client) End(ctx context.Context, topic string, partition int) (int64, error) {
	at, err := c.offsets(ctx, topic, partition, kafka.LastOffsetOf(partition))
	return at.LastOffset, err
}

func (c *Client) offsets(ctx context.Context, topic string, partition int, wanted ...kafka.OffsetRequest) (at kafka.PartitionOffsets, err error) {
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

// maxMessage returns the largest message that a topic accepts, bytes.
func (c *Client) maxMessage(topic string) int {
	if t := c.topics[topic]; t.MaxMessageBytes > 0 {
		return t.MaxMessageBytes
	}
	return 1 << 20 // the broker's default
}

// retry calls f until it succeeds or fails permanently. While the broker is unavailable it waits
// between calls. The error is marked, or is that of ctx with a description of the wait.
func (c *Client) retry(ctx context.Context, what string, f func(context.Context) error) error {
	w := waiting{client: c, what: func() string { return what }}
	defer w.over()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		switch class := c.failed(err); {
		case ctx.Err() != nil:
			return ctx.Err()
		case class == broken || class == lost:
			return classify(class, err)
		}
		if err := w.wait(ctx, err); err != nil {
			return err
		}
	}
}

// failed is brokerClass for an error of c.kafka. If the error is not a broker's, idle connections are closed:
// kafka-go keeps those to a lost broker, and each would cost a try and the pause after it.
func (c *Client) failed(err error) class {
	class := brokerClass(err)
	if err != nil && class == unavailable && !errors.As(err, new(kafka.Error)) {
		c.transport.Load().CloseIdleConnections()
		c.logIn()
	}
	return class
}

// Pauses between calls while something is unavailable, and between log lines about it.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
	logPause     = 10 * time.Second
)

// waiting is one wait for something unavailable: back-off, a log line at its beginning, every
// logPause and at its end; the metric waiting counts it.
type waiting struct {
	client *Client
	what   func() string // a function, because few waits are ever described
	began  time.Time
	logged time.Time
	pause  time.Duration
}

// note begins the wait, or logs that it continues.
func (w *waiting) note(cause error) {
	now := time.Now()
	if w.began.IsZero() {
		w.began, w.pause = now, firstPause
		w.client.metrics.waiting.Inc()
		w.client.health.wait(1)
	}
	// A short wait (a new topic, a new leader) is not logged.
	if now.Sub(w.began) >= 4*firstPause && now.Sub(w.logged) >= logPause {
		w.logged = now
		w.client.log.Warn("waiting", "for", w.what(), "since", w.began.UTC(), "cause", w.client.conns.explain(cause))
	}
}

// wait sleeps. It returns an error that wraps cause when ctx or the client ended meanwhile.
func (w *waiting) wait(ctx context.Context, cause error) error {
	w.note(cause)
	cause = w.client.conns.explain(cause)
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	w.pause = min(2*w.pause, longestPause)
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return classify(ended, fmt.Errorf("%w, waiting for %s: %w", ctx.Err(), w.what(), cause))
	case <-w.client.life.Done():
		return classify(ended, fmt.Errorf("%w, waiting for %s: %w", context.Cause(w.client.life), w.what(), cause))
	}
}

// sleep is wait without a way to cancel it.
func (w *waiting) sleep(cause error) {
	w.note(cause)
	time.Sleep(w.pause)
	w.pause = min(2*w.pause, longestPause)
}

// over ends the wait, if there was one.
func (w *waiting) over() {
	if w.began.IsZero() {
		return
	}
	w.client.metrics.waiting.Dec()
	w.client.health.wait(-1)
	if !w.logged.IsZero() {
		w.client.log.Info("waited", "for", w.what(), "seconds", time.Since(w.began).Seconds())
	}
	*w = waiting{client: w.client, what: w.what}
}

// patientFS returns a file system on which writes to a full disk wait; the waits are logged and counted.
func (c *Client) patientFS(fs vfs.FS) *state.PatientFS {
	return &state.PatientFS{FS: fs, Wait: func(name string) (sleep func(error), over func()) {
		w := &waiting{client: c, what: func() string { return "space on the disk of " + name }}
		return w.sleep, w.over
	}}
}

package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"forager/internal/platform/pipeline"
	"forager/internal/stream/metrics"
)

// Client is a client of one Kafka cluster. While the broker is unavailable its methods wait with
// back-off until their context ends, which the log and the metric waiting show. The errors that
// they return are marked (Broken), or that of the context. It is safe for concurrent use.
type Client struct {
	*cluster
	*producer
	*reader
	*admin
}

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
	m, err := metrics.New(reg)
	if err != nil {
		return nil, err
	}
	c := &cluster{
		Log: log, Metrics: m, cfg: cfg, login: login, topics: maps.Clone(topics),
		conns: &connections{open: map[*connection]bool{}}, partitions: map[string]int{},
	}
	c.transport.Store(&kafka.Transport{
		ClientID: "forager", TLS: tlsConfig, SASL: mechanism,
		Dial:        c.conns.dial,
		DialTimeout: dialTimeout,
		// A leader's change or a new topic is seen after this time at most.
		MetadataTTL: time.Second,
	})
	c.kafka = &kafka.Client{Addr: kafka.TCP(cfg.Brokers...), Timeout: requestTimeout, Transport: &c.transport}
	c.life, c.fail = context.WithCancelCause(context.Background())
	return &Client{c, newProducer(c), &reader{c}, &admin{c}}, nil
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

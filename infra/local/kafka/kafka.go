package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"

	"forager/internal/platform/disk"
)

const scram256 = "SCRAM-SHA-256"

// Settings of the broker; the zero value is that of `forager up`.
type Settings struct {
	// CleanerMillis is the interval of retention and compaction; 0 = 15,000.
	CleanerMillis int
	// SegmentBytes closes a segment file; 0 = 16 MiB. Only closed segments are cleaned.
	SegmentBytes int
	// User and Password of clients, by SCRAM-SHA-256; empty = no authentication.
	User, Password string
	// MaxRequestBytes is the size of the largest accepted request; 0 = 16 MiB.
	MaxRequestBytes int
	// Free returns the free space of the folder's disk, bytes; nil queries the file system.
	Free func() (uint64, error)
	// Log of the broker's own warnings and errors; nil = none.
	Log *slog.Logger
}

// Broker is a running broker.
type Broker struct{ cluster *kfake.Cluster }

// Start serves the contents of the folder on the addresses (host:port, loopback, one broker each; port 0
// selects a free one); the folder is created if necessary. It returns when clients can connect. ctx bounds the
// start only.
func Start(ctx context.Context, dir string, addresses []string, s Settings) (*Broker, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(addresses) == 0 {
		return nil, errors.New("kafka: no address to listen on")
	}
	if s.CleanerMillis == 0 {
		s.CleanerMillis = 15_000
	}
	if s.SegmentBytes == 0 {
		s.SegmentBytes = 16 << 20
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	var ports []int
	for _, a := range addresses {
		host, port, err := net.SplitHostPort(a)
		if err != nil {
			return nil, fmt.Errorf("kafka: address %q: %w", a, err)
		}
		// kfake listens on 127.0.0.1, and advertises it to clients.
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.Equal(net.IPv4(127, 0, 0, 1))) {
			return nil, fmt.Errorf("kafka: address %q: the embedded broker serves 127.0.0.1 only", a)
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("kafka: address %q: %w", a, err)
		}
		ports = append(ports, int(n))
	}
	opts := []kfake.Opt{
		kfake.Ports(ports...),
		kfake.ClusterID("forager-local"),
		kfake.DataDir(dir),
		kfake.BrokerConfigs(map[string]string{
			"log.cleaner.backoff.ms": strconv.Itoa(s.CleanerMillis),
			"log.segment.bytes":      strconv.Itoa(s.SegmentBytes),
		}),
	}
	if s.MaxRequestBytes == 0 {
		s.MaxRequestBytes = 16 << 20
	}
	l := &limits{maxRequest: s.MaxRequestBytes, sasl: s.User != "", changed: make(chan struct{})}
	opts = append(opts, kfake.ListenFn(l.listen))
	// The users are those of the settings: stored ones of an earlier run would take precedence.
	if err := os.Remove(filepath.Join(dir, "sasl.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	if s.User != "" {
		opts = append(opts, kfake.EnableSASL(), kfake.Superuser(scram256, s.User, s.Password))
	}
	if s.Log != nil {
		opts = append(opts, kfake.WithLogger(logger{s.Log}))
	}
	c, err := kfake.NewCluster(opts...)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("kafka: another program listens on %v: %w", addresses, err)
	}
	if err != nil {
		return nil, fmt.Errorf("kafka: start on %s: %w", dir, err)
	}
	free := s.Free
	if free == nil {
		free = func() (uint64, error) { return disk.Free(dir) }
	}
	refuseWhenFull(c, free, s.Log)
	return &Broker{c}, nil
}

// Close stops serving and writes what a clean start needs. Without it, as after kill -9, the next start
// recovers what was acknowledged.
func (b *Broker) Close() { b.cluster.Close() }

type logger struct{ log *slog.Logger }

func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	switch level {
	case kfake.LogLevelError:
		l.log.Error(fmt.Sprintf(format, args...))
	case kfake.LogLevelWarn:
		l.log.Warn(fmt.Sprintf(format, args...))
	}
}

package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"forager/internal/stream"
)

// connections makes connections and tracks the open ones, so that Close can close them: kafka-go
// leaves a connection open until a cancelled request has its response (a long poll takes half a
// second).
type connections struct {
	mu   sync.Mutex
	open map[*connection]bool // nil = closed
	// unreachable is why the last attempt to connect failed; nil after one that succeeded.
	unreachable error
}

type connection struct {
	net.Conn
	of *connections
}

func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

func (cs *connections) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: 3 * time.Second}).DialContext(ctx, network, addr)
	if err != nil {
		if ctx.Err() == nil {
			cs.mu.Lock()
			cs.unreachable = fmt.Errorf("no connection to the Kafka broker at %s; start it (forager up --parts) or correct kafka.brokers: %w", addr, err)
			cs.mu.Unlock()
		}
		return nil, err
	}
	c := &connection{Conn: conn, of: cs}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.unreachable = nil
	if cs.open == nil {
		conn.Close()
		return nil, net.ErrClosed
	}
	cs.open[c] = true
	return c, nil
}

// explain returns why a call to the broker failed. While no connection can be made kafka-go reports a
// consequence, such as "topic not found"; the failed connection is the cause.
func (cs *connections) explain(err error) error {
	if _, ok := stream.Marked(err); err == nil || ok || errors.As(err, new(kafka.Error)) {
		return err
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.unreachable != nil {
		return cs.unreachable
	}
	return err
}

func (cs *connections) close() {
	cs.mu.Lock()
	open := maps.Clone(cs.open)
	cs.open = nil
	cs.mu.Unlock()
	for c := range open {
		_ = c.Close()
	}
}

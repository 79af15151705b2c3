package stream

import (
	"context"
	"maps"
	"net"
	"sync"
	"time"
)

// connections dials, and knows what is open: kafka-go leaves a connection open until a request
// that was called off is answered (a long poll takes half a second), Close does not.
type connections struct {
	mu   sync.Mutex
	open map[*connection]bool // nil = closed
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
		return nil, err
	}
	c := &connection{Conn: conn, of: cs}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.open == nil {
		conn.Close()
		return nil, net.ErrClosed
	}
	cs.open[c] = true
	return c, nil
}

func (cs *connections) close() {
	cs.mu.Lock()
	open := maps.Clone(cs.open)
	cs.open = nil
	cs.mu.Unlock()
	for c := range open {
		c.Close()
	}
}

package kafka

import (
	"context"
	"net"

	"github.com/segmentio/kafka-go"
)

// SetDial makes the client connect by a function.
func (c *Client) SetDial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	c.transport.Load().Dial = dial
}

// CommittedBy is the source with an offset that a group has committed.
func (s Source) CommittedBy(group string) Source {
	s.group = group
	return s
}

var Payload = payload

// Fetch makes a request on the client's connections.
func (c *Client) Fetch(ctx context.Context, r *kafka.FetchRequest) (*kafka.FetchResponse, error) {
	return c.kafka.Fetch(ctx, r)
}

// Done is closed when the follower has ended.
func (f *Follower) Done() <-chan struct{} { return f.done }

// Err waits for the follower's end and returns its error.
func (f *Follower) Err() error {
	<-f.done
	return f.err
}

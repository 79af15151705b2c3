package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Limits for clients of the broker, which allocates the size that a request announces and crashes on a request of an unknown kind.
const (
	// maxConnections bounds the open connections, maxUnauthenticated those that have not authenticated yet.
	maxConnections     = 2048
	maxUnauthenticated = 256
	// unauthenticatedBytes is the size of the largest request before authentication, authenticateTime the time for it.
	unauthenticatedBytes = 16 << 10
	authenticateTime     = 15 * time.Second
	// transferTime is the time for a request to arrive once it has begun, and for a response to be accepted.
	transferTime = 30 * time.Second
	// Requests of more than largeBytes that are arriving share largestAtOnce times the size of the largest.
	largeBytes    = 64 << 10
	largestAtOnce = 4
)

// limits are shared by all connections of a broker.
type limits struct {
	maxRequest int
	sasl       bool

	mu                    sync.Mutex
	open, unauthenticated int
	arriving              int           // announced bytes of large requests that are arriving
	changed               chan struct{} // closed when arriving decreases
}

func (l *limits) listen(network, address string) (net.Listener, error) {
	inner, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	return &listener{inner, l}, nil
}

type listener struct {
	net.Listener
	limits *limits
}

// Accept closes connections beyond the limits.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.limits.admit(inner); c != nil {
			return c, nil
		}
		inner.Close()
	}
}

// admit returns nil when there are too many connections.
func (l *limits) admit(inner net.Conn) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= maxConnections || l.sasl && l.unauthenticated >= maxUnauthenticated {
		return nil
	}
	c := &conn{Conn: inner, limits: l, authenticated: !l.sasl}
	l.open++
	if l.sasl {
		l.unauthenticated++
		c.until = time.Now().Add(authenticateTime)
	}
	return c
}

// reserve waits until a large request may arrive, up to transferTime.
func (l *limits) reserve(size int) error {
	end := time.NewTimer(transferTime)
	defer end.Stop()
	for {
		l.mu.Lock()
		if l.arriving+size <= largestAtOnce*l.maxRequest {
			l.arriving += size
			l.mu.Unlock()
			return nil
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-end.C:
			return fmt.Errorf("%w: large requests of other clients do not arrive", errRefused)
		}
	}
}

func (l *limits) release(size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arriving -= size
	close(l.changed)
	l.changed = make(chan struct{})
}

// conn checks requests by their first eight bytes: size, key and version. The broker reads the requests of a
// connection one after another, and responds to each before it handles the next one.
type conn struct {
	net.Conn
	limits *limits

	// head is what was read of a request and not returned yet; left is the number of its bytes still to be read.
	head []byte
	left int

	mu            sync.Mutex
	authenticated bool
	until         time.Time   // when a client that has not authenticated is disconnected
	steps         int         // of authentication that succeeded
	pending       []requestID // requests before authentication that have no response, oldest first
	reserved      int
	closed        bool
}

// requestID is the kind of a request.
type requestID struct{ key, version int16 }

var errRefused = errors.New("refused")

func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(c.head) == 0 && c.left == 0 {
		if err := c.begin(); err != nil {
			return 0, err
		}
	}
	if len(c.head) > 0 {
		n := copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		c.release()
	}
	return n, err
}

// begin reads the head of a request and checks it. Between requests a client may be idle.
func (c *conn) begin() error {
	head := make([]byte, 8)
	c.limitRead(0)
	if _, err := io.ReadFull(c.Conn, head[:1]); err != nil {
		return err
	}
	c.limitRead(transferTime)
	if _, err := io.ReadFull(c.Conn, head[1:]); err != nil {
		return err
	}
	size := int64(binary.BigEndian.Uint32(head))
	id := requestID{int16(binary.BigEndian.Uint16(head[4:])), int16(binary.BigEndian.Uint16(head[6:]))}
	if err := c.check(id, size); err != nil {
		return err
	}
	if size > largeBytes {
		if err := c.limits.reserve(int(size)); err != nil {
			return err
		}
		c.mu.Lock()
		c.reserved = int(size)
		closed := c.closed
		c.mu.Unlock()
		if closed { // before the reservation was known
			c.release()
			return net.ErrClosed
		}
		c.limitRead(transferTime)
	}
	c.head, c.left = head, int(size)-4
	return nil
}

// limitRead sets the time limit for reading; 0 = only that of authentication.
func (c *conn) limitRead(wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.SetReadDeadline(c.deadline(wait))
}

func (c *conn) deadline(wait time.Duration) time.Time {
	var end time.Time
	if wait > 0 {
		end = time.Now().Add(wait)
	}
	if !c.authenticated && (end.IsZero() || c.until.Before(end)) {
		end = c.until
	}
	return end
}

// check refuses requests that the broker must not see.
func (c *conn) check(id requestID, size int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := int64(c.limits.maxRequest)
	if !c.authenticated {
		most = unauthenticatedBytes
		switch kmsg.Key(id.key) {
		case kmsg.ApiVersions, kmsg.SASLHandshake, kmsg.SASLAuthenticate:
		default:
			return fmt.Errorf("%w: request %d before authentication", errRefused, id.key)
		}
		c.pending = append(c.pending, id)
	}
	// A too new version of ApiVersions gets a response with the supported ones.
	if r := kmsg.RequestForKey(id.key); r == nil || id.version < 0 || id.version > r.MaxVersion() && kmsg.Key(id.key) != kmsg.ApiVersions {
		return fmt.Errorf("%w: request %d of version %d is not known", errRefused, id.key, id.version)
	}
	if size < 8 || size > most {
		return fmt.Errorf("%w: a request of %d bytes, at most %d are accepted", errRefused, size, most)
	}
	return nil
}

// Write sends a whole response. From responses to SASLAuthenticate it recognises when the client has
// authenticated: with the second success of SCRAM, the only mechanism with users here.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if len(c.pending) > 0 {
		id := c.pending[0]
		c.pending = c.pending[1:]
		if kmsg.Key(id.key) == kmsg.SASLAuthenticate && succeeded(p, id.version) {
			c.steps++
		}
		if c.steps == 2 && !c.authenticated && !c.closed {
			c.authenticated, c.pending = true, nil
			c.limits.mu.Lock()
			c.limits.unauthenticated--
			c.limits.mu.Unlock()
			c.SetReadDeadline(time.Time{}) // the broker waits for the next request already
		}
	}
	c.SetWriteDeadline(c.deadline(transferTime))
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// succeeded reads the error code of a response to SASLAuthenticate, after size, correlation id and, from version 2, an
// empty section of tags.
func succeeded(response []byte, version int16) bool {
	at := 8
	if version >= 2 {
		at++
	}
	return len(response) >= at+2 && response[at] == 0 && response[at+1] == 0
}

// release ends the reservation of a large request.
func (c *conn) release() {
	c.mu.Lock()
	size := c.reserved
	c.reserved = 0
	c.mu.Unlock()
	if size > 0 {
		c.limits.release(size)
	}
}

// Close may be called more than once.
func (c *conn) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	authenticated := c.authenticated
	c.mu.Unlock()
	if first {
		c.limits.mu.Lock()
		c.limits.open--
		if !authenticated {
			c.limits.unauthenticated--
		}
		c.limits.mu.Unlock()
	}
	err := c.Conn.Close()
	c.release()
	return err
}

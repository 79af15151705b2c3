package kafka_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl/scram"

	"forager/infra/local/kafka"
)

// resident is the peak resident size of this process, bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// frame is the beginning of a request: a size, which may be false, and what follows it.
func frame(size uint32, key, version uint16, more ...byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, size)
	b = binary.BigEndian.AppendUint16(b, key)
	return append(binary.BigEndian.AppendUint16(b, version), more...)
}

// refused reports whether the broker closes the connection.
func refused(c net.Conn) error {
	c.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := c.Read(make([]byte, 1))
	var timeout net.Error
	if n > 0 || errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%d bytes, %w", n, err)
	}
	return nil
}

// TestFalseSizes opens connections that announce large requests, and keeps them open. The additional memory of
// the process is within the limits, and other clients are served meanwhile.
func TestFalseSizes(t *testing.T) {
	const largest = 4 << 20
	for _, user := range []string{"", "forager"} {
		set := kafka.Settings{MaxRequestBytes: largest, User: user, Password: "pass"}
		b, err := kafka.Start(t.Context(), t.TempDir(), []string{"127.0.0.1:0"}, set)
		if err != nil {
			t.Fatal(err)
		}
		address := b.Addresses()[0]
		transport := &kafkago.Transport{}
		if user != "" {
			if transport.SASL, err = scram.Mechanism(scram.SHA256, user, "pass"); err != nil {
				t.Fatal(err)
			}
		}
		client := &kafkago.Client{Addr: kafkago.TCP(address), Transport: transport}
		runtime.GC()
		before := resident(t)
		var open []net.Conn
		for i := range 200 {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, c)
			size := []uint32{64 << 20, 1<<31 - 1, 1<<32 - 1, largest, largest - 1}[i%5]
			if _, err := c.Write(append(frame(size, 0, 9), make([]byte, 100)...)); err != nil {
				t.Fatal(err)
			}
			if size > largest || user != "" {
				if err := refused(c); err != nil {
					t.Fatalf("a request of %d bytes: %v", size, err)
				}
			}
		}
		if _, err := client.Metadata(t.Context(), &kafkago.MetadataRequest{}); err != nil {
			t.Errorf("user %q: a client is not served: %v", user, err)
		}
		// Four of the largest may be arriving, and as much is garbage; the client and the connections take some.
		if more := resident(t) - before; more > 2*4*largest+32<<20 {
			t.Errorf("user %q: %d MiB more", user, more>>20)
		}
		for _, c := range open {
			c.Close()
		}
		transport.CloseIdleConnections()
		b.Close()
	}
}

// TestUnknownRequests end the connection, not the broker.
func TestUnknownRequests(t *testing.T) {
	b, err := kafka.Start(t.Context(), t.TempDir(), []string{"127.0.0.1:0"}, kafka.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, f := range [][]byte{
		frame(12, 9999, 0, make([]byte, 8)...), frame(12, 0xffff, 0, make([]byte, 8)...), frame(12, 3, 999, make([]byte, 8)...),
		frame(12, 3, 0x8000, make([]byte, 8)...), frame(4, 3, 1), frame(0, 3, 1), frame(7, 3, 1, 0, 0, 0),
	} {
		c, err := net.Dial("tcp", b.Addresses()[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(f); err != nil {
			t.Fatal(err)
		}
		if err := refused(c); err != nil {
			t.Errorf("%x: %v", f, err)
		}
		c.Close()
	}
	if _, err := (&kafkago.Client{Addr: kafkago.TCP(b.Addresses()[0])}).Metadata(t.Context(), &kafkago.MetadataRequest{}); err != nil {
		t.Error(err)
	}
}

// TestUnauthenticatedConnections: they are limited in number and size, and do not block others for ever.
func TestUnauthenticatedConnections(t *testing.T) {
	dir := t.TempDir()
	start := func(password string) *kafka.Broker {
		b, err := kafka.Start(t.Context(), dir, []string{"127.0.0.1:0"}, kafka.Settings{User: "forager", Password: password})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	metadata := func(address, password string) error {
		m, err := scram.Mechanism(scram.SHA256, "forager", password)
		if err != nil {
			t.Fatal(err)
		}
		transport := &kafkago.Transport{SASL: m}
		defer transport.CloseIdleConnections()
		_, err = (&kafkago.Client{Addr: kafkago.TCP(address), Transport: transport}).Metadata(t.Context(), &kafkago.MetadataRequest{})
		return err
	}
	b := start("one")
	b.Close()
	b = start("two") // the first password is no longer valid
	defer b.Close()
	address := b.Addresses()[0]
	if err := metadata(address, "two"); err != nil {
		t.Fatal(err)
	}
	if err := metadata(address, "one"); err == nil {
		t.Fatal("an earlier password is accepted")
	}
	if err := metadata(address, "two"); err != nil {
		t.Fatal(err)
	}
	for _, f := range [][]byte{frame(12, 3, 1, make([]byte, 8)...), frame(12, 0, 9, make([]byte, 8)...), frame(1<<20, 18, 0, make([]byte, 8)...)} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(f); err != nil {
			t.Fatal(err)
		}
		if err := refused(c); err != nil {
			t.Errorf("%x before authentication: %v", f, err)
		}
		c.Close()
	}
	var idle []net.Conn
	for range 300 { // the last are closed at once, as there are 256 already
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	if err := refused(idle[len(idle)-1]); err != nil {
		t.Errorf("one connection too many: %v", err)
	}
	for _, c := range idle {
		c.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for err := metadata(address, "two"); err != nil; err = metadata(address, "two") {
		if ctx.Err() != nil {
			t.Fatalf("after they were closed: %v", err)
		}
	}
}

// TestSlowRequests: a request may arrive byte by byte, and a client be idle between two.
func TestSlowRequests(t *testing.T) {
	b, err := kafka.Start(t.Context(), t.TempDir(), []string{"127.0.0.1:0"}, kafka.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c, err := net.Dial("tcp", b.Addresses()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	request := frame(10, 18, 0, 0, 0, 0, 7, 0xff, 0xff) // ApiVersions, correlation id 7, no client id
	for range 3 {
		for i := range request {
			if _, err := c.Write(request[i : i+1]); err != nil {
				t.Fatal(err)
			}
		}
		c.SetReadDeadline(time.Now().Add(time.Minute))
		head := make([]byte, 8)
		if _, err := io.ReadFull(c, head); err != nil || head[7] != 7 {
			t.Fatalf("%x, %v", head, err)
		}
		if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head))-4); err != nil {
			t.Fatal(err)
		}
	}
}

package nameserver

import (
	"net"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"forager/internal/platform/freeport"
)

// Free returns an address of this machine (host:port) at which no server listens.
func Free(t testing.TB) string {
	t.Helper()
	free, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	return free[0]
}

// Start answers queries at an address (UDP) until the result is closed, at the end of the test at the latest: every name
// has the one address 127.0.0.1, and no other records.
func Start(t testing.TB, address string) net.PacketConn {
	t.Helper()
	return StartNames(t, address, func(string) [][4]byte { return [][4]byte{{127, 0, 0, 1}} })
}

// StartNames is Start with the addresses of names, which end with a dot.
func StartNames(t testing.TB, address string, addresses func(name string) [][4]byte) net.PacketConn {
	t.Helper()
	conn, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go serve(conn, addresses)
	return conn
}

func serve(conn net.PacketConn, addresses func(name string) [][4]byte) {
	b := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(b)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(b[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		m = dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
		if q.Type == dnsmessage.TypeA {
			for _, a := range addresses(q.Name.String()) {
				m.Answers = append(m.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: a},
				})
			}
		}
		if answer, err := m.Pack(); err == nil {
			_, _ = conn.WriteTo(answer, from) // a lost answer is asked for again
		}
	}
}

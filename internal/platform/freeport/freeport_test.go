package freeport

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// TestAddressesAreFreeAndDistinct: a server can listen on each, and no other process finds it.
func TestAddressesAreFreeAndDistinct(t *testing.T) {
	end := given("/proc/sys/net/ipv4/ip_local_port_range")
	var addresses []string
	for range 25 {
		two, err := Addresses(2)
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, two...)
	}
	for _, a := range addresses {
		host, port, err := net.SplitHostPort(a)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := strconv.Atoi(port); err != nil || host != "127.0.0.1" || n < lowest || n >= end {
			t.Errorf("%s is not below %d (%v)", a, end, err)
		}
		l, err := net.Listen("tcp", a)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if hold, err := net.Listen("unix", socket+a); err == nil { // as another process would
			hold.Close()
			t.Errorf("%s is not held", a)
		}
	}
	slices.Sort(addresses)
	if n := len(slices.Compact(addresses)); n != 50 {
		t.Errorf("%d different addresses of 50", n)
	}
}

// No port is found a second time while there are others, although no server listens on the first.
func TestAllPortsAreFoundInTurn(t *testing.T) {
	first, err := Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	for range least {
		again, err := Addresses(1)
		if err != nil || again[0] == first[0] {
			t.Fatalf("%s is found after %s (%v)", again, first, err)
		}
	}
}

func TestWhereTheSystemBegins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "range")
	for text, want := range map[string]int{"32768\t60999\n": 32768, "49152 65535": 49152, "1024 65535": 32768, "?": 32768, "20100 30000": 32768, "900000 1000000": 32768} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := given(file); got != want {
			t.Errorf("%q begins at %d, want %d", text, got, want)
		}
	}
	if got := given(file + " that is not there"); got != 32768 {
		t.Errorf("without a file it begins at %d", got)
	}
}

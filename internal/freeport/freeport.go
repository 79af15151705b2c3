package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// lowest leaves out the ports of well-known servers; most is the number of ports that are tried.
const lowest, most = 20_000, 1000

// Addresses returns n addresses of 127.0.0.1 at which nobody listens, with different ports.
func Addresses(n int) ([]string, error) {
	end := given("/proc/sys/net/ipv4/ip_local_port_range")
	var found []string
	for range most {
		if len(found) == n {
			return found, nil
		}
		port := lowest + rand.IntN(end-lowest)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer l.Close() // at the end, so that no port is found twice
		found = append(found, l.Addr().String())
	}
	return nil, fmt.Errorf("freeport: %d of %d ports are free from %d to %d", len(found), n, lowest, end-1)
}

// given returns the first port that the system gives out, from the file in which Linux says so;
// the default of Linux where there is no such file, or nearly all ports are given out.
func given(file string) int {
	const usual = 32768
	b, err := os.ReadFile(file)
	if err != nil {
		return usual
	}
	var first, last int
	if _, err := fmt.Sscan(string(b), &first, &last); err != nil || first <= lowest+most || first > 1<<16 {
		return usual
	}
	return first
}

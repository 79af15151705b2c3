package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

// lowest excludes the ports of well-known servers and those of pipeline.yaml; least is the smallest
// sufficient number of ports.
const lowest, least = 20_000, 1000

// ports are the candidates, in an order that differs between processes; next is the index of the next one,
// so that no port is returned twice: its server may not listen yet, or be restarting.
var (
	ports = sync.OnceValue(func() []int {
		order := rand.Perm(given("/proc/sys/net/ipv4/ip_local_port_range") - lowest)
		for i := range order {
			order[i] += lowest
		}
		return order
	})
	next atomic.Uint32
)

// Addresses returns n addresses of 127.0.0.1 on which no server listens, with ports that this process has
// not found before, as long as there are such.
func Addresses(n int) ([]string, error) {
	all := ports()
	var found []string
	for range all {
		if len(found) == n {
			break
		}
		port := all[int(next.Add(1))%len(all)]
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		l.Close()
		found = append(found, l.Addr().String())
	}
	if len(found) < n {
		return nil, fmt.Errorf("freeport: %d of %d ports are free from %d to %d", len(found), n, lowest, lowest+len(all)-1)
	}
	return found, nil
}

// given returns the first port that the system assigns, from the file in which Linux has the range;
// Linux's default if there is no such file, or if nearly all ports are in the range.
func given(file string) int {
	const usual = 32768
	b, err := os.ReadFile(file)
	if err != nil {
		return usual
	}
	var first, last int
	if _, err := fmt.Sscan(string(b), &first, &last); err != nil || first < lowest+least || first > 1<<16 {
		return usual
	}
	return first
}

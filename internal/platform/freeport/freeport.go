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
// sufficient number of ports; socket begins the names of sockets that hold addresses.
const lowest, least, socket = 20_000, 1000, "@forager/"

// ports are the candidates, in an order that differs between processes; next is the index of the next one,
// so that no port is returned twice: its server may not listen yet, or be restarting. held has, by address, the abstract
// Unix socket that keeps other processes from finding it; the kernel closes it when this one ends.
var (
	ports = sync.OnceValue(func() []int {
		order := rand.Perm(given("/proc/sys/net/ipv4/ip_local_port_range") - lowest)
		for i := range order {
			order[i] += lowest
		}
		return order
	})
	next atomic.Uint32
	held sync.Map
)

// Addresses returns n addresses of 127.0.0.1 on which no server listens, with ports that neither this process has
// found before nor one that still runs, as long as there are such.
func Addresses(n int) ([]string, error) {
	all := ports()
	var found []string
	for range len(all) + 1 {
		if len(found) == n {
			return found, nil
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(all[int(next.Add(1))%len(all)]))
		hold, err := net.Listen("unix", socket+address)
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			hold.Close()
			continue
		}
		l.Close()
		held.Store(address, hold)
		found = append(found, address)
	}
	return nil, fmt.Errorf("freeport: %d of %d ports are free from %d to %d", len(found), n, lowest, lowest+len(all)-1)
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

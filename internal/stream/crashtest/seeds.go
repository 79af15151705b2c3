package crashtest

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

var (
	seedFlag  = flag.Int64("crash.seed", -1, "run this seed of each simulation only")
	seedsFlag = flag.Uint64("crash.seeds", 0, "run this many seeds of each simulation; 0 = as many as the test has by default")
	firstFlag = flag.Uint64("crash.first", 0, "the first of these seeds")
)

// Seeds runs a simulation with n seeds, from 0 or the flag crash.first on, several at a time, and fails t at the first
// one that returns an error, with the command that repeats it. The flag crash.seeds overrides n.
func Seeds(t *testing.T, n uint64, run func(seed uint64) error) {
	t.Helper()
	if *seedFlag >= 0 {
		if err := run(uint64(*seedFlag)); err != nil {
			t.Fatalf("seed %d: %v", *seedFlag, err)
		}
		return
	}
	if *seedsFlag > 0 {
		n = *seedsFlag
	}
	first := *firstFlag
	if i, err := First(n, func(i uint64) error { return run(first + i) }); err != nil {
		t.Fatalf("seed %d: %v\nrun it alone with: go test -run '^%s$' -crash.seed=%d", first+i, err, t.Name(), first+i)
	}
}

// First runs a simulation with the seeds 0 to n−1, several at a time, until one returns an
// error; nil = none did.
func First(n uint64, run func(seed uint64) error) (seed uint64, err error) {
	var (
		mu    sync.Mutex
		next  uint64
		group sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				mu.Lock()
				s := next
				next++
				stop := err != nil || s >= n
				mu.Unlock()
				if stop {
					return
				}
				if e := caught(s, run); e != nil {
					mu.Lock()
					if err == nil || s < seed {
						seed, err = s, e
					}
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return seed, err
}

// caught returns a panic of a simulation as an error with its seed.
func caught(seed uint64, run func(uint64) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Sprintf("seed %d: %v", seed, p))
		}
	}()
	return run(seed)
}

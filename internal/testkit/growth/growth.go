package growth

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	factor = 8  // between the lengths of two inputs that are compared
	most   = 22 // the largest ratio of their costs that counts as linear; close to factor^1.5
	tries  = 5  // of which the cheapest counts
	// least is the CPU time below which a ratio is not meaningful.
	least = 2 * time.Millisecond
)

// Case is a family of inputs.
type Case struct {
	Name string
	// Make returns an input of about n bytes.
	Make func(n int) []byte
}

// Linear fails the test if read takes more than linear time for one of the families, or allocates more than
// perByte bytes for a byte of input. size is the length of the longest input, bytes.
func Linear(t *testing.T, size, perByte int, read func(input []byte), cases []Case) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // no collection during a measurement
	for _, c := range cases {
		short, long := c.Make(size/factor), c.Make(size)
		var a, b cost
		for try := range tries {
			a, b = a.least(measure(short, read), try), b.least(measure(long, read), try)
			if b.linear(a) || b.took > 4*most*a.took {
				break
			}
		}
		if !b.linear(a) {
			t.Errorf("%s: %d bytes take %v, %d bytes %v", c.Name, len(short), a.took, len(long), b.took)
		}
		if limit := perByte*len(long) + 1<<20; b.memory > limit {
			t.Errorf("%s: %d bytes make it allocate %d, limit %d", c.Name, len(long), b.memory, limit)
		}
	}
}

type cost struct {
	took   time.Duration
	memory int
}

func (c cost) linear(short cost) bool { return c.took <= most*max(short.took, least/most) }

func (c cost) least(other cost, try int) cost {
	if try == 0 {
		return other
	}
	return cost{min(c.took, other.took), min(c.memory, other.memory)}
}

func measure(input []byte, read func([]byte)) cost {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := cpu()
	read(input)
	took := cpu() - began
	runtime.ReadMemStats(&after)
	return cost{took, int(after.TotalAlloc - before.TotalAlloc)}
}

// cpu is the CPU time that this thread has taken.
func cpu() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// Repeat returns the family of a text that begins and ends as given, with as many copies of unit between as fit.
func Repeat(begin, unit, end string) func(n int) []byte {
	return func(n int) []byte {
		b := []byte(begin)
		for len(b)+len(unit)+len(end) <= n {
			b = append(b, unit...)
		}
		return append(b, end...)
	}
}

package bench

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"forager/cmd/internal/cli"
)

// onCores calls f in a thread that may run on the first n processors available to this process. Programs that f
// starts inherit this; the Go runtime and the ClickHouse engine in them start as many threads as they see
// processors. n = 0 changes nothing.
func onCores(n int, f func() error) error {
	if n == 0 {
		return f()
	}
	errs := make(chan error)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and its mask with the thread.
		runtime.LockOSThread()
		errs <- func() error {
			var all, few unix.CPUSet
			if err := unix.SchedGetaffinity(0, &all); err != nil {
				return fmt.Errorf("which processors may be used: %w", err)
			}
			if n > all.Count() {
				return cli.Usagef("--cores %d: this process may use %d", n, all.Count())
			}
			for cpu := 0; few.Count() < n; cpu++ {
				if all.IsSet(cpu) {
					few.Set(cpu)
				}
			}
			if err := unix.SchedSetaffinity(0, &few); err != nil {
				return fmt.Errorf("keep to %d processors: %w", n, err)
			}
			return f()
		}()
	}()
	return <-errs
}

package experiment

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"forager/cmd/forager/deploy"
	"forager/cmd/internal/cli"
	"forager/internal/lab/experiment"
)

// runCosts is the cost of the runs of an experiment, by variant.
type runCosts struct {
	begun time.Duration // CPU time of the process before the first run
	by    map[string]*runCost
}

// runCost is the cost of one variant's runs.
type runCost struct {
	variant string
	runs    int
	fetches uint64 // requests that were charged
	// cpu of the threads that made the runs; the garbage collector's is not included.
	cpu time.Duration
}

// newRunCosts begins to count, after the preparation that all runs share.
func newRunCosts() *runCosts {
	begun, _ := deploy.CPUTime(os.Getpid()) // without /proc, print omits it
	return &runCosts{begun, make(map[string]*runCost)}
}

func (c *runCosts) add(r *experiment.Result, cpu time.Duration) {
	of := c.by[r.Variant]
	if of == nil {
		of = &runCost{variant: r.Variant}
		c.by[r.Variant] = of
	}
	of.runs++
	of.fetches += r.Requests
	of.cpu += cpu
}

// print writes a line for each variant, those with the most CPU time first, and one for all.
func (c *runCosts) print(w io.Writer) {
	if len(c.by) == 0 {
		return
	}
	all := slices.SortedFunc(maps.Values(c.by), func(a, b *runCost) int { return int(b.cpu - a.cpu) })
	var sum runCost
	fmt.Fprintf(w, "%-34s %6s %9s %9s %14s\n", "CPU", "runs", "fetches", "seconds", "fetches/s·core")
	for _, r := range all {
		fmt.Fprintf(w, "%-34s %6d %9d %9.1f %14.0f\n", r.variant, r.runs, r.fetches, r.cpu.Seconds(), r.rate())
		sum.runs, sum.fetches = sum.runs+r.runs, sum.fetches+r.fetches
	}
	now, err := deploy.CPUTime(os.Getpid())
	if err != nil {
		return
	}
	sum.cpu = now - c.begun
	fmt.Fprintf(w, "%-34s %6d %9d %9.1f %14.0f\n", "all, with garbage collection", sum.runs, sum.fetches, sum.cpu.Seconds(), sum.rate())
	if peak, err := deploy.PeakMemory(os.Getpid()); err == nil {
		fmt.Fprintf(w, "peak memory %s\n", cli.Size(uint64(peak)))
	}
}

// rate is the number of fetches per second of one core.
func (c *runCost) rate() float64 {
	return float64(c.fetches) / max(c.cpu.Seconds(), deploy.Tick.Seconds())
}

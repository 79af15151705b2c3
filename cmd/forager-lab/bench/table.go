package bench

import (
	"fmt"
	"io"
	"slices"

	"forager/cmd/internal/cli"
)

// PrintProcesses returns the rows of the bench's table: stages in the order of a page's journey, then the
// programs that are not Forager's own.
func PrintProcesses() []string { return append(slices.Clone(cli.Programs), "local", "web") }

// printBench prints a column for each crawl.
func printBench(w io.Writer, r *Report) {
	fmt.Fprintf(w, "%d processors, %s\n\n%-40s", r.Cores, r.Go, "")
	line := func(name string, f func(Run) string) {
		fmt.Fprintf(w, "\n%-40s", name)
		for _, x := range r.Runs {
			fmt.Fprintf(w, " %11s", f(x))
		}
	}
	line("", func(x Run) string { return x.Web })
	line("", func(x Run) string { return x.Ranker })
	line("pages", func(x Run) string { return fmt.Sprint(x.Pages) })
	line("requests", func(x Run) string { return fmt.Sprint(x.Requests) })
	line("pages/s", func(x Run) string { return fmt.Sprintf("%.0f", x.PagesPerSecond) })
	line("loop at full speed, ms, median", func(x Run) string { return fmt.Sprint(x.LatencyMS) })
	line("loop at full speed, ms, 95 %", func(x Run) string { return fmt.Sprint(x.LatencyP95MS) })
	line("loop idle, ms, median", func(x Run) string { return fmt.Sprint(x.IdleLatencyMS) })
	for _, p := range PrintProcesses() {
		line("CPU ms a page, "+p, func(x Run) string { return fmt.Sprintf("%.2f", x.CPUMSPerPage[p]) })
	}
	line("CPU ms a page, everything", func(x Run) string { return fmt.Sprintf("%.2f", x.Sum) })
	line("floor: net/http", func(x Run) string { return fmt.Sprintf("%.3f", x.Floor.Fetch) })
	line("floor: net/http + html.Parse", func(x Run) string { return fmt.Sprintf("%.3f", x.Floor.Parse) })
	line("times the floor", func(x Run) string { return fmt.Sprintf("%.0f", x.Ratio) })
	for _, p := range PrintProcesses() {
		line("peak MiB / memory_bytes, "+p, func(x Run) string {
			peak, limit := x.Of(p)
			if limit > 0 {
				return fmt.Sprintf("%d / %d", peak>>20, limit>>20)
			}
			return fmt.Sprint(peak >> 20)
		})
	}
	fmt.Fprintln(w)
}

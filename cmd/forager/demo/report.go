package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"forager/cmd/forager/data"
	"forager/cmd/internal/cli"
	"forager/internal/measure/harvest"
	"forager/internal/platform/analytics"
)

// judge adds the measures from ClickHouse and from the ground truth to a run.
func (d *Demo) judge(run *Run) error {
	db, err := analytics.Open(d.Config.ClickHouse)
	if err != nil {
		return err
	}
	defer db.Close()
	pages, truth, loss := 0, 0, 0.0
	err = db.Report(run.Crawl).DeliveredPages(d.S, func(p analytics.DeliveredPage) {
		pages++
		if d.Environment.Truth(p.URL) {
			truth++
		}
		loss += 1 - p.Relevance
		for _, percent := range []int{25, 50, 100} {
			if pages == int(run.Pages)*percent/100 {
				run.LossAt[fmt.Sprint(percent)] = loss / float64(pages)
			}
		}
	})
	if err != nil {
		return err
	}
	if uint64(pages) != run.Pages {
		return fmt.Errorf("ClickHouse has %d delivered pages of %s, prioritize counted %d", pages, run.Crawl, run.Pages)
	}
	if pages > 0 {
		run.HarvestTruth = float64(truth) / float64(pages)
	}
	return nil
}

// printDemo prints both runs next to one another, and where to look at them: page is the address of the monitor.
func printDemo(w io.Writer, r *Report, f *Flags, page string) {
	fmt.Fprintf(w, "%s, topic %s\n\n%-34s", r.Web, r.Topic, "")
	for _, x := range r.Runs {
		fmt.Fprintf(w, " %12s", x.Ranker)
	}
	row := func(name string, f func(Run) string) {
		fmt.Fprintf(w, "\n%-34s", name)
		for _, x := range r.Runs {
			fmt.Fprintf(w, " %12s", f(x))
		}
	}
	row("pages delivered", func(x Run) string { return fmt.Sprint(x.Pages) })
	row("requests charged", func(x Run) string { return fmt.Sprint(x.Requests) })
	row("pages/s", func(x Run) string { return fmt.Sprintf("%.0f", x.PagesPerSecond) })
	row("harvest rate (critic)", func(x Run) string { return fmt.Sprintf("%.3f", x.Harvest) })
	row("harvest rate (truth)", func(x Run) string { return fmt.Sprintf("%.3f", x.HarvestTruth) })
	for _, at := range []string{"25", "50", "100"} {
		row("loss rate at "+at+" % of the budget", func(x Run) string { return fmt.Sprintf("%.3f", x.LossAt[at]) })
	}
	row("leaps learned from", func(x Run) string { return fmt.Sprint(x.Trained) })
	row("loop, median ms", func(x Run) string { return fmt.Sprint(x.LatencyMS) })
	for _, stage := range append(slices.Clone(cli.StageNames), "local") {
		row("CPU ms a page, "+stage, func(x Run) string { return fmt.Sprintf("%.2f", x.CPUMSPerPage[stage]) })
	}
	row("ended", func(x Run) string { return strings.TrimSuffix(x.EndReason, " spent") })
	fmt.Fprintln(w)
	if len(r.Runs) == 2 {
		if cut, ok := harvest.LossCut(r.Runs[1].Loss, r.Runs[0].Loss); ok {
			fmt.Fprintf(w, "\nloss cut of the %s over %s: %.0f %%\n", r.Runs[1].Ranker, r.Runs[0].Ranker, 100*cut)
		}
	}
	fmt.Fprintln(w)
	for _, x := range r.Verify.Crawls {
		if x.OK {
			fmt.Fprintf(w, "verify %-12s everything agrees\n", x.Crawl)
		} else {
			data.PrintAudit(w, x)
		}
	}
	config := f.Out + "/pipeline.yaml"
	fmt.Fprintf(w, "\nTry next (forager is in %s):\n", "build/bin")
	fmt.Fprintf(w, "  forager up --config %s                     # start it all again on the demo's data\n", config)
	fmt.Fprintf(w, "  forager report apprentice --config %s      # curves, outcomes, what was learned\n", config)
	fmt.Fprintf(w, "  forager query --config %s --list           # questions to ask ClickHouse\n", config)
	fmt.Fprintf(w, "  README.md: crawl your own topic on the live web\n")
	fmt.Fprintf(w, "The page of these crawls, once it is up: %s\n", page)
}

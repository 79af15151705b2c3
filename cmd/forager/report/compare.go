package report

import (
	"fmt"
	"io"

	"forager/cmd/internal/cli"
	"forager/internal/monitor/view"
)

// crawlsReport is the report of several crawls.
type crawlsReport struct {
	Crawls []*CrawlReport `json:"crawls"`
	// Overlap has a row for each crawl, and in it a share for each.
	Overlap [][]overlapShare `json:"overlap"`
}

// printCompared prints crawls in columns.
func printCompared(w io.Writer, all []*CrawlReport, overlap []overlapRow) {
	row := func(name string, of func(*CrawlReport) string) {
		fmt.Fprintf(w, "%-26s", name)
		for _, r := range all {
			fmt.Fprintf(w, " %20.20s", of(r))
		}
		fmt.Fprintln(w)
	}
	three := func(x float64) string { return fmt.Sprintf("%.3f", x) }
	row("", func(r *CrawlReport) string { return view.Plain(r.Crawl) })
	row("state", func(r *CrawlReport) string { return r.State })
	row("ranker", func(r *CrawlReport) string { return r.Ranker })
	row("critic", func(r *CrawlReport) string { return r.Critic })
	row("pages", func(r *CrawlReport) string { return fmt.Sprint(r.Pages) })
	row("requests", func(r *CrawlReport) string { return fmt.Sprint(r.Requests) })
	row("hosts", func(r *CrawlReport) string { return fmt.Sprint(r.Hosts) })
	row("harvest", func(r *CrawlReport) string { return three(r.Harvest) })
	row("harvest, last 1000", func(r *CrawlReport) string { return three(r.Last().Recent1000) })
	row("loss", func(r *CrawlReport) string { return three(r.Loss) })
	row("pages with R ≥ 0.5", func(r *CrawlReport) string { return fmt.Sprint(r.Last().Targets) })
	row("delivered", func(r *CrawlReport) string {
		return fmt.Sprintf("%.1f %%", inPercent(numbers(r.Outcomes))["delivered"])
	})
	row("models", func(r *CrawlReport) string { return fmt.Sprint(len(r.Models)) })
	row("stored", func(r *CrawlReport) string { return cli.Size(r.Data.Bytes) })
	row("records behind", func(r *CrawlReport) string { return fmt.Sprint(r.Behind) })
	fmt.Fprintln(w, "\npages of both, and their share of the pages of either:")
	for _, o := range overlap {
		fmt.Fprintf(w, "%-26.26s", view.Plain(o.Crawl))
		for _, s := range o.Shares {
			fmt.Fprintf(w, " %20s", fmt.Sprintf("%d (%.1f %%)", s.Pages, 100*s.Jaccard))
		}
		fmt.Fprintln(w)
	}
}

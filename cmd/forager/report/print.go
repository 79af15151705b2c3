package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
)

func printReport(w io.Writer, r *CrawlReport) {
	fmt.Fprintf(w, "%s  %s", r.Crawl, r.State)
	if why := r.Why(); why != "" {
		fmt.Fprintf(w, ": %s", why)
	}
	fmt.Fprintf(w, "\nfocus %s, critic %s, ranker %s, started %s\n", operate.FocusLine(r.Focus, r.Weights, r.Bad), r.Critic,
		r.Ranker, r.Started.Format(time.RFC3339))
	for _, note := range r.Notes {
		fmt.Fprintf(w, "(%s)\n", note)
	}
	fmt.Fprintf(w, "\n%d pages, %d requests, %d hosts\n", r.Pages, r.Requests, r.Hosts)
	r.PrintHarvest(w)
	if r.Behind > 0 {
		fmt.Fprintf(w, "(%d records are still on their way to ClickHouse: what follows is not up to date)\n", r.Behind)
	}
	if len(r.Curve) > 0 {
		fmt.Fprintf(w, "\n%8s %8s %8s %9s %9s %9s\n", "PAGES", "HARVEST", "LOSS", "LAST 1000", "LAST 200", "LAST 100")
		for _, p := range r.Curve {
			fmt.Fprintf(w, "%8d %8.3f %8.3f %9.3f %9.3f %9.3f  %s\n", p.Pages, p.Harvest, p.Loss, p.Recent1000, p.Recent200, p.Recent, bar(p.Recent))
		}
	}
	if len(r.Arms) > 0 {
		fmt.Fprintf(w, "\n%-22s %8s %8s %8s %9s\n", "ARM OF THE MIXTURE", "CHOSEN", "PAGES", "MEAN R", "EXPECTED")
		for _, a := range r.Arms {
			fmt.Fprintf(w, "%-22s %8d %8d %8.3f %9.3f  %s\n", a.Policy, a.Chosen, a.Pages, a.Mean, a.Expected, bar(a.Expected))
		}
	}
	printCounts(w, "OUTCOME", r.Outcomes)
	printCounts(w, "REFUSED LINKS", r.Refused)
	printOutages(w, r.Outages)
	printJudges(w, r)
	printHubs(w, r.Hubs)
	if len(r.Models) > 0 {
		first, last := r.Models[0], r.Models[len(r.Models)-1]
		fmt.Fprintf(w, "\nlearning: %d models, the first after %d pages (%d leaps), the last after %d pages (%d leaps); R(v) ≥ %.3f is high\n",
			len(r.Models), first.Pages, first.Leaps, last.Pages, last.Leaps, last.Cut)
	}
	if len(r.Prediction) > 0 {
		fmt.Fprintf(w, "\n%-18s %8s %8s %8s %8s\n", "PREDICTED BY", "QUARTER", "PAGES", "SCORE", "HARVEST")
		for _, q := range r.Prediction {
			fmt.Fprintf(w, "%-18s %8d %8d %8.3f %8.3f\n", q.Policy, q.Quarter, q.Pages, q.Score, q.Harvest)
		}
	}
	printRankers(w, r)
	fmt.Fprintf(w, "\nloop: %d ms median, %d ms 95th percentile from dispatch to verdict; window %d\n", r.Latency.P50, r.Latency.P95, r.Window)
	fmt.Fprintf(w, "data: %d segments, %s in %s\n", r.Data.Segments, cli.Size(r.Data.Bytes), r.Data.Bucket)
	for _, view := range slices.Sorted(maps.Keys(r.Data.Rows)) {
		fmt.Fprintf(w, "      %8d rows of %s in ClickHouse\n", r.Data.Rows[view], view)
	}
	for _, topic := range slices.Sorted(maps.Keys(r.Spans)) {
		fmt.Fprintf(w, "      %8d records in topic %s\n", r.Spans[topic].Records, topic)
	}
}

func printCounts(w io.Writer, head string, counts map[string]uint64) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%-22s %8s\n", head, "COUNT")
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return int(int64(counts[b]) - int64(counts[a]))
		}
		return strings.Compare(a, b)
	})
	for _, n := range names {
		fmt.Fprintf(w, "%-22s %8d\n", n, counts[n])
	}
}

// bar draws a share in [0,1].
func bar(share float64) string { return strings.Repeat("█", int(math.Round(share*40))) }

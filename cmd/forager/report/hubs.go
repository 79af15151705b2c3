package report

import (
	"context"
	"fmt"
	"io"

	"forager/internal/platform/analytics"
	"forager/internal/rank/policy"
)

// HubsReport is the newest ranking of a crawl by the distiller; each shard has its own.
type HubsReport struct {
	analytics.HubGraph
	// Fetched is the number of pages that were fetched first because of their hubs, Mean the mean of their R.
	Fetched uint64  `json:"fetched"`
	Mean    float64 `json:"mean_relevance"`
	// Hubs and Authorities, best first, of each shard.
	Hubs        []analytics.RankedPage `json:"hubs"`
	Authorities []analytics.RankedPage `json:"authorities"`
}

// mostRanked is the number of hubs and authorities in a report.
const mostRanked = 5

// askHubs fills in the rankings of the distiller.
func (r *CrawlReport) askHubs(ctx context.Context, rows analytics.Report) error {
	hubs, authorities, err := rows.RankedPages(ctx, mostRanked)
	if err != nil || len(hubs) == 0 {
		return err
	}
	graph, err := rows.HubGraph(ctx)
	if err != nil {
		return err
	}
	fetched, mean, err := rows.ScoredPages(ctx, policy.RaisedScore, r.raising)
	if err != nil {
		return err
	}
	r.Hubs = &HubsReport{HubGraph: graph, Fetched: fetched, Mean: mean, Hubs: hubs, Authorities: authorities}
	return nil
}

func printHubs(w io.Writer, h *HubsReport) {
	if h == nil {
		return
	}
	fmt.Fprintf(w, "\nhubs: found %d times, at last behind %d pages: %d nodes, %d edges; %d URLs raised then\n",
		h.Rankings, h.Pages, h.Nodes, h.Edges, h.Raised)
	fmt.Fprintf(w, "      %d pages came first for their hubs, mean R %.3f\n", h.Fetched, h.Mean)
	for _, kind := range []struct {
		head  string
		pages []analytics.RankedPage
	}{{"HUB", h.Hubs}, {"AUTHORITY", h.Authorities}} {
		fmt.Fprintf(w, "%-10s %8s %8s\n", kind.head, "SCORE", "R")
		for _, p := range kind.pages {
			mark := ""
			if p.Marked {
				mark = "  (worth another visit)"
			}
			fmt.Fprintf(w, "%-10s %8.3f %8.3f  %s%s\n", "", p.Score, p.Relevance, p.URL, mark)
		}
	}
}

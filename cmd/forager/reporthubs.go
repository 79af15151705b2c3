package main

import (
	"context"
	"fmt"
	"io"

	"forager/internal/platform/analytics"
	"forager/internal/rank/rank"
)

// hubsReport is the newest ranking of a crawl by the distiller; each shard has its own.
type hubsReport struct {
	// Pages delivered when it was computed, and the number of rankings with hubs.
	Pages    uint64 `json:"pages"`
	Rankings uint64 `json:"rankings"`
	// Nodes and Edges of the graph, and unvisited URLs that marked hubs linked to.
	Nodes  uint64 `json:"nodes"`
	Edges  uint64 `json:"edges"`
	Raised uint64 `json:"raised"`
	// Fetched is the number of pages that were fetched first because of their hubs, Mean the mean of their R.
	Fetched uint64  `json:"fetched"`
	Mean    float64 `json:"mean_relevance"`
	// Hubs and Authorities, best first, of each shard.
	Hubs        []rankedReport `json:"hubs"`
	Authorities []rankedReport `json:"authorities"`
}

type rankedReport struct {
	URL       string  `json:"url"`
	Score     float64 `json:"score"`
	Relevance float64 `json:"relevance"`
	Marked    bool    `json:"marked"`
}

// mostRanked is the number of hubs and authorities in a report.
const mostRanked = 5

// askHubs fills in the rankings of the distiller.
func (r *crawlReport) askHubs(ctx context.Context, db *analytics.DB, p analytics.Params) error {
	var h hubsReport
	err := db.Each(ctx, `SELECT kind, url, score, relevance, marked FROM hubs
		WHERE place <= {most:UInt16} AND crawl = {crawl:String} AND (shard, pages) IN (SELECT shard, max(pages) FROM hubs WHERE crawl = {crawl:String} GROUP BY shard)
		ORDER BY place, shard`, analytics.Params{"crawl": p["crawl"], "most": fmt.Sprint(mostRanked)}, func(row []any) error {
		page := rankedReport{row[1].(string), row[2].(float64), row[3].(float64), row[4].(bool)}
		if row[0].(string) == "hub" {
			h.Hubs = append(h.Hubs, page)
		} else {
			h.Authorities = append(h.Authorities, page)
		}
		return nil
	})
	if err != nil || len(h.Hubs) == 0 {
		return err
	}
	err = db.Each(ctx, `SELECT sum(p), sum(n), sum(e), sum(u), sum(c) FROM
		(SELECT shard, max(pages) AS p, argMax(nodes, pages) AS n, argMax(edges, pages) AS e, toUInt64(argMax(raised, pages)) AS u, uniqExact(id) AS c
		 FROM hubs WHERE crawl = {crawl:String} GROUP BY shard)`, p, func(row []any) error {
		h.Pages, h.Nodes, h.Edges, h.Raised, h.Rankings = row[0].(uint64), row[1].(uint64), row[2].(uint64), row[3].(uint64), row[4].(uint64)
		return nil
	})
	if err != nil {
		return err
	}
	r.Hubs = &h
	return db.Each(ctx, `SELECT count(), if(count() = 0, 0, avg(relevance)) FROM pages
		WHERE crawl = {crawl:String} AND outcome = 'delivered' AND score = {first:Float64} AND policy IN {raising:Array(String)}`,
		analytics.Params{"crawl": p["crawl"], "first": rank.RaisedScore, "raising": r.raising}, func(row []any) error {
			h.Fetched, h.Mean = row[0].(uint64), row[1].(float64)
			return nil
		})
}

func printHubs(w io.Writer, h *hubsReport) {
	if h == nil {
		return
	}
	fmt.Fprintf(w, "\nhubs: found %d times, at last behind %d pages: %d nodes, %d edges; %d URLs raised then\n",
		h.Rankings, h.Pages, h.Nodes, h.Edges, h.Raised)
	fmt.Fprintf(w, "      %d pages came first for their hubs, mean R %.3f\n", h.Fetched, h.Mean)
	for _, kind := range []struct {
		head  string
		pages []rankedReport
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

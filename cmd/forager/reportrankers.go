package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"forager/internal/measure/harvest"
	"forager/internal/platform/analytics"
	"forager/schemas"
)

// rankerReport compares a shadow ranker with those that chose, over the pages that it ranked.
type rankerReport struct {
	Ranker string `json:"ranker"`
	// Cut is the relevance above which a page is on topic.
	Cut float64 `json:"cut"`
	harvest.ShadowComparison
}

// askRankers fills in the positions given by shadow rankers.
func (r *crawlReport) askRankers(ctx context.Context, db *analytics.DB, p analytics.Params) error {
	var names []string
	placed := make(map[string][]harvest.Placed)
	err := db.Each(ctx, `SELECT s.policy, toUInt8(s.dropped), s.tier, s.score, p.policy, p.tier, p.score, p.relevance
		FROM ranker_shadows AS s INNER JOIN pages AS p ON p.crawl = s.crawl AND p.id = s.request
		WHERE s.crawl = {crawl:String} AND p.crawl = {crawl:String} AND p.outcome = 'delivered'
		ORDER BY s.policy, p.shard, p.ordinal`, p, func(row []any) error {
		name := row[0].(string)
		if placed[name] == nil {
			names = append(names, name)
		}
		placed[name] = append(placed[name], harvest.Placed{
			Shadow: harvest.Order{Out: row[1].(uint8) != 0, Tier: row[2].(uint32), Score: row[3].(float64)},
			Policy: row[4].(string), Used: harvest.Order{Tier: row[5].(uint32), Score: row[6].(float64)},
			Relevance: row[7].(float64),
		})
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		r.Rankers = append(r.Rankers, rankerReport{name, r.cut(), harvest.CompareOrders(placed[name], r.cut())})
	}
	return nil
}

// shardNotes are sentences on what the rankers of a crawl lack compared with a crawl of one shard.
func shardNotes(ctl *schemas.CrawlControl) (notes []string) {
	n := schemas.ShardsOf(ctl)
	if n == 1 {
		return nil
	}
	if slices.Contains(ctl.GetLearning().GetFeatures(), schemas.FeatureFamily_FEATURE_FAMILY_COCITATION) {
		notes = append(notes, fmt.Sprintf("co-citation features: of the links beside a link only those to hosts of its own shard are looked at, as each of the %d shards knows R of its own pages", n))
	}
	for _, p := range schemas.Orders(ctl) {
		switch {
		case p.GetRaise():
			notes = append(notes, fmt.Sprintf("%s: each of the %d shards finds the hubs among its own pages and those that link to them", p.GetName(), n))
		case p.GetRanker() == schemas.Ranker_RANKER_INTEREST, p.GetRanker() == schemas.Ranker_RANKER_TAG_BANDIT:
			notes = append(notes, fmt.Sprintf("%s: each of the %d shards learns from its own pages, and from links that do not leave it", p.GetName(), n))
		}
	}
	return notes
}

func printRankers(w io.Writer, r *crawlReport) {
	if len(r.Rankers) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%-22s %8s %8s %8s %8s %8s %8s %8s %8s\n", "RANKER, NOT USED", "PAGES", "HARVEST", "ITS TOP", "USED TOP", "SHARED", "AUC", "USED AUC", "CORR")
	for _, x := range r.Rankers {
		fmt.Fprintf(w, "%-22s %8d %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f", x.Ranker, x.Pages, x.Harvest, x.HarvestShadow, x.HarvestUsed,
			x.Shared, x.AUCShadow, x.AUCUsed, x.Correlation)
		if x.Out > 0 {
			fmt.Fprintf(w, "  its gate leaves out %.3f", x.Out)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, `Of a hundred pages in a row that one policy chose: harvest of all, of the quarter that the shadow places highest, and of
that which the policy followed does; the part of the shadow's quarter that is in the other; the share of pairs of a page
with R ≥ %.3f and one below that are in order; rank correlation of both. Only pages that were fetched are compared, and the
policy followed chose them: its own scores differ little among them, which makes it look worse than it is, and what
the shadow would have fetched instead nobody has seen. Whether it is better a crawl of its own says.
`, r.cut())
}

package report

import (
	"fmt"
	"io"
	"slices"

	"forager/schemas"
)

// shardNotes are sentences on what the rankers of a crawl lack compared with a crawl of one shard.
func shardNotes(ctl *schemas.CrawlControl) (notes []string) {
	n := schemas.ShardsOf(ctl)
	if n == 1 {
		return nil
	}
	if slices.Contains(ctl.GetLearning().GetFeatures(), schemas.FeatureFamily_FEATURE_FAMILY_COCITATION) {
		notes = append(notes, fmt.Sprintf("co-citation features: of the links near a link only those to hosts of its own shard are read, as each of the %d shards has R of its own pages only", n))
	}
	for _, p := range schemas.Orders(ctl) {
		if p.GetRaise() {
			notes = append(notes, fmt.Sprintf("%s: each of the %d shards finds the hubs among its own pages and those that link to them", p.GetName(), n))
		}
	}
	return notes
}

func printRankers(w io.Writer, r *CrawlReport) {
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
with R ≥ %.3f and one below that are in order; rank correlation of both. Only pages that were fetched are compared, the last
%d of them at most, and the policy followed chose them: its own scores differ little among them, which makes it look worse than it is, and pages
that the shadow would have fetched instead were not fetched. Whether it is better, only a crawl of its own can show.
`, r.cut(), shadowPages)
}

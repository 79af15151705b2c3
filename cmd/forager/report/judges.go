package report

import (
	"fmt"
	"io"
)

// cut is the relevance above which a page is on topic: the newest apprentice's, or one half.
func (r *CrawlReport) cut() float64 {
	if n := len(r.Models); n > 0 {
		return r.Models[n-1].Cut
	}
	return .5
}

func printJudges(w io.Writer, r *CrawlReport) {
	if len(r.Judged) > 1 {
		fmt.Fprintf(w, "\n%-32s %8s %8s %8s\n", "JUDGED BY", "REVISION", "PAGES", "HARVEST")
		for _, j := range r.Judged {
			why := ""
			if j.Degraded != "" {
				why = "  as the fallback: " + j.Degraded
			}
			fmt.Fprintf(w, "%-32s %8d %8d %8.3f%s\n", j.Critic, j.Marking, j.Pages, j.Harvest, why)
		}
	}
	for _, x := range r.Silent {
		fmt.Fprintf(w, "\n%s did not answer about %d pages: %s (the log of critic-score has more)\n", x.Who, x.Pages, x.Why)
	}
	for _, x := range r.Shadows {
		fmt.Fprintf(w, "\nshadow %s compared with %s: %d pages", x.Critic, x.Used, x.Pages)
		if x.Failures > 0 {
			fmt.Fprintf(w, ", and %d that it did not judge", x.Failures)
		}
		fmt.Fprintf(w, "\n  R(u) ≥ %.3f: %.3f of the pages by the shadow, %.3f by the other; they agree on %.3f\n", x.Cut, x.OnTopic, x.OnTopicUsed, x.Agreement)
		fmt.Fprintf(w, "  R(u) of the shadow is %+.3f on the mean, %.3f away\n", x.Difference, x.Apart)
	}
	if len(r.Rejudged) > 0 {
		fmt.Fprintf(w, "\n%-32s %8s %8s %8s %8s  FOR\n", "JUDGED AGAIN BY", "PAGES", "HARVEST", "BY OWN", "AGREE")
		for _, x := range r.Rejudged {
			fmt.Fprintf(w, "%-32s %8d %8.3f %8.3f %8.3f  %s\n", x.Critic, x.Pages, x.Harvest, x.Own, x.Agreement, x.Focus)
		}
	}
}

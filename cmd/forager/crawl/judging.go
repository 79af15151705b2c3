package crawl

import (
	"fmt"
	"io"
	"strings"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
	"forager/schemas"
)

// judging is the critic and the focus of a crawl, for display.
type judging struct {
	Crawl    string             `json:"crawl"`
	Revision uint64             `json:"revision"`
	Critic   string             `json:"critic"`
	Shadows  []string           `json:"shadows"`
	Focus    []string           `json:"focus"`
	Weights  map[string]float64 `json:"weights"`
	Bad      []string           `json:"bad"`
}

// changeJudging changes how a running crawl is judged, after checking that it can be judged so.
func changeJudging(s *cli.Session, crawl string, change func(*schemas.CrawlControl) error) error {
	b, store, err := s.OpenStore()
	if err != nil {
		return err
	}
	old, next, err := b.Rejudge(s, store, crawl, 0, change)
	if err != nil {
		return err
	}
	if next == old {
		return s.Print(judgingOf(old), func(w io.Writer) { printJudging(w, judgingOf(old)) })
	}
	return s.Print(judgingOf(next), func(w io.Writer) {
		printJudging(w, judgingOf(next))
		fmt.Fprintln(w, "this counts for pages that are judged from now on")
	})
}

func judgingOf(ctl *schemas.CrawlControl) judging {
	return judging{
		Crawl: ctl.GetCrawl(), Revision: ctl.GetRevision(), Critic: ctl.GetCritic(), Shadows: ctl.GetShadows(),
		Focus: ctl.GetFocus(), Weights: ctl.GetWeights(), Bad: ctl.GetBad(),
	}
}

func printJudging(w io.Writer, j judging) {
	fmt.Fprintf(w, "%s, revision %d\nfocus %s\n", j.Crawl, j.Revision, operate.FocusLine(j.Focus, j.Weights, j.Bad))
	fmt.Fprintf(w, "critic %s", j.Critic)
	if len(j.Shadows) > 0 {
		fmt.Fprintf(w, "; for comparison only: %s", strings.Join(j.Shadows, ", "))
	}
	fmt.Fprintln(w)
}

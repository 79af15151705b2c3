package crawl

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/cmd/internal/models"
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

// remark changes how a running crawl is judged, after checking that it can be judged so.
func remark(s *cli.Session, crawl string, change func(*schemas.CrawlControl) error) error {
	b, store, err := s.OpenStore()
	if err != nil {
		return err
	}
	defer b.Close()
	if _, err := b.Control(crawl); err != nil {
		return err
	}
	old, seen := b.Newest(crawl)
	if old.GetCritic() == "" {
		return fmt.Errorf("crawl %q only fetches: no critic judges its pages", crawl)
	}
	next := proto.CloneOf(old)
	if err := change(next); err != nil {
		return err
	}
	if !proto.Equal(old, next) {
		if st := b.Status(crawl); cli.Ended(st) {
			return fmt.Errorf("crawl %q has finished (%s): there is nothing left to judge", crawl, st.GetEndReason())
		}
		if slices.Equal(next.Shadows, old.Shadows) { // a shadow that now counts is no longer a shadow
			version := next.GetCritic()
			if m, err := b.Critic(version); err == nil {
				version = m.GetVersion()
			}
			next.Shadows = slices.DeleteFunc(next.Shadows, func(v string) bool { return v == version })
		}
		if err := models.SettleJudges(s, b, store, next); err != nil {
			return err
		}
	}
	if proto.Equal(old, next) {
		return s.Print(judgingOf(old), func(w io.Writer) { printJudging(w, judgingOf(old)) })
	}
	if next, err = b.ReviseAs(s, next, seen); err != nil {
		return err
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
	fmt.Fprintf(w, "%s, revision %d\nfocus %s\n", j.Crawl, j.Revision, crawls.FocusLine(j.Focus, j.Weights, j.Bad))
	fmt.Fprintf(w, "critic %s", j.Critic)
	if len(j.Shadows) > 0 {
		fmt.Fprintf(w, "; for comparison only: %s", strings.Join(j.Shadows, ", "))
	}
	fmt.Fprintln(w)
}

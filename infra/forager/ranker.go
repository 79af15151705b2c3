package main

import (
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawlfile"
	"forager/schemas"
)

type crawlRanker struct {
	Crawl  string `arg:"" help:"Name of the crawl."`
	Ranker string `arg:"" help:"The ranker, or several with + between them: the arms of a mixture."`
}

func (c *crawlRanker) Help() string {
	return `Every unvisited URL is placed anew, by the links that are known to it; what the apprentice has learned, and what
a mixture knows of arms that it keeps, stays. Links found before a ranker that reads their texts came in are ranked by
the relevance of their pages alone.

Rankers: ` + strings.Join(crawlfile.Rankers, ", ") + `.

  forager crawl ranker chemistry mixture
  forager crawl ranker chemistry apprentice-gated+hard-defer`
}

// switched is what crawl ranker prints.
type switched struct {
	Crawl  string `json:"crawl"`
	Ranker string `json:"ranker"`
	Before string `json:"before"`
}

func (c *crawlRanker) Run(s *session) error {
	ranking, err := crawlfile.Rank(c.Ranker)
	if err != nil {
		return errUsage{err}
	}
	_, b, err := s.openBooks()
	if err != nil {
		return err
	}
	defer b.close()
	ctl, err := b.control(c.Crawl)
	if err != nil {
		return err
	}
	if st := b.status(c.Crawl); ended(st) {
		return fmt.Errorf("crawl %q has finished (%s): there is nothing left to rank", c.Crawl, st.GetEndReason())
	}
	x := switched{Crawl: c.Crawl, Ranker: c.Ranker, Before: crawlfile.NameOf(ctl)}
	next := proto.CloneOf(ctl)
	rankBy(next, ranking)
	if !proto.Equal(next, ctl) {
		if _, err := b.revise(s, c.Crawl, func(next *schemas.CrawlControl) { rankBy(next, ranking) }); err != nil {
			return err
		}
	}
	return s.print(x, func(w io.Writer) { fmt.Fprintf(w, "%s is ranked by %s, was by %s\n", x.Crawl, x.Ranker, x.Before) })
}

func rankBy(ctl *schemas.CrawlControl, r *crawlfile.Ranking) {
	ctl.Policies, ctl.Mixture = r.Policies, r.Mixture
}

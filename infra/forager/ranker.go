package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawlfile"
	"forager/schemas"
)

type crawlRanker struct {
	Crawl  string `arg:"" help:"Name of the crawl."`
	Ranker string `arg:"" help:"The ranker, or several with + between them: the arms of a mixture."`

	Guide map[string]string `help:"The published guide that a ranker is, as RANKER=GUIDE; one that the crawl has already need not be named." placeholder:"RANKER=GUIDE"`
}

func (c *crawlRanker) Help() string {
	return `Every unvisited URL is placed anew, by the links that are known to it; what the apprentice has learned, and what
a mixture knows of arms that it keeps, stays. Links found before a ranker that reads their texts came in are ranked by
the relevance of their pages alone; those of pages that a guide has not been asked about come last.

Rankers: ` + strings.Join(crawlfile.Rankers, ", ") + `.
With a guide (forager guide): ` + strings.Join(crawlfile.Guides, ", ") + `, or any name.

  forager crawl ranker chemistry mixture
  forager crawl ranker chemistry apprentice-gated+hard-defer
  forager crawl ranker chemistry context-graph+tiered-soft-focus --guide context-graph=layers`
}

// switched is what crawl ranker prints.
type switched struct {
	Crawl  string `json:"crawl"`
	Ranker string `json:"ranker"`
	Before string `json:"before"`
}

func (c *crawlRanker) Run(s *session) error {
	b, store, err := s.openStore()
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
	ranking, err := crawlfile.RankBy(c.Ranker, c.guides(ctl))
	if err != nil {
		return errUsage{err}
	}
	x := switched{Crawl: c.Crawl, Ranker: c.Ranker, Before: crawlfile.NameOf(ctl)}
	next := proto.CloneOf(ctl)
	for _, p := range ranking.Policies { // a guide that stays orders what it did
		if i := slices.IndexFunc(ctl.GetPolicies(), func(old *schemas.Policy) bool { return old.GetName() == p.GetName() && p.GetGuide() != "" }); i >= 0 {
			p.Expand = ctl.GetPolicies()[i].GetExpand()
		}
	}
	rankBy(next, ranking)
	if err := b.settleGuides(s, store, next); err != nil {
		return err
	}
	if err := b.readNoURLs(s, store, next); err != nil {
		return err
	}
	ranking.Policies = next.Policies
	if !proto.Equal(next, ctl) {
		if _, err := b.revise(s, c.Crawl, func(next *schemas.CrawlControl) { rankBy(next, ranking) }); err != nil {
			return err
		}
	}
	return s.print(x, func(w io.Writer) { fmt.Fprintf(w, "%s is ranked by %s, was by %s\n", x.Crawl, x.Ranker, x.Before) })
}

// guides are those that are named, and those that the crawl has and the ranker goes on with.
func (c *crawlRanker) guides(ctl *schemas.CrawlControl) map[string]string {
	all := maps.Clone(c.Guide)
	for _, p := range ctl.GetPolicies() {
		if _, named := all[p.GetName()]; !named && p.GetGuide() != "" && slices.Contains(strings.Split(c.Ranker, "+"), p.GetName()) {
			if all == nil {
				all = make(map[string]string)
			}
			all[p.GetName()] = p.GetGuide()
		}
	}
	return all
}

func rankBy(ctl *schemas.CrawlControl, r *crawlfile.Ranking) {
	ctl.Policies, ctl.Mixture = r.Policies, r.Mixture
}

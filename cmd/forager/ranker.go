package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/crawlfile"
	"forager/schemas"
)

type crawlRanker struct {
	Crawl  string `arg:"" help:"Name of the crawl."`
	Ranker string `arg:"" optional:"" help:"The ranker, or several with + between them: the arms of a mixture."`

	Guide    map[string]string `help:"The published guide that a ranker is, as RANKER=GUIDE; one that the crawl has already need not be named." placeholder:"RANKER=GUIDE"`
	Shadow   []string          `help:"Ranker that is to place every URL fetched beside it, for comparison only; again for another one."`
	NoShadow bool              `help:"No ranker is a shadow any more."`

	Expand    string `hidden:""`
	Backlinks string `hidden:""`
}

func (c *crawlRanker) Help() string {
	return `Every unvisited URL is placed anew, by the links that are known to it; what the apprentice has learned, and what
a mixture knows of arms that it keeps, stays. Links found before a ranker that reads their texts came in are ranked by
the relevance of their pages alone; those of pages that a guide has not been asked about come
last, unless another version of the same guide was. What the crawl file says under expand and backlinks holds for the whole crawl.

A shadow chooses nothing: it places each URL that is dispatched, and forager report compares its order with the
one that was followed. The frontier stays as it is. Shadows stay until others are named.

Rankers: ` + strings.Join(crawlfile.Rankers, ", ") + `.
With a guide (forager guide): ` + strings.Join(crawlfile.Guides, ", ") + `, or any name.

  forager crawl ranker chemistry mixture
  forager crawl ranker chemistry apprentice-gated+hard-defer
  forager crawl ranker chemistry context-graph+tiered-soft-focus --guide context-graph=layers
  forager crawl ranker chemistry --shadow apprentice --shadow in-links
  forager crawl ranker chemistry --no-shadow`
}

// switched is the result of crawl ranker.
type switched struct {
	Crawl   string   `json:"crawl"`
	Ranker  string   `json:"ranker"`
	Before  string   `json:"before"`
	Shadows []string `json:"shadows"`
}

func (c *crawlRanker) Run(s *session) error {
	if c.Expand != "" || c.Backlinks != "" {
		return usagef("expand and backlinks hold for a whole crawl: begin another one with them in its file (forager crawl start)")
	}
	if c.NoShadow && len(c.Shadow) > 0 {
		return usagef("--shadow and --no-shadow contradict each other")
	}
	if c.Ranker == "" && !c.NoShadow && len(c.Shadow) == 0 {
		return usagef("name a ranker, --shadow or --no-shadow")
	}
	x, err := s.switchRanker(c.Crawl, c.change)
	if err != nil {
		return err
	}
	return s.print(x, x.tell)
}

func (x *switched) tell(w io.Writer) {
	fmt.Fprintf(w, "%s is ranked by %s, was by %s\n", x.Crawl, x.Ranker, x.Before)
	if len(x.Shadows) > 0 {
		fmt.Fprintf(w, "beside it, not used: %s\n", strings.Join(x.Shadows, ", "))
	}
}

// switchRanker changes the policies of a crawl that has not finished; change may name guides, and its error is a usage error.
func (s *session) switchRanker(crawl string, change func(*schemas.CrawlControl) error) (*switched, error) {
	b, store, err := s.openStore()
	if err != nil {
		return nil, err
	}
	defer b.close()
	ctl, err := b.ranked(crawl)
	if err != nil {
		return nil, err
	}
	next := proto.CloneOf(ctl)
	if err := change(next); err != nil {
		return nil, errUsage{err}
	}
	if err := b.settleGuides(s, store, next); err != nil {
		return nil, err
	}
	if err := b.readNoURLs(s, store, next); err != nil {
		return nil, err
	}
	if !proto.Equal(next, ctl) {
		_, err := b.revise(s, crawl, func(to *schemas.CrawlControl) {
			to.Policies, to.Mixture, to.RankerShadows, to.Distiller = next.Policies, next.Mixture, next.RankerShadows, next.Distiller
		})
		if err != nil {
			return nil, err
		}
	}
	return &switched{Crawl: crawl, Ranker: crawlfile.NameOf(next), Before: crawlfile.NameOf(ctl), Shadows: policyNames(next.GetRankerShadows())}, nil
}

// ranked returns the control record of a crawl that still has pages to rank.
func (b *books) ranked(crawl string) (*schemas.CrawlControl, error) {
	ctl, err := b.control(crawl)
	if err != nil {
		return nil, err
	}
	if st := b.status(crawl); ended(st) {
		return nil, fmt.Errorf("crawl %q has finished (%s): there is nothing left to rank", crawl, st.GetEndReason())
	}
	return ctl, nil
}

// change puts the requested rankers into a control record, guides by their names.
func (c *crawlRanker) change(ctl *schemas.CrawlControl) error {
	shadows, raised := policyNames(ctl.GetRankerShadows()), schemas.Raises(ctl)
	switch {
	case c.NoShadow:
		shadows = nil
	case len(c.Shadow) > 0:
		shadows = c.Shadow
	}
	leading := strings.Split(c.Ranker, "+")
	all := c.guides(ctl)
	for _, g := range slices.Sorted(maps.Keys(c.Guide)) {
		if !slices.Contains(leading, g) && !slices.Contains(shadows, g) {
			return fmt.Errorf("--guide: %q is neither a ranker nor a shadow", g)
		}
	}
	if c.Ranker != "" {
		by := maps.Clone(all)
		maps.DeleteFunc(by, func(name, _ string) bool { return !slices.Contains(leading, name) })
		ranking, err := crawlfile.RankBy(c.Ranker, by)
		if err != nil {
			return err
		}
		for _, p := range ranking.Policies { // a guide that remains keeps its expansion
			if i := slices.IndexFunc(ctl.GetPolicies(), func(old *schemas.Policy) bool { return old.GetName() == p.GetName() && p.GetGuide() != "" }); i >= 0 {
				p.Expand = ctl.GetPolicies()[i].GetExpand()
			}
		}
		ctl.Policies, ctl.Mixture = ranking.Policies, ranking.Mixture
	}
	if len(c.Shadow) == 0 { // a policy that now ranks is no longer a shadow
		shadows = slices.DeleteFunc(shadows, func(name string) bool { return slices.Contains(policyNames(ctl.GetPolicies()), name) })
	}
	var err error
	if ctl.RankerShadows, err = crawlfile.Shadows(shadows, all, ctl.GetPolicies()); err != nil {
		return fmt.Errorf("shadow: %w", err)
	}
	if schemas.Raises(ctl) && !raised {
		if ctl.Distiller == nil {
			ctl.Distiller = new(schemas.Distiller)
		}
		ctl.Distiller.Late = true
	}
	return nil
}

// guides returns those that are named, and those of the crawl.
func (c *crawlRanker) guides(ctl *schemas.CrawlControl) map[string]string {
	all := make(map[string]string)
	for _, p := range schemas.Orders(ctl) {
		if p.GetGuide() != "" {
			all[p.GetName()] = p.GetGuide()
		}
	}
	maps.Copy(all, c.Guide)
	return all
}

func policyNames(policies []*schemas.Policy) (names []string) {
	for _, p := range policies {
		names = append(names, p.GetName())
	}
	return names
}

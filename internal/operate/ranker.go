package operate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/crawlfile"
	"forager/internal/platform/registry"
	"forager/schemas"
)

// Ranking is a change of the rankers of a crawl.
type Ranking struct {
	// Ranker is its ranker, or several with + between them: the arms of a mixture; empty = as before.
	Ranker string `json:"ranker,omitempty" doc:"Or several with + between them: the arms of a mixture; empty = as before."`
	// Guides are the published guides that rankers are, by ranker; one that the crawl has already need not be named.
	Guides map[string]string `json:"guides,omitempty" doc:"Published guides, by ranker."`
	// Shadows are rankers that place every URL that is fetched, for comparison; empty = as before, unless NoShadows ends them.
	Shadows   []string `json:"shadows,omitempty" doc:"Rankers for comparison only; empty = as before."`
	NoShadows bool     `json:"no_shadows,omitempty"`
}

// SwitchRanker changes the policies of a crawl that has not finished, by a function that may name guides. It returns the control record
// before and after. seen is the revision from which the change was derived; 0 = that in force.
func (b *Topics) SwitchRanker(
	ctx context.Context, store registry.Store, crawl string, seen uint64, change func(*schemas.CrawlControl) error,
) (before, next *schemas.CrawlControl, err error) {
	from, err := b.begin(crawl, seen)
	if err != nil {
		return nil, nil, err
	}
	if err := b.ranks(from.ctl); err != nil {
		return nil, nil, err
	}
	next = proto.CloneOf(from.ctl)
	if err := change(next); err != nil {
		return nil, nil, refusal(err)
	}
	next, err = b.follow(ctx, store, from, next)
	return from.ctl, next, err
}

// Ranked returns the control record of a crawl that still has pages to rank.
func (b *Topics) Ranked(crawl string) (*schemas.CrawlControl, error) {
	ctl, err := b.Control(crawl)
	if err != nil {
		return nil, err
	}
	return ctl, b.ranks(ctl)
}

func (b *Topics) ranks(ctl *schemas.CrawlControl) error {
	if st := b.Status(ctl.GetCrawl()); Ended(st) {
		return refusef("crawl %q has finished (%s): there is nothing left to rank", ctl.GetCrawl(), st.GetEndReason())
	}
	return nil
}

// Apply puts the rankers into a control record, guides by their names.
func (c *Ranking) Apply(ctl *schemas.CrawlControl) error {
	shadows, raised := PolicyNames(ctl.GetRankerShadows()), schemas.Raises(ctl)
	switch {
	case c.NoShadows:
		shadows = nil
	case len(c.Shadows) > 0:
		shadows = c.Shadows
	}
	leading := strings.Split(c.Ranker, "+")
	all := c.guides(ctl)
	for _, g := range slices.Sorted(maps.Keys(c.Guides)) {
		if !slices.Contains(leading, g) && !slices.Contains(shadows, g) {
			return fmt.Errorf("guide: %q is neither a ranker nor a shadow", g)
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
	if len(c.Shadows) == 0 { // a policy that now ranks is no longer a shadow
		shadows = slices.DeleteFunc(shadows, func(name string) bool { return slices.Contains(PolicyNames(ctl.GetPolicies()), name) })
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
func (c *Ranking) guides(ctl *schemas.CrawlControl) map[string]string {
	all := make(map[string]string)
	for _, p := range schemas.Orders(ctl) {
		if p.GetGuide() != "" {
			all[p.GetName()] = p.GetGuide()
		}
	}
	maps.Copy(all, c.Guides)
	return all
}

// PolicyNames returns the names of policies, in their order.
func PolicyNames(policies []*schemas.Policy) (names []string) {
	for _, p := range policies {
		names = append(names, p.GetName())
	}
	return names
}

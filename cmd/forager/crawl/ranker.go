package crawl

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/internal/crawl/crawlfile"
	"forager/schemas"
)

// Ranker is the command "forager crawl ranker".
type Ranker struct {
	Crawl  string `arg:"" help:"Name of the crawl."`
	Ranker string `arg:"" optional:"" help:"The ranker, or several with + between them: the arms of a mixture."`

	Guide    map[string]string `help:"The published guide that a ranker is, as RANKER=GUIDE; one that the crawl has already need not be named." placeholder:"RANKER=GUIDE"`
	Shadow   []string          `help:"Ranker that also places every URL that is fetched, for comparison only; may be repeated."`
	NoShadow bool              `help:"No ranker is a shadow any more."`

	Expand    string `hidden:""`
	Backlinks string `hidden:""`
}

func (c *Ranker) Help() string {
	return `Every unvisited URL is scored again from the known links to it. The model of the apprentice is kept, and so are the
statistics of the arms that a mixture keeps. Links found before a ranker that reads their texts was added are ranked by
the relevance of their pages alone; those of pages that a guide has not been asked about come
last, unless another version of the same guide was. The settings expand and backlinks of the crawl file hold for the whole crawl.

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

// Switched is the result of crawl ranker.
type Switched struct {
	Crawl   string   `json:"crawl"`
	Ranker  string   `json:"ranker"`
	Before  string   `json:"before"`
	Shadows []string `json:"shadows"`
}

func (c *Ranker) Run(s *cli.Session) error {
	if c.Expand != "" || c.Backlinks != "" {
		return cli.Usagef("expand and backlinks hold for a whole crawl: begin another one with them in its file (forager crawl start)")
	}
	if c.NoShadow && len(c.Shadow) > 0 {
		return cli.Usagef("--shadow and --no-shadow contradict each other")
	}
	if c.Ranker == "" && !c.NoShadow && len(c.Shadow) == 0 {
		return cli.Usagef("name a ranker, --shadow or --no-shadow")
	}
	x, err := SwitchRanker(s, c.Crawl, c.Change)
	if err != nil {
		return err
	}
	return s.Print(x, x.Print)
}

func (x *Switched) Print(w io.Writer) {
	fmt.Fprintf(w, "%s is ranked by %s, was by %s\n", x.Crawl, x.Ranker, x.Before)
	if len(x.Shadows) > 0 {
		fmt.Fprintf(w, "for comparison only: %s\n", strings.Join(x.Shadows, ", "))
	}
}

// SwitchRanker changes the policies of a crawl that has not finished; change may name guides, and its error is a usage error.
func SwitchRanker(s *cli.Session, crawl string, change func(*schemas.CrawlControl) error) (*Switched, error) {
	b, store, err := s.OpenStore()
	if err != nil {
		return nil, err
	}
	defer b.Close()
	ctl, err := Ranked(b, crawl)
	if err != nil {
		return nil, err
	}
	next := proto.CloneOf(ctl)
	if err := change(next); err != nil {
		return nil, cli.AsUsage(err)
	}
	if err := models.SettleGuides(s, b, store, next); err != nil {
		return nil, err
	}
	if err := models.ReadNoURLs(s, b, store, next); err != nil {
		return nil, err
	}
	if !proto.Equal(next, ctl) {
		_, err := b.Revise(s, crawl, func(to *schemas.CrawlControl) {
			to.Policies, to.Mixture, to.RankerShadows, to.Distiller = next.Policies, next.Mixture, next.RankerShadows, next.Distiller
		})
		if err != nil {
			return nil, err
		}
	}
	return &Switched{Crawl: crawl, Ranker: crawlfile.NameOf(next), Before: crawlfile.NameOf(ctl), Shadows: policyNames(next.GetRankerShadows())}, nil
}

// Ranked returns the control record of a crawl that still has pages to rank.
func Ranked(b *cli.Topics, crawl string) (*schemas.CrawlControl, error) {
	ctl, err := b.Control(crawl)
	if err != nil {
		return nil, err
	}
	if st := b.Status(crawl); cli.Ended(st) {
		return nil, fmt.Errorf("crawl %q has finished (%s): there is nothing left to rank", crawl, st.GetEndReason())
	}
	return ctl, nil
}

// Change puts the requested rankers into a control record, guides by their names.
func (c *Ranker) Change(ctl *schemas.CrawlControl) error {
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
func (c *Ranker) guides(ctl *schemas.CrawlControl) map[string]string {
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

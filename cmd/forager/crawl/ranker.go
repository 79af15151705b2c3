package crawl

import (
	"fmt"
	"io"
	"strings"

	"forager/cmd/internal/cli"
	"forager/internal/crawl/crawlfile"
	"forager/internal/operate"
	"forager/schemas"
)

// Ranker is the command "forager crawl ranker".
type Ranker struct {
	Crawl  string `arg:"" help:"Name of the crawl."`
	Ranker string `arg:"" optional:"" help:"The ranker, or several with + between them: the arms of a mixture."`

	Guide    map[string]string `help:"The published guide that a ranker is, as RANKER=GUIDE; one that the crawl has already need not be named." placeholder:"RANKER=GUIDE"`
	Shadow   []string          `help:"Ranker that also places every URL that is fetched, for comparison only; may be repeated."`
	NoShadow bool              `help:"End the comparison with other rankers."`

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
	// Untrained: an apprentice ranks, and none did so far.
	Untrained bool `json:"untrained"`
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
	wanted := operate.Ranking{Ranker: c.Ranker, Guides: c.Guide, Shadows: c.Shadow, NoShadows: c.NoShadow}
	x, err := SwitchRanker(s, c.Crawl, wanted.Apply)
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
	if x.Untrained {
		fmt.Fprintf(w, "its apprentice learns from now on; a model of what was crawled so far:  forager retrain %s --use\n", x.Crawl)
	}
}

// SwitchRanker changes the policies of a crawl that has not finished; change may name guides, and its error is a usage error.
func SwitchRanker(s *cli.Session, crawl string, change func(*schemas.CrawlControl) error) (*Switched, error) {
	b, store, err := s.OpenStore()
	if err != nil {
		return nil, err
	}
	before, next, err := b.SwitchRanker(s, store, crawl, 0, func(ctl *schemas.CrawlControl) error {
		if err := change(ctl); err != nil {
			return cli.AsUsage(err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &Switched{
		Crawl: crawl, Ranker: crawlfile.NameOf(next), Before: crawlfile.NameOf(before), Shadows: operate.PolicyNames(next.GetRankerShadows()),
		Untrained: schemas.Learns(next) && !schemas.Learns(before) && b.Apprentice(crawl) == nil,
	}, nil
}

package guide

import (
	"io"

	crawlcmd "forager/cmd/forager/crawl"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/internal/operate"
	"forager/internal/rank/pageguide"
	"forager/schemas"
)

type guideRebuild struct {
	Crawl string  `arg:"" help:"Name of the crawl, which has not finished."`
	Guide string  `required:"" help:"Name under which the new version is published." placeholder:"NAME"`
	Above float64 `help:"Pages that were judged of this relevance or more are targets." default:"0.5"`
	Topic string  `help:"Only pages whose best topic it is, or lies below it, are targets."`
	Least int     `help:"Do nothing where there are fewer targets." default:"10"`
	Depth int     `help:"Layers behind the targets." default:"4"`
	Cap   int     `help:"Pages of a layer around one target at most; a sample is taken of more." default:"300"`
	Seed  uint64  `help:"Seed of the samples."`
}

func (c *guideRebuild) Help() string {
	return `A context graph is trained on paths to targets that are known before the crawl. This one is trained on the crawl itself: the pages
fetched so far and the links among them (2000 §3.3). Run it from time to time, and the crawl follows what it has found. A crawl
that has no targets to learn from begins breadth first, with "ranker: unfocused", and gets its first guide so (2000 §5).

  forager guide rebuild chemistry --guide near
  forager guide rebuild chemistry --guide near --above 0.8 --least 50

It is forager guide train context-graph --crawl CRAWL --above P --publish NAME, and forager crawl ranker. Where context-graph
is an arm of a mixture the other arms stay. Links found before keep the scores of an older version of the same guide; those that
have none come last, by the relevance of their pages.`
}

// Rebuilt is the result of the command.
type Rebuilt struct {
	*Trained
	*crawlcmd.Switched
}

func (c *guideRebuild) Run(s *cli.Session) error {
	if err := models.CheckModelName("--guide", c.Guide); err != nil {
		return err
	}
	if c.Least < 1 {
		return cli.Usagef("--least %d: want at least 1", c.Least)
	}
	if err := checkRanked(s, c.Crawl); err != nil {
		return err
	}
	trained, err := c.train().train(s)
	if err != nil {
		return err
	}
	switched, err := crawlcmd.SwitchRanker(s, c.Crawl, func(ctl *schemas.CrawlControl) error { return c.follow(ctl, trained.Version) })
	if err != nil {
		return err
	}
	return s.Print(Rebuilt{trained, switched}, func(w io.Writer) {
		trained.print(w)
		switched.Print(w)
	})
}

// train returns the command that trains the guide, with its defaults.
func (c *guideRebuild) train() *guideTrain {
	d := pageguide.Default()
	return &guideTrain{
		Kind: string(pageguide.ContextGraph), Publish: c.Guide, Words: d.Words, Components: d.Layers.Components,
		graphFlags: graphFlags{Crawl: c.Crawl, Above: c.Above, Topic: c.Topic, Depth: c.Depth, Cap: c.Cap, Seed: c.Seed},
		Observe:    pageguide.ObserveAll.String(), least: c.Least,
	}
}

// follow sets the crawl's context-graph to a version of the guide; a crawl without one is then ranked by it alone.
func (c *guideRebuild) follow(ctl *schemas.CrawlControl, version string) error {
	ranker := string(pageguide.ContextGraph)
	for _, p := range ctl.GetPolicies() {
		if p.GetName() == ranker {
			p.Guide = version
			return nil
		}
	}
	return (&operate.Ranking{Ranker: ranker, Guides: map[string]string{ranker: version}}).Apply(ctl)
}

// checkRanked reports whether a crawl can be switched to another ranker.
func checkRanked(s *cli.Session, crawl string) error {
	_, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	_, err = b.Ranked(crawl)
	return err
}

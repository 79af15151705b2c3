package crawl

import (
	"forager/cmd/internal/cli"
	"forager/internal/classify/taxonomy"
	"forager/internal/operate"
)

type crawlFocus struct {
	Crawl  string             `arg:"" help:"Name of the crawl."`
	Good   []string           `help:"Topic that is a focus topic from now on; again for another one." sep:"none"`
	Bad    []string           `help:"Topic that is no longer in the focus: a focus topic, or one below a focus topic." sep:"none"`
	Weight map[string]float64 `help:"Weight of a focus topic, above 0 and at most 1." placeholder:"TOPIC=WEIGHT"`
}

func (c *crawlFocus) Help() string {
	return `Without flags: how topics are marked. A change counts from the next page that is judged; pages that were judged
keep their relevance, and the links that were found on them their scores.

  forager crawl focus chemistry --good Science/Physics --weight Science/Physics=0.5
  forager crawl focus chemistry --bad Science/Chemistry/Compounds
  forager crawl focus chemistry --good Science/Chemistry/Compounds      # it counts again
  forager crawl focus chemistry --bad Science/Physics                   # a focus topic no more

R(u) is the sum of the posteriors of the classes at and below the focus topics, each times its weight, but for
classes at and below bad topics.`
}

func (c *crawlFocus) Run(s *cli.Session) error {
	return changeJudging(s, c.Crawl, operate.Refocus(taxonomy.Change{Good: c.Good, Bad: c.Bad, Weights: c.Weight}))
}

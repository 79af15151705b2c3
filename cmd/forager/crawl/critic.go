package crawl

import (
	"forager/cmd/internal/cli"
	"forager/internal/operate"
)

type crawlCritic struct {
	Crawl    string   `arg:"" help:"Name of the crawl."`
	Critic   string   `arg:"" optional:"" help:"Critic that is to judge it: a name, its newest version, or a version."`
	Shadow   []string `help:"Critic that also judges the pages, for comparison only; may be repeated."`
	NoShadow bool     `help:"End the comparison with other critics."`
}

func (c *crawlCritic) Help() string {
	return `Without a critic and flags: which critics judge. A change counts from the next page that is judged.

  forager crawl critic chemistry --shadow schools-new      # recorded, not used; forager report compares
  forager crawl critic chemistry schools-new               # from now on it counts
  forager crawl critic chemistry schools/0f3a9c2b71de      # an older version again
  forager crawl critic chemistry --no-shadow

An apprentice goes on learning from the relevances of pages: after a change from those of the new critic.`
}

func (c *crawlCritic) Run(s *cli.Session) error {
	if c.NoShadow && len(c.Shadow) > 0 {
		return cli.Usagef("--shadow and --no-shadow contradict each other")
	}
	return changeJudging(s, c.Crawl, operate.UseCritics(c.Critic, c.Shadow, c.NoShadow))
}

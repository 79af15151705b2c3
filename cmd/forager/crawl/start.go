package crawl

import (
	"fmt"
	"io"
	"os"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/crawl/crawlfile"
)

type crawlStart struct {
	File string   `arg:"" optional:"" help:"The crawl file; with --like it may be left out."`
	URLs []string `arg:"" optional:"" name:"url" help:"With --like: further pages that are on topic."`

	Watch bool `help:"Follow the crawl until it has finished; with --like its critic goes on learning meanwhile."`
	Check bool `help:"Check the file and the critic, start nothing."`

	likeFlags `embed:""`
}

func (c *crawlStart) Help() string {
	return `A crawl file:

  name: chemistry
  critic: schools                      # made by: forager critic train
  focus: [Science/Chemistry]           # several, with weights: {TOPIC: 0.5} and without bad: [TOPIC below]
                                       # forms: [Lists]: no subjects, such as pages that only lead to others
  seeds: ["https://example.org/chemistry/"]
  budget: {pages: 3000}
  ranker: link-value                   # the default; or mixture, apprentice, soft-focus, hard-defer, …
  scope: {max_depth: 10, host_cap: 500}
  politeness: {delay: 1s, contact: you@example.org}

  forager crawl start chemistry.yaml --watch

With --like, pages that are on topic take the place of critic, focus and seeds. They are fetched, and
some of what they link to; a critic learns to distinguish the ones from the others (package pulearning), and the crawl
begins from the likes. All pages fetched count for --pages. A crawl file may have the other settings.

  forager crawl start --name chemistry --contact you@example.org --watch \
      --like https://example.org/acids https://example.org/bases https://example.net/salts …`
}

func (c *crawlStart) Run(s *cli.Session) error {
	if len(c.Like) > 0 || c.LikeFile != "" {
		if c.Check {
			return cli.Usagef("--check goes with a crawl file, not with --like")
		}
		l, err := newLiking(s, &c.likeFlags, append([]string{c.File}, c.URLs...))
		if err != nil {
			return err
		}
		return l.run(c.Watch)
	}
	if c.File == "" || len(c.URLs) > 0 {
		return cli.Usagef("expected \"<file>\", one crawl file, or --like with pages that are on topic")
	}
	if _, err := os.Stat(c.File); err != nil {
		return cli.AsUsage(err)
	}
	crawl, err := crawlfile.Load(c.File)
	if err != nil {
		return err
	}
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	if err := crawls.StartCrawl(s, cfg, b, crawl, c.Check); err != nil {
		return err
	}
	name := crawl.Control.GetCrawl()
	if c.Check {
		return s.Print(map[string]any{"crawl": name, "ok": true}, func(w io.Writer) {
			fmt.Fprintf(w, "%s: the crawl file is fine; %d seeds\n", name, len(crawl.Seeds))
		})
	}
	if c.Watch {
		return crawls.Watch(s, cfg, b, name)
	}
	return s.Print(map[string]any{"crawl": name, "seeds": len(crawl.Seeds)}, func(w io.Writer) {
		fmt.Fprintf(w, "started %s with %d seeds\nfollow it:  forager crawl watch %s\n", name, len(crawl.Seeds), name)
	})
}

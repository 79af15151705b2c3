package crawl

import (
	"fmt"
	"io"
	"os"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/operate"
)

type crawlSeeds struct {
	crawls.SeedArgs `embed:""`
}

func (c *crawlSeeds) Help() string {
	return `The seeds join the frontier of a running or paused crawl; those that are known already change nothing. A crawl
that has finished because its frontier was empty goes on with them.

  forager crawl seeds chemistry https://example.org/elements/ https://example.net/
  forager crawl seeds chemistry -f more.txt`
}

func (c *crawlSeeds) Run(s *cli.Session) error {
	raw, err := c.Given(os.Stdin)
	if err != nil {
		return err
	}
	seeds, err := operate.CanonicalSeeds(raw)
	if err != nil {
		return fmt.Errorf("%w; nothing was sent", err)
	}
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	at, err := b.AddSeeds(s, cfg, c.Crawl, seeds)
	if err != nil {
		return err
	}
	if c.Wait > 0 {
		if err := crawls.Taken(s, b, c.Crawl, map[int]int64{at.Partition: at.Offset}, c.Wait); err != nil {
			return err
		}
	}
	return s.Print(map[string]any{"crawl": c.Crawl, "seeds": len(seeds)}, func(w io.Writer) {
		fmt.Fprintf(w, "%d seeds for %s\nfollow it:  forager crawl watch %s\n", len(seeds), c.Crawl, c.Crawl)
	})
}

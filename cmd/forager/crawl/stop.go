package crawl

import (
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
	"forager/schemas"
)

type crawlStop struct {
	Crawl string        `arg:"" help:"Name of the crawl."`
	Wait  time.Duration `help:"How long to wait until nothing is in flight; 0 = do not wait." default:"60s"`
}

func (c *crawlStop) Help() string {
	return `A stopped crawl has finished: requests that fetch has not begun go back to the frontier, while those of a paused one
are still made. Its pages and its frontier stay, and forager crawl resume lets it go on.`
}

func (c *crawlStop) Run(s *cli.Session) error {
	return steer(s, c.Crawl, schemas.CrawlState_CRAWL_STATE_STOPPED, c.Wait, operate.Ended)
}

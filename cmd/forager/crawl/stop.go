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
	return `A stopped crawl has finished for good: it cannot be resumed, as one that is paused, or has finished by itself, can. Its
pages stay.`
}

func (c *crawlStop) Run(s *cli.Session) error {
	return steer(s, c.Crawl, schemas.CrawlState_CRAWL_STATE_STOPPED, c.Wait, operate.Ended)
}

package crawl

import (
	"time"

	"forager/cmd/internal/cli"
	"forager/schemas"
)

type crawlPause struct {
	Crawl string        `arg:"" help:"Name of the crawl."`
	Wait  time.Duration `help:"How long to wait until nothing is in flight; 0 = do not wait." default:"60s"`
}

func (c *crawlPause) Help() string {
	return `A paused crawl asks for nothing more; what is in flight ends. It keeps its frontier and what it has learned,
also when the stages are stopped meanwhile.

  forager crawl pause chemistry
  forager crawl resume chemistry`
}

func (c *crawlPause) Run(s *cli.Session) error {
	return steer(s, c.Crawl, schemas.CrawlState_CRAWL_STATE_PAUSED, c.Wait, func(st *schemas.CrawlStatus) bool {
		return st.GetState() == schemas.ShardState_SHARD_STATE_PAUSED && st.GetInFlight() == 0
	})
}

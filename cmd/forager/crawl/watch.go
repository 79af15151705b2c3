package crawl

import (
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
)

type crawlWatch struct {
	Crawl string `arg:"" help:"Name of the crawl."`
}

func (c *crawlWatch) Run(s *cli.Session) error {
	cfg, b, _, err := s.OpenCrawl(c.Crawl)
	if err != nil {
		return err
	}
	return crawls.Watch(s, cfg, b, c.Crawl)
}

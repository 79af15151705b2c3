package crawl

import (
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
)

type crawlWatch struct {
	Crawl string `arg:"" help:"Name of the crawl."`
}

func (c *crawlWatch) Run(s *cli.Session) error {
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	if _, err := b.Control(c.Crawl); err != nil {
		return err
	}
	return crawls.Watch(s, cfg, b, c.Crawl)
}

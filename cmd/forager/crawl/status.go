package crawl

import (
	"context"
	"fmt"
	"io"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/platform/analytics"
	"forager/internal/platform/pipeline"
)

type crawlStatus struct {
	Crawl string `arg:"" optional:"" help:"Name of a crawl; all without it."`
}

func (c *crawlStatus) Run(s *cli.Session) error {
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	names := b.Known()
	if c.Crawl != "" {
		if _, err := b.Control(c.Crawl); err != nil {
			return err
		}
		names = []string{c.Crawl}
	}
	list := make([]crawls.Summary, 0, len(names))
	stages := crawls.LookAt(s, b)
	for _, n := range names {
		x := crawls.Summarize(b, n, b.Status(n), stages)
		x.JudgedBy = crawls.JudgedBy(b, n)
		list = append(list, x)
	}
	if err := estimate(s, cfg, b, list); err != nil {
		fmt.Fprintf(s.Stderr, "how many pages are on topic could not be estimated: %v\n", err)
	}
	return s.Print(list, func(w io.Writer) {
		if len(list) == 0 {
			fmt.Fprintln(w, "no crawls; forager crawl start FILE makes one")
			return
		}
		fmt.Fprintf(w, "%-24s %-9s %8s %8s %8s %8s %12s %7s %7s  %s\n", "CRAWL", "STATE", "PAGES", "REQUESTS", "QUEUED", "FLIGHT", "ON TOPIC", "HARVEST", "LOSS", "")
		for _, x := range list {
			fmt.Fprintf(w, "%-24s %-9s %8d %8d %8d %8d %12s %7.3f %7.3f  %s\n",
				x.Crawl, x.State, x.Pages, x.Requests, x.Queued, x.InFlight, x.OnTopic.Short(), x.Harvest, x.Loss, x.Why())
		}
		for _, x := range list {
			if x.JudgedBy != "" {
				fmt.Fprintf(w, "harvest and loss of %s are by %s\n", x.Crawl, x.JudgedBy)
				if next := x.Next(); next != "" && x.OnTopic != nil {
					fmt.Fprintln(w, next)
				}
			}
		}
	})
}

// estimating is the longest that a status waits for estimates.
const estimating = 2 * time.Second

// estimate fills in how many pages of the crawls are on topic, as far as that is known without their critics.
func estimate(ctx context.Context, cfg *pipeline.Config, b *cli.Topics, list []crawls.Summary) error {
	ctx, cancel := context.WithTimeout(ctx, estimating)
	defer cancel()
	db, err := analytics.Open(cfg.ClickHouse)
	if err != nil {
		return err
	}
	defer db.Close()
	for i := range list {
		if x := &list[i]; x.JudgedBy != "" && x.Pages > 0 {
			if x.OnTopic, err = crawls.Estimate(ctx, b, cfg, db, x.Crawl); err != nil {
				return err
			}
		}
	}
	return nil
}

package crawl

import (
	"fmt"
	"io"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
)

type crawlStatus struct {
	Crawl string `arg:"" optional:"" help:"Name of a crawl; all without it."`
}

func (c *crawlStatus) Run(s *cli.Session) error {
	_, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	defer b.Close()
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
		x := crawls.Summarize(n, b.Status(n), stages)
		x.JudgedBy = crawls.JudgedBy(b, n)
		list = append(list, x)
	}
	return s.Print(list, func(w io.Writer) {
		if len(list) == 0 {
			fmt.Fprintln(w, "no crawls; forager crawl start FILE makes one")
			return
		}
		fmt.Fprintf(w, "%-24s %-9s %8s %8s %8s %8s %7s %7s  %s\n", "CRAWL", "STATE", "PAGES", "REQUESTS", "QUEUED", "FLIGHT", "HARVEST", "LOSS", "")
		for _, x := range list {
			fmt.Fprintf(w, "%-24s %-9s %8d %8d %8d %8d %7.3f %7.3f  %s\n",
				x.Crawl, x.State, x.Pages, x.Requests, x.Queued, x.InFlight, x.Harvest, x.Loss, x.Why())
		}
		for _, x := range list {
			if x.JudgedBy != "" {
				fmt.Fprintf(w, "harvest and loss of %s are by %s\n", x.Crawl, x.JudgedBy)
			}
		}
	})
}

package report

import (
	"fmt"
	"io"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/platform/analytics"
)

// HostsCommand is the command "forager report hosts".
type HostsCommand struct {
	Crawl string `arg:"" help:"Name of the crawl."`
	Most  int    `help:"Hosts to show, those with most requests first." default:"50"`
}

func (c *HostsCommand) Help() string {
	return `Of each host: the requests that were sent; the least and the median time between the end of one and the begin of the next (0 where
they overlap); responses of status 429 and 503; time-outs, broken connections and other errors of the server; URLs that robots.txt
disallowed, that were deferred because the host or its address was not free, or that could not be connected to; and the time between
dispatch and request, the sum over all and the median. Requests for robots.txt are not recorded. The rows come from ClickHouse.`
}

func (c *HostsCommand) Run(s *cli.Session) error {
	if c.Most < 1 {
		return fmt.Errorf("--most is %d; it must be at least 1", c.Most)
	}
	_, b, db, err := s.OpenTables()
	if err != nil {
		return err
	}
	if _, err := b.Control(c.Crawl); err != nil {
		return err
	}
	hosts, err := db.Report(c.Crawl).Treated(s, c.Most)
	if err != nil {
		return err
	}
	return s.Print(map[string]any{"crawl": c.Crawl, "hosts": hosts}, func(w io.Writer) { printTreated(w, hosts) })
}

func printTreated(w io.Writer, hosts []analytics.Treated) {
	ms := func(n uint64) string { return (time.Duration(n) * time.Millisecond).String() }
	fmt.Fprintf(w, "%-40s %8s %10s %10s %6s %6s %6s %6s %8s %11s %12s %10s\n",
		"HOST", "REQUESTS", "LEAST GAP", "MEDIAN", "429", "503", "FAILED", "ROBOTS", "DEFERRED", "UNREACHABLE", "WAITED", "MEDIAN")
	for _, h := range hosts {
		least, median := "-", "-"
		if h.Gaps > 0 {
			least, median = ms(h.LeastGap), ms(h.MedianGap)
		}
		fmt.Fprintf(w, "%-40s %8d %10s %10s %6d %6d %6d %6d %8d %11d %12s %10s\n", h.Host, h.Requests, least, median,
			h.TooMany, h.Unavailable, h.Failed, h.Disallowed, h.Deferred, h.Unreachable, ms(h.Waited), ms(h.MedianWait))
	}
}

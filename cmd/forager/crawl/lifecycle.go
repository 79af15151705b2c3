package crawl

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/operate"
	"forager/schemas"
)

// steer sets the state of a crawl and waits until there reports it, or until the crawl has finished.
func steer(s *cli.Session, crawl string, state schemas.CrawlState, wait time.Duration, there func(*schemas.CrawlStatus) bool) error {
	_, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	ctl, err := b.SetState(s, crawl, 0, state)
	if err != nil {
		return err
	}
	if wait > 0 {
		if err := await(s, b, ctl, wait, there); err != nil {
			return err
		}
	}
	x := crawls.Summarize(b, crawl, b.Status(crawl), nil)
	return s.Print(x, func(w io.Writer) {
		if wait == 0 {
			fmt.Fprintf(w, "%s is to be %s\n", crawl, operate.StateName(&schemas.CrawlControl{State: state}))
			return
		}
		fmt.Fprintln(w, strings.TrimSpace(fmt.Sprintf("%s: %s %s", crawl, x.State, x.Reason)))
	})
}

// await is operate.Await, with what happens if the command is interrupted.
func await(ctx context.Context, b *cli.Topics, ctl *schemas.CrawlControl, wait time.Duration, there func(*schemas.CrawlStatus) bool) error {
	err := operate.Await(ctx, b, ctl, wait, there)
	return cli.Leaving(err, "crawl %q is to be %s and will be, without this command, too (forager crawl status %s)", ctl.GetCrawl(), operate.StateName(ctl), ctl.GetCrawl())
}

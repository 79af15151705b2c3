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
	defer b.Close()
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

// await waits until there reports that a crawl is as ctl wants it, or until it has finished.
func await(ctx context.Context, b *cli.Topics, ctl *schemas.CrawlControl, wait time.Duration, there func(*schemas.CrawlStatus) bool) error {
	crawl := ctl.GetCrawl()
	ok, err := crawls.Poll(ctx, wait, func() (bool, error) {
		st := b.Status(crawl)
		return st.GetRevision() >= ctl.GetRevision() && (there(st) || operate.Ended(st)), nil
	})
	if err != nil || ok {
		return cli.Leaving(err, "crawl %q is to be %s and will be, without this command, too (forager crawl status %s)", crawl, operate.StateName(ctl), crawl)
	}
	if n := b.Status(crawl).GetInFlight(); n > 0 {
		return fmt.Errorf("crawl %q is to be %s, but %d requests are still in flight after %s; do all stages run? (forager up starts them)", crawl, operate.StateName(ctl), n, wait)
	}
	return fmt.Errorf("crawl %q is to be %s, but is not after %s; does prioritize run? (forager up starts it)", crawl, operate.StateName(ctl), wait)
}

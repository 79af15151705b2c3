package crawl

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"forager/cmd/forager/deploy"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/schemas"
)

// steer sets the state of a crawl and waits until there reports it, or until the crawl has finished.
func steer(s *cli.Session, crawl string, state schemas.CrawlState, wait time.Duration, there func(*schemas.CrawlStatus) bool) error {
	_, b, ctl, err := s.OpenCrawl(crawl)
	if err != nil {
		return err
	}
	defer b.Close()
	switch st := b.Status(crawl); {
	case cli.Ended(st):
		return fmt.Errorf("crawl %q has finished already: %s", crawl, st.GetEndReason())
	case ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED && state != ctl.GetState():
		return fmt.Errorf("crawl %q is being stopped, which is for good (forager crawl watch %s)", crawl, crawl)
	}
	again := false // a newer control record lets a stage retry a crawl that it has parked
	if state == schemas.CrawlState_CRAWL_STATE_RUNNING {
		if again, err = deploy.LeftAside(s, b.Client, crawl); err != nil {
			return err
		}
	}
	if ctl.GetState() != state || again {
		if _, err := b.Revise(s, crawl, func(next *schemas.CrawlControl) { next.State = state }); err != nil {
			return err
		}
	}
	if wait > 0 {
		ctl.State = state
		if err := await(s, b, ctl, wait, there); err != nil {
			return err
		}
	}
	x := crawls.Summarize(crawl, b.Status(crawl))
	return s.Print(x, func(w io.Writer) {
		if wait == 0 {
			fmt.Fprintf(w, "%s is to be %s\n", crawl, cli.StateName(&schemas.CrawlControl{State: state}))
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
		return there(st) || cli.Ended(st), nil
	})
	if err != nil || ok {
		return cli.Leaving(err, "crawl %q is to be %s and will be, without this command, too (forager crawl status %s)", crawl, cli.StateName(ctl), crawl)
	}
	if n := b.Status(crawl).GetInFlight(); n > 0 {
		return fmt.Errorf("crawl %q is to be %s, but %d requests are still in flight after %s; do all stages run? (forager up starts them)", crawl, cli.StateName(ctl), n, wait)
	}
	return fmt.Errorf("crawl %q is to be %s, but is not after %s; does prioritize run? (forager up starts it)", crawl, cli.StateName(ctl), wait)
}

package crawl

import (
	"fmt"
	"io"
	"os"
	"strings"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/frontier"
	"forager/internal/stream"
	"forager/schemas"
)

type crawlResume struct {
	crawls.SeedArgs `embed:""`
	Pages           uint64 `help:"The crawl's new budget of pages, in all."`
	Requests        uint64 `help:"The crawl's new budget of requests, in all."`
	RetryFailed     bool   `help:"Try again URLs whose tries were used up by time-outs, server errors and failed connections, and hosts that did not answer."`
}

func (c *crawlResume) Help() string {
	return `A paused crawl goes on where it was. A crawl that has finished goes on when it is given what it lacks: a larger
budget, further seeds, or another try of what failed. It keeps its frontier and what it has learned, as long as the
state of prioritize or the topics exist. A crawl that was stopped or deleted does not go on.

  forager crawl resume chemistry
  forager crawl resume chemistry --pages 20000
  forager crawl resume chemistry https://example.org/elements/
  forager crawl resume chemistry --retry-failed`
}

func (c *crawlResume) Run(s *cli.Session) error {
	seeds, err := c.seeds()
	if err != nil {
		return err
	}
	cfg, b, ctl, err := s.OpenCrawl(c.Crawl)
	if err != nil {
		return err
	}
	defer b.Close()
	before := b.Status(c.Crawl)
	if err := c.refuse(ctl, before, len(seeds)); err != nil {
		return err
	}
	if err := crawls.InScope(s, cfg, ctl, seeds); err != nil {
		return err
	}
	next, err := b.Revise(s, c.Crawl, func(next *schemas.CrawlControl) {
		next.State = schemas.CrawlState_CRAWL_STATE_RUNNING
		c.raise(next)
	})
	if err != nil {
		return err
	}
	sent, err := c.send(s, b, next, seeds)
	if err != nil {
		return err
	}
	if c.Wait > 0 {
		if err := c.await(s, b, before, sent); err != nil {
			return err
		}
	}
	x := crawls.Summarize(c.Crawl, b.Status(c.Crawl))
	return s.Print(x, func(w io.Writer) {
		if c.Wait == 0 {
			fmt.Fprintf(w, "%s is to be running\n", c.Crawl)
			return
		}
		fmt.Fprintln(w, strings.TrimSpace(fmt.Sprintf("%s: %s %s", c.Crawl, x.State, x.Why())))
	})
}

// seeds returns the canonical URLs that were given; none if there is no URL and no file.
func (c *crawlResume) seeds() ([]string, error) {
	if len(c.URLs) == 0 && c.File == "" {
		return nil, nil
	}
	raw, err := c.Given(os.Stdin)
	if err != nil {
		return nil, err
	}
	seeds, err := crawls.CanonicalSeeds(raw)
	if err != nil {
		return nil, fmt.Errorf("%w; nothing was done", err)
	}
	return seeds, nil
}

// raise sets the new budgets.
func (c *crawlResume) raise(ctl *schemas.CrawlControl) {
	if c.Pages > 0 {
		ctl.Budget.Pages = c.Pages
	}
	if c.Requests > 0 {
		ctl.Budget.Requests = c.Requests
	}
}

// refuse is the reason why the crawl cannot continue with what was given.
func (c *crawlResume) refuse(ctl *schemas.CrawlControl, st *schemas.CrawlStatus, seeds int) error {
	old, reason := ctl.GetBudget(), st.GetEndReason()
	switch {
	case ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED && !cli.Ended(st):
		return fmt.Errorf("crawl %q is being stopped, which is for good (forager crawl watch %s)", c.Crawl, c.Crawl)
	case ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED:
		return fmt.Errorf("crawl %q was stopped, which is for good; start another crawl (forager crawl start)", c.Crawl)
	case c.Pages > 0 && c.Pages < old.GetPages():
		return fmt.Errorf("--pages %d is below the crawl's budget, %d: a budget is only raised", c.Pages, old.GetPages())
	case c.Requests > 0 && c.Requests < old.GetRequests():
		return fmt.Errorf("--requests %d is below the crawl's budget, %d: a budget is only raised", c.Requests, old.GetRequests())
	case !cli.Ended(st):
		return nil
	case strings.HasPrefix(reason, "refused: "):
		return fmt.Errorf("crawl %q never ran (%s): start another crawl (forager crawl start)", c.Crawl, reason)
	}
	pages, requests := max(c.Pages, old.GetPages()), max(c.Requests, old.GetRequests())
	switch {
	case pages > 0 && st.GetPages() >= pages:
		return fmt.Errorf("crawl %q has delivered %d pages, all of its budget: give it more with --pages", c.Crawl, st.GetPages())
	case requests > 0 && st.GetRequests() >= requests:
		return fmt.Errorf("crawl %q was charged %d requests, all of its budget: give it more with --requests", c.Crawl, st.GetRequests())
	case (reason == frontier.EndEmpty || reason == frontier.EndStagnated || reason == frontier.EndUnreachable) && seeds == 0 && !c.RetryFailed:
		return fmt.Errorf("crawl %q has finished (%s): give it further seeds, or --retry-failed", c.Crawl, reason)
	}
	return nil
}

// send sends the seeds and the requests to try again, and returns their positions.
func (c *crawlResume) send(s *cli.Session, b *cli.Topics, ctl *schemas.CrawlControl, seeds []string) (sent []stream.Position, err error) {
	if len(seeds) > 0 {
		at, err := crawls.SendSeeds(s, b, c.Crawl, seeds)
		if err != nil {
			return nil, err
		}
		sent = append(sent, at)
	}
	for shard := range schemas.ShardsOf(ctl) {
		if !c.RetryFailed {
			break
		}
		rec := schemas.RetryFailed(c.Crawl, shard, ctl.GetRevision())
		headers := map[string]string{schemas.HeaderCrawl: c.Crawl, schemas.HeaderShard: fmt.Sprint(shard)}
		at, err := b.Send(s, schemas.TopicLinkFound, schemas.ShardKey(c.Crawl, shard), headers, rec)
		if err != nil {
			return nil, fmt.Errorf("ask shard %d to try again: %w", shard, err)
		}
		sent = append(sent, at)
	}
	return sent, nil
}

// await waits until prioritize has read all that was sent and has written a status since.
func (c *crawlResume) await(s *cli.Session, b *cli.Topics, before *schemas.CrawlStatus, sent []stream.Position) error {
	last := make(map[int]int64)
	for _, at := range sent {
		last[at.Partition] = max(last[at.Partition], at.Offset)
	}
	if err := crawls.Taken(s, b, c.Crawl, last, c.Wait); err != nil {
		return err
	}
	ok, err := crawls.Poll(s, c.Wait, func() (bool, error) {
		st := b.Status(c.Crawl)
		return st.GetState() == schemas.ShardState_SHARD_STATE_RUNNING || cli.Ended(st) && (st.GetAt() > before.GetAt() || st.GetEpoch() > before.GetEpoch()), nil
	})
	if err == nil && !ok {
		err = fmt.Errorf("crawl %q is to be running, but is not after %s; does prioritize run? (forager up starts it; its log tells whether it needs records that are past their retention)", c.Crawl, c.Wait)
	}
	return cli.Leaving(err, "crawl %q is to be running and will be, without this command, too (forager crawl status %s)", c.Crawl, c.Crawl)
}

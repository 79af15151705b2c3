package crawl

import (
	"fmt"
	"io"
	"os"
	"strings"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/operate"
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
	return `A crawl that is paused or was stopped goes on where it was. A crawl that has finished goes on when it is given what it
lacks: a larger budget, further seeds, or another try of what failed. It keeps its frontier and what it has learned, as
long as the state of prioritize or the topics exist. A crawl that was deleted does not go on.

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
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	r := operate.Resumption{Crawl: c.Crawl, Pages: c.Pages, Requests: c.Requests, RetryFailed: c.RetryFailed, Seeds: seeds}
	ctl, sent, err := b.Resume(s, cfg, 0, r)
	if err != nil {
		return err
	}
	if c.Wait > 0 {
		if err := c.await(s, b, ctl, sent); err != nil {
			return err
		}
	}
	x := crawls.Summarize(b, c.Crawl, b.Status(c.Crawl), nil)
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
	seeds, err := operate.CanonicalSeeds(raw)
	if err != nil {
		return nil, fmt.Errorf("%w; nothing was done", err)
	}
	return seeds, nil
}

// await waits until prioritize has read all that was sent and has written a status under the control record.
func (c *crawlResume) await(s *cli.Session, b *cli.Topics, ctl *schemas.CrawlControl, sent []stream.Position) error {
	last := make(map[int]int64)
	for _, at := range sent {
		last[at.Partition] = max(last[at.Partition], at.Offset)
	}
	if err := crawls.Taken(s, b, c.Crawl, last, c.Wait); err != nil {
		return err
	}
	return await(s, b, ctl, c.Wait, func(st *schemas.CrawlStatus) bool { return st.GetState() == schemas.ShardState_SHARD_STATE_RUNNING })
}

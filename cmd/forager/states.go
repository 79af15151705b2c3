package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"forager/internal/crawl/crawlfile"
	"forager/schemas"
)

type crawlList struct {
	All bool `help:"Deleted ones, too: their names stay taken."`
}

// listed is a crawl as crawl list shows it.
type listed struct {
	Crawl   string    `json:"crawl"`
	State   string    `json:"state"`
	Reason  string    `json:"reason,omitempty"`
	Pages   uint64    `json:"pages"`
	Budget  uint64    `json:"budget_pages"`
	Ranker  string    `json:"ranker"`
	Critic  string    `json:"critic"`
	Focus   []string  `json:"focus"`
	Started time.Time `json:"started"`
}

func (c *crawlList) Run(s *session) error {
	_, b, err := s.openBooks()
	if err != nil {
		return err
	}
	defer b.close()
	list := []listed{}
	hidden := 0
	for _, name := range b.crawls() {
		ctl, _ := b.newest(name)
		if deleted(ctl) && !c.All {
			hidden++
			continue
		}
		list = append(list, listing(ctl, b.status(name)))
	}
	return s.print(list, func(w io.Writer) {
		if len(list) == 0 {
			fmt.Fprintln(w, "no crawls; forager crawl start FILE makes one")
		} else {
			fmt.Fprintf(w, "%-24s %-9s %8s %8s  %-16s %-24s %-12s %s\n", "CRAWL", "STATE", "PAGES", "OF", "STARTED", "RANKER", "FOCUS", "")
		}
		for _, x := range list {
			of := "-"
			if x.Budget > 0 {
				of = fmt.Sprint(x.Budget)
			}
			fmt.Fprintf(w, "%-24s %-9s %8d %8s  %-16s %-24s %-12s %s\n", x.Crawl, x.State, x.Pages, of,
				x.Started.Format("2006-01-02 15:04"), x.Ranker, strings.Join(x.Focus, " "), x.Reason)
		}
		if hidden > 0 {
			fmt.Fprintf(w, "and %d deleted (--all shows them)\n", hidden)
		}
	})
}

func listing(ctl *schemas.CrawlControl, st *schemas.CrawlStatus) listed {
	at := stand(ctl.GetCrawl(), st)
	x := listed{
		Crawl: at.Crawl, State: at.State, Reason: at.why(), Pages: at.Pages, Budget: ctl.GetBudget().GetPages(),
		Critic: ctl.GetCritic(), Focus: ctl.GetFocus(), Started: time.UnixMilli(ctl.GetCreatedAt()).UTC(),
	}
	x.Ranker = crawlfile.NameOf(ctl)
	if deleted(ctl) {
		x.State, x.Reason = "deleted", ""
	}
	return x
}

type crawlPause struct {
	Crawl string        `arg:"" help:"Name of the crawl."`
	Wait  time.Duration `help:"How long to wait until nothing is in flight; 0 = do not wait." default:"60s"`
}

func (c *crawlPause) Help() string {
	return `A paused crawl asks for nothing more; what is in flight ends. It keeps its frontier and what it has learned,
also when the stages are stopped meanwhile.

  forager crawl pause chemistry
  forager crawl resume chemistry`
}

func (c *crawlPause) Run(s *session) error {
	return steer(s, c.Crawl, schemas.CrawlState_CRAWL_STATE_PAUSED, c.Wait, func(st *schemas.CrawlStatus) bool {
		return st.GetState() == schemas.ShardState_SHARD_STATE_PAUSED && st.GetInFlight() == 0
	})
}

type crawlStop struct {
	Crawl string        `arg:"" help:"Name of the crawl."`
	Wait  time.Duration `help:"How long to wait until nothing is in flight; 0 = do not wait." default:"60s"`
}

func (c *crawlStop) Help() string {
	return `A stopped crawl has finished for good: it cannot be resumed, as one that is paused, or has finished by itself, can. Its
pages stay.`
}

func (c *crawlStop) Run(s *session) error {
	return steer(s, c.Crawl, schemas.CrawlState_CRAWL_STATE_STOPPED, c.Wait, ended)
}

func ended(st *schemas.CrawlStatus) bool {
	return st.GetState() == schemas.ShardState_SHARD_STATE_FINISHED
}

// steer sets the state of a crawl and waits until there reports it, or until the crawl has finished.
func steer(s *session, crawl string, state schemas.CrawlState, wait time.Duration, there func(*schemas.CrawlStatus) bool) error {
	_, b, ctl, err := s.openCrawl(crawl)
	if err != nil {
		return err
	}
	defer b.close()
	switch st := b.status(crawl); {
	case ended(st):
		return fmt.Errorf("crawl %q has finished already: %s", crawl, st.GetEndReason())
	case ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED && state != ctl.GetState():
		return fmt.Errorf("crawl %q is being stopped, which is for good (forager crawl watch %s)", crawl, crawl)
	}
	again := false // a newer control record lets a stage retry a crawl that it has parked
	if state == schemas.CrawlState_CRAWL_STATE_RUNNING {
		if again, err = leftAside(s, b.client, crawl); err != nil {
			return err
		}
	}
	if ctl.GetState() != state || again {
		if _, err := b.revise(s, crawl, func(next *schemas.CrawlControl) { next.State = state }); err != nil {
			return err
		}
	}
	if wait > 0 {
		ctl.State = state
		if err := b.await(s, ctl, wait, there); err != nil {
			return err
		}
	}
	x := stand(crawl, b.status(crawl))
	return s.print(x, func(w io.Writer) {
		if wait == 0 {
			fmt.Fprintf(w, "%s is told to be %s\n", crawl, stateName(&schemas.CrawlControl{State: state}))
			return
		}
		fmt.Fprintln(w, strings.TrimSpace(fmt.Sprintf("%s: %s %s", crawl, x.State, x.Reason)))
	})
}

// await waits until there reports that a crawl is as ctl wants it, or until it has finished.
func (b *books) await(ctx context.Context, ctl *schemas.CrawlControl, wait time.Duration, there func(*schemas.CrawlStatus) bool) error {
	crawl := ctl.GetCrawl()
	ok, err := poll(ctx, wait, func() (bool, error) {
		st := b.status(crawl)
		return there(st) || ended(st), nil
	})
	if err != nil || ok {
		return leaving(err, "crawl %q is told to be %s all the same (forager crawl status %s)", crawl, stateName(ctl), crawl)
	}
	if n := b.status(crawl).GetInFlight(); n > 0 {
		return fmt.Errorf("crawl %q is told to be %s, but %d requests are still in flight after %s; do all stages run? (forager up starts them)", crawl, stateName(ctl), n, wait)
	}
	return fmt.Errorf("crawl %q is told to be %s, but nobody has done so after %s; does prioritize run? (forager up starts it)", crawl, stateName(ctl), wait)
}

package crawl

import (
	"fmt"
	"io"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/crawl/crawlfile"
	"forager/internal/operate"
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

func (c *crawlList) Run(s *cli.Session) error {
	_, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	list, stages := []listed{}, crawls.LookAt(s, b)
	hidden := 0
	for _, name := range b.Crawls() {
		ctl, _ := b.Newest(name)
		if operate.Deleted(ctl) && !c.All {
			hidden++
			continue
		}
		list = append(list, listing(b, ctl, stages))
	}
	return s.Print(list, func(w io.Writer) {
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

func listing(b *cli.Topics, ctl *schemas.CrawlControl, stages *operate.Pipeline) listed {
	at := crawls.Summarize(b, ctl.GetCrawl(), b.Status(ctl.GetCrawl()), stages)
	x := listed{
		Crawl: at.Crawl, State: at.State, Reason: at.Why(), Pages: at.Pages, Budget: ctl.GetBudget().GetPages(),
		Critic: ctl.GetCritic(), Focus: ctl.GetFocus(), Started: time.UnixMilli(ctl.GetCreatedAt()).UTC(),
	}
	x.Ranker = crawlfile.NameOf(ctl)
	if operate.Deleted(ctl) {
		x.State, x.Reason = "deleted", ""
	}
	return x
}

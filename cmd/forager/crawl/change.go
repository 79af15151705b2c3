package crawl

import (
	"fmt"
	"io"
	"math"

	"forager/cmd/internal/cli"
	"forager/internal/crawl/crawlfile"
	"forager/internal/frontier/why"
	"forager/internal/operate"
	"forager/schemas"
)

type crawlChange struct {
	Crawl  string   `arg:"" help:"Name of the crawl."`
	File   string   `arg:"" optional:"" help:"A crawl file: what differs from the crawl is changed." type:"path"`
	Set    []string `help:"One setting of a crawl file and its value in YAML; += and -= add a word to a list and remove it; again for another one." placeholder:"SETTING=VALUE" sep:"none"`
	DryRun bool     `help:"Show what would be changed or refused, change nothing."`
}

func (c *crawlChange) Help() string {
	return `Every setting of a crawl file takes effect in the running crawl, or is refused by name and reason; then nothing is changed.
Seeds are added by forager crawl seeds.

  forager crawl change chemistry chemistry.yaml --dry-run
  forager crawl change chemistry --set budget.pages=20000 --set politeness.delay=2s
  forager crawl change chemistry --set exclude.urls+='/calendar/' --set exclude.domains+=example.net
  forager crawl change chemistry --set exclude.domains-=example.net
  forager crawl change chemistry --set priority.last+=example.net --set priority.first+=elements.example.org

Exclude rules come before all others. What matches is not requested any more: urls are regular expressions (RE2) that a URL
contains a match of, hosts are compared with the whole host, domains with it and what is above it, prefixes with the URL, or
from "/" on with its path. Pages with one of content_types or languages are fetched, and neither judged nor followed. URLs that a
removed rule has kept out, found before or since, take their places in the frontier again. With --dry-run prioritize counts
the queued URLs that other rules would remove, and names the best of them.

The URLs of hosts at and below a domain in priority.first come before those of all others, those in priority.last after them, whatever
their scores; the longest domain counts. Queued URLs are placed again, as under another ranker. --dry-run counts those.`
}

func (c *crawlChange) Run(s *cli.Session) error {
	if (c.File == "") == (len(c.Set) == 0) {
		return cli.Usagef("name a crawl file or --set SETTING=VALUE")
	}
	cfg, err := s.Pipeline()
	if err != nil {
		return err
	}
	b, store, err := s.OpenStore()
	if err != nil {
		return err
	}
	x, err := b.Change(s, store, c.Crawl, 0, c.DryRun, func(inForce *schemas.CrawlControl) (*crawlfile.Changed, error) {
		if c.File != "" {
			return crawlfile.Change(inForce, c.File)
		}
		return crawlfile.Set(inForce, c.Set)
	})
	if err != nil {
		return err
	}
	operate.Explainer{Topics: b, Config: cfg}.Preview(s, x)
	return s.Print(x, func(w io.Writer) { printChange(w, x) })
}

func printChange(w io.Writer, x *operate.Change) {
	if len(x.Differences) == 0 {
		fmt.Fprintf(w, "%s: nothing differs\n", x.Crawl)
		return
	}
	for _, d := range x.Differences {
		fmt.Fprintf(w, "%s: %s → %s", d.Setting, word(d.Before), word(d.After))
		if d.Refused != "" {
			fmt.Fprintf(w, " refused: %s", d.Refused)
		}
		fmt.Fprintln(w)
	}
	if e := x.Excludes; e != nil {
		fmt.Fprintf(w, "exclude rules: %s%d of %d queued URLs would be removed, %s%d excluded ones admitted\n", about(e), e.Removed, e.Queued, about(e), e.Admitted)
		printBest(w, e)
	}
	if e := x.Moved; e != nil {
		fmt.Fprintf(w, "priority: %s%d of %d queued URLs would change their places\n", about(e), e.Removed, e.Queued)
		printBest(w, e)
	}
	if x.Uncounted != "" {
		fmt.Fprintf(w, "the URLs that the rules concern were not counted: %s\n", x.Uncounted)
	}
	if x.DryRun {
		fmt.Fprintf(w, "nothing was changed in %s\n", x.Crawl)
		return
	}
	fmt.Fprintf(w, "%s has revision %d\n", x.Crawl, x.Revision)
}

func about(e *why.Effect) string {
	if e.Exact {
		return ""
	}
	return "about "
}

// printBest lists the best of the URLs that rules concern.
func printBest(w io.Writer, e *why.Effect) {
	for _, best := range e.Best {
		place := "no place"
		if best.Tier < math.MaxUint32 {
			place = fmt.Sprintf("tier %d, score %.4f", best.Tier, best.Score)
		}
		fmt.Fprintf(w, "  %s  %s\n", place, best.URL)
	}
}

// word is a value, or a dash for none.
func word(value string) string {
	if value == "" {
		return "–"
	}
	return value
}

package data

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/frontier/why"
	"forager/internal/operate"
)

// WhyCommand is the command "forager why".
type WhyCommand struct {
	URL   string   `arg:"" help:"The URL; the crawl need not have found it."`
	Crawl string   `help:"The crawl." required:"" placeholder:"NAME"`
	At    []string `help:"Address of the metrics of prioritize, where it does not run on this machine; once for each replica." placeholder:"HOST:PORT" sep:"none"`
}

// Help describes the command.
func (c *WhyCommand) Help() string {
	return `What became of a URL, or would become of it: whether the URL is known, the path of links from a seed, each decision
with its reason, its place in the queue, and what would change the decision. Prioritize answers from its state, of a crawl that runs
or has ended; the path comes from ClickHouse.

  forager why https://example.org/a --crawl chemistry
  forager why https://example.org/a --crawl chemistry --json`
}

// Run runs it.
func (c *WhyCommand) Run(s *cli.Session) error {
	cfg, b, db, err := s.OpenTables()
	if err != nil {
		return err
	}
	e, err := operate.Explainer{Topics: b, Config: cfg, DB: db, At: c.At}.Why(s, c.Crawl, c.URL)
	if err != nil {
		return err
	}
	return s.Print(e, func(w io.Writer) { printWhy(w, e) })
}

func printWhy(w io.Writer, e *operate.Explanation) {
	fmt.Fprintf(w, "%s\n%s.\n\n", e.URL, e.Sentence)
	if e.Asked != "" {
		fmt.Fprintf(w, "%-12s %s\n", "asked for", e.Asked)
	}
	for _, u := range e.Redirects {
		fmt.Fprintf(w, "%-12s %s\n", "redirects to", u)
	}
	for _, d := range e.Decisions {
		mark := "ok "
		if !d.Passed {
			mark = "NO "
		}
		fmt.Fprintf(w, "%-12s %s%s\n", d.Rule, mark, d.Reason)
		if d.Change != "" {
			fmt.Fprintf(w, "%-12s    → %s\n", "", d.Change)
		}
	}
	for _, p := range e.Places {
		place := "no place"
		if p.In {
			about := "about "
			if p.Exact {
				about = ""
			}
			place = fmt.Sprintf("tier %d, score %.4f, %s%d before it", p.Tier, p.Score, about, p.Before)
		}
		fmt.Fprintf(w, "%-12s %s: %s\n", "queue", p.Policy, place)
		printValue(w, p.Value)
	}
	if d := e.Dispatch; d != nil {
		fmt.Fprintf(w, "%-12s attempt %d, as request %d, by %s with score %.4f in tier %d\n", "requested", e.Attempts, d.Ordinal, d.Policy, d.Score, d.Tier)
	}
	if p := e.Page; p != nil && p.Outcome != "" {
		fmt.Fprintf(w, "%-12s %s, status %d, at %s %s\n", "outcome", p.Outcome, p.Status, p.Fetched.UTC().Format(time.DateTime), p.Detail)
		if p.Critic != "" {
			fmt.Fprintf(w, "%-12s relevance %.4f by %s; %s\n", "judgement", p.Relevance, p.Critic, strings.Join(p.Topics, ", "))
		}
	}
	if len(e.Path) > 0 {
		fmt.Fprintf(w, "\nPATH FROM A SEED (depth %d)\n", e.Depth)
	}
	for i, step := range e.Path {
		fmt.Fprintf(w, "%3d %s\n", i, step.URL)
		if step.Words != "" {
			fmt.Fprintf(w, "    link: %s\n", step.Words)
		}
	}
	if e.Missing != "" {
		fmt.Fprintf(w, "the path is not complete: %s\n", e.Missing)
	}
	if len(e.Links) > 0 {
		fmt.Fprintf(w, "\nPAGES THAT LINK TO IT\n")
	}
	for _, l := range e.Links {
		if l.From == "" {
			l.From = "(a seed)"
		}
		fmt.Fprintf(w, "%.4f %s  %s\n", l.Relevance, l.From, l.Words)
	}
	for _, from := range e.FoundOn {
		fmt.Fprintf(w, "%-12s %s\n", "found on", from)
	}
}

// leastPart is the smallest share of a feature that is printed, nats.
const leastPart = .05

func printValue(w io.Writer, v *why.Value) {
	if v == nil {
		return
	}
	fmt.Fprintf(w, "%-12s relevance %.4f expected, %.4f relevant pages behind it\n", "value", v.Relevance, v.Behind)
	fmt.Fprintf(w, "%-12s %-12s %8s %8s %8s\n", "", "feature", "amount", "adds", "behind")
	for _, p := range v.Parts {
		if max(math.Abs(p.Relevance), math.Abs(p.Behind)) >= leastPart {
			fmt.Fprintf(w, "%-12s %-12s %8.3f %+8.3f %+8.3f  %s\n", "", p.Feature, p.Amount, p.Relevance, p.Behind, p.From)
		}
	}
}

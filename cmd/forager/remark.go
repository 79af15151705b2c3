package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/classify/taxonomy"
	"forager/schemas"
)

type crawlFocus struct {
	Crawl  string             `arg:"" help:"Name of the crawl."`
	Good   []string           `help:"Topic that is a focus topic from now on; again for another one." sep:"none"`
	Bad    []string           `help:"Topic that does not count any more: a focus topic, or one below a focus topic." sep:"none"`
	Weight map[string]float64 `help:"Weight of a focus topic, above 0 and at most 1." placeholder:"TOPIC=WEIGHT"`
}

func (c *crawlFocus) Help() string {
	return `Without flags: how topics are marked. A change counts from the next page that is judged; pages that were judged
keep their relevance, and the links that were found on them their scores.

  forager crawl focus chemistry --good Science/Physics --weight Science/Physics=0.5
  forager crawl focus chemistry --bad Science/Chemistry/Compounds
  forager crawl focus chemistry --good Science/Chemistry/Compounds      # it counts again
  forager crawl focus chemistry --bad Science/Physics                   # a focus topic no more

R(u) is the sum of the posteriors of the classes at and below the focus topics, each times its weight, but for
classes at and below bad topics.`
}

func (c *crawlFocus) Run(s *session) error {
	return remark(s, c.Crawl, func(next *schemas.CrawlControl) error {
		m, err := taxonomy.MarkingOf(next).Apply(taxonomy.Change{Good: c.Good, Bad: c.Bad, Weights: c.Weight})
		if err != nil {
			return err
		}
		if len(m.Good) == 0 {
			return fmt.Errorf("no focus topic would be left of crawl %q; mark another one good, or stop the crawl", c.Crawl)
		}
		next.Focus, next.Bad, next.Weights = m.Good, m.Bad, m.Weights
		return nil
	})
}

type crawlCritic struct {
	Crawl    string   `arg:"" help:"Name of the crawl."`
	Critic   string   `arg:"" optional:"" help:"Critic that is to judge it: a name, its newest version, or a version."`
	Shadow   []string `help:"Critic that is to judge beside it, for comparison only; again for a second one."`
	NoShadow bool     `help:"No critic judges beside it any more."`
}

func (c *crawlCritic) Help() string {
	return `Without a critic and flags: which critics judge. A change counts from the next page that is judged.

  forager crawl critic chemistry --shadow schools-new      # recorded, not used; forager report compares
  forager crawl critic chemistry schools-new               # from now on it counts
  forager crawl critic chemistry schools/0f3a9c2b71de      # an older version again
  forager crawl critic chemistry --no-shadow

An apprentice goes on learning from the relevances that it sees: after a change from those of the new critic.`
}

func (c *crawlCritic) Run(s *session) error {
	if c.NoShadow && len(c.Shadow) > 0 {
		return usagef("--shadow and --no-shadow contradict each other")
	}
	return remark(s, c.Crawl, func(next *schemas.CrawlControl) error {
		if c.Critic != "" {
			next.Critic = c.Critic
		}
		switch {
		case c.NoShadow:
			next.Shadows = nil
		case len(c.Shadow) > 0:
			next.Shadows = c.Shadow
		}
		return nil
	})
}

// judging is the critic and the focus of a crawl, for display.
type judging struct {
	Crawl    string             `json:"crawl"`
	Revision uint64             `json:"revision"`
	Critic   string             `json:"critic"`
	Shadows  []string           `json:"shadows"`
	Focus    []string           `json:"focus"`
	Weights  map[string]float64 `json:"weights"`
	Bad      []string           `json:"bad"`
}

// remark changes how a running crawl is judged, after checking that it can be judged so.
func remark(s *session, crawl string, change func(*schemas.CrawlControl) error) error {
	b, store, err := s.openStore()
	if err != nil {
		return err
	}
	defer b.close()
	if _, err := b.control(crawl); err != nil {
		return err
	}
	old, seen := b.newest(crawl)
	if old.GetCritic() == "" {
		return fmt.Errorf("crawl %q only fetches: no critic judges its pages", crawl)
	}
	next := proto.CloneOf(old)
	if err := change(next); err != nil {
		return err
	}
	if !proto.Equal(old, next) {
		if st := b.status(crawl); ended(st) {
			return fmt.Errorf("crawl %q has finished (%s): there is nothing left to judge", crawl, st.GetEndReason())
		}
		if slices.Equal(next.Shadows, old.Shadows) { // a shadow that now counts is no longer a shadow
			version := next.GetCritic()
			if m, err := b.critic(version); err == nil {
				version = m.GetVersion()
			}
			next.Shadows = slices.DeleteFunc(next.Shadows, func(v string) bool { return v == version })
		}
		if err := b.settleJudges(s, store, next); err != nil {
			return err
		}
	}
	if proto.Equal(old, next) {
		return s.print(judgingOf(old), func(w io.Writer) { printJudging(w, judgingOf(old)) })
	}
	if next, err = b.reviseAs(s, next, seen); err != nil {
		return err
	}
	return s.print(judgingOf(next), func(w io.Writer) {
		printJudging(w, judgingOf(next))
		fmt.Fprintln(w, "this counts for pages that are judged from now on")
	})
}

func judgingOf(ctl *schemas.CrawlControl) judging {
	return judging{
		Crawl: ctl.GetCrawl(), Revision: ctl.GetRevision(), Critic: ctl.GetCritic(), Shadows: ctl.GetShadows(),
		Focus: ctl.GetFocus(), Weights: ctl.GetWeights(), Bad: ctl.GetBad(),
	}
}

func printJudging(w io.Writer, j judging) {
	fmt.Fprintf(w, "%s, revision %d\nfocus %s\n", j.Crawl, j.Revision, focusLine(j.Focus, j.Weights, j.Bad))
	fmt.Fprintf(w, "critic %s", j.Critic)
	if len(j.Shadows) > 0 {
		fmt.Fprintf(w, "; beside it, not used: %s", strings.Join(j.Shadows, ", "))
	}
	fmt.Fprintln(w)
}

// focusLine is a focus in one line.
func focusLine(focus []string, weights map[string]float64, bad []string) string {
	var parts []string
	for _, topic := range focus {
		if w, ok := weights[topic]; ok && w != 1 {
			topic = fmt.Sprintf("%s × %g", topic, w)
		}
		parts = append(parts, topic)
	}
	line := strings.Join(parts, ", ")
	if len(bad) > 0 {
		line += "; without " + strings.Join(bad, ", ")
	}
	return line
}

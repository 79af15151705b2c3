package critic

import (
	"fmt"
	"io"
	"strings"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/operate"
	"forager/schemas"
)

type criticRetrain struct {
	Name  string `arg:"" help:"A critic that was learnt from likes."`
	Crawl string `help:"Use the pages of this crawl as further background."`
	Use   bool   `help:"Use the new version in that crawl from now on."`
}

func (c *criticRetrain) Help() string {
	return `The critic is trained on its likes and background, on what was marked (forager critic mark, forager critic expand)
and, with --crawl, on a sample of the pages that a crawl has met. Marks of drawn pages (forager critic mark CRAWL --ask N) also
estimate how many of the background are on topic. It becomes a new version; crawls go on with the
one they have without --use.

  forager critic retrain chemistry
  forager critic retrain chemistry --crawl chemistry --use`
}

func (c *criticRetrain) Run(s *cli.Session) error {
	if c.Use && c.Crawl == "" {
		return cli.Usagef("--use needs a crawl: --crawl NAME")
	}
	t, err := OpenCritic(s, c.Name)
	if err != nil {
		return err
	}
	if err := t.liked(); err != nil {
		return err
	}
	if c.Crawl != "" {
		ctl, err := t.Topics.Control(c.Crawl)
		if err != nil {
			return err
		}
		if c.Use {
			if err := t.fits(ctl); err != nil {
				return err
			}
		}
	}
	m, report, err := t.Critic.Retrain(s, t.Set, c.Crawl)
	if err != nil {
		return err
	}
	if c.Use {
		if err := t.Critic.Use(s, c.Crawl, m); err != nil {
			return err
		}
	}
	return s.Print(map[string]any{"critic": m.GetVersion(), "report": report, "used": c.Use}, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %d pages on topic, %d marked as wrong, %d of background (some %.0f %% on topic)\n",
			m.GetVersion(), report.Liked, report.Wrong, report.Background, 100*report.Prior)
		if report.Drawn > 0 {
			fmt.Fprintf(w, "calibrated on %d marked pages that were drawn at random\n", report.Drawn)
		}
		fmt.Fprintf(w, "words for the topic:  %s\nwords against it:     %s\n", strings.Join(report.For, " "), strings.Join(report.Against, " "))
		if similar := crawls.Resemblance(report.Most); similar != "" {
			fmt.Fprintf(w, "warning: %s\n", similar)
		}
		if c.Use {
			fmt.Fprintf(w, "%s is judged by it from now on\n", c.Crawl)
		}
	})
}

// fits reports whether a crawl can continue with the critic.
func (t *OpenedCritic) fits(ctl *schemas.CrawlControl) error {
	switch {
	case len(ctl.GetFocus()) != 1 || ctl.GetFocus()[0] != t.Critic.Topic:
		return fmt.Errorf("crawl %s is about %s, critic %s about %s", ctl.GetCrawl(), strings.Join(ctl.GetFocus(), ", "), t.Critic.Name, t.Critic.Topic)
	case operate.Ended(t.Topics.Status(ctl.GetCrawl())):
		return fmt.Errorf("crawl %s has finished; without --use the critic is trained for crawls to come", ctl.GetCrawl())
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"forager/infra/forager/export"
	"forager/infra/forager/samples"
	"forager/internal/analytics"
	"forager/internal/dom"
	"forager/internal/objects"
	"forager/internal/pipeline"
	"forager/schemas"
)

type criticMark struct {
	Of    string   `arg:"" name:"crawl|critic" help:"The crawl whose critic judged the pages, or the critic."`
	URLs  []string `arg:"" name:"url" help:"Pages that were fetched."`
	Right bool     `xor:"said" required:"" help:"They are on topic."`
	Wrong bool     `xor:"said" required:"" help:"They are not on topic."`
}

func (c *criticMark) Help() string {
	return `What is said of a page is kept in the object store, with its text, for whoever trains the critic again; of several
marks of a page the last one counts. A crawl goes on as it is until its critic is trained again.

  forager critic mark chemistry https://example.org/salad --wrong
  forager critic mark chemistry https://example.org/salts https://example.net/ions --right
  forager critic retrain chemistry --crawl chemistry --use`
}

func (c *criticMark) Run(s *session) error {
	urls, err := canonicalSeeds(c.URLs)
	if err != nil {
		return errUsage{err}
	}
	t, err := s.openLesson(c.Of)
	if err != nil {
		return err
	}
	defer t.close()
	kept, err := t.mark(s, urls, c.Right)
	if err != nil {
		return err
	}
	return s.print(map[string]any{"critic": t.critic.name, "marked": kept, "right": c.Right}, func(w io.Writer) {
		fmt.Fprintf(w, "%d pages marked for critic %s\ntrain it again:  %s\n", len(kept), t.critic.name, t.again())
	})
}

// lesson is what is needed to teach a critic that was learnt from likes.
type lesson struct {
	cfg    *pipeline.Config
	b      *books
	db     *analytics.DB
	critic *likedCritic
	set    []samples.Sample
	crawl  string // that the critic judges, where the user named one; else empty
}

// openLesson opens what is needed for the critic of a crawl, or for a critic.
func (s *session) openLesson(of string) (*lesson, error) {
	cfg, b, err := s.openBooks()
	if err != nil {
		return nil, err
	}
	t := &lesson{cfg: cfg, b: b}
	if err := t.open(s, of); err != nil {
		b.close()
		return nil, err
	}
	return t, nil
}

func (t *lesson) open(ctx context.Context, of string) error {
	name := of
	if ctl, err := t.b.control(of); err == nil {
		name, _, _ = strings.Cut(ctl.GetCritic(), "/")
		t.crawl = of
	} else if _, unknown := t.b.critic(of); unknown != nil {
		return fmt.Errorf("%q is neither a crawl nor a critic: %w; %w", of, err, unknown)
	}
	store, err := objects.Open(t.cfg.S3)
	if err != nil {
		return err
	}
	if t.critic, t.set, err = openLiked(ctx, t.cfg, t.b, store, name); err != nil {
		return err
	}
	t.db, err = analytics.Open(t.cfg.ClickHouse)
	return err
}

func (t *lesson) close() {
	t.db.Close()
	t.b.close()
}

// again is the command that trains the critic again.
func (t *lesson) again() string {
	if t.crawl == "" {
		return "forager critic retrain " + t.critic.name
	}
	return fmt.Sprintf("forager critic retrain %s --crawl %s --use", t.critic.name, t.crawl)
}

// pages calls take with the pages that any crawl has fetched, of the URLs given, each once.
func (t *lesson) pages(ctx context.Context, urls []string, take func(export.Page) error) error {
	sel := export.Selection{Outcome: schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED), Among: urls}
	return export.Each(ctx, t.db, t.critic.store, sel, take)
}

// mark keeps what is said of pages. Pages that were not fetched are an error, and then nothing is kept.
func (t *lesson) mark(ctx context.Context, urls []string, right bool) (kept []string, err error) {
	texts := make(map[string]string)
	err = t.pages(ctx, urls, func(p export.Page) error {
		texts[p.URL] = dom.Text(p.Body, p.ContentType)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, u := range urls {
		if _, ok := texts[u]; !ok {
			return nil, fmt.Errorf("page %s is none that a crawl has fetched, as far as ClickHouse knows; nothing was marked", u)
		}
	}
	for _, u := range urls {
		m := samples.Mark{URL: u, Right: right, Topic: t.critic.topic, Text: texts[u], Crawl: t.crawl, At: time.Now().UTC()}
		if err := samples.Add(ctx, t.critic.store, t.critic.name, m); err != nil {
			return kept, err
		}
		kept = append(kept, u)
	}
	return kept, nil
}

type criticRetrain struct {
	Name  string `arg:"" help:"A critic that was learnt from likes."`
	Crawl string `help:"Take what this crawl has met for further background."`
	Use   bool   `help:"Let that crawl be judged by the new version from now on."`
}

func (c *criticRetrain) Help() string {
	return `The critic is trained on its likes and background, on what was marked (forager critic mark, forager critic expand)
and, with --crawl, on a sample of the pages that a crawl has met. It becomes a new version; crawls go on with the
one they have unless --use says otherwise.

  forager critic retrain chemistry
  forager critic retrain chemistry --crawl chemistry --use`
}

func (c *criticRetrain) Run(s *session) error {
	if c.Use && c.Crawl == "" {
		return usagef("--use wants to know which crawl: --crawl NAME")
	}
	t, err := s.openLesson(c.Name)
	if err != nil {
		return err
	}
	defer t.close()
	if c.Crawl != "" {
		ctl, err := t.b.control(c.Crawl)
		if err != nil {
			return err
		}
		if c.Use {
			if err := t.fits(ctl); err != nil {
				return err
			}
		}
	}
	m, report, err := t.critic.retrain(s, t.set, c.Crawl)
	if err != nil {
		return err
	}
	if c.Use {
		if err := t.critic.use(s, c.Crawl, m); err != nil {
			return err
		}
	}
	return s.print(map[string]any{"critic": m.GetVersion(), "report": report, "used": c.Use}, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %d pages on topic, %d marked as wrong, %d of background (some %.0f %% on topic)\n",
			m.GetVersion(), report.Liked, report.Wrong, report.Background, 100*report.Prior)
		fmt.Fprintf(w, "speaks for the topic:  %s\nspeaks against it:     %s\n", strings.Join(report.For, " "), strings.Join(report.Against, " "))
		if c.Use {
			fmt.Fprintf(w, "%s is judged by it from now on\n", c.Crawl)
		}
	})
}

// fits says whether a crawl can go on with the critic.
func (t *lesson) fits(ctl *schemas.CrawlControl) error {
	switch {
	case len(ctl.GetFocus()) != 1 || ctl.GetFocus()[0] != t.critic.topic:
		return fmt.Errorf("crawl %s is about %s, critic %s about %s", ctl.GetCrawl(), strings.Join(ctl.GetFocus(), ", "), t.critic.name, t.critic.topic)
	case ended(t.b.status(ctl.GetCrawl())):
		return fmt.Errorf("crawl %s has finished; without --use the critic is trained for crawls to come", ctl.GetCrawl())
	}
	return nil
}

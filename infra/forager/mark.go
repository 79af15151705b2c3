package main

import (
	"context"
	"errors"
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
	"forager/internal/taxonomy"
	"forager/schemas"
)

type criticMark struct {
	Of    string   `arg:"" name:"crawl|critic" help:"The crawl whose critic judged the pages, or the critic."`
	URLs  []string `arg:"" name:"url" help:"Pages that were fetched."`
	Right bool     `xor:"said" required:"" help:"They are on topic."`
	Wrong bool     `xor:"said" required:"" help:"They are not on topic."`
	Topic string   `help:"What they are about: with --right the crawl's one focus topic by default, with --wrong whatever."`
}

func (c *criticMark) Help() string {
	return `What is said of a page is kept in the object store, with its text, for whoever trains the critic again; of several
marks of a page the last one counts. A crawl goes on as it is until its critic is trained again.

  forager critic mark chemistry https://example.org/salad --wrong
  forager critic mark chemistry https://example.org/salts https://example.net/ions --right
  forager critic retrain chemistry --crawl chemistry --use

  forager critic mark schools https://example.org/atoms --wrong --topic Science/Physics
  forager critic train examples.jsonl --name schools --marks`
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
	m, err := t.says(c.Right, c.Topic)
	if err != nil {
		return err
	}
	kept, err := t.mark(s, urls, m)
	if err != nil {
		return err
	}
	return s.print(map[string]any{"critic": t.name, "marked": kept, "right": c.Right}, func(w io.Writer) {
		fmt.Fprintf(w, "%d pages marked for critic %s\ntrain it again:  %s\n", len(kept), t.name, t.again())
	})
}

// lesson is what is needed to teach a critic.
type lesson struct {
	cfg   *pipeline.Config
	b     *books
	db    *analytics.DB
	store *objects.Store
	name  string // of the critic
	crawl string // that the critic judges, where the user named one; else empty
	focus []string
	// critic and the pages that it was trained on, where it was learnt from likes; else nil.
	critic *likedCritic
	set    []samples.Sample
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

func (t *lesson) open(s *session, of string) error {
	if ctl, err := t.b.control(of); err == nil {
		t.name = schemas.ModelName(ctl.GetCritic())
		t.crawl, t.focus = of, ctl.GetFocus()
	} else if m, unknown := t.b.critic(of); unknown == nil {
		t.name = schemas.ModelName(m.GetVersion())
	} else {
		return fmt.Errorf("%q is neither a crawl nor a critic: %w; %w", of, err, unknown)
	}
	if t.name == "" {
		return fmt.Errorf("crawl %q only fetches; no critic judges its pages", of)
	}
	var err error
	if t.store, err = objects.Open(t.cfg.S3); err != nil {
		return err
	}
	t.critic, t.set, err = openLiked(s, t.cfg, t.b, t.store, t.name)
	if err != nil && !errors.Is(err, errNotLiked) {
		return err
	}
	if t.critic != nil {
		t.focus = []string{t.critic.topic}
	}
	t.db, err = analytics.Open(t.cfg.ClickHouse)
	return err
}

// liked says that the critic was learnt from likes, or what to do otherwise.
func (t *lesson) liked() error {
	if t.critic == nil {
		return fmt.Errorf("critic %s was trained on examples with topics; train it again with what was marked by: %s", t.name, t.again())
	}
	return nil
}

func (t *lesson) close() {
	t.db.Close()
	t.b.close()
}

// again is the command that trains the critic again.
func (t *lesson) again() string {
	switch {
	case t.critic == nil:
		return fmt.Sprintf("forager critic train EXAMPLES --name %s --marks", t.name)
	case t.crawl == "" || ended(t.b.status(t.crawl)):
		return "forager critic retrain " + t.name
	}
	return fmt.Sprintf("forager critic retrain %s --crawl %s --use", t.name, t.crawl)
}

// says is a mark without a page. The topic is the critic's or the crawl's own unless one is named.
func (t *lesson) says(right bool, topic string) (m samples.Mark, err error) {
	if topic != "" {
		if topic, err = taxonomy.ParseTopic(topic); err != nil {
			return m, errUsage{err}
		}
	}
	m = samples.Mark{Right: right, Crawl: t.crawl}
	switch {
	case right && topic != "" && t.critic != nil && topic != t.critic.topic:
		return m, usagef("critic %s knows one topic, %s", t.name, t.critic.topic)
	case right && topic != "":
		m.Topic = topic
	case len(t.focus) == 1:
		m.Topic = t.focus[0]
		if !right {
			m.Instead = topic
		}
	default:
		return m, usagef("what are the pages about? Name a crawl of one focus topic; with --right, --topic says it, too")
	}
	return m, nil
}

// pages calls take with the pages that any crawl has fetched, of the URLs given, each once.
func (t *lesson) pages(ctx context.Context, urls []string, take func(export.Page) error) error {
	sel := export.Selection{Outcome: schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED), Among: urls}
	return export.Each(ctx, t.db, t.store, sel, take)
}

// mark keeps what m says of pages. Pages that were not fetched are an error, and then nothing is kept.
func (t *lesson) mark(ctx context.Context, urls []string, m samples.Mark) (kept []string, err error) {
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
		m.URL, m.Text, m.At = u, texts[u], time.Now().UTC()
		if err := samples.Add(ctx, t.store, t.name, m); err != nil {
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
	if err := t.liked(); err != nil {
		return err
	}
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

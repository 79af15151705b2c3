package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"forager/internal/classify/taxonomy"
	"forager/internal/export"
	"forager/internal/page/dom"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/samples"
	"forager/schemas"
)

type criticMark struct {
	Of    string   `arg:"" name:"crawl|critic" help:"The crawl whose critic judged the pages, or the critic."`
	URLs  []string `arg:"" optional:"" name:"url" help:"Pages that were fetched."`
	Right bool     `xor:"said" help:"They are on topic."`
	Wrong bool     `xor:"said" help:"They are not on topic."`
	Ask   int      `xor:"said" help:"Ask about so many pages of the crawl, drawn at random from those of either verdict." placeholder:"N"`
	Topic string   `help:"What they are about: with --right the crawl's one focus topic by default, with --wrong whatever."`

	replies
}

func (c *criticMark) Help() string {
	return `What is said of a page is kept in the object store, with its text, for whoever trains the critic again; of several
marks of a page the last one counts. A crawl goes on as it is until its critic is trained again.

  forager critic mark chemistry https://example.org/salad --wrong
  forager critic mark chemistry https://example.org/salts https://example.net/ions --right
  forager critic retrain chemistry --crawl chemistry --use

With --ask the pages are chosen for you, at random from those that the critic takes for on topic and from the others. In a
terminal each is asked about: y(es), n(o), s(kip), q(uit); else they are listed, and --yes and --no take the answers. From
such marks, and no others, the share of pages on topic is estimated (forager report).

  forager critic mark chemistry --ask 20
  forager --json critic mark chemistry --ask 20 > pages.json
  forager critic mark chemistry --ask 20 --yes good.txt --no bad.txt

  forager critic mark schools https://example.org/atoms --wrong --topic Science/Physics
  forager critic train examples.jsonl --name schools --marks`
}

func (c *criticMark) Run(s *session) error {
	urls, err := canonicalSeeds(c.URLs)
	switch {
	case err != nil:
		return errUsage{err}
	case c.Ask < 0:
		return usagef("--ask is %d: want at least 1", c.Ask)
	case c.Ask > 0 && len(urls) > 0:
		return usagef("--ask chooses the pages; leave out %s", urls[0])
	case c.Ask == 0 && (len(urls) == 0 || !c.Right && !c.Wrong || c.given()):
		return usagef("want pages with --right or --wrong, or --ask N")
	}
	t, err := s.openLesson(c.Of)
	if err != nil {
		return err
	}
	defer t.close()
	if c.Ask > 0 {
		return c.ask(s, t)
	}
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

// drawnPage is a page that the operator is to mark.
type drawnPage struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// ask asks about drawn pages, or reads the replies.
func (c *criticMark) ask(s *session, t *lesson) error {
	if t.crawl == "" {
		return usagef("--ask wants to know which crawl; %s is a critic", t.name)
	}
	if c.given() {
		yes, no, err := c.read()
		if err != nil {
			return err
		}
		return t.keep(s, yes, no, true)
	}
	marks, err := samples.Marks(s, t.store, t.name)
	if err != nil {
		return err
	}
	drawn, err := t.draw(s, marks, c.Ask)
	if err != nil {
		return err
	}
	// Pages with a known mark need no question.
	var yes, no []string
	said := make(map[string]samples.Said)
	for _, x := range samples.Apply(t.set, marks) {
		said[x.URL] = x.Said
	}
	list := []drawnPage{}
	for _, p := range drawn {
		switch said[p.URL] {
		case samples.Liked:
			yes = append(yes, p.URL)
		case samples.Wrong:
			no = append(no, p.URL)
		default:
			list = append(list, p)
		}
	}
	if s.json || !interactive(os.Stdin) || !interactive(s.out) {
		if err := t.say(s, yes, no, true); err != nil {
			return err
		}
		return s.print(list, func(w io.Writer) {
			for _, p := range list {
				fmt.Fprintf(w, "%s  %s\n", p.URL, p.Title)
			}
		})
	}
	questions := make([]question, len(list))
	for i, p := range list {
		questions[i] = question{p.URL, p.URL + "  " + p.Title}
	}
	more, less, err := confirm(os.Stdin, s.out, questions)
	if err != nil {
		return err
	}
	return t.keep(s, append(yes, more...), append(no, less...), true)
}

// draw chooses n pages of the crawl that were not drawn before: of each verdict in proportion to its pages, but
// a quarter at least. The order is that of a hash of the URLs, so that several draws together are a random
// sample of all pages that exist by then.
func (t *lesson) draw(ctx context.Context, marks []samples.Mark, n int) ([]drawnPage, error) {
	before := []string{}
	for _, m := range marks {
		if m.Drawn && m.Crawl == t.crawl {
			before = append(before, m.URL)
		}
	}
	var pages [2][]drawnPage
	var left [2]int
	params := analytics.Params{"crawl": t.crawl, "before": before, "most": uint64(n)}
	const from = " FROM pages WHERE crawl = {crawl:String} AND outcome = 'delivered' AND object != '' AND url NOT IN {before:Array(String)}"
	err := t.db.Each(ctx, "SELECT "+takenForOnTopic+" AS taken, uniqExact(url)"+from+" GROUP BY taken", params, func(row []any) error {
		left[row[0].(uint8)] = int(row[1].(uint64))
		return nil
	})
	if err == nil {
		err = t.db.Each(ctx, "SELECT taken, url, title FROM (SELECT "+takenForOnTopic+" AS taken, url, title"+from+
			" ORDER BY applied LIMIT 1 BY url) ORDER BY sipHash64({crawl:String}, url), url LIMIT {most:UInt64} BY taken", params, func(row []any) error {
			taken := row[0].(uint8)
			pages[taken] = append(pages[taken], drawnPage{row[1].(string), row[2].(string)})
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("draw pages of %s: %w", t.crawl, err)
	}
	off, on := shareOut(n, left[0], left[1])
	drawn := append(pages[1][:on], pages[0][:off]...)
	slices.SortFunc(drawn, func(a, b drawnPage) int { // so that the order does not show the verdicts
		return cmp.Compare(xxhash.Sum64String(a.URL), xxhash.Sum64String(b.URL))
	})
	return drawn, nil
}

// shareOut divides n between two parts by their sizes, a quarter to each at least; no part gives more than it has.
func shareOut(n, a, b int) (ofA, ofB int) {
	n = min(n, a+b)
	if n == 0 {
		return 0, 0
	}
	quarter := (n + 3) / 4
	ofA = min(max((n*a+(a+b)/2)/(a+b), quarter), n-quarter)
	ofA = min(max(ofA, n-b, 0), a)
	return ofA, n - ofA
}

// say stores marks of pages.
func (t *lesson) say(ctx context.Context, yes, no []string, drawn bool) error {
	for _, said := range []struct {
		urls  []string
		right bool
	}{{yes, true}, {no, false}} {
		if len(said.urls) == 0 {
			continue
		}
		m, err := t.says(said.right, "")
		if err != nil {
			return err
		}
		m.Drawn = drawn
		if _, err := t.mark(ctx, said.urls, m); err != nil {
			return err
		}
	}
	return nil
}

// keep is say, and prints the result.
func (t *lesson) keep(s *session, yes, no []string, drawn bool) error {
	if err := t.say(s, yes, no, drawn); err != nil {
		return err
	}
	r := struct {
		Critic  string   `json:"critic"`
		Right   int      `json:"right"`
		Wrong   int      `json:"wrong"`
		OnTopic *onTopic `json:"on_topic,omitempty"`
	}{Critic: t.name, Right: len(yes), Wrong: len(no)}
	if drawn {
		var err error
		if r.OnTopic, err = t.b.estimate(s, t.cfg, t.db, t.crawl); err != nil {
			return err
		}
	}
	return s.print(r, func(w io.Writer) {
		fmt.Fprintf(w, "%d pages are on topic, %d are not\n", r.Right, r.Wrong)
		if drawn {
			r.OnTopic.text(w, t.crawl)
		}
		if r.Right+r.Wrong > 0 {
			fmt.Fprintf(w, "train the critic again:  %s\n", t.again())
		}
	})
}

// lesson is what is needed to mark pages and train a critic on the marks.
type lesson struct {
	cfg   *pipeline.Config
	b     *books
	db    *analytics.DB
	store *objects.Store
	name  string // of the critic
	crawl string // judged by the critic, if the user named one; otherwise empty
	focus []string
	// critic and its training pages, if it was trained on likes; otherwise nil.
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

// liked is an error, with the remedy, if the critic was not trained on likes.
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

// again returns the command that trains the critic again.
func (t *lesson) again() string {
	switch {
	case t.critic == nil:
		return fmt.Sprintf("forager critic train EXAMPLES --name %s --marks", t.name)
	case t.crawl == "" || ended(t.b.status(t.crawl)):
		return "forager critic retrain " + t.name
	}
	return fmt.Sprintf("forager critic retrain %s --crawl %s --use", t.name, t.crawl)
}

// says returns a mark without a page. The topic is that of the critic or the crawl unless one is named.
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

// pages calls take with the pages, fetched by any crawl, of the given URLs, each once.
func (t *lesson) pages(ctx context.Context, urls []string, take func(export.Page) error) error {
	sel := export.Selection{Outcome: schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED), Among: urls}
	return export.Each(ctx, t.db, t.store, sel, take)
}

// mark stores a mark for pages. It is an error if pages were not fetched; then none is stored.
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
		if alike := resemblance(report.Taken); alike != "" {
			fmt.Fprintf(w, "warning: %s\n", alike)
		}
		if c.Use {
			fmt.Fprintf(w, "%s is judged by it from now on\n", c.Crawl)
		}
	})
}

// fits reports whether a crawl can continue with the critic.
func (t *lesson) fits(ctl *schemas.CrawlControl) error {
	switch {
	case len(ctl.GetFocus()) != 1 || ctl.GetFocus()[0] != t.critic.topic:
		return fmt.Errorf("crawl %s is about %s, critic %s about %s", ctl.GetCrawl(), strings.Join(ctl.GetFocus(), ", "), t.critic.name, t.critic.topic)
	case ended(t.b.status(ctl.GetCrawl())):
		return fmt.Errorf("crawl %s has finished; without --use the critic is trained for crawls to come", ctl.GetCrawl())
	}
	return nil
}

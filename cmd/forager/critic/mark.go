package critic

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/samples"
)

type criticMark struct {
	Of    string   `arg:"" name:"crawl|critic" help:"The crawl whose critic judged the pages, or the critic."`
	URLs  []string `arg:"" optional:"" name:"url" help:"Pages that were fetched."`
	Right bool     `xor:"verdict" help:"They are on topic."`
	Wrong bool     `xor:"verdict" help:"They are not on topic."`
	Ask   int      `xor:"verdict" help:"Ask about so many pages of the crawl, drawn at random from those of either verdict." placeholder:"N"`
	Topic string   `help:"What they are about: with --right the crawl's one focus topic by default, with --wrong whatever."`

	replies
}

func (c *criticMark) Help() string {
	return `A mark is kept in the object store, with the text of the page, until the critic is trained again; of several
marks of a page the last one counts. A crawl goes on as it is until its critic is trained again.

  forager critic mark chemistry https://example.org/salad --wrong
  forager critic mark chemistry https://example.org/salts https://example.net/ions --right
  forager critic retrain chemistry --crawl chemistry --use

With --ask the pages are chosen for you, at random from those that the critic takes for on topic and from the others. In a
terminal each is asked about: y(es), n(o), s(kip), q(uit); else they are listed, and --yes and --no take the answers. From
such marks, and no others, the share of pages on topic is estimated (forager report), and a critic that was learned from likes is
calibrated on them when it is trained again. The draw is stored: --yes and --no refuse other pages. In a crawl with several
focus topics "yes" means that a page is about any of them; training then learns from the other answers only.

  forager critic mark chemistry --ask 20
  forager --json critic mark chemistry --ask 20 > pages.json
  forager critic mark chemistry --ask 20 --yes good.txt --no bad.txt

  forager critic mark schools https://example.org/atoms --wrong --topic Science/Physics
  forager critic train examples.jsonl --name schools --marks`
}

func (c *criticMark) Run(s *cli.Session) error {
	urls, err := operate.CanonicalSeeds(c.URLs)
	switch {
	case err != nil:
		return cli.AsUsage(err)
	case c.Ask < 0:
		return cli.Usagef("--ask is %d: want at least 1", c.Ask)
	case c.Ask > 0 && len(urls) > 0:
		return cli.Usagef("--ask chooses the pages; leave out %s", urls[0])
	case c.Ask == 0 && (len(urls) == 0 || !c.Right && !c.Wrong || c.given()):
		return cli.Usagef("want pages with --right or --wrong, or --ask N")
	}
	t, err := OpenCritic(s, c.Of)
	if err != nil {
		return err
	}
	if c.Ask > 0 {
		return c.ask(s, t)
	}
	m, err := t.newMark(c.Right, false, c.Topic)
	if err != nil {
		return err
	}
	kept, err := t.marks().Add(s, urls, m)
	if err != nil {
		return err
	}
	return s.Print(map[string]any{"critic": t.name, "marked": kept, "right": c.Right}, func(w io.Writer) {
		fmt.Fprintf(w, "%d pages marked for critic %s\ntrain it again:  %s\n", len(kept), t.name, t.retrainCommand())
	})
}

// ask asks about drawn pages, or reads the replies.
func (c *criticMark) ask(s *cli.Session, t *OpenedCritic) error {
	if t.crawl == "" {
		return cli.Usagef("--ask needs a crawl; %s is a critic", t.name)
	}
	if c.given() {
		yes, no, err := c.Read()
		if err != nil {
			return err
		}
		if err := t.wereDrawn(s, append(yes[:len(yes):len(yes)], no...)); err != nil {
			return err
		}
		return t.keep(s, yes, no, true)
	}
	marks, err := samples.Marks(s, t.Store, t.name)
	if err != nil {
		return err
	}
	drawn, err := t.draw(s, marks, c.Ask)
	if err != nil {
		return err
	}
	// Pages with a known mark need no question.
	var yes, no []string
	labels := make(map[string]samples.Label)
	for _, x := range samples.Apply(t.Set, marks) {
		labels[x.URL] = x.Label
	}
	list := []analytics.DrawnPage{}
	for _, p := range drawn {
		switch labels[p.URL] {
		case samples.Liked:
			yes = append(yes, p.URL)
		case samples.Wrong:
			no = append(no, p.URL)
		default:
			list = append(list, p)
		}
	}
	if s.JSON || !cli.Interactive(os.Stdin) || !cli.Interactive(s.Stdout) {
		if err := t.addMarks(s, yes, no, true); err != nil {
			return err
		}
		return s.Print(list, func(w io.Writer) {
			for _, p := range list {
				fmt.Fprintf(w, "%s  %s\n", p.URL, p.Title)
			}
		})
	}
	questions := make([]question, len(list))
	for i, p := range list {
		questions[i] = question{p.URL, p.URL + "  " + p.Title}
	}
	more, less, err := confirm(os.Stdin, s.Stdout, questions)
	if err != nil {
		return err
	}
	return t.keep(s, append(yes, more...), append(no, less...), true)
}

// draw chooses n pages of the crawl that were not drawn and marked before, and stores the draw: of each verdict in proportion to its
// pages, but a quarter at least.
func (t *OpenedCritic) draw(ctx context.Context, marks []samples.Mark, n int) ([]analytics.DrawnPage, error) {
	before := []string{}
	for _, m := range marks {
		if m.Drawn && m.Crawl == t.crawl {
			before = append(before, m.URL)
		}
	}
	allOff, allOn, left, err := t.DB.Draw(ctx, t.crawl, before, n)
	if err != nil {
		return nil, err
	}
	verdicts, err := t.DB.Verdicts(ctx, t.crawl)
	if err != nil {
		return nil, err
	}
	off, on := shareOut(n, left[0], left[1])
	allOff, allOn = allOff[:off], allOn[:on]
	d := &samples.Draw{Crawl: t.crawl, At: time.Now().UTC(), Off: samples.Stratum{URLs: urlsOf(allOff)}, On: samples.Stratum{URLs: urlsOf(allOn)}}
	for _, v := range verdicts {
		if v.OnTopic {
			d.On.Pages += v.Pages
		} else {
			d.Off.Pages += v.Pages
		}
	}
	if err := samples.AddDraw(ctx, t.Store, t.name, d); err != nil {
		return nil, err
	}
	drawn := append(allOn, allOff...)
	slices.SortFunc(drawn, func(a, b analytics.DrawnPage) int { // so that the order does not show the verdicts
		return cmp.Compare(xxhash.Sum64String(a.URL), xxhash.Sum64String(b.URL))
	})
	return drawn, nil
}

func urlsOf(pages []analytics.DrawnPage) []string {
	urls := make([]string, len(pages))
	for i, p := range pages {
		urls[i] = p.URL
	}
	return urls
}

// wereDrawn is an error if one of the pages was never drawn from the crawl: an estimate would be wrong with pages that a user chose.
func (t *OpenedCritic) wereDrawn(ctx context.Context, urls []string) error {
	draws, err := samples.Draws(ctx, t.Store, t.name)
	if err != nil {
		return err
	}
	drawn := samples.From(draws, t.crawl)
	for _, u := range urls {
		if !drawn[u] {
			return cli.Usagef("page %s was not drawn from crawl %s, so it is no answer; mark it without --ask. Nothing was marked", u, t.crawl)
		}
	}
	return nil
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

package critic

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/classify/critic"
	"forager/internal/classify/pulearning"
	"forager/internal/export"
	"forager/internal/page/dom"
	"forager/internal/platform/analytics"
	"forager/internal/platform/registry"
	"forager/internal/platform/samples"
)

type criticExpand struct {
	Of    string `arg:"" name:"crawl|critic" help:"A crawl that began with --like, or its critic."`
	Most  int    `short:"n" help:"Number of pages to propose." default:"20"`
	Fetch int    `help:"Fetch so many pages of the neighbourhood first that no crawl has fetched."`

	replies
	crawls.FetchPoliteness `embed:""`
}

func (c *criticExpand) Help() string {
	return `Proposes pages that are like the examples: of those that examples link to, that link to examples or that a page links
to which also links to examples, the ones that the critic finds most likely. In a terminal each is asked about: y(es),
n(o), s(kip), q(uit); else they are listed, and --yes and --no take the answers. The answers are kept as by forager
critic mark.

  forager critic expand chemistry
  forager --json critic expand chemistry > proposals.json
  forager critic expand chemistry --yes good.txt --no bad.txt
  forager critic expand chemistry --fetch 50 --contact you@example.org`
}

// Proposal is a page in the neighbourhood of the examples.
type Proposal struct {
	analytics.Neighbour
	Probability float64 `json:"probability"`
	Title       string  `json:"title"`
}

func (c *criticExpand) Run(s *cli.Session) error {
	if c.Most < 1 || c.Fetch < 0 {
		return cli.Usagef("-n is %d, --fetch %d: want at least 1 and 0", c.Most, c.Fetch)
	}
	t, err := OpenCritic(s, c.Of)
	if err != nil {
		return err
	}
	if err := t.liked(); err != nil {
		return err
	}
	if c.given() {
		yes, no, err := c.Read()
		if err != nil {
			return err
		}
		return t.keep(s, yes, no, false)
	}
	if c.Fetch > 0 {
		if err := c.fetch(s, t); err != nil {
			return err
		}
	}
	list, err := t.propose(s, c.Most)
	if err != nil {
		return err
	}
	if s.JSON || !cli.Interactive(os.Stdin) || !cli.Interactive(s.Stdout) {
		return s.Print(list, func(w io.Writer) {
			for _, p := range list {
				fmt.Fprintln(w, p.line())
			}
		})
	}
	questions := make([]question, len(list))
	for i, p := range list {
		questions[i] = question{p.URL, p.line()}
	}
	yes, no, err := confirm(os.Stdin, s.Stdout, questions)
	if err != nil {
		return err
	}
	return t.keep(s, yes, no, false)
}

func (p *Proposal) line() string {
	var ties []string
	for _, x := range []struct {
		n    uint64
		what string
	}{{p.Linked, "linked by %d of the examples"}, {p.Links, "links to %d of them"}, {p.Together, "linked together with them %d times"}} {
		if x.n > 0 {
			ties = append(ties, fmt.Sprintf(x.what, x.n))
		}
	}
	return fmt.Sprintf("%.3f  %s  %s  (%s)", p.Probability, p.URL, p.Title, strings.Join(ties, ", "))
}

// nearest bounds the neighbourhood, pages; those with most links are examined.
const nearest = 500

// around returns pages in the neighbourhood of the examples that have no mark yet, those with most links first.
func (t *OpenedCritic) around(ctx context.Context, fetched bool, most int) ([]analytics.Neighbour, error) {
	marks, err := samples.Marks(ctx, t.Store, t.name)
	if err != nil {
		return nil, err
	}
	examples, labelled := []string{}, []string{}
	for _, x := range samples.Apply(t.Set, marks) {
		switch x.Label {
		case samples.Liked:
			examples = append(examples, x.URL)
			labelled = append(labelled, x.URL)
		case samples.Wrong:
			labelled = append(labelled, x.URL)
		}
	}
	return t.DB.Neighbours(ctx, examples, labelled, fetched, most)
}

// propose returns the most probable pages of the neighbourhood, best first.
func (t *OpenedCritic) propose(ctx context.Context, most int) ([]Proposal, error) {
	list, err := t.around(ctx, true, nearest)
	if err != nil {
		return nil, err
	}
	c, err := t.newest(ctx)
	if err != nil {
		return nil, err
	}
	at, urls := make(map[string]int), []string{}
	for i, p := range list {
		at[p.URL] = i
		urls = append(urls, p.URL)
	}
	found, prediction := []Proposal{}, critic.NewPrediction(len(c.Classes()))
	err = t.marks().Pages(ctx, urls, func(p export.Page) error {
		x := Proposal{Neighbour: list[at[p.URL]]}
		parsed, err := dom.Parse(p.Body, p.ContentType, p.URL, dom.Settings{})
		if err != nil {
			return err
		}
		x.Title = parsed.GetTitle()
		if err := c.Predict(ctx, prediction, parsed); err != nil {
			return err
		}
		x.Probability = prediction.Calibrated[slices.Index(c.Classes(), c.Topic())]
		found = append(found, x)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b Proposal) int {
		return cmp.Or(cmp.Compare(b.Probability, a.Probability), cmp.Compare(a.URL, b.URL))
	})
	return found[:min(most, len(found))], nil
}

// newest returns the newest version of the critic.
func (t *OpenedCritic) newest(ctx context.Context) (*pulearning.Critic, error) {
	m, err := t.Topics.Critic(t.name)
	if err != nil {
		return nil, err
	}
	data, err := registry.Fetch(ctx, t.Store, m)
	if err != nil {
		return nil, err
	}
	return pulearning.Unmarshal(data)
}

// fetch fetches the pages with most links that no crawl has requested.
func (c *criticExpand) fetch(s *cli.Session, t *OpenedCritic) error {
	list, err := t.around(s, false, c.Fetch)
	if err != nil || len(list) == 0 {
		return err
	}
	urls := make([]string, len(list))
	for i, p := range list {
		urls[i] = p.URL
	}
	fmt.Fprintf(s.Stderr, "fetching %d pages around the examples\n", len(urls))
	fetched, err := crawls.FetchList(s, t.Parts, urls, c.FetchPoliteness)
	if err != nil {
		return err
	}
	failed, err := fetched.Pages(s, func(crawls.FetchedPage) error { return nil })
	if len(failed) > 0 {
		fmt.Fprintf(s.Stderr, "%d of them gave no page\n", len(failed))
	}
	return err
}

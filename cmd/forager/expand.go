package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"forager/internal/classify/critic"
	"forager/internal/classify/positive"
	"forager/internal/crawl/crawlfile"
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
	politely `embed:""`
}

func (c *criticExpand) Help() string {
	return `Proposes pages that are like the examples: of those that examples link to, that link to examples or that are linked
beside examples by one page, the ones that the critic finds most likely. In a terminal each is asked about: y(es),
n(o), s(kip), q(uit); else they are listed, and --yes and --no take the answers. What is said is kept as with forager
critic mark.

  forager critic expand chemistry
  forager --json critic expand chemistry > proposals.json
  forager critic expand chemistry --yes good.txt --no bad.txt
  forager critic expand chemistry --fetch 50 --contact you@example.org`
}

// proposal is a page in the neighbourhood of the examples.
type proposal struct {
	URL         string  `json:"url"`
	Probability float64 `json:"probability"`
	// Linked is the number of examples that link to it, Links that of examples it links to, Beside how often a
	// page links to it and to an example.
	Linked uint64 `json:"linked"`
	Links  uint64 `json:"links"`
	Beside uint64 `json:"beside"`
	Title  string `json:"title"`
}

func (c *criticExpand) Run(s *session) error {
	if c.Most < 1 || c.Fetch < 0 {
		return usagef("-n is %d, --fetch %d: want at least 1 and 0", c.Most, c.Fetch)
	}
	t, err := s.openLesson(c.Of)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.liked(); err != nil {
		return err
	}
	if c.given() {
		yes, no, err := c.read()
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
	if s.json || !interactive(os.Stdin) || !interactive(s.out) {
		return s.print(list, func(w io.Writer) {
			for _, p := range list {
				fmt.Fprintln(w, p.line())
			}
		})
	}
	questions := make([]question, len(list))
	for i, p := range list {
		questions[i] = question{p.URL, p.line()}
	}
	yes, no, err := confirm(os.Stdin, s.out, questions)
	if err != nil {
		return err
	}
	return t.keep(s, yes, no, false)
}

func (p *proposal) line() string {
	var ties []string
	for _, x := range []struct {
		n    uint64
		what string
	}{{p.Linked, "linked by %d of the examples"}, {p.Links, "links to %d of them"}, {p.Beside, "beside them %d times"}} {
		if x.n > 0 {
			ties = append(ties, fmt.Sprintf(x.what, x.n))
		}
	}
	return fmt.Sprintf("%.3f  %s  %s  (%s)", p.Probability, p.URL, p.Title, strings.Join(ties, ", "))
}

// question is a page to confirm, with the line that shows it.
type question struct{ URL, Line string }

// confirm asks the operator about each page and returns the URLs that are on topic and those that are not.
func confirm(in io.Reader, out io.Writer, list []question) (yes, no []string, err error) {
	lines := bufio.NewScanner(in)
	for i := 0; i < len(list); {
		fmt.Fprintf(out, "%d of %d  %s\non topic? [y/n/s/q] ", i+1, len(list), list[i].Line)
		if !lines.Scan() {
			fmt.Fprintln(out)
			return yes, no, lines.Err()
		}
		switch strings.ToLower(strings.TrimSpace(lines.Text())) {
		case "y", "yes":
			yes = append(yes, list[i].URL)
		case "n", "no":
			no = append(no, list[i].URL)
		case "s", "skip":
		case "q", "quit":
			return yes, no, nil
		default:
			fmt.Fprintln(out, "y = it is on topic, n = it is not, s = skip it, q = that is all")
			continue
		}
		i++
	}
	return yes, no, nil
}

// replies are read from files instead of a terminal.
type replies struct {
	Yes string `help:"A file of URLs that are on topic, instead of questions; - is standard input." type:"path"`
	No  string `help:"A file of URLs that are not on topic, instead of questions." type:"path"`
}

func (a *replies) given() bool { return a.Yes != "" || a.No != "" }

// read returns the URLs that are on topic and those that are not; none is both.
func (a *replies) read() (yes, no []string, err error) {
	read := func(path string) ([]string, error) {
		if path == "" {
			return nil, nil
		}
		in := io.Reader(os.Stdin)
		if path != "-" {
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			in = f
		}
		lines, err := crawlfile.Lines(in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return canonicalSeeds(lines)
	}
	if yes, err = read(a.Yes); err == nil {
		no, err = read(a.No)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, u := range yes {
		if slices.Contains(no, u) {
			return nil, nil, fmt.Errorf("page %s is in both files; nothing was marked", u)
		}
	}
	return yes, no, nil
}

// neighbours are links around examples: their own, those that lead to them, and those that a page has next to
// them (1999; the couplings of Kessler and Small), each with its count.
const neighbours = `SELECT page, sum(kind = 1) AS linked, sum(kind = 2) AS linking, sum(kind = 3) AS beside FROM
(
    SELECT DISTINCT v AS page, u AS other, 1 AS kind FROM links WHERE u IN {examples:Array(String)}
    UNION ALL
    SELECT DISTINCT u AS page, v AS other, 2 AS kind FROM links WHERE v IN {examples:Array(String)} AND u != ''
    UNION ALL
    SELECT DISTINCT v AS page, u AS other, 3 AS kind FROM links
    WHERE u IN (SELECT u FROM links WHERE v IN {examples:Array(String)} AND u != '') AND u NOT IN {examples:Array(String)}
)
WHERE page NOT IN {said:Array(String)}
GROUP BY page`

// nearest bounds the neighbourhood, pages; those with most links are examined.
const nearest = 500

const (
	fetchedNeighbours = neighbours + `
HAVING page IN (SELECT url FROM pages WHERE outcome = 'delivered')
ORDER BY linked + linking + beside DESC, page LIMIT {most:UInt64}`
	unfetchedNeighbours = neighbours + `
HAVING page NOT IN (SELECT url FROM pages WHERE outcome != '')
ORDER BY linked + linking + beside DESC, page LIMIT {most:UInt64}`
)

// around returns pages in the neighbourhood of the examples that have no mark yet, those with most links first.
func (t *lesson) around(ctx context.Context, sql string, most int) ([]proposal, error) {
	marks, err := samples.Marks(ctx, t.store, t.name)
	if err != nil {
		return nil, err
	}
	examples, said := []string{}, []string{}
	for _, x := range samples.Apply(t.set, marks) {
		switch x.Said {
		case samples.Liked:
			examples = append(examples, x.URL)
			said = append(said, x.URL)
		case samples.Wrong:
			said = append(said, x.URL)
		}
	}
	var list []proposal
	err = t.db.Each(ctx, sql, analytics.Params{"examples": examples, "said": said, "most": uint64(most)}, func(row []any) error {
		list = append(list, proposal{URL: row[0].(string), Linked: row[1].(uint64), Links: row[2].(uint64), Beside: row[3].(uint64)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("neighbourhood of the examples: %w", err)
	}
	return list, nil
}

// propose returns the most probable pages of the neighbourhood, best first.
func (t *lesson) propose(ctx context.Context, most int) ([]proposal, error) {
	list, err := t.around(ctx, fetchedNeighbours, nearest)
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
	found, opinion := []proposal{}, critic.NewOpinion(len(c.Classes()))
	err = t.pages(ctx, urls, func(p export.Page) error {
		x := list[at[p.URL]]
		parsed, err := dom.Parse(p.Body, p.ContentType, p.URL, dom.Settings{})
		if err != nil {
			return err
		}
		x.Title = parsed.GetTitle()
		if err := c.Opine(ctx, opinion, parsed); err != nil {
			return err
		}
		x.Probability = opinion.Calibrated[slices.Index(c.Classes(), c.Topic())]
		found = append(found, x)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b proposal) int {
		return cmp.Or(cmp.Compare(b.Probability, a.Probability), cmp.Compare(a.URL, b.URL))
	})
	return found[:min(most, len(found))], nil
}

// newest returns the newest version of the critic.
func (t *lesson) newest(ctx context.Context) (*positive.Critic, error) {
	m, err := t.b.critic(t.name)
	if err != nil {
		return nil, err
	}
	data, err := registry.Fetch(ctx, t.store, m)
	if err != nil {
		return nil, err
	}
	return positive.Unmarshal(data)
}

// fetch fetches the pages with most links that no crawl has requested.
func (c *criticExpand) fetch(s *session, t *lesson) error {
	list, err := t.around(s, unfetchedNeighbours, c.Fetch)
	if err != nil || len(list) == 0 {
		return err
	}
	urls := make([]string, len(list))
	for i, p := range list {
		urls[i] = p.URL
	}
	fmt.Fprintf(s.err, "fetching %d pages around the examples\n", len(urls))
	fetched, err := fetchList(s, t.cfg, t.b, urls, c.politely)
	if err != nil {
		return err
	}
	failed, err := fetched.pages(s, t.b, func(fetchedPage) error { return nil })
	if len(failed) > 0 {
		fmt.Fprintf(s.err, "%d of them gave no page\n", len(failed))
	}
	return err
}

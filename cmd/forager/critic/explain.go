package critic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"forager/cmd/internal/cli"
	"forager/internal/classify/critic"
	"forager/internal/classify/pagerules"
	"forager/internal/classify/taxonomy"
	"forager/internal/export"
	"forager/internal/operate"
	"forager/internal/page/dom"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/web/weburl"
	"forager/schemas"
)

type criticExplain struct {
	Page   string   `arg:"" help:"A file of HTML or text, - for standard input, or the URL of a page that a crawl has fetched."`
	Critic string   `help:"Name or version of the critic; by default that of --crawl."`
	Focus  []string `help:"Topic that the page is explained for; may be given more than once. By default the focus of --crawl, else the page's best class." placeholder:"TOPIC" sep:"none"`
	Crawl  string   `help:"Crawl that fetched the page; by default the one that did so last." placeholder:"NAME"`
	Terms  int      `help:"Words shown for and against." default:"15"`
}

func (c *criticExplain) Help() string {
	return `A word counts what the log-odds of the focus against all other classes would lose without it, in nats.

  forager critic explain page.html --critic schools --focus Science/Chemistry
  forager critic explain https://example.org/a --crawl chemistry
  forager critic explain - --critic schools < page.txt`
}

// Explanation is the result of the command for a page.
type Explanation struct {
	URL    string   `json:"url"`
	Critic string   `json:"critic"`
	Focus  []string `json:"focus"`
	// Words is set by a trained critic, Rule by rules.
	*critic.Explanation
	Rule string `json:"rule,omitempty"`
}

func (c *criticExplain) Run(s *cli.Session) error {
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	name, focus := c.Critic, c.Focus
	if c.Crawl != "" {
		ctl, err := b.Control(c.Crawl)
		if err != nil {
			return err
		}
		if name == "" {
			name = ctl.GetCritic()
		}
		if len(focus) == 0 {
			focus = ctl.GetFocus()
		}
	}
	if name == "" {
		return cli.Usagef("give --critic, or --crawl, whose critic it is")
	}
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return err
	}
	judge, version, err := operate.OpenCritic(s, b, store, name)
	if err != nil {
		return err
	}
	page, err := c.page(s, cfg, store)
	if err != nil {
		return err
	}
	x, err := explain(s, judge, page, focus)
	if err != nil {
		return err
	}
	x.Critic = version
	return s.Print(x, func(w io.Writer) { x.print(w, c.Terms) })
}

// explain uses a judge of any kind.
func explain(ctx context.Context, judge critic.Classifier, page *schemas.Page, focus []string) (*Explanation, error) {
	prediction := critic.NewPrediction(len(judge.Classes()))
	if err := judge.Predict(ctx, prediction, page); err != nil {
		return nil, err
	}
	if len(focus) == 0 {
		best := floats.MaxIdx(prediction.Calibrated)
		focus = judge.Classes()[best : best+1]
	}
	x := &Explanation{URL: page.GetUrl(), Focus: focus}
	if m, ok := judge.(*critic.Model); ok {
		var err error
		x.Explanation, err = m.Explain(page, focus)
		return x, err
	}
	in, err := taxonomy.Focus(judge.Classes(), judge.Pruned(), focus)
	if err != nil {
		return nil, fmt.Errorf("focus: %w", err)
	}
	x.Explanation = &critic.Explanation{Judgement: &schemas.Judgement{KnownTokens: prediction.Known}, Tokens: uint64(len(page.GetTokens()))}
	for k, class := range judge.Classes() {
		p := prediction.Raw[k]
		x.Classes = append(x.Classes, critic.ClassOdds{Name: class, LogOdds: bounded(p), Raw: p, Tempered: prediction.Tempered[k], Calibrated: prediction.Calibrated[k], Focus: in[k]})
		if in[k] {
			x.Judgement.Raw += p
			x.Judgement.Tempered += prediction.Tempered[k]
			x.Judgement.Calibrated += prediction.Calibrated[k]
		}
	}
	slices.SortStableFunc(x.Classes, func(a, b critic.ClassOdds) int { return int(math.Copysign(1, b.Raw-a.Raw)) })
	if rules, ok := judge.(*pagerules.Rules); ok {
		_, line, err := rules.Judge(page)
		if err != nil {
			return nil, err
		}
		x.Rule = "no rule holds"
		if line > 0 {
			x.Rule = fmt.Sprintf("line %d: %s", line, strings.TrimSpace(strings.Split(rules.Source(), "\n")[line-1]))
		}
	}
	return x, nil
}

// bounded returns the log-odds of a probability, finite also for 0 and 1.
func bounded(p float64) float64 {
	const most = 0x1p-52
	p = min(max(p, most), 1-most)
	return math.Log(p / (1 - p))
}

// page returns the page to explain.
func (c *criticExplain) page(s *cli.Session, cfg *pipeline.Config, store *objects.Store) (*schemas.Page, error) {
	if _, err := os.Stat(c.Page); err == nil || c.Page == "-" {
		var body []byte
		if c.Page == "-" {
			body, err = io.ReadAll(os.Stdin)
		} else {
			body, err = os.ReadFile(c.Page)
		}
		if err != nil {
			return nil, err
		}
		name := "http://file.invalid/" + strings.ReplaceAll(filepath.Base(c.Page), " ", "_")
		return parsePage(body, "", name)
	}
	u, err := weburl.Parse(c.Page)
	if err != nil {
		return nil, cli.Usagef("%s is no file, and no URL: %v", c.Page, err)
	}
	db, err := s.OpenAnalytics(cfg)
	if err != nil {
		return nil, err
	}
	sel := analytics.Selection{Crawl: c.Crawl, Outcome: schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED), Among: []string{u.String()}}
	var found *export.Page
	err = export.Each(s, db, store, sel, func(p export.Page) error {
		found = &p
		return nil
	})
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fmt.Errorf("no %s has delivered %s; give a file with the page", c.crawls(), u)
	}
	return parsePage(found.Body, found.ContentType, u.String())
}

func (c *criticExplain) crawls() string {
	if c.Crawl == "" {
		return "crawl"
	}
	return "page of crawl " + c.Crawl
}

// parsePage reads HTML; text becomes one leaf.
func parsePage(body []byte, contentType, url string) (*schemas.Page, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, errors.New("the page is empty")
	}
	if contentType == "" && !strings.HasPrefix(http.DetectContentType(body), "text/html") && !bytes.Contains(body, []byte("</")) {
		body, contentType = []byte("<pre>"+html.EscapeString(string(body))), "text/html; charset=utf-8"
	}
	return dom.Parse(body, contentType, url, dom.Settings{})
}

// print writes the explanation as text.
func (x *Explanation) print(w io.Writer, most int) {
	j := x.Judgement
	fmt.Fprintf(w, "%s\nby %s for %s\n\n", x.URL, x.Critic, strings.Join(x.Focus, ", "))
	fmt.Fprintf(w, "relevance    %.4f calibrated, %.4f tempered, %.4f raw\n", j.Calibrated, j.Tempered, j.Raw)
	fmt.Fprintf(w, "words        %d, of which %d are in the critic's model\n", x.Tokens, j.KnownTokens)
	if x.HeldOut {
		fmt.Fprintf(w, "held out     the page trained the critic; its relevance is that of one that has not seen it, its words are those of the one that has\n")
	}
	if x.Rule != "" {
		fmt.Fprintf(w, "decided by   %s\n", x.Rule)
	}
	if len(x.Terms) > 0 {
		fmt.Fprintf(w, "log-odds     %+.2f nats against all other classes, %+.2f without any word; the strongest of them is %s\n", x.LogOdds, x.Prior, x.Rival)
		x.printTerms(w, "WORDS FOR IT", most, func(t critic.Term) bool { return t.Focus > 0 })
		x.printTerms(w, "WORDS AGAINST IT", most, func(t critic.Term) bool { return t.Focus < 0 })
	}
	for _, d := range x.Nodes {
		fmt.Fprintf(w, "\nat /%s\n", d.Node)
		for _, child := range d.Children[:min(len(d.Children), 8)] {
			fmt.Fprintf(w, "  %s %.4f %s\n", mark(child.Focus), child.Raw, child.Name)
		}
	}
	fmt.Fprintf(w, "\n%-44s %9s %10s %9s %10s\n", "CLASS", "LOG-ODDS", "CALIBRATED", "TEMPERED", "RAW")
	for _, class := range x.Classes[:min(len(x.Classes), 10)] {
		fmt.Fprintf(w, "%s %-42s %+9.2f %10.4f %9.4f %10.4f\n", mark(class.Focus), class.Name, class.LogOdds, class.Calibrated, class.Tempered, class.Raw)
	}
}

func (x *Explanation) printTerms(w io.Writer, title string, most int, of func(critic.Term) bool) {
	fmt.Fprintf(w, "\n%-32s %6s %9s %9s\n", title, "COUNT", "LOG-ODDS", "v. RIVAL")
	for _, t := range x.Terms {
		if most == 0 {
			return
		}
		if of(t) {
			fmt.Fprintf(w, "%-32s %6d %+9.2f %+9.2f\n", t.Word, t.Count, t.Focus, t.Rival)
			most--
		}
	}
}

// mark precedes the topics of the focus.
func mark(focus bool) string {
	if focus {
		return "*"
	}
	return " "
}

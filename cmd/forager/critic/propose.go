package critic

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"forager/cmd/internal/cli"
	"forager/internal/classify/critic"
	"forager/internal/classify/examples"
	"forager/internal/classify/propose"
	"forager/internal/operate"
	"forager/internal/page/dom"
	"forager/schemas"
)

type criticPropose struct {
	Sources []string `arg:"" name:"source" help:"A few examples, as for critic import; their labels are ignored."`
	Critic  string   `required:"" help:"The critic whose topics are looked at: a name, or a version."`
	Top     int      `help:"Topics to show." default:"10"`
	sourceFlags
}

func (c *criticPropose) Help() string {
	return `Names the topics of a critic, also those above its classes, that a few examples fit best, and a focus
for a crawl (1999). The score is the mean logarithm of how much likelier an example is under the topic than at
large; an example fits where the topic's posterior is at least one half.

  forager critic propose mine.jsonl --critic schools
  forager critic propose mine.urls --critic schools --contact you@example.org`
}

// proposals is the result of critic propose.
type proposals struct {
	Critic   string             `json:"critic"`
	Examples int                `json:"examples"`
	Topics   []propose.Proposal `json:"topics"`
	// Focus is proposed for a crawl; Covered is the number of examples that fit one of its topics.
	Focus   []string          `json:"focus"`
	Covered int               `json:"covered"`
	Import  *examples.Summary `json:"import"`
}

func (c *criticPropose) Run(s *cli.Session) error {
	b, store, err := s.OpenStore()
	if err != nil {
		return err
	}
	judge, version, err := operate.OpenCritic(s, b, store, c.Critic)
	if err != nil {
		return err
	}
	c.otherwise = "Examples"
	r := &proposals{Critic: version}
	if err := c.judge(s, judge, r); err != nil {
		return err
	}
	return s.Print(r, r.print)
}

// judge applies the critic to every example.
func (c *criticPropose) judge(s *cli.Session, judge critic.Classifier, r *proposals) error {
	o := critic.NewPrediction(len(judge.Classes()))
	if err := judge.Predict(s, o, new(schemas.Page)); err != nil {
		return fmt.Errorf("critic %s, asked about a page without words: %w", r.Critic, err)
	}
	predictions := propose.New(judge.Classes(), o.Tempered)
	var err error
	r.Import, err = c.Read(s, c.Sources, func(e *examples.Example) error {
		p, err := pageOf(e)
		if err == nil {
			err = judge.Predict(s, o, p)
		}
		if err != nil {
			return fmt.Errorf("critic %s, example %s: %w", r.Critic, e.URL, err)
		}
		predictions.Add(o.Calibrated)
		r.Examples++
		return nil
	})
	if err != nil {
		return err
	}
	ranked := predictions.Rank()
	r.Topics = ranked[:min(len(ranked), max(1, c.Top))]
	r.Focus, r.Covered = predictions.Focus()
	r.Focus = append([]string{}, r.Focus...)
	return nil
}

// pageOf is an example in the form in which stages pass on a page.
func pageOf(e *examples.Example) (*schemas.Page, error) {
	p, err := dom.Parse([]byte(html.EscapeString(e.Text)), "text/html; charset=utf-8", "http://example.invalid/", dom.Settings{})
	if err == nil {
		p.Url = e.URL // a judge that was trained on the page recognises it by its URL
	}
	return p, err
}

func (r *proposals) print(w io.Writer) {
	fmt.Fprintf(w, "%d examples, judged by %s\n%7s %9s %7s  %s\n", r.Examples, r.Critic, "SCORE", "FIT", "MEAN", "TOPIC")
	for _, x := range r.Topics {
		fmt.Fprintf(w, "%7.2f %9s %7.3f  %s\n", x.Score, fmt.Sprintf("%d/%d", x.Fits, r.Examples), x.Mean, x.Topic)
	}
	cli.PrintCounts(w, "refused", r.Import.Refused)
	if len(r.Focus) == 0 {
		fmt.Fprintln(w, "no topic of this critic fits: choose one of these, or another critic")
		return
	}
	quoted := slices.Clone(r.Focus)
	for i, topic := range quoted {
		if strings.ContainsAny(topic, ",:#[]{}\"'&*!|>%@`") {
			quoted[i] = fmt.Sprintf("%q", topic)
		}
	}
	fmt.Fprintf(w, "for the crawl file, which %d of the examples fit:\nfocus: [%s]\n", r.Covered, strings.Join(quoted, ", "))
}

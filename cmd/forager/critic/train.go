package critic

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/internal/classify/critic"
	"forager/internal/classify/examples"
	"forager/internal/platform/objects"
	"forager/internal/platform/samples"
)

type criticTrain struct {
	Examples []string `arg:"" name:"source" help:"Examples: JSON Lines {url, topics, text|html}, a folder tree, a list of URLs, a dump of DMOZ (see critic import)."`
	Name     string   `required:"" help:"Name of the critic."`
	Date     string   `help:"Date of the training, written to the model; empty = when the examples were last changed." placeholder:"YYYY-MM-DD"`
	Marks    bool     `help:"Also train on the marks of pages that this critic has judged (critic mark)."`
	DryRun   bool     `help:"Train and report, publish nothing."`
	learnFlags
	sourceFlags
}

func (c *criticTrain) Help() string {
	return `Each line of the examples is a page and the topics it is about:

  {"url": "https://example.org/a", "topics": ["Science/Chemistry"], "text": "…"}

  forager critic train examples.jsonl.gz --name schools
  forager critic train examples.jsonl.gz --name schools --minimum 50 --model logistic

bayes is naive Bayes over all classes (2002), bayes-tree naive Bayes down the taxonomy by the words that
distinguish siblings (1999), logistic the strongest: logistic regression, which takes longer to train (about a minute for 100 classes of 5,000 pages).
Without --model it is bayes or logistic, what judges held-out pages better, and bayes where the other would take more
than about a minute. Without --minimum it is the least of 300, 160, 80, 40 and 20 with which bayes recognises pages of nearly all
classes and is right of most pages. Of the same examples the same is chosen on every machine.
Classes that no held-out page of theirs is given are warned of: raise --minimum, or use --model logistic.
Measures are of pages that were held out: ECE is how far, on average, the probability of the best class
is from how often it is right.`
}

func (c *criticTrain) Run(s *cli.Session) error {
	if err := models.CheckModelName("--name", c.Name); err != nil {
		return err
	}
	tries := c.tries()
	set, err := c.examples(s, tries)
	if err != nil {
		return err
	}
	date, err := c.date()
	if err != nil {
		return err
	}
	for i := range tries {
		tries[i].Provenance = map[string]string{"examples": namesOf(c.Examples), "digest": set.digest, "pages": strconv.Itoa(set.Len()), "date": date}
	}
	best, err := c.choose(s, set.Examples, tries, false)
	if err != nil {
		return err
	}
	model, report := best.model, best.report
	var version string
	if !c.DryRun {
		cfg, b, err := s.OpenTopics()
		if err != nil {
			return err
		}
		m, err := models.PublishCritic(s, cfg, b, c.Name, model, map[string]float64{
			"accuracy": report.Calibrated.Accuracy, "log_loss": report.Calibrated.LogLoss, "ece": report.Calibrated.ECE,
		})
		if err != nil {
			return err
		}
		version = m.GetVersion()
	}
	warnings := trainingWarnings(report, best.Settings)
	return s.Print(map[string]any{"version": version, "model": best.Method, "minimum": best.Minimum, "chosen": best.notes, "report": report, "import": set.sum, "warnings": warnings}, func(w io.Writer) {
		printSummary(w, set.sum)
		for _, note := range best.notes {
			fmt.Fprintf(w, "chosen: %s\n", note)
		}
		fmt.Fprintf(w, "%d examples, %d classes, %d words; accuracy on held-out folds %.3f\n",
			report.Examples, len(report.Classes), report.Words, report.Calibrated.Accuracy)
		PrintMeasured(w, report.Measured)
		for _, p := range report.Pruned {
			fmt.Fprintf(w, "  %s had %d examples; they went to %s\n", p.Topic, p.Examples, "/"+p.Into)
		}
		fmt.Fprintf(w, "%-48s %9s %7s %9s\n", "CLASS", "EXAMPLES", "RECALL", "PRECISION")
		for _, x := range report.Classes {
			fmt.Fprintf(w, "%-48s %9d %7.3f %9.3f\n", x.Name, x.Examples, x.Recall, x.Precision)
		}
		for _, x := range warnings {
			fmt.Fprintf(w, "warning: %s\n", x)
		}
		if version != "" {
			fmt.Fprintf(w, "published %s\n", version)
		}
	})
}

// date is the time of training as it is recorded: the same examples give the same bytes.
func (c *criticTrain) date() (string, error) {
	if c.Date != "" {
		if _, err := time.Parse(time.DateOnly, c.Date); err != nil {
			return "", cli.Usagef("--date: %q is not a date such as 2026-11-21", c.Date)
		}
		return c.Date, nil
	}
	var newest time.Time
	for _, path := range c.Examples {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		if t := info.ModTime().UTC(); t.After(newest) {
			newest = t
		}
	}
	return newest.Format(time.DateOnly), nil
}

// PrintMeasured prints the measures of a model's posteriors.
func PrintMeasured(w io.Writer, m critic.Measured) {
	fmt.Fprintf(w, "%-12s %8s %9s %7s\n", "POSTERIOR", "ACCURACY", "LOG LOSS", "ECE")
	for _, x := range []struct {
		name string
		critic.Measures
	}{{"raw", m.Raw}, {"tempered", m.Tempered}, {"calibrated", m.Calibrated}} {
		fmt.Fprintf(w, "%-12s %8.3f %9.3f %7.3f\n", x.name, x.Accuracy, x.LogLoss, x.ECE)
	}
}

// examples reads the sources and, if requested, the marks.
func (c *criticTrain) examples(s *cli.Session, tries []critic.Settings) (*exampleSet, error) {
	l := trainingChoice{words: c.Words, tries: tries}
	if !c.Marks {
		return c.examplesFor(s, c.Examples, l)
	}
	cfg, err := s.Pipeline()
	if err != nil {
		return nil, err
	}
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return nil, err
	}
	marks, err := samples.Marks(s, store, c.Name)
	if err != nil {
		return nil, err
	}
	marked := make(map[string]*samples.Mark, len(marks))
	for i := range marks {
		marked[marks[i].URL] = &marks[i]
	}
	// For a page without topics only what it is not about is known.
	l.topics = func(x *examples.Example) []string {
		m := marked[x.URL]
		if m == nil {
			return x.Topics
		}
		delete(marked, x.URL)
		return m.Topics(x.Topics)
	}
	l.more = func() (more []*examples.Example) {
		for i := range marks {
			if m := &marks[i]; marked[m.URL] != nil {
				more = append(more, &examples.Example{URL: m.URL, Topics: m.Topics(nil), Text: m.Text})
			}
		}
		return more
	}
	return c.examplesFor(s, c.Examples, l)
}

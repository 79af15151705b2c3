package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"forager/internal/classify/critic"
	"forager/internal/classify/examples"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/registry"
	"forager/internal/platform/samples"
	"forager/internal/stream"
	"forager/schemas"
)

type criticCommand struct {
	Import    criticImport    `cmd:"" help:"Bring examples of any source into one file."`
	Taxonomy  criticTaxonomy  `cmd:"" help:"Show the tree of topics and the classes made of it, and pages that are alike."`
	Propose   criticPropose   `cmd:"" help:"Name the topics of a critic that a few examples fit best."`
	Train     criticTrain     `cmd:"" help:"Train a critic on example pages and publish it."`
	Evaluate  criticEvaluate  `cmd:"" help:"Measure by cross-validation how good a critic of these examples is."`
	Rules     criticRules     `cmd:"" help:"Publish a critic of keyword and regular-expression rules."`
	Predicate criticPredicate `cmd:"" help:"Publish a critic that asks an HTTP service."`
	Expand    criticExpand    `cmd:"" help:"Propose pages that are like the examples, to be confirmed one by one."`
	Mark      criticMark      `cmd:"" help:"Say of fetched pages that they are on topic, or not."`
	Retrain   criticRetrain   `cmd:"" help:"Train a critic again, on what was marked and what a crawl has met."`
	Explain   criticExplain   `cmd:"" help:"Why a page gets its score from a critic."`
}

type criticTrain struct {
	Examples []string `arg:"" name:"source" help:"Examples: JSON Lines {url, topics, text|html}, a folder tree, a list of URLs, a dump of DMOZ (see critic import)."`
	Name     string   `required:"" help:"Name of the critic."`
	Date     string   `help:"When it was trained, as the model says it; empty = when the examples were last changed." placeholder:"YYYY-MM-DD"`
	Marks    bool     `help:"Heed what was marked of pages that this critic has judged (critic mark), too."`
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
tell siblings apart (1999), logistic the strongest: logistic regression, which takes longer to train (about a minute for 100 classes of 5,000 pages).
Without --model it is bayes or logistic, what judges held-out pages better, and bayes where the other would take more
than about a minute. Without --minimum it is the least of 300, 160, 80, 40 and 20 with which bayes recognises pages of nearly all
classes and is right of most pages. Of the same examples the same is chosen on every machine.
Classes that no held-out page of theirs is given are warned of: raise --minimum, or use --model logistic.
Measures are of pages that were held out: ECE is how far, on average, the probability of the best class
is from how often it is right.`
}

func (c *criticTrain) Run(s *session) error {
	if err := checkModelName("--name", c.Name); err != nil {
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
		cfg, b, err := s.openBooks()
		if err != nil {
			return err
		}
		defer b.close()
		m, err := publishCritic(s, cfg, b, c.Name, model, map[string]float64{
			"accuracy": report.Calibrated.Accuracy, "log_loss": report.Calibrated.LogLoss, "ece": report.Calibrated.ECE,
		})
		if err != nil {
			return err
		}
		version = m.GetVersion()
	}
	warnings := trainingWarnings(report, best.Settings)
	return s.print(map[string]any{"version": version, "model": best.Method, "minimum": best.Minimum, "chosen": best.notes, "report": report, "import": set.sum, "warnings": warnings}, func(w io.Writer) {
		tellSummary(w, set.sum)
		for _, note := range best.notes {
			fmt.Fprintf(w, "chosen: %s\n", note)
		}
		fmt.Fprintf(w, "%d examples, %d classes, %d words; accuracy on held-out folds %.3f\n",
			report.Examples, len(report.Classes), report.Words, report.Calibrated.Accuracy)
		tellMeasured(w, report.Measured)
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
			return "", usagef("--date: %q is not a date such as 2026-11-21", c.Date)
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

// tellMeasured prints the measures of a model's posteriors.
func tellMeasured(w io.Writer, m critic.Measured) {
	fmt.Fprintf(w, "%-12s %8s %9s %7s\n", "POSTERIOR", "ACCURACY", "LOG LOSS", "ECE")
	for _, x := range []struct {
		name string
		critic.Measures
	}{{"raw", m.Raw}, {"tempered", m.Tempered}, {"calibrated", m.Calibrated}} {
		fmt.Fprintf(w, "%-12s %8.3f %9.3f %7.3f\n", x.name, x.Accuracy, x.LogLoss, x.ECE)
	}
}

// examples reads the sources and, if requested, the marks.
func (c *criticTrain) examples(s *session, tries []critic.Settings) (*exampleSet, error) {
	l := syllabus{words: c.Words, tries: tries}
	if !c.Marks {
		return c.examplesFor(s, c.Examples, l)
	}
	cfg, err := s.pipeline()
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
	said := make(map[string]*samples.Mark, len(marks))
	for i := range marks {
		said[marks[i].URL] = &marks[i]
	}
	// For a page without topics only what it is not about is known.
	l.topics = func(x *examples.Example) []string {
		m := said[x.URL]
		if m == nil {
			return x.Topics
		}
		delete(said, x.URL)
		return m.Topics(x.Topics)
	}
	l.more = func() (more []*examples.Example) {
		for i := range marks {
			if m := &marks[i]; said[m.URL] != nil {
				more = append(more, &examples.Example{URL: m.URL, Topics: m.Topics(nil), Text: m.Text})
			}
		}
		return more
	}
	return c.examplesFor(s, c.Examples, l)
}

// modelName matches the names of critics, guides and sources of backlinks.
var modelName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

func checkModelName(flag, name string) error {
	if !modelName.MatchString(name) {
		return usagef("%s: %q is not a name of 1–64 of a–z, 0–9, \"-\" and \"_\"", flag, name)
	}
	return nil
}

// sourceOf reads a user's definition of a model that is to be published under a name.
func sourceOf[M any](name, path string, parse func(file, source string) (M, error)) (none M, err error) {
	if err := checkModelName("--name", name); err != nil {
		return none, err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return none, err
	}
	return parse(filepath.Base(path), string(source))
}

// publishCritic stores a critic under a name derived from its bytes and announces it.
func publishCritic(ctx context.Context, cfg *pipeline.Config, b *books, name string, model *critic.Model, measures map[string]float64) (*schemas.ModelPublished, error) {
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return nil, err
	}
	data := model.Marshal()
	m := registry.Critic(name, data, measures, time.Now())
	if err := b.publish(ctx, store, m, data); err != nil {
		return nil, err
	}
	return m, nil
}

// publish stores a model, announces it and returns its version.
func (s *session) publish(m *schemas.ModelPublished, data []byte) (version string, err error) {
	b, store, err := s.openStore()
	if err != nil {
		return "", err
	}
	defer b.close()
	return m.GetVersion(), b.publish(s, store, m, data)
}

// publish stores a model and announces it.
func (b *books) publish(ctx context.Context, store *objects.Store, m *schemas.ModelPublished, data []byte) error {
	if err := registry.Keep(ctx, store, m, data); err != nil {
		return err
	}
	stream.Failpoint("kept-before-announced")
	out, err := registry.Announcement(m)
	if err != nil {
		return err
	}
	if _, err := b.client.Produce(ctx, []stream.Out{out}); err != nil {
		return fmt.Errorf("announce model %s: %w", m.GetVersion(), err)
	}
	b.note(m) // it is read back through the topic a little later
	return nil
}

// putContent stores an object whose name is derived from its content: an existing one is the same.
func putContent(ctx context.Context, store *objects.Store, key string, data []byte) error {
	err := store.Put(ctx, key, bytes.NewReader(data), int64(len(data)))
	if errors.Is(err, objects.ErrExists) {
		return nil
	}
	return err
}

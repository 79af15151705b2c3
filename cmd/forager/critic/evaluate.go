package critic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"forager/cmd/internal/cli"
	"forager/internal/classify/critic"
	"forager/internal/classify/examples"
	"forager/internal/classify/taxonomy"
	"forager/internal/export"
	"forager/internal/measure/evaluate"
	"forager/internal/page/text"
)

// learnFlags select how a critic is trained.
type learnFlags struct {
	Model    critic.Method `help:"How it learns: bayes, bayes-tree, logistic; auto = logistic where it judges better than bayes and takes about a minute at most." enum:"auto,bayes,bayes-tree,logistic" default:"auto"`
	Features int           `help:"Words that bayes-tree chooses at each node of the taxonomy; 0 = all." default:"30000"`
	Minimum  *int          `help:"Examples a class must have; smaller leaves join their parent (2002 §3.1). By default the least of 300, 160, 80, 40 and 20 with which bayes distinguishes the classes."`
	Cap      int           `help:"Examples a class uses at most." default:"300"`
	Seed     uint64        `help:"Seed of the sampling."`
	Words    text.Settings `help:"How words are made of text: bigrams, stop, stem, language=CODE, numbers=kept|shaped|dropped, case=folded|kept." default:"bigrams"`
}

type criticEvaluate struct {
	Examples []string `arg:"" name:"source" help:"Examples, as for critic train."`
	Exact    bool     `help:"Use the topics of the examples as they are: no tree, no pruning."`
	HTML     string   `name:"html" help:"Write all of it to this file, one page that needs nothing else." placeholder:"FILE"`
	Curve    bool     `help:"Also train on an eighth, a quarter and a half of the examples." default:"true" negatable:""`
	Pages    string   `help:"Write the judgement of every page by its held-out critic to this file, one JSON object a line." placeholder:"FILE"`
	Force    bool     `help:"Replace files that are there already."`
	learnFlags
	sourceFlags
}

func (c *criticEvaluate) Help() string {
	return `Every page is judged by a critic that was trained without the fold of its URL, and calibrated without it. Raw,
tempered and calibrated posteriors stand side by side; topics, confusions and relevance are by the calibrated ones.

  forager critic evaluate examples.jsonl.gz --minimum 50 --html critic.html
  forager critic evaluate examples.jsonl.gz --minimum 50 --model logistic --json
  forager critic evaluate examples.jsonl.gz --words "bigrams stop" --no-curve`
}

// Words shown for and against a topic.
const decidingWords = 12

func (c *criticEvaluate) Run(s *cli.Session) error {
	tries := c.tries()
	if c.Exact {
		tries = tries[:1]
		tries[0].Exact = true
	}
	set, err := c.examplesFor(s, c.Examples, trainingChoice{words: c.Words, tries: tries})
	if err != nil {
		return err
	}
	best, err := c.choose(s, set.Examples, tries, true)
	if err != nil {
		return err
	}
	model, held := best.model, best.held
	report := evaluate.New(model.Classes(), pagesOf(held))
	report.Examples = namesOf(c.Examples)
	report.How = c.how(best)
	if len(held) < model.HeldOut() {
		report.How = append(report.How, evaluate.Property{Name: "measured", Value: fmt.Sprintf("%d of %d pages", len(held), model.HeldOut())})
	}
	if report.Words, err = model.DecidingWords(set.Examples, held, decidingWords); err != nil {
		return err
	}
	if c.Curve {
		if report.Learning, err = learningCurve(s, c, best.Settings); err != nil {
			return err
		}
	}
	report.Learning = append(report.Learning, wholePoint(report))
	if err := c.write(s, c.HTML, report.WriteHTML); err != nil {
		return err
	}
	if err := c.write(s, c.Pages, func(w io.Writer) error { return evaluate.WritePages(w, report.Classes, pagesOf(held)) }); err != nil {
		return err
	}
	return s.Print(report, func(w io.Writer) {
		printSummary(w, set.sum)
		printEvaluation(w, report)
		for _, x := range trainingWarnings(best.report, best.Settings) {
			fmt.Fprintf(w, "warning: %s\n", x)
		}
		if c.HTML != "" {
			fmt.Fprintf(w, "written to %s\n", c.HTML)
		}
	})
}

func (c *criticEvaluate) how(of *chosen) []evaluate.Property {
	how := []evaluate.Property{
		{Name: "model", Value: string(of.Method)},
		{Name: "words", Value: c.Words.String()},
		{Name: "vocabulary", Value: strconv.Itoa(of.report.Words)},
		{Name: "folds", Value: strconv.Itoa(critic.Folds)},
	}
	for _, note := range of.notes {
		how = append(how, evaluate.Property{Name: "chosen", Value: note})
	}
	if of.Method == critic.BayesTree && c.Features > 0 {
		how = append(how, evaluate.Property{Name: "words a node", Value: strconv.Itoa(c.Features)})
	}
	if c.Exact {
		return append(how, evaluate.Property{Name: "classes", Value: "the topics as they are"})
	}
	return append(how, evaluate.Property{Name: "classes", Value: fmt.Sprintf("at least %d examples, at most %d used; %d topics pruned", of.Minimum, c.Cap, len(of.report.Pruned))})
}

// write writes a file, which appears when it is complete; without a name it does nothing.
func (c *criticEvaluate) write(ctx context.Context, name string, by func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	target, err := export.Create(ctx, name, c.Force)
	if err != nil {
		return err
	}
	if err := by(target); err != nil {
		target.Abort()
		return err
	}
	return target.Commit()
}

func pagesOf(held []critic.Held) []evaluate.Page {
	pages := make([]evaluate.Page, len(held))
	for i, h := range held {
		pages[i] = evaluate.Page{URL: h.URL, Own: h.Classes, Posteriors: [evaluate.Kinds][]float64{h.Raw, h.Tempered, h.Calibrated}}
	}
	return pages
}

// curveParts are the shares of the examples, in eighths, of a learning curve, in addition to the whole.
var curveParts = []uint64{1, 2, 4}

// learningCurve trains on parts of the examples, each contained in the next: a part is drawn by a hash of the
// URL that is independent of the folds. Parts that are too small for training are omitted.
func learningCurve(s *cli.Session, c *criticEvaluate, settings critic.Settings) ([]evaluate.CurvePoint, error) {
	var points []evaluate.CurvePoint
	for _, eighths := range curveParts {
		few := settings
		few.Minimum = settings.Minimum * int(eighths) / 8 // so that the same topics remain
		smaller := trainingChoice{words: c.Words, tries: []critic.Settings{few}}
		smaller.topics = func(x *examples.Example) []string {
			if xxhash.Sum64String("part "+x.URL)%8 >= eighths {
				return nil
			}
			return x.Topics
		}
		part, err := c.examplesFor(s, c.Examples, smaller)
		if errors.Is(err, taxonomy.ErrTooFew) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, report, err := critic.Train(s, part.Examples, few); err == nil {
			brief := func(m critic.Measures) evaluate.Summary {
				return evaluate.Summary{Accuracy: m.Accuracy, LogLoss: m.LogLoss, ECE: m.ECE}
			}
			points = append(points, evaluate.CurvePoint{Pages: part.Len(), Raw: brief(report.Raw), Tempered: brief(report.Tempered), Calibrated: brief(report.Calibrated)})
		}
	}
	return points, nil
}

// wholePoint is the last point of the learning curve: all examples.
func wholePoint(r *evaluate.Report) evaluate.CurvePoint {
	brief := func(s evaluate.Scores) evaluate.Summary {
		return evaluate.Summary{Accuracy: s.Accuracy, LogLoss: s.LogLoss, ECE: s.ECE}
	}
	return evaluate.CurvePoint{Pages: r.Pages, Raw: brief(r.Raw), Tempered: brief(r.Tempered), Calibrated: brief(r.Calibrated)}
}

// printEvaluation writes a report as text.
func printEvaluation(w io.Writer, r *evaluate.Report) {
	fmt.Fprintf(w, "%d pages of %d classes, each judged by a critic that has not seen it\n", r.Pages, len(r.Classes))
	for _, p := range r.How {
		fmt.Fprintf(w, "  %-12s %s\n", p.Name, p.Value)
	}
	fmt.Fprintf(w, "\n%-12s %9s %9s %9s %12s\n", "POSTERIOR", "ACCURACY", "LOG LOSS", "BRIER", "CALIBRATION")
	for kind := range evaluate.Kinds {
		k := r.Kind(kind)
		fmt.Fprintf(w, "%-12s %9.3f %9.3f %9.3f %12.3f\n", kind, k.Accuracy, k.LogLoss, k.Brier, k.ECE)
	}
	printReliability(w, r)
	if len(r.Learning) > 1 {
		fmt.Fprintf(w, "\n%-12s %9s %9s %12s  (calibrated)\n", "EXAMPLES", "ACCURACY", "LOG LOSS", "CALIBRATION")
		for _, l := range r.Learning {
			fmt.Fprintf(w, "%-12d %9.3f %9.3f %12.3f\n", l.Pages, l.Calibrated.Accuracy, l.Calibrated.LogLoss, l.Calibrated.ECE)
		}
	}
	fmt.Fprintf(w, "\n%-40s %6s %9s %7s  %s\n", "TOPIC", "PAGES", "PRECISION", "RECALL", "WORDS THAT DECIDE")
	for k, t := range r.Topics {
		var words []string
		if k < len(r.Words) {
			for _, word := range r.Words[k].For[:min(6, len(r.Words[k].For))] {
				words = append(words, word.Word)
			}
		}
		fmt.Fprintf(w, "%-40s %6d %9.3f %7.3f  %s\n", t.Name, t.Pages, t.Precision, t.Recall, strings.Join(words, " "))
	}
	if len(r.Confused) > 0 {
		fmt.Fprintf(w, "\n%-40s %-40s %6s %6s\n", "PAGES OF", "TAKEN FOR", "PAGES", "SHARE")
		for _, x := range r.Confused[:min(10, len(r.Confused))] {
			fmt.Fprintf(w, "%-40s %-40s %6d %5.1f%%\n", x.Of, x.As, x.Pages, 100*x.Share)
		}
	}
	printRelevance(w, r)
}

// printReliability writes the reliability diagram of the calibrated posteriors.
func printReliability(w io.Writer, r *evaluate.Report) {
	const width = 40
	fmt.Fprintf(w, "\nreliability (calibrated): of pages whose best class has the probability on the left, # is how often it is right, | the probability\n")
	for _, b := range r.Calibrated.Reliability {
		if b.Pages == 0 {
			continue
		}
		bar := []byte(strings.Repeat("#", int(b.Accuracy*width+.5)) + strings.Repeat(" ", width+1-int(b.Accuracy*width+.5)))
		bar[int(b.Confidence*width+.5)] = '|'
		fmt.Fprintf(w, "  %.3f %s %.3f of %d\n", b.Confidence, bar, b.Accuracy, b.Pages)
	}
}

// printRelevance writes the histogram of Fig. 5 over all topics: each page once for each topic.
func printRelevance(w io.Writer, r *evaluate.Report) {
	var on, off, raw [evaluate.Tenths]int
	for k := range r.Relevance {
		for i := range evaluate.Tenths {
			on[i] += r.Relevance[k].On[i]
			off[i] += r.Relevance[k].Off[i]
			raw[i] += r.RawRelevance[k].On[i] + r.RawRelevance[k].Off[i]
		}
	}
	fmt.Fprintf(w, "\n%-12s %10s %10s %10s  (pages of every topic together)\n", "RELEVANCE", "OF TOPIC", "OTHERS", "ALL, RAW")
	for i := range evaluate.Tenths {
		fmt.Fprintf(w, "%.1f–%.1f      %10d %10d %10d\n", float64(i)/evaluate.Tenths, float64(i+1)/evaluate.Tenths, on[i], off[i], raw[i])
	}
}

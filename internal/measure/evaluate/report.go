package evaluate

import (
	"bufio"
	"encoding/json"
	"io"
)

// Report is the evaluation of a critic.
type Report struct {
	// Examples names the examples of the evaluation; How describes the training, line by line.
	Examples string     `json:"examples"`
	How      []Property `json:"how"`
	// Pages and the classes they belong to.
	Pages   int      `json:"pages"`
	Classes []string `json:"classes"`
	// The three kinds of posterior.
	Raw        Scores `json:"raw"`
	Tempered   Scores `json:"tempered"`
	Calibrated Scores `json:"calibrated"`
	// Topics, Confused and Relevance are those of the calibrated posteriors, followed by the relevance by raw
	// ones.
	Topics       []Topic     `json:"topics"`
	Confused     []Confusion `json:"confused"`
	Relevance    []Histogram `json:"relevance"`
	RawRelevance []Histogram `json:"raw_relevance"`
	// Learning are the measures of critics trained on fewer examples, fewest first; the last has all.
	Learning []CurvePoint `json:"learning"`
	// Words are those that decide each topic.
	Words []Deciding `json:"words"`
}

// Property is a setting with its value.
type Property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// CurvePoint is the measures of a critic that was trained and measured on a part of the examples.
type CurvePoint struct {
	Pages      int     `json:"pages"`
	Raw        Summary `json:"raw"`
	Tempered   Summary `json:"tempered"`
	Calibrated Summary `json:"calibrated"`
}

// Kind returns the measures of one kind of posterior.
func (l *CurvePoint) Kind(p Posterior) Summary {
	return [...]Summary{l.Raw, l.Tempered, l.Calibrated}[p]
}

// Summary is the most important Scores.
type Summary struct {
	Accuracy float64 `json:"accuracy"`
	LogLoss  float64 `json:"log_loss"`
	ECE      float64 `json:"ece"`
}

// Deciding are the words that decide whether a page is judged to be of a topic.
type Deciding struct {
	Topic string `json:"topic"`
	// For are evidence for it, Against against it, the strongest first.
	For     []Word `json:"for"`
	Against []Word `json:"against"`
}

// Word is a word with its weight.
type Word struct {
	Word string `json:"word"`
	// LogOdds is what the word adds to the log-odds of the topic against all others, in nats, on a page of this
	// word alone.
	LogOdds float64 `json:"log_odds"`
	// Share is the share of the topic's pages that contain it; for words against the topic, of the other pages.
	Share float64 `json:"share"`
}

// mostConfused is the number of pairs of classes in a Report.
const mostConfused = 20

// New measures pages.
func New(classes []string, pages []Page) *Report {
	return &Report{
		Pages: len(pages), Classes: classes,
		Raw: Measure(pages, Raw), Tempered: Measure(pages, Tempered), Calibrated: Measure(pages, Calibrated),
		Topics: topics(classes, pages, Calibrated), Confused: confusions(classes, pages, Calibrated, mostConfused),
		Relevance: histograms(classes, pages, Calibrated), RawRelevance: histograms(classes, pages, Raw),
	}
}

// Kind returns the scores of one kind of posterior.
func (r *Report) Kind(p Posterior) *Scores {
	return [...]*Scores{&r.Raw, &r.Tempered, &r.Calibrated}[p]
}

// WritePages writes the posteriors of every page, one JSON object a line: {"url", "own": names of its classes,
// "raw", "tempered", "calibrated": probabilities in the order of classes}. The first line has the classes only.
func WritePages(w io.Writer, classes []string, pages []Page) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(map[string][]string{"classes": classes}); err != nil {
		return err
	}
	for i := range pages {
		p := &pages[i]
		line := struct {
			URL        string    `json:"url"`
			Own        []string  `json:"own"`
			Raw        []float64 `json:"raw"`
			Tempered   []float64 `json:"tempered"`
			Calibrated []float64 `json:"calibrated"`
		}{p.URL, nil, p.Posteriors[Raw], p.Posteriors[Tempered], p.Posteriors[Calibrated]}
		for _, k := range p.Own {
			line.Own = append(line.Own, classes[k])
		}
		if err := lines.Encode(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

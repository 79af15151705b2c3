package pulearning

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"forager/internal/classify/critic"
	"forager/internal/classify/taxonomy"
	"forager/schemas"
)

// Critic judges pages by a Model of their words. It has two classes, its topic and Other, and one kind of number:
// calibrated probabilities. It is safe for concurrent use.
//
// A page that it was trained on gets the probability of a model that has not seen it.
type Critic struct {
	topic      string
	provenance map[string]string
	vocabulary *vocabulary
	model      *Model             // without held-out scores
	heldOut    map[string]float64 // probability by URL
}

// Report is the result of training.
type Report struct {
	// Liked, Background and Wrong are the numbers of pages.
	Liked      int `json:"liked"`
	Background int `json:"background"`
	Wrong      int `json:"wrong"`
	// Drawn is the number of those liked and wrong that were drawn at random (Document.Drawn); the probabilities are calibrated on them.
	Drawn int `json:"drawn"`
	// Words of the vocabulary.
	Words int `json:"words"`
	// Prior is the share of the background that is estimated to be on topic.
	Prior float64 `json:"prior"`
	// Most is an estimate of that share that is too high rather than too low.
	Most float64 `json:"prior_most"`
	// Brier is the estimated mean squared error of the probabilities among pages like the background; that of the
	// prior alone is Prior·(1 − Prior).
	Brier float64 `json:"brier"`
	// Recall is the share of the liked pages whose held-out probability is above one half.
	Recall float64 `json:"recall"`
	// Taken is the same share of the background.
	Taken float64 `json:"background_taken"`
	// For and Against are the words with the largest weights.
	For     []string `json:"for"`
	Against []string `json:"against"`
}

// strongest is the number of words in a report, for each sign.
const strongest = 12

// Train learns a topic from examples. Provenance is the origin of the examples, as given by the user. The same
// examples in any order give the same critic.
func Train(ctx context.Context, topic string, e *Examples, provenance map[string]string) (*Critic, *Report, error) {
	name, err := taxonomy.ParseTopic(topic)
	if err == nil && (name == "" || name == taxonomy.Other) {
		err = fmt.Errorf("%q is the name of everything else", topic)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("train critic: topic: %w", err)
	}
	if e, err = e.settle(); err != nil {
		return nil, nil, fmt.Errorf("train critic: %w", err)
	}
	v := newVocabulary(e)
	m, err := Learn(ctx, &Sample{v.rows(e.Liked), v.rows(e.Background), v.rows(e.Wrong)}, Settings{Features: max(1, len(v.words))})
	if err != nil {
		return nil, nil, fmt.Errorf("train critic: %w", err)
	}
	c := &Critic{topic: name, provenance: maps.Clone(provenance), vocabulary: v, model: m, heldOut: make(map[string]float64)}
	held := func(documents []Document, scores []float64) (probabilities []float64) {
		for i, d := range documents {
			probabilities = append(probabilities, m.Probability(scores[i]))
			c.heldOut[d.URL] = probabilities[i]
		}
		return probabilities
	}
	liked, background := held(e.Liked, m.HeldOut.Positives), held(e.Background, m.HeldOut.Unlabelled)
	held(e.Wrong, m.HeldOut.Negatives)
	m.HeldOut = Scores{}
	r := &Report{
		Liked: len(e.Liked), Background: len(e.Background), Wrong: len(e.Wrong), Words: len(v.words),
		Prior: m.Prior, Most: m.Most, Brier: Brier(liked, background, m.Prior),
	}
	for _, d := range slices.Concat(e.Liked, e.Wrong) {
		if d.Drawn > 0 {
			r.Drawn++
		}
	}
	r.Recall, r.Taken = aboveHalf(liked), aboveHalf(background)
	r.For, r.Against = c.StrongestWords(strongest)
	return c, r, nil
}

// aboveHalf returns the share of probabilities that are above one half.
func aboveHalf(probabilities []float64) float64 {
	n := 0
	for _, p := range probabilities {
		if p > .5 {
			n++
		}
	}
	return float64(n) / float64(len(probabilities))
}

// StrongestWords returns the n words with the strongest evidence for the topic and against it, as weighed in a page where
// each occurs once.
func (c *Critic) StrongestWords(n int) (on, off []string) {
	order := make([]int, len(c.vocabulary.words))
	for i := range order {
		order[i] = i
	}
	weight := func(i int) float64 { return c.model.Weights[i] * c.vocabulary.weight[i] }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	for _, i := range order {
		if len(on) < n && weight(i) > 0 {
			on = append(on, c.vocabulary.words[i])
		}
	}
	slices.Reverse(order)
	for _, i := range order {
		if len(off) < n && weight(i) < 0 {
			off = append(off, c.vocabulary.words[i])
		}
	}
	return on, off
}

// Topic returns the name of the topic.
func (c *Critic) Topic() string { return c.topic }

// Provenance returns the argument of Train, which must not be modified.
func (c *Critic) Provenance() map[string]string { return c.provenance }

// Prior returns the estimated share of the background that is on topic.
func (c *Critic) Prior() float64 { return c.model.Prior }

// Words returns the size of the vocabulary.
func (c *Critic) Words() int { return len(c.vocabulary.words) }

// HeldOut returns the number of pages that it was trained on.
func (c *Critic) HeldOut() int { return len(c.heldOut) }

// Classes returns the topic and Other, sorted.
func (c *Critic) Classes() []string {
	if c.topic < taxonomy.Other {
		return []string{c.topic, taxonomy.Other}
	}
	return []string{taxonomy.Other, c.topic}
}

// Pruned returns nil.
func (c *Critic) Pruned() []taxonomy.Pruned { return nil }

// Predict implements critic.Classifier. The error is that of an inconsistent page.
func (c *Critic) Predict(_ context.Context, o *critic.Prediction, p *schemas.Page) error {
	words, err := wordsOf(p)
	if err != nil {
		return err
	}
	row, known := c.vocabulary.row(words)
	probability, seen := c.heldOut[p.GetUrl()]
	if !seen {
		probability = c.model.Probability(c.model.Score(&row))
	}
	o.Known = known
	for k, class := range c.Classes() {
		share := probability
		if class != c.topic {
			share = 1 - probability
		}
		o.Raw[k], o.Tempered[k], o.Calibrated[k] = share, share, share
	}
	return nil
}

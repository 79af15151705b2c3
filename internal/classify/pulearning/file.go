package pulearning

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"forager/internal/classify/taxonomy"
	"forager/internal/platform/modelfile"
)

const (
	// FileKind is the kind of a critic's file (package modelfile).
	FileKind    = "positive"
	fileVersion = 1
	// tokens names the scheme by which words are cut (package text).
	tokens = "uax29/1"
)

// Marshal returns the critic's file: the same critic, the same bytes.
func (c *Critic) Marshal() []byte {
	var e modelfile.Encoder
	e.String(tokens)
	e.String(c.topic)
	e.Uint(uint64(len(c.provenance)))
	for _, k := range slices.Sorted(maps.Keys(c.provenance)) {
		e.String(k)
		e.String(c.provenance[k])
	}
	e.Float(c.model.Prior)
	e.Float(c.model.Slope)
	e.Float(c.model.Intercept)
	e.Float(c.model.Bias)
	e.Uint(uint64(len(c.vocabulary.words)))
	last := ""
	for i, w := range c.vocabulary.words {
		e.Prefixed(last, w)
		e.Float(c.vocabulary.weight[i])
		e.Float(c.model.Weights[i])
		last = w
	}
	e.Uint(uint64(len(c.heldOut)))
	last = ""
	for _, url := range slices.Sorted(maps.Keys(c.heldOut)) {
		e.Prefixed(last, url)
		e.Float(c.heldOut[url])
		last = url
	}
	return modelfile.Seal(FileKind, fileVersion, e.Bytes())
}

// Unmarshal reads a critic's file. Errors are those of package modelfile.
func Unmarshal(b []byte) (*Critic, error) {
	_, body, err := modelfile.Open(b, FileKind, fileVersion)
	if err != nil {
		return nil, fmt.Errorf("critic of positives: %w", err)
	}
	c, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("critic of positives: %w", err)
	}
	return c, nil
}

func decode(body []byte) (*Critic, error) {
	d := modelfile.NewDecoder(body)
	if got := d.String("tokens"); got != tokens && d.Err() == nil {
		return nil, fmt.Errorf("%w: its words were cut by %q, here they are by %q; train it again", modelfile.ErrForeign, got, tokens)
	}
	c := &Critic{topic: d.String("topic"), vocabulary: new(vocabulary), model: new(Model), heldOut: make(map[string]float64)}
	if name, err := taxonomy.ParseTopic(c.topic); d.Err() == nil && (err != nil || name != c.topic || name == "" || name == taxonomy.Other) {
		d.Fail("topic %q", c.topic)
	}
	if n := d.Len("provenance", 2); n > 0 {
		c.provenance = make(map[string]string)
		for range n {
			k := d.String("provenance")
			c.provenance[k] = d.String("provenance")
		}
	}
	c.model.Prior = finite(d, "prior")
	c.model.Slope, c.model.Intercept, c.model.Bias = finite(d, "slope"), finite(d, "intercept"), finite(d, "bias")
	n, last := d.Len("words", 18), ""
	for i := range n {
		word := d.Prefixed("word", last)
		weight, value := finite(d, "weight"), finite(d, "weight")
		if d.Err() == nil && (i > 0 && word <= last || weight <= 0) {
			d.Fail("word %q of weight %g behind %q", word, weight, last)
		}
		if d.Err() != nil {
			break
		}
		c.vocabulary.words, c.vocabulary.weight = append(c.vocabulary.words, word), append(c.vocabulary.weight, weight)
		c.model.Weights = append(c.model.Weights, value)
		last = word
	}
	n, last = d.Len("held-out pages", 10), ""
	for i := range n {
		url := d.Prefixed("held-out page", last)
		p := finite(d, "probability")
		if d.Err() == nil && (i > 0 && url <= last || p < 0 || p > 1) {
			d.Fail("held-out page %q of probability %g behind %q", url, p, last)
		}
		if d.Err() != nil {
			break
		}
		c.heldOut[url] = p
		last = url
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	c.vocabulary.complete()
	return c, nil
}

// largest bounds every number of a file, so that no sum of them overflows.
const largest = 1e9

// finite reads a number within the bound.
func finite(d *modelfile.Decoder, what string) float64 {
	v := d.Float(what)
	if math.Abs(v) > largest {
		d.Fail("%s: %g", what, v)
		return 0
	}
	return v
}

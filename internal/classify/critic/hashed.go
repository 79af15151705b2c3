package critic

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/cespare/xxhash/v2"

	"forager/internal/classify/bayes"
	"forager/internal/classify/logistic"
	"forager/internal/platform/modelfile"
)

// hashed is logistic regression over words. A word is a feature by its hash, so that the size of the model does
// not depend on that of the vocabulary; its value is (1 + log n)·idf, and the vector of a page has length 1
// (Salton and Buckley 1988).
type hashed struct {
	features []uint32  // by word
	idf      []float32 // by feature
	model    *logistic.Packed
}

const (
	// mostWeights is the largest number of weights of a model: features × classes.
	mostWeights = 1 << 27
	// mostBits and leastBits bound the length of a hash.
	mostBits, leastBits = 20, 12
	// largeModel is the number of weights from which the models of folds are trained one after another, each by
	// all processors.
	largeModel = 1 << 24
	// mostIDF is above the idf of every word for any number of documents.
	mostIDF = 64
)

// hashBits returns the length of the hashes of words: as long as mostWeights allows.
func hashBits(classes int) int {
	bits := mostBits
	for bits > leastBits && classes<<bits > mostWeights {
		bits--
	}
	return bits
}

// hashWords returns the feature of every word, and the number of features: hashes are numbered in the order of the
// words.
func hashWords(words []string, classes int) (features []uint32, n int) {
	bits := hashBits(classes)
	numbers := make([]uint32, 1<<bits)
	features = make([]uint32, len(words))
	for i, w := range words {
		at := &numbers[xxhash.Sum64String(w)>>(64-bits)]
		if *at == 0 {
			n++
			*at = uint32(n)
		}
		features[i] = *at - 1
	}
	return features, n
}

func learnHashed(ctx context.Context, t *training, want func(example int) bool) (learned, error) {
	h := &hashed{features: t.features, idf: make([]float32, t.featureCount)}
	var examples []logistic.Example
	seen := make([]uint32, t.featureCount) // documents that have a feature
	last := make([]int, t.featureCount)
	for _, i := range t.used {
		if !want(i) {
			continue
		}
		examples = append(examples, logistic.Example{Classes: t.of[i]})
		for _, w := range t.bags[i].Features {
			if f := h.features[w]; last[f] != len(examples) {
				last[f] = len(examples)
				seen[f]++
			}
		}
	}
	for f, n := range seen {
		if n > 0 {
			h.idf[f] = float32(1 + math.Log(float64(1+len(examples))/float64(1+n)))
		}
	}
	at := 0
	for _, i := range t.used {
		if want(i) {
			h.row(&examples[at].Row, t.bags[i])
			at++
		}
	}
	s := logistic.Settings{Classes: len(t.classes), Features: t.featureCount, Workers: 1}
	if t.lanes() == 1 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	m, err := logistic.Fit(ctx, examples, s)
	if err != nil {
		return nil, err
	}
	h.model = m.Pack()
	return h, nil
}

// row sets r to the features of a bag, a unit vector; a feature of several words occurs several times.
func (h *hashed) row(r *logistic.Row, bag *bayes.Bag) {
	r.Features, r.Values = r.Features[:0], r.Values[:0]
	var length float64
	for i, w := range bag.Features {
		f := h.features[w]
		v := float64(h.idf[f])
		if n := bag.Counts[i]; n > 1 {
			v *= 1 + math.Log(float64(n))
		}
		if v == 0 {
			continue
		}
		length += v * v
		r.Features, r.Values = append(r.Features, f), append(r.Values, float32(v))
	}
	if length > 0 {
		by := float32(1 / math.Sqrt(length))
		for i := range r.Values {
			r.Values[i] *= by
		}
	}
}

func (h *hashed) predict(o *Prediction, bag *bayes.Bag) {
	r := logistic.Row{Features: make([]uint32, 0, len(bag.Features)), Values: make([]float32, 0, len(bag.Features))}
	h.row(&r, bag)
	h.model.Scores(o.scores, &r)
	o.temper()
	copy(o.Raw, o.Tempered)
	o.exact = copy(o.logs, o.scores) > 0
	o.Known = total(bag)
}

func (h *hashed) encode(e *modelfile.Encoder) {
	modelfile.PutArray(e, h.features)
	modelfile.PutArray(e, h.idf)
	modelfile.PutArray(e, h.model.Bias)
	modelfile.PutArray(e, h.model.Scale)
	modelfile.PutArray(e, h.model.Weights)
}

func decodeHashed(d *modelfile.Decoder, m *Model) learned {
	h := &hashed{features: modelfile.Array[uint32](d, "features of words"), idf: modelfile.Array[float32](d, "weights of features")}
	h.model = &logistic.Packed{
		Bias: modelfile.Array[float64](d, "intercepts"), Scale: modelfile.Array[float32](d, "scales"), Weights: modelfile.Array[int16](d, "weights"),
	}
	if d.Err() != nil {
		return nil
	}
	err := h.model.Check()
	switch {
	case err != nil:
	case len(h.model.Bias) != len(m.classes) || len(h.features) != m.words.len() || len(h.idf) != len(h.model.Scale):
		err = fmt.Errorf("%d words are %d features with the weights of %d, for %d classes", len(h.features), len(h.idf), len(h.model.Scale), len(h.model.Bias))
	default:
		err = h.check()
	}
	if err != nil {
		d.Fail("%v", err)
	}
	return h
}

func (h *hashed) check() error {
	for w, f := range h.features {
		if int(f) >= len(h.idf) {
			return fmt.Errorf("word %d is feature %d of %d", w, f, len(h.idf))
		}
	}
	for f, x := range h.idf {
		if !(x >= 0 && x <= mostIDF) {
			return fmt.Errorf("feature %d has the weight %g", f, x)
		}
	}
	return nil
}

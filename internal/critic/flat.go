package critic

import "forager/internal/bayes"

// flat is naive Bayes over all classes at once (2002 §2.3).
type flat struct {
	counts *bayes.Counts
	model  *bayes.Model
}

func learnFlat(t *training, want func(example int) bool) (learned, error) {
	counts, err := bayes.Count(t.words, t.bagsOf(want))
	if err != nil {
		return nil, err
	}
	return &flat{counts, counts.Model()}, nil
}

func (f *flat) opine(o *Opinion, bag *bayes.Bag) {
	o.Known = f.model.LogLikelihood(o.Raw, bag)
	f.model.Joint(o.scores, o.Raw, bayes.Temper(o.Known))
	bayes.Normalise(o.Tempered, o.scores)
	f.model.Joint(o.Raw, o.Raw, 1)
	bayes.Normalise(o.Raw, o.Raw)
}

package critic

import (
	"fmt"

	"forager/internal/classify/bayes"
	"forager/internal/platform/modelfile"
)

// flat is naive Bayes over all classes at once (2002 §2.3).
type flat struct{ model *bayes.Model }

func learnFlat(t *training, want func(example int) bool) (learned, error) {
	counts, err := bayes.Count(t.words, t.bagsOf(want))
	if err != nil {
		return nil, err
	}
	return &flat{counts.Model()}, nil
}

func (f *flat) predict(o *Prediction, bag *bayes.Bag) {
	o.Known = f.model.LogLikelihood(o.Raw, bag)
	if !o.rawOnly {
		f.model.Joint(o.scores, o.Raw, bayes.Temper(o.Known))
		o.temper()
	}
	f.model.Joint(o.Raw, o.Raw, 1)
	o.exact = copy(o.logs, o.Raw) > 0
	bayes.Normalise(o.Raw, o.Raw)
}

func (f *flat) encode(e *modelfile.Encoder) { encodeTable(e, f.model.Table()) }

func encodeTable(e *modelfile.Encoder, t *bayes.Table) {
	modelfile.PutArray(e, t.Documents)
	modelfile.PutArray(e, t.Tokens)
	modelfile.PutArray(e, t.Start)
	modelfile.PutArray(e, t.Cells)
	modelfile.PutArray(e, t.Levels)
	modelfile.PutArray(e, t.Beyond)
	modelfile.PutArray(e, t.Row)
	modelfile.PutArray(e, t.Rows)
}

// decodeTable reads the table of the given numbers of features and classes. The model is nil when d has failed.
func decodeTable(d *modelfile.Decoder, features, classes int) *bayes.Model {
	t := &bayes.Table{
		Documents: modelfile.Array[uint64](d, "documents"), Tokens: modelfile.Array[uint64](d, "tokens"),
		Start: modelfile.Array[uint32](d, "cells of words"), Cells: modelfile.Array[uint32](d, "cells"),
		Levels: modelfile.Array[uint64](d, "levels"), Beyond: modelfile.Array[uint64](d, "counts beyond levels"),
		Row: modelfile.Array[uint32](d, "rows of words"), Rows: modelfile.Array[uint16](d, "rows"),
	}
	if d.Err() != nil {
		return nil
	}
	err := t.Check()
	if err == nil && (t.Features() != features || len(t.Documents) != classes) {
		err = fmt.Errorf("%d words and %d classes are counted, there are %d and %d", t.Features(), len(t.Documents), features, classes)
	}
	if err != nil {
		d.Fail("%v", err)
		return nil
	}
	return t.Model()
}

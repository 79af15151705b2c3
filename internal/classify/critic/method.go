package critic

import (
	"context"
	"fmt"
	"strings"

	"forager/internal/classify/bayes"
	"forager/internal/platform/modelfile"
)

// Method is a learning method.
type Method string

const (
	// Bayes is naive Bayes over all classes at once (2002 §2.3).
	Bayes Method = "bayes"
	// BayesTree is naive Bayes among the children of each node of the taxonomy, by the words that separate these
	// best, down the tree by the chain rule (1999).
	BayesTree Method = "bayes-tree"
	// Logistic is multinomial logistic regression over hashed words with TF-IDF weights.
	Logistic Method = "logistic"
)

// Methods lists all methods.
var Methods = []Method{Bayes, BayesTree, Logistic}

// MethodNames returns the names of all methods.
func MethodNames() []string {
	names := make([]string, len(Methods))
	for i, m := range Methods {
		names[i] = string(m)
	}
	return names
}

// learned is a trained classifier. It is safe for concurrent use.
type learned interface {
	// predict sets all of a prediction except Calibrated.
	predict(o *Prediction, bag *bayes.Bag)
	// joint sets dst to log Pr(c,u) by class, raw, up to a constant.
	joint(dst []float64, bag *bayes.Bag)
	encode(e *modelfile.Encoder)
}

// learn trains on the examples that want accepts.
func (t *training) learn(ctx context.Context, want func(example int) bool) (learned, error) {
	switch t.settings.Method {
	case Bayes, "":
		return learnFlat(t, want)
	case BayesTree:
		return learnTree(ctx, t, want)
	case Logistic:
		return learnHashed(ctx, t, want)
	}
	return nil, fmt.Errorf("method %q is none of %s", t.settings.Method, strings.Join(MethodNames(), ", "))
}

// lanes returns the number of models that are trained at the same time.
func (t *training) lanes() int {
	if t.settings.Method == Logistic && t.featureCount*len(t.classes) > largeModel {
		return 1
	}
	return Folds
}

// total returns the number of tokens in a bag.
func total(bag *bayes.Bag) (n uint64) {
	for _, c := range bag.Counts {
		n += uint64(c)
	}
	return n
}

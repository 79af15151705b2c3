package experiment

import (
	"fmt"

	"forager/internal/apprentice"
	"forager/schemas"
)

// learner does what the stage apprentice-train does, without a topic and a store.
type learner struct{ counts *apprentice.Counts }

// newLearner begins with what the file of a model holds, nothing where it is empty.
func newLearner(prior []byte) (*learner, error) {
	if len(prior) == 0 {
		return &learner{apprentice.NewCounts()}, nil
	}
	counts, err := apprentice.UnmarshalCounts(prior)
	if err != nil {
		return nil, fmt.Errorf("prior model: %w", err)
	}
	return &learner{counts}, nil
}

func (l *learner) add(leap *schemas.LeapSettled) error {
	if err := l.counts.Add(leap.GetFeatures(), leap.GetTargetRaw()); err != nil {
		return fmt.Errorf("learn from the link from %s to %s: %w", leap.GetU(), leap.GetV(), err)
	}
	return nil
}

// publish makes the model of a boundary; nil while nothing was learnt.
func (l *learner) publish() *apprentice.Model {
	if l.counts.Leaps() == 0 {
		return nil
	}
	return l.counts.Model()
}

package experiment

import (
	"fmt"

	"forager/internal/apprentice"
	"forager/schemas"
)

// learner does what the stage apprentice-train does, without a topic and a store.
type learner struct{ counts *apprentice.Counts }

func newLearner(prior *apprentice.Model) *learner {
	if prior != nil {
		return &learner{prior.Counts()}
	}
	return &learner{apprentice.NewCounts()}
}

func (l *learner) add(leap *schemas.LeapSettled) {
	l.counts.Add(leap.GetFeatures(), leap.GetTargetRaw())
}

// publish makes the model of a boundary; nil while nothing was learnt.
func (l *learner) publish(pages uint64) (version string, m *apprentice.Model, err error) {
	version = fmt.Sprintf("experiment/%d", pages)
	if l.counts.Leaps() == 0 {
		return version, nil, nil
	}
	return version, l.counts.Model(), nil
}

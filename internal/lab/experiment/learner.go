package experiment

import (
	"fmt"

	"forager/internal/rank/apprentice"
	"forager/schemas"
)

// newLearner returns what a crawl learns by: a learner that has learnt nothing, or the prior's.
func newLearner(l *schemas.Learning, prior []byte) (apprentice.Learner, error) {
	settings, err := apprentice.SettingsOf(l)
	if err != nil {
		return nil, err
	}
	if len(prior) == 0 {
		return apprentice.New(settings), nil
	}
	learner, err := apprentice.OpenFor(prior, settings)
	if err != nil {
		return nil, fmt.Errorf("prior model: %w", err)
	}
	return learner, nil
}

package experiment

import (
	"fmt"

	"forager/internal/rank/apprentice"
	"forager/schemas"
)

// newLearner returns the learner of a crawl: an empty one, or that of the prior.
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

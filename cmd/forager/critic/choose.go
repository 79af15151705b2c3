package critic

import (
	"context"
	"errors"
	"fmt"

	"forager/internal/classify/critic"
	"forager/internal/classify/taxonomy"
)

// unset is a method that has not been chosen yet.
const unset critic.Method = "auto"

// minima are the numbers of examples per class to try if the user names none: the finest classes that can be
// distinguished are used. Of fewer than twenty examples too few are held out to measure anything.
var minima = []int{300, 160, 80, 40, 20}

const (
	// lostShare is the largest share of classes without a recognised held-out page.
	lostShare = .05
	// mostProducts is the number of products for which logistic regression takes about a minute of one core (critic.Products).
	mostProducts = 50e9
)

// tries returns the settings to train with: the values that the flags leave open are chosen from them, coarsest first.
func (f *learnFlags) tries() []critic.Settings {
	s := critic.Settings{Method: f.Model, Features: f.Features, Cap: f.Cap, Seed: f.Seed}
	if f.Model == unset {
		s.Method = critic.Bayes
	}
	if f.Minimum != nil {
		s.Minimum = *f.Minimum
		return []critic.Settings{s}
	}
	var tries []critic.Settings
	for _, s.Minimum = range minima {
		tries = append(tries, s)
	}
	return tries
}

// chosen is a critic with the settings that were selected.
type chosen struct {
	critic.Settings
	model  *critic.Model
	report *critic.Report
	held   []critic.Held // if they are kept
	// notes are sentences on the selection and its reasons.
	notes []string
}

// choose trains with each of the settings until classes can no longer be distinguished, and by logistic
// regression too if no method was named; it returns the result that classifies held-out pages best.
func (f *learnFlags) choose(ctx context.Context, e *critic.Examples, tries []critic.Settings, keep bool) (*chosen, error) {
	train := func(s critic.Settings) (*chosen, error) {
		c := &chosen{Settings: s}
		var err error
		if keep {
			c.model, c.report, c.held, err = critic.Validate(ctx, e, s)
		} else {
			c.model, c.report, err = critic.Train(ctx, e, s)
		}
		return c, err
	}
	var best *chosen
	for i, s := range tries {
		c, err := train(s)
		if errors.Is(err, taxonomy.ErrTooFew) && i+1 < len(tries) {
			continue
		}
		if err != nil {
			return nil, err
		}
		distinguished := distinguishes(c.report)
		if best == nil || distinguished {
			best = c
		}
		if !distinguished {
			break
		}
	}
	if len(tries) > 1 {
		best.notes = append(best.notes, fmt.Sprintf("--minimum %d: the finest classes that are distinguished, of those with %d to %d examples at least", best.Minimum, minima[len(minima)-1], minima[0]))
	}
	if f.Model != unset {
		return best, nil
	}
	s := best.Settings
	s.Method = critic.Logistic
	products, err := critic.Products(e, s)
	if err != nil {
		return nil, err
	}
	if products > mostProducts {
		best.notes = append(best.notes, fmt.Sprintf("--model bayes: logistic would take some %.0f minutes", products/mostProducts))
		return best, nil
	}
	other, err := train(s)
	if err != nil {
		return nil, err
	}
	other.notes = best.notes
	worse := other
	if other.report.Calibrated.LogLoss < best.report.Calibrated.LogLoss {
		best, worse = other, best
	}
	best.notes = append(best.notes, fmt.Sprintf("--model %s: log loss %.3f and accuracy %.3f on held-out pages; %s has %.3f and %.3f",
		best.Method, best.report.Calibrated.LogLoss, best.report.Calibrated.Accuracy, worse.Method, worse.report.Calibrated.LogLoss, worse.report.Calibrated.Accuracy))
	return best, nil
}

// distinguishes reports whether classes can be distinguished well enough.
func distinguishes(r *critic.Report) bool {
	return float64(len(lostClasses(r))) <= lostShare*float64(len(r.Classes)) && r.Calibrated.Accuracy >= lowAccuracy
}

// lostClasses returns the classes of which no held-out page is recognised.
func lostClasses(r *critic.Report) (lost []string) {
	for _, c := range r.Classes {
		if c.Recall == 0 {
			lost = append(lost, c.Name)
		}
	}
	return lost
}

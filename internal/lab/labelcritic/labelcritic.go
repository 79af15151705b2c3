package labelcritic

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"forager/internal/classify/critic"
	"forager/internal/classify/taxonomy"
	"forager/schemas"
)

// Rates are the shares of the targets and of the other pages that are taken for targets, [0,1].
type Rates struct{ True, False float64 }

// Perfect is the name of the critic without errors.
const Perfect = "perfect"

// Parse returns the rates of a critic's name: "perfect", or "errors 0.85/0.10" for rates of .85 and .10.
func Parse(name string) (Rates, error) {
	if name == Perfect {
		return Rates{1, 0}, nil
	}
	var r Rates
	rest, ok := strings.CutPrefix(name, "errors ")
	if _, err := fmt.Sscanf(rest+"\n", "%g/%g\n", &r.True, &r.False); !ok || err != nil || !(0 <= r.False && r.False < r.True && r.True <= 1) {
		return Rates{}, fmt.Errorf("critic %q is neither %q nor \"errors T/F\" with 0 ≤ F < T ≤ 1, such as \"errors 0.85/0.10\"", name, Perfect)
	}
	return r, nil
}

// Critic has two classes, the focus and Other. Raw is its verdict on a page, 0 or 1, and calibrated what that verdict is worth. It is safe
// for concurrent use.
type Critic struct {
	focus  string
	target func(url string) bool
	rates  Rates
	// on and off are the calibrated R of pages that are taken for targets, and of others.
	on, off float64
}

// New returns a critic of pages of which share, (0,1), are targets. Errors follow from the URL and the focus, so that all crawls meet
// the same.
func New(focus string, target func(url string) bool, share float64, r Rates) *Critic {
	taken := r.True*share + r.False*(1-share)
	return &Critic{focus, target, r, r.True * share / taken, (1 - r.True) * share / max(1-taken, 1e-9)}
}

// Classes implements critic.Classifier.
func (c *Critic) Classes() []string {
	if c.focus < taxonomy.Other {
		return []string{c.focus, taxonomy.Other}
	}
	return []string{taxonomy.Other, c.focus}
}

// Pruned implements critic.Classifier.
func (c *Critic) Pruned() []taxonomy.Pruned { return nil }

// Asks prevents that texts of links are judged: they have no labels.
func (c *Critic) Asks() bool { return true }

// Predict implements critic.Classifier.
func (c *Critic) Predict(_ context.Context, o *critic.Prediction, p *schemas.Page) error {
	rate := c.rates.False
	if c.target(p.GetUrl()) {
		rate = c.rates.True
	}
	raw, calibrated := 0., c.off
	if float64(xxhash.Sum64String(c.focus+" "+p.GetUrl())>>11)/(1<<53) < rate {
		raw, calibrated = 1, c.on
	}
	focus := slices.Index(c.Classes(), c.focus)
	o.Raw[focus], o.Raw[1-focus] = raw, 1-raw
	o.Same()
	o.Calibrated[focus], o.Calibrated[1-focus] = calibrated, 1-calibrated
	return nil
}

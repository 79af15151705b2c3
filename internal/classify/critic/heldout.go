package critic

import (
	"cmp"
	"context"
	"slices"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"forager/internal/classify/calibrate"
	"forager/schemas"
)

const (
	// Folds is the number of parts of cross-validation.
	Folds = calibrate.Folds
	// leastShare and leastCalibrated are the smallest out-of-fold posteriors that are stored; calibrated ones are
	// never near 0.
	leastShare, leastCalibrated = 1e-12, 1e-6
	// oddsSteps is the number of steps in 1 of log odds to which curves are fitted: pages of one step are one
	// point, so that 100,000 pages are a few thousand points.
	oddsSteps = 64
	// mostHeld is the largest number of posteriors of a kind that Validate returns, eight bytes each.
	mostHeld = 1 << 25
)

// FoldsOf deals pages to folds, 0 to Folds − 1, class by class: the shares of a class in two folds differ
// by one page at most, and so do the folds. Within a class pages are dealt in the order of the hashes
// of their URLs, which must be distinct; their order here does not matter.
func FoldsOf(urls []string, classes []int) []int {
	type place struct {
		page int
		hash uint64
	}
	order := make([]place, len(urls))
	for i, url := range urls {
		order[i] = place{i, xxhash.Sum64String(url)}
	}
	slices.SortFunc(order, func(a, b place) int {
		return cmp.Or(cmp.Compare(classes[a.page], classes[b.page]), cmp.Compare(a.hash, b.hash), cmp.Compare(urls[a.page], urls[b.page]))
	})
	folds := make([]int, len(urls))
	for at, p := range order {
		folds[p.page] = at % Folds
	}
	return folds
}

// heldOut is the posteriors of a page by a model that has not seen it.
type heldOut struct{ raw, tempered, calibrated []share }

// Held is a training example as judged by a model of the other folds, whose calibration has not seen it either.
type Held struct {
	URL string
	// Classes are its own, by number, ascending.
	Classes []int
	// Raw, Tempered and Calibrated are Pr(c|u), by class.
	Raw, Tempered, Calibrated []float64
}

// heldPage is a training page as judged by a model of the other folds.
type heldPage struct {
	heldOut
	odds    oddsList // tempered
	fold    int
	classes []int   // its own, ascending
	verdict verdict // on the calibrated posterior
	full    *Held   // nil where it is not requested
}

// heldVerdicts are the results of these models, by page.
type heldVerdicts struct{ raw, tempered, calibrated []verdict }

// holdOut judges every page by a model of the other folds, keeps the posteriors and fits the calibration to them.
func (m *Model) holdOut(ctx context.Context, t *training) (*heldVerdicts, error) {
	n := len(t.used)
	pages := make([]heldPage, n)
	v := &heldVerdicts{make([]verdict, n), make([]verdict, n), make([]verdict, n)}
	every := 1 + n*len(m.classes)/mostHeld // one page of every so many is returned
	var g errgroup.Group
	g.SetLimit(t.lanes())
	for fold := range Folds {
		g.Go(func() error {
			judge, err := t.learn(ctx, func(example int) bool { return t.folds[example] != fold })
			if err != nil {
				return err
			}
			o := NewPrediction(len(m.classes))
			for at, example := range t.used {
				if t.folds[example] != fold {
					continue
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				// Words in the order of the vocabulary, so that the sums do not depend on the input.
				judge.predict(o, ascending(t.bags[example]))
				classes := t.of[example]
				v.raw[at], v.tempered[at] = verdictOn(o.Raw, classes), verdictOn(o.Tempered, classes)
				pages[at] = heldPage{heldOut: heldOut{raw: shares(o.Raw, leastShare), tempered: shares(o.Tempered, leastShare)}, fold: fold, classes: classes}
				if t.keep && at%every == 0 {
					pages[at].full = &Held{URL: t.examples.items[example].url, Classes: classes, Raw: slices.Clone(o.Raw), Tempered: slices.Clone(o.Tempered)}
				}
				oddsWithin(o.Calibrated, o.scores, o.exponentials)
				pages[at].odds = listOdds(o.Calibrated)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	m.calibrate(pages, v)
	m.unseen = new(unseen)
	for at, example := range t.used {
		m.unseen.add(t.examples.items[example].url, &pages[at].heldOut)
		if pages[at].full != nil {
			t.held = append(t.held, *pages[at].full)
		}
		pages[at] = heldPage{} // the model has a copy
	}
	return v, nil
}

// calibrate sets the calibration: curves where they have the lowest log loss on the held-out pages, else the
// posterior that has it.
func (m *Model) calibrate(pages []heldPage, v *heldVerdicts) {
	m.calibration = &calibration{takes: schemas.Posterior_POSTERIOR_RAW}
	copy(v.calibrated, v.raw)
	least := measure(v.raw).LogLoss
	if loss := measure(v.tempered).LogLoss; loss < least {
		m.calibration.takes, least = schemas.Posterior_POSTERIOR_TEMPERED, loss
		copy(v.calibrated, v.tempered)
	}
	if c := fitCurves(len(m.classes), pages); c != nil {
		verdicts := make([]verdict, len(pages))
		for i := range pages {
			verdicts[i] = pages[i].verdict
		}
		if measure(verdicts).LogLoss < least {
			m.calibration, v.calibrated = c, verdicts
			return
		}
	}
	for i := range pages {
		p := &pages[i]
		tempered := m.calibration.takes == schemas.Posterior_POSTERIOR_TEMPERED
		if p.calibrated = p.raw; tempered {
			p.calibrated = p.tempered
		}
		if p.full == nil {
			continue
		}
		if p.full.Calibrated = p.full.Raw; tempered {
			p.full.Calibrated = p.full.Tempered
		}
	}
}

package pulearning

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

const (
	// Folds is the number of parts of cross-validation.
	Folds = 5
	// Fewest is the minimum number of positives: one in each fold.
	Fewest = Folds

	defaultL2     = 1e-4
	defaultRounds = 5
)

// Settings of Learn. The zero value of all fields except Features is the default.
type Settings struct {
	// Features is the number of features.
	Features int
	// L2 is the penalty ½·L2·‖W‖² added to a mean loss; 0 = 1e-4.
	L2 float64
	// Rounds of discarding; 0 = 5.
	Rounds int
	// Prior, in (0,1), where it is known; 0 = estimate it.
	Prior float64
}

// Sample is the training data. Page i of each kind is in fold i modulo Folds.
type Sample struct {
	// Positives are on topic, Unlabelled are like the pages that will be judged, Negatives are known to be off
	// topic and need not be a random sample.
	Positives, Unlabelled, Negatives []Row
}

// Model maps pages to scores and probabilities.
type Model struct {
	Linear
	Curve
	// Prior is the share of the unlabelled pages that is on topic, and Most an estimate of it that is too high rather than too
	// low (bestBin, and not above what drawn pages leave possible).
	Prior, Most float64
	// HeldOut are scores of the sample's pages by models that have not seen them.
	HeldOut Scores
}

// Scores are those of a sample's pages.
type Scores struct{ Positives, Unlabelled, Negatives []float64 }

// Learn trains a model; the same sample gives the same bits. The error names what is missing, or an invalid page.
func Learn(ctx context.Context, s *Sample, o Settings) (*Model, error) {
	if err := o.complete(s); err != nil {
		return nil, fmt.Errorf("learn from positives: %w", err)
	}
	m, err := o.learn(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("learn from positives: %w", err)
	}
	return m, nil
}

func (o *Settings) complete(s *Sample) error {
	if len(s.Positives) < Fewest {
		return fmt.Errorf("%d positives, at least %d are needed", len(s.Positives), Fewest)
	}
	if len(s.Unlabelled) < Fewest {
		return fmt.Errorf("%d unlabelled pages, at least %d are needed", len(s.Unlabelled), Fewest)
	}
	if o.Features < 1 || o.Rounds < 0 || !(o.L2 >= 0) || !(o.Prior >= 0 && o.Prior < 1) {
		return fmt.Errorf("features %d, rounds %d, l2 %g, prior %g: out of range", o.Features, o.Rounds, o.L2, o.Prior)
	}
	if o.L2 == 0 {
		o.L2 = defaultL2
	}
	if o.Rounds == 0 {
		o.Rounds = defaultRounds
	}
	for kind, rows := range map[string][]Row{"positive": s.Positives, "unlabelled page": s.Unlabelled, "negative": s.Negatives} {
		for i, r := range rows {
			if len(r.Features) != len(r.Values) {
				return fmt.Errorf("%s %d has %d features and %d values", kind, i, len(r.Features), len(r.Values))
			}
			for _, f := range r.Features {
				if int(f) >= o.Features {
					return fmt.Errorf("%s %d has feature %d of %d", kind, i, f, o.Features)
				}
			}
		}
	}
	return nil
}

func (o *Settings) learn(ctx context.Context, s *Sample) (*Model, error) {
	m := &Model{Prior: o.Prior, Most: o.Prior}
	estimate := func(h *Scores) (err error) {
		if o.Prior == 0 {
			m.Most, err = bestBin(h.Positives, h.Unlabelled)
			m.Prior = cautious(m.Most, len(h.Positives))
			if drawn := s.answers(h); len(drawn) > 0 {
				m.Most = min(m.Most, atMost(m.Prior, drawn))
			}
		}
		return err
	}
	first, err := o.heldOut(ctx, s, func(ctx context.Context, s *Sample) (*Linear, error) { return o.separate(ctx, s) })
	if err != nil {
		return nil, err
	}
	if err := estimate(first); err != nil {
		return nil, err
	}
	share := min(m.Most, mostDiscarded)
	h, err := o.heldOut(ctx, s, func(ctx context.Context, s *Sample) (*Linear, error) { return o.discard(ctx, s, share) })
	if err != nil {
		return nil, err
	}
	if err := estimate(h); err != nil {
		return nil, err
	}
	l, err := o.discard(ctx, s, share)
	if err != nil {
		return nil, err
	}
	m.Linear, m.HeldOut = *l, *h
	if drawn := s.answers(h); len(drawn) > 0 && o.Prior == 0 {
		m.Curve, m.Prior, err = calibrateDrawn(ctx, s.chosen(h), h.Unlabelled, drawn, m.Prior)
		m.Most = max(m.Most, m.Prior)
		return m, err
	}
	m.Curve, err = Calibrate(ctx, h.Positives, h.Unlabelled, m.Prior)
	return m, err
}

// heldOut scores every page by a classifier of the other folds, all folds in parallel.
func (o *Settings) heldOut(ctx context.Context, s *Sample, classifier func(context.Context, *Sample) (*Linear, error)) (*Scores, error) {
	h := &Scores{make([]float64, len(s.Positives)), make([]float64, len(s.Unlabelled)), make([]float64, len(s.Negatives))}
	score := func(fold int, l *Linear, rows []Row, scores []float64) {
		for i := fold; i < len(rows); i += Folds {
			scores[i] = l.Score(&rows[i])
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	for fold := range Folds {
		g.Go(func() error {
			l, err := classifier(ctx, &Sample{others(s.Positives, fold), others(s.Unlabelled, fold), others(s.Negatives, fold)})
			if err != nil {
				return fmt.Errorf("without fold %d: %w", fold, err)
			}
			score(fold, l, s.Positives, h.Positives)
			score(fold, l, s.Unlabelled, h.Unlabelled)
			score(fold, l, s.Negatives, h.Negatives)
			return nil
		})
	}
	return h, g.Wait()
}

func others(rows []Row, fold int) []Row {
	rest := make([]Row, 0, len(rows))
	for i, r := range rows {
		if i%Folds != fold {
			rest = append(rest, r)
		}
	}
	return rest
}

// separate trains a classifier of positives against unlabelled pages and negatives, both sides with the same weight.
func (o *Settings) separate(ctx context.Context, s *Sample) (*Linear, error) {
	return o.train(ctx, s.Positives, .5, slices.Concat(s.Unlabelled, s.Negatives))
}

// discard trains a classifier of positives, of weight prior, against negatives and the unlabelled pages that are
// least similar to positives, in rounds (Garg et al. 2021, Algorithm 2).
func (o *Settings) discard(ctx context.Context, s *Sample, prior float64) (*Linear, error) {
	l, err := o.separate(ctx, s)
	keep := max(1, int((1-prior)*float64(len(s.Unlabelled))+.5))
	for range o.Rounds {
		if err != nil {
			return nil, err
		}
		l, err = o.train(ctx, s.Positives, prior, append(lowest(l, s.Unlabelled, keep), s.Negatives...))
	}
	return l, err
}

// lowest returns the rows of least score, in the order of their numbers, which also breaks ties.
func lowest(l *Linear, rows []Row, keep int) []Row {
	scores, order := make([]float64, len(rows)), make([]int, len(rows))
	for i := range rows {
		scores[i], order[i] = l.Score(&rows[i]), i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] < scores[b]:
			return -1
		case scores[a] > scores[b]:
			return 1
		}
		return 0
	})
	order = order[:keep]
	slices.Sort(order)
	kept := make([]Row, keep)
	for i, at := range order {
		kept[i] = rows[at]
	}
	return kept
}

// train trains a classifier of pages on topic, with the given total weight, and off topic.
func (o *Settings) train(ctx context.Context, on []Row, weight float64, off []Row) (*Linear, error) {
	pages := make([]labelled, 0, len(on)+len(off))
	for i := range on {
		pages = append(pages, labelled{&on[i], weight / float64(len(on)), true})
	}
	for i := range off {
		pages = append(pages, labelled{&off[i], (1 - weight) / float64(len(off)), false})
	}
	return fit(ctx, pages, o.Features, o.L2)
}

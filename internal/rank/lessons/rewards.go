package lessons

import (
	"context"
	"errors"
	"math"

	"forager/internal/platform/progress"
	"forager/internal/rank/qvalue"
)

// Rewards calls teach with the values of links (package qvalue): of every page with links, one after the other, and of each
// link to a page of the web. All of the web must be known, so a Web whose links come from a file is an error.
func (w *Web) Rewards(ctx context.Context, targets []uint32, gamma float64, teach func(qvalue.Lesson) error) error {
	if w.edges != nil {
		return errors.New("what links are worth is learnt from links as their pages show them, not from a file of edges")
	}
	values, err := qvalue.Values(w.children, targets, gamma)
	if err != nil {
		return err
	}
	ctx, end := progress.Start(ctx, "reading links", int64(w.texts))
	defer end()
	for p := range w.texts {
		if err := progress.Add(ctx, 1); err != nil {
			return err
		}
		page, err := w.Page(p)
		if err != nil {
			return err
		}
		lesson := qvalue.Lesson{Page: page}
		for _, l := range page.GetLinks() {
			q := math.NaN()
			if to, ok := w.number[w.resolve(l.GetUrl())]; ok && to != p {
				q = values[to]
			}
			lesson.Q = append(lesson.Q, q)
		}
		if len(lesson.Q) == 0 {
			continue
		}
		if err := teach(lesson); err != nil {
			return err
		}
	}
	return nil
}

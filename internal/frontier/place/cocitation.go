package place

import (
	"fmt"
	"slices"

	"forager/internal/frontier/state"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// mostTouched is the largest number of entries that a verdict places again because the co-citation features of
// links to them have changed. Others keep their places until a new model comes.
const mostTouched = 256

// Cocited are the co-citation features of a link by what was known at a clock.
func (pr *Placer) Cocited(p *state.Page, l *state.Link, clock uint64) ([]*schemas.Feature, error) {
	if !pr.Families.Cocitation() {
		return nil, nil
	}
	var known []linkfeature.Sibling
	err := pr.eachNear(p, l, func(w *state.Sibling) error {
		raw, ok, err := pr.pages.KnownAt(w.Ordinal, clock)
		if ok {
			known = append(known, linkfeature.Sibling{First: w.First, Last: w.Last, Relevance: raw})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return linkfeature.Cocited(pr.leaves(l), known, pr.DMax), nil
}

// eachNear calls f for the links at most d_max leaves from a link of a page.
func (pr *Placer) eachNear(p *state.Page, l *state.Link, f func(w *state.Sibling) error) error {
	all, err := pr.pages.SiblingsOf(p)
	if err != nil {
		return err
	}
	for i := range all {
		w := &all[i]
		if _, near := linkfeature.LeafOffset(pr.leaves(l), w.First, w.Last, pr.DMax); near && w.Index != l.Index {
			if err := f(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// TouchSiblings notes the links next to one to v, which is final, if R(v) is known now.
func (pr *Placer) TouchSiblings(p *state.Page, l *state.Link, v *state.Entry) error {
	if !pr.Families.Cocitation() || !pr.Learns || pr.Using.Model == nil || v.Outcome != schemas.Outcome_OUTCOME_DELIVERED {
		return nil
	}
	return pr.eachNear(p, l, func(w *state.Sibling) error {
		if len(pr.touched) < mostTouched {
			pr.touched = append(pr.touched, w.Ordinal)
		}
		return nil
	})
}

// PlaceTouched places again the unvisited entries that TouchBeside noted.
func (pr *Placer) PlaceTouched() error {
	slices.Sort(pr.touched)
	for _, ordinal := range slices.Compact(pr.touched) {
		e, err := pr.state.Unvisited(ordinal)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if err := pr.Replace(e); err != nil {
			return fmt.Errorf("place %s again: %w", e.URL, err)
		}
	}
	pr.touched = pr.touched[:0]
	return nil
}

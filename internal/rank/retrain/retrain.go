package retrain

import (
	"errors"
	"fmt"
	"slices"

	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Settings of a training from stored records.
type Settings struct {
	Crawl string
	// Recorded are the settings that the leaps were made with, Features those of the new model.
	Recorded, Features linkfeature.Settings
	// Through is the last boundary, in pages; 0 = the last one there is, or the last leap if there is none.
	Through uint64
	// Cut is the cut, 0 = as in the live training; Recut = the median of all leaps.
	Cut   float64
	Recut bool
}

// Wider reports whether the features are more than leaps have.
func (s *Settings) Wider() bool { return !s.Features.Within(s.Recorded) }

// Trainer is one training: leaps first (Leap, End), then, if FromPages, pages (Page).
type Trainer struct {
	settings Settings
	learner  apprentice.Learner
	// fromPages: features are read from the pages.
	fromPages bool

	seen     map[schemas.ID]struct{}
	pending  []*schemas.LeapSettled // since the last boundary, and before the first one those without features (no_apprentice)
	last     int64                  // offset of the last leap
	pages    uint64                 // of the leaps, at most
	boundary uint64                 // the last one seen, pages
	through  int64                  // its offset
	learnt   int                    // number of boundaries

	// wanted are the leaps that still lack features, by u.
	wanted map[string][]*sample
	// samples are all leaps in their order, if the learner depends on it and their features come later; the first of them
	// precede the first boundary.
	samples []*sample
	first   int
}

// sample is a leap whose features come from its page, except those of co-citation.
type sample struct {
	u, v      string
	relevance float64
	features  []*schemas.Feature
}

// unordered is a learner that does not depend on the order of leaps and of their features.
type unordered interface {
	apprentice.Learner
	AddFeatures(features []*schemas.Feature, relevance float64) error
}

// New returns a trainer that goes on from a prior, or from nothing.
func New(prior apprentice.Learner, s Settings) (*Trainer, error) {
	if d := s.Features.DMax; d < 0 || d > linkfeature.MaxOffset {
		return nil, fmt.Errorf("d_max is %d, must be 0 to %d", d, linkfeature.MaxOffset)
	}
	if cited := linkfeature.Families.Cocitation; cited(s.Features.Families) && (!cited(s.Recorded.Families) || s.Features.DMax > s.Recorded.DMax) {
		return nil, fmt.Errorf("co-citation features up to %d leaves away are asked for; what was known of neighbouring links is in the leaps alone, and those have %v up to %d",
			s.Features.DMax, s.Recorded.Families, s.Recorded.DMax)
	}
	if s.Features.Families.TagPaths() && !s.Recorded.Families.TagPaths() {
		return nil, fmt.Errorf("tag paths are asked for; its pages have some where a crawl learns from them, and this one learnt from %v", s.Recorded.Families)
	}
	if s.Features.Families.Trees() && !s.Recorded.Families.Trees() {
		return nil, fmt.Errorf("features of the trees of pages (%v) are asked for; its pages have theirs where a crawl learns from them, and this one learnt from %v",
			s.Features.Families, s.Recorded.Families)
	}
	if all := schemas.TopicFeatures_TOPIC_FEATURES_ALL; s.Features.Topics == all && s.Recorded.Topics != all {
		return nil, errors.New("features of all topics are asked for; its judgements name all where a crawl learns from them, and this one does not")
	}
	if s.Cut != 0 && s.Recut {
		return nil, fmt.Errorf("a cut of %v and one to be found are asked for", s.Cut)
	}
	if s.Cut != 0 || s.Recut {
		if err := prior.SetCut(s.Cut); err != nil {
			return nil, err
		}
	}
	return &Trainer{settings: s, learner: prior, fromPages: s.Wider(), seen: make(map[schemas.ID]struct{}), wanted: make(map[string][]*sample)}, nil
}

// Leap adds the record of leap.settled at an offset; records of other crawls are ignored. done reports whether the model is
// complete. The error is that of a record which apprentice-train would refuse, too; training goes on without it.
func (t *Trainer) Leap(offset int64, l *schemas.LeapSettled) (done bool, err error) {
	if l.GetCrawl() != t.settings.Crawl {
		return false, nil
	}
	sample, err := apprentice.Trains(l)
	if err != nil || !sample || l.GetNoApprentice() && t.learnt > 0 {
		return false, err
	}
	if !l.GetBoundary() {
		id := schemas.ID(l.GetId())
		if _, again := t.seen[id]; !again {
			t.seen[id] = struct{}{}
			t.pending = append(t.pending, l)
			t.last, t.pages = offset, max(t.pages, l.GetPages())
		}
		return false, nil
	}
	through := t.settings.Through
	if l.GetPages() <= t.boundary || through > 0 && l.GetPages() > through {
		return false, nil
	}
	t.pending = slices.DeleteFunc(t.pending, (*schemas.LeapSettled).GetNoApprentice)
	if err := t.learnPending(l.GetPages(), offset); err != nil {
		return false, err
	}
	return l.GetPages() == through, nil
}

// FromPages reports whether features must be read from the pages: the leaps lack some.
func (t *Trainer) FromPages() bool { return t.fromPages }

// End is called after the last leap. Of a crawl without boundaries, because no ranker of it learns or because it has not reached its first
// model, all leaps are learned.
func (t *Trainer) End() error {
	if t.learnt > 0 || t.settings.Through > 0 || len(t.pending) == 0 {
		return nil
	}
	if slices.ContainsFunc(t.pending, (*schemas.LeapSettled).GetNoApprentice) {
		if t.fromPages = true; t.settings.Features.Families.Cocitation() {
			return errors.New("features of co-citation are in leaps alone, and those of a crawl that no apprentice ranked, as a policy or a shadow, have none; choose families by --features")
		}
	}
	return t.learnPending(t.pages, t.last)
}

// learnPending learns the leaps before a boundary.
func (t *Trainer) learnPending(pages uint64, offset int64) error {
	for _, p := range t.pending {
		if err := t.learn(p); err != nil {
			return err
		}
	}
	t.pending = t.pending[:0]
	if t.first == 0 {
		t.first = len(t.samples)
	}
	if len(t.samples) == 0 && !t.settings.Recut {
		t.learner.FixCut()
	}
	t.boundary, t.through = pages, offset
	t.learnt++
	return nil
}

func (t *Trainer) learn(l *schemas.LeapSettled) error {
	if !t.fromPages {
		return t.learner.Add(t.less(l.GetFeatures()), l.GetTargetRaw())
	}
	later := &sample{u: l.GetU(), v: l.GetV(), relevance: l.GetTargetRaw()}
	if t.settings.Features.Families.Cocitation() {
		later.features = linkfeature.OnlyCocited(t.less(l.GetFeatures()))
	}
	t.wanted[later.u] = append(t.wanted[later.u], later)
	if _, ok := t.learner.(unordered); ok {
		return t.learner.Add(nil, later.relevance)
	}
	t.samples = append(t.samples, later)
	return nil
}

// learnSamples learns leaps whose features have come since, in their order.
func (t *Trainer) learnSamples() error {
	for i, l := range t.samples {
		if i == t.first && !t.settings.Recut {
			t.learner.FixCut()
		}
		if err := t.learner.Add(l.features, l.relevance); err != nil {
			return fmt.Errorf("leap %s → %s: %w", l.u, l.v, err)
		}
	}
	t.samples = nil
	return nil
}

// less returns the features of a leap that the model's settings keep.
func (t *Trainer) less(all []*schemas.Feature) []*schemas.Feature {
	s := &t.settings
	if s.Features == s.Recorded {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(f *schemas.Feature) bool {
		return !s.Features.Keep(f)
	})
}

// Page adds a delivered page of the crawl with its judgement. Pages without leaps, and copies, change nothing.
func (t *Trainer) Page(p *schemas.Page, j *schemas.Judgement) error {
	targets := t.wanted[p.GetUrl()]
	if targets == nil {
		return nil
	}
	leaves, links, _, err := linkfeature.Extract(p, j, t.settings.Features)
	if err != nil {
		return err
	}
	table, err := linkfeature.Open(leaves)
	if err != nil {
		return fmt.Errorf("page %s: %w", p.GetUrl(), err)
	}
	byURL := make(map[string]*schemas.Link, len(links))
	for _, l := range links {
		byURL[l.GetUrl()] = l
	}
	for _, leap := range targets {
		l := byURL[leap.v]
		if l == nil {
			return fmt.Errorf("a leap has a link from %s to %s that the page does not have", leap.u, leap.v)
		}
		leap.features = linkfeature.Merge(table.FeaturesOf(l, t.settings.Features.DMax, t.settings.Features.Families), leap.features)
		now, ok := t.learner.(unordered)
		if !ok {
			continue
		}
		if err := now.AddFeatures(leap.features, leap.relevance); err != nil {
			return fmt.Errorf("leap %s → %s: %w", leap.u, leap.v, err)
		}
	}
	delete(t.wanted, p.GetUrl())
	return nil
}

// Missing returns the pages that leaps begin at and that have not been added, sorted.
func (t *Trainer) Missing() []string {
	var urls []string
	for u := range t.wanted {
		urls = append(urls, u)
	}
	slices.Sort(urls)
	return urls
}

// Boundary returns the last boundary that was learned, in pages, its offset in leap.settled, and the number of boundaries
// up to it; 0 = none.
func (t *Trainer) Boundary() (pages uint64, through int64, count int) {
	return t.boundary, t.through, t.learnt
}

// Model returns what was learned, up to the last boundary that is not above Settings.Through.
func (t *Trainer) Model() (apprentice.Learner, error) {
	s := &t.settings
	switch {
	case t.learnt == 0 && s.Through > 0:
		return nil, fmt.Errorf("no boundary at or below %d pages has come", s.Through)
	case t.learnt == 0:
		return nil, errors.New("no leap has come that an apprentice learns from")
	case s.Through > 0 && t.boundary != s.Through:
		return nil, fmt.Errorf("there is no boundary at %d pages; the one before it is at %d", s.Through, t.boundary)
	case len(t.wanted) > 0:
		return nil, fmt.Errorf("%d pages that leaps begin at are missing, for instance %s", len(t.wanted), t.Missing()[0])
	}
	if err := t.learnSamples(); err != nil {
		return nil, err
	}
	t.learner.FixCut()
	return t.learner, nil
}

package frontier

import (
	"fmt"

	"forager/internal/frontier/place"
	"forager/internal/frontier/rescore"
	"forager/internal/rank/apprentice"
)

// Model returns the version that the stored state ranks by, and the pages it was trained
// through; "" while there is none. After Open, SetModel must set this model or a newer one
// before anything is applied or dispatched.
func (s *Shard) Model() (version string, pages uint64) {
	version, err := s.state.NameOf(s.places.Using.Number)
	if err != nil {
		return "", 0
	}
	return version, s.places.Using.Pages
}

// SetModel sets the newest apprentice model, trained through a number of pages delivered;
// m is nil, or not trained, for one that ranks as soft focus. A model trained through
// fewer pages than the last is ignored. Unvisited entries are scored again by Rescore; a pass
// under way is finished first.
func (s *Shard) SetModel(version string, m place.Model, pages uint64) error {
	if s.cfg.ctl == nil {
		return errNotConfigured
	}
	if a, ok := m.(*apprentice.Model); ok && (a == nil || !a.Trained()) {
		m = nil
	}
	var number uint32
	if m != nil {
		var err error
		if number, err = s.state.NameNumber(version); err != nil {
			return err
		}
	}
	if pages < s.rescorer.Newest.Pages && s.rescorer.Newest.Model != nil {
		return nil
	}
	s.rescorer.Newest = place.VersionedModel{Number: number, Model: m, Pages: pages}
	s.state.Counters.Answered = max(s.state.Counters.Answered, pages)
	switch {
	case number == s.places.Using.Number:
		s.places.Using = s.rescorer.Newest
	case (s.queues.Passing() || s.state.Counters.Unranked > 0) && s.places.Using.Model == nil && s.places.Using.Number != 0:
		// A pass, or a change of policies, was begun before Open with a model that is not available: the newest
		// one finishes it, and one more pass follows.
		s.places.Using, s.state.Counters.Mixed = s.rescorer.Newest, true
	}
	s.state.Counters.Model, s.state.Counters.ModelPages = s.places.Using.Number, s.places.Using.Pages
	if err := s.rescorer.NextPass(); err != nil {
		return fmt.Errorf("re-score under %s: %w", version, err)
	}
	return s.save()
}

// Rescore places up to n unvisited entries after a change of policies (rescore/rerank.go), or scores up to n
// under the model with which the pass was begun, the best ones among them first (rescore/scan.go), checks entries by excludes that have changed,
// and reports whether some are left. A pass always ends before the next one, under the newest model, begins.
func (s *Shard) Rescore(n int) (more bool, err error) {
	if err := s.usable(); err != nil {
		return false, err
	}
	if err := s.excluder.Check(rescore.CheckShare * n); err != nil {
		return false, err
	}
	more, err = s.rescore(n)
	return more || s.excluder.Left() > 0, err
}

func (s *Shard) rescore(n int) (more bool, err error) {
	if err := s.rescorer.NextPass(); err != nil { // it waits for the last unranked entry, which verdicts may have taken
		return false, err
	}
	if s.state.Counters.Unranked == 0 && !s.queues.Passing() {
		return false, s.save()
	}
	for s.state.Counters.Unranked > 0 || s.queues.Passing() {
		var left bool
		if s.state.Counters.Unranked > 0 {
			if left, err = s.rescorer.RankSome(&n); err == nil && !left {
				err = s.rescorer.NextPass()
			}
		} else if left, err = s.rescorer.RescoreSome(&n); err == nil && !left {
			err = s.rescorer.EndPass()
		}
		if err != nil {
			return false, fmt.Errorf("re-score: %w", err)
		}
		if left {
			return true, s.save()
		}
	}
	return false, s.save()
}

// Reconsider scores the given URLs again if they are unvisited. A caller whose ranker (Options.Rankers) has changed
// its scores of them must call it.
func (s *Shard) Reconsider(urls ...string) error {
	if err := s.usable(); err != nil {
		return err
	}
	if err := s.places.Reconsider(urls); err != nil {
		return err
	}
	return s.save()
}

package frontier

import (
	"fmt"

	"forager/internal/rank/apprentice"
)

// Model returns the version that the stored state ranks by, and the pages it was trained
// through; "" while there is none. After Open, SetModel must set this model or a newer one
// before anything is applied or dispatched.
func (s *Shard) Model() (version string, pages uint64) {
	version, err := s.nameOf(s.using.number)
	if err != nil {
		return "", 0
	}
	return version, s.using.pages
}

// SetModel sets the newest apprentice model, trained through a number of pages delivered;
// m is nil, or not trained, for one that ranks as soft focus. A model trained through
// fewer pages than the last is ignored. Unvisited entries are scored again by Rescore; a pass
// under way is finished first.
func (s *Shard) SetModel(version string, m Model, pages uint64) error {
	if s.ctl == nil {
		return errNotConfigured
	}
	if a, ok := m.(*apprentice.Model); ok && (a == nil || !a.Trained()) {
		m = nil
	}
	var number uint32
	if m != nil {
		var err error
		if number, err = s.nameNumber(version); err != nil {
			return err
		}
	}
	if pages < s.newest.pages && s.newest.model != nil {
		return nil
	}
	s.newest = model{number: number, model: m, pages: pages}
	s.c.answered = max(s.c.answered, pages)
	switch {
	case number == s.using.number:
		s.using = s.newest
	case (s.passing() || s.c.unranked > 0) && s.using.model == nil && s.using.number != 0:
		// A pass, or a change of policies, was begun before Open with a model that is not available: the newest
		// one finishes it, and one more pass follows.
		s.using, s.c.mixed = s.newest, true
	}
	s.c.model, s.c.modelPages = s.using.number, s.using.pages
	if err := s.nextPass(); err != nil {
		return fmt.Errorf("re-score under %s: %w", version, err)
	}
	return s.save()
}

// passing reports whether a pass of re-scoring is under way.
func (s *Shard) passing() bool {
	for p := range s.generations {
		if s.generations[p].passing() {
			return true
		}
	}
	return false
}

// nextPass begins a pass if one is due and none is under way.
func (s *Shard) nextPass() error {
	if s.c.unranked > 0 || s.passing() || (s.using.number == s.newest.number && !s.c.mixed) {
		return nil
	}
	s.using, s.c.mixed, s.c.swept, s.stretch = s.newest, false, 0, nil
	s.c.model, s.c.modelPages = s.using.number, s.using.pages
	if !s.learns {
		return nil
	}
	s.c.generation++
	for p, policy := range s.policies {
		if policy.Learns() {
			s.generations[p].next = s.c.generation
			s.index[p][slotNew] = s.newClasses(p, s.c.generation)
		}
	}
	for _, x := range s.hosts.at {
		s.refresh(x.item)
	}
	if s.hasOldEntries() {
		return nil
	}
	return s.endPass()
}

// Rescore places up to n unvisited entries after a change of policies (rerank.go), or scores up to n
// under the model with which the pass was begun, the best ones among them first (sweep.go), and reports
// whether some are left. A pass always ends before the next one, under the newest model, begins.
func (s *Shard) Rescore(n int) (more bool, err error) {
	if err := s.usable(); err != nil {
		return false, err
	}
	if err := s.nextPass(); err != nil { // it waits for the last unranked entry, which verdicts may have taken
		return false, err
	}
	if s.c.unranked == 0 && !s.passing() {
		return false, nil
	}
	for s.c.unranked > 0 || s.passing() {
		var left bool
		if s.c.unranked > 0 {
			if left, err = s.rankSome(&n); err == nil && !left {
				err = s.nextPass()
			}
		} else if left, err = s.rescoreSome(&n); err == nil && !left {
			err = s.endPass()
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

// rescoreSome scores up to n entries of the pass under way, subtracts them from n and reports whether
// some are left.
func (s *Shard) rescoreSome(n *int) (left bool, err error) {
	if done, err := s.sweepRest(*n); err != nil || done > 0 {
		*n -= done
		return s.hasOldEntries(), err
	}
	best, done := (*n+bestShare-1)/bestShare, 0
	err = s.besideScoring(func() (err error) {
		done, err = s.rescoreBest(best)
		return err
	})
	if *n -= done; err != nil || done < best {
		return false, err
	}
	if *n > 0 {
		done, _, err = s.sweep(*n)
		if err != nil {
			return false, err
		}
		*n -= done
	}
	return s.hasOldEntries(), nil
}

// hasOldEntries reports whether a pass of re-scoring has entries left.
func (s *Shard) hasOldEntries() bool {
	for p := range s.policies {
		if s.hasOld(p) {
			return true
		}
	}
	return false
}

// rescoreBest scores the n best entries that the pass has not scored yet, or as many as there are.
func (s *Shard) rescoreBest(n int) (done int, err error) {
	for ; done < n; done++ {
		e, err := s.bestOld()
		if err != nil || e == nil {
			return done, err
		}
		if err := s.replaceBy(e, s.score); err != nil {
			return done, err
		}
	}
	return done, nil
}

// bestOld returns the best entry that the pass has not scored yet, or nil.
func (s *Shard) bestOld() (*entry, error) {
	for p := range s.policies {
		if s.hasOld(p) {
			o, err := s.oldHead(p)
			if err != nil {
				return nil, err
			}
			return s.entry(o.ordinal)
		}
	}
	return nil, nil
}

// replace places a queued entry again and moves it in the queues.
func (s *Shard) replace(e *entry) error { return s.replaceBy(e, s.place) }

// replaceBy is replace by place or score.
func (s *Shard) replaceBy(e *entry, place func(*entry) error) error {
	s.before = append(s.before[:0], e.places...)
	if err := place(e); err != nil {
		return err
	}
	if err := s.requeue(e, s.before); err != nil {
		return err
	}
	if _, held := s.entries.peek(e.ordinal); held {
		return s.saveEntry(e)
	}
	return s.storeEntry(e)
}

// endPass makes the new generation the only one.
func (s *Shard) endPass() error {
	s.stretch = nil
	for p := range s.policies {
		g := &s.generations[p]
		if !g.passing() {
			continue
		}
		// A sweep leaves old keys in place (leftBehind); others were deleted and have tombstones. The range covers both.
		for _, kind := range []byte{kindQueue, kindIndex} {
			from := append([]byte(nil), s.keys.generation(kind, uint8(p), g.current)...)
			if err := s.store.DeleteRange(from, after(from)); err != nil {
				return err
			}
		}
		*g = generations{current: g.next, next: g.next, keys: [slots]uint64{slotOld: g.keys[slotNew]}}
		s.index[p] = [slots][]*rangeHead[indexed]{slotOld: s.index[p][slotNew]}
		for _, x := range s.hosts.at {
			q := &x.item.queues[p]
			q.fronts = [slots]front{slotOld: q.fronts[slotNew]}
		}
	}
	return s.nextPass()
}

// Reconsider scores the given URLs again if they are unvisited. A caller whose ranker (Options.Rankers) has changed
// its scores of them must call it.
func (s *Shard) Reconsider(urls ...string) error {
	if err := s.usable(); err != nil {
		return err
	}
	if err := s.reconsider(urls); err != nil {
		return err
	}
	return s.save()
}

func (s *Shard) reconsider(urls []string) error {
	for _, url := range urls {
		e, err := s.seen(url)
		if err != nil {
			return err
		}
		if e != nil && e.state == stateQueued {
			if err := s.replace(e); err != nil {
				return fmt.Errorf("reconsider %s: %w", url, err)
			}
			if err := s.evictHosts(); err != nil {
				return err
			}
		}
	}
	return nil
}

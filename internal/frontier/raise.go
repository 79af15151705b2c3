package frontier

import (
	"encoding/binary"
	"fmt"

	"forager/internal/distill"
	"forager/schemas"
)

// ranked says how far the distiller's word has come.
type ranked struct {
	// pages delivered as of the last ranking.
	pages uint64
	// whole: a policy raised when the shard was empty, from the crawl's begin on, so that the distiller has all its pages.
	whole bool
}

const rankedVersion = 1

// Raise takes the distiller's word (schemas.HubRanked): hubs link to the URLs of these ids. Where
// they are unvisited, policies that raise place them anew, and they stay raised until they are
// visited. A ranking behind more pages than the shard has delivered is not taken yet (taken is
// false), as what hubs link to may not be discovered; one behind fewer than the last changes nothing.
func (s *Shard) Raise(pages uint64, ids []schemas.ID) (taken bool, err error) {
	if err := s.usable(); err != nil {
		return false, err
	}
	if pages > s.c.pages {
		return false, nil
	}
	if pages <= s.ranked.pages {
		return true, nil
	}
	for _, id := range ids {
		e, err := s.seenID(id)
		if err == nil && e != nil {
			err = s.raise(e)
		}
		if err != nil {
			return false, fmt.Errorf("raise URL %s: %w", id, err)
		}
	}
	s.ranked.pages = pages
	if err := s.saveRanked(); err != nil {
		return false, err
	}
	return true, s.save()
}

// raise marks what a URL's entry leads to, if that is unvisited, and places it anew.
func (s *Shard) raise(e *entry) error {
	e, err := s.resolve(e)
	if err != nil {
		return err
	}
	if fresh, err := s.mark(e); err != nil || !fresh || e.state != stateQueued {
		return err
	}
	return s.replace(e)
}

// mark notes that hubs link to an entry, unless it is visited.
func (s *Shard) mark(e *entry) (fresh bool, err error) {
	switch e.state {
	case stateFinal, stateAlias, stateMoved:
		return false, nil
	}
	if s.raised[e.ordinal] {
		return false, nil
	}
	s.raised[e.ordinal] = true
	return true, s.store.Set(s.keys.u64(kindRaised, e.ordinal), nil)
}

// unmark forgets an entry that is visited, and says whether hubs linked to it.
func (s *Shard) unmark(e *entry) (was bool, err error) {
	if !s.raised[e.ordinal] {
		return false, nil
	}
	delete(s.raised, e.ordinal)
	return true, s.store.Delete(s.keys.u64(kindRaised, e.ordinal))
}

// raises says that a policy raises what hubs link to.
func (s *Shard) raises() bool { return schemas.Raises(s.ctl) }

// noteWhole sees whether the distiller has, or lacks, pages of the shard. A shard that is built anew by replay is empty under the
// newest control record, whatever was in force when its pages came; that is what late is for.
func (s *Shard) noteWhole() error {
	if s.ranked.whole || !s.raises() || s.c.clock > 0 || s.ctl.GetDistiller().GetLate() {
		return nil
	}
	s.ranked.whole = true
	return s.saveRanked()
}

// hubsDue says that dispatch waits for a ranking.
func (s *Shard) hubsDue() bool {
	return s.limits.sync && s.ranked.whole && s.raises() && s.ranked.pages < distill.Boundary(s.c.pages, s.limits.distillEvery)
}

func (s *Shard) saveRanked() error {
	s.value = appendBool(binary.AppendUvarint(append(s.value[:0], rankedVersion), s.ranked.pages), s.ranked.whole)
	return s.store.Set(s.keys.u64(kindRaised, 0), s.value)
}

// loadRaised reads what mark and saveRanked wrote.
func (s *Shard) loadRaised() error {
	s.raised = make(map[uint64]bool)
	from := append([]byte(nil), s.keys.kind(kindRaised)...)
	return s.store.Scan(from, after(from), func(key, value []byte) (bool, error) {
		ordinal, err := s.keys.parseU64(key)
		if err != nil {
			return false, err
		}
		if ordinal > 0 {
			s.raised[ordinal] = true
			return true, nil
		}
		r := reader{b: value}
		r.version(rankedVersion)
		s.ranked = ranked{pages: r.u64(), whole: r.bool()}
		if err := r.end(); err != nil {
			return false, fmt.Errorf("frontier: ranked hubs: %w", err)
		}
		return true, nil
	})
}

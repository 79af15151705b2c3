package frontier

import (
	"encoding/binary"
	"fmt"

	"forager/internal/rank/distill"
	"forager/schemas"
)

// ranked is the state of the last ranking of hubs.
type ranked struct {
	// pages delivered as of the last ranking.
	pages uint64
	// whole: a policy has raised since the shard was empty, so that the distiller has all its pages.
	whole bool
}

const rankedVersion = 1

// Raise takes a ranking of the distiller (schemas.HubRanked): hubs link to the URLs of these ids. If
// they are unvisited, policies that raise place them again, above everything else of their tier, until they are
// visited. A ranking of more pages than the shard has delivered is not taken yet (taken is
// false), as what hubs link to may not be discovered; one of fewer pages than the last changes nothing.
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
		if err == nil {
			err = s.evictHosts()
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

// raise marks the entry that a URL's entry leads to, if it is unvisited, and places it again.
func (s *Shard) raise(e *entry) error {
	e, err := s.resolve(e)
	if err != nil || !e.mark() {
		return err
	}
	if e.state == stateQueued {
		return s.replace(e)
	}
	return s.saveEntry(e)
}

// mark notes that hubs link to the entry, unless it is visited, and reports whether that is new. The caller stores the entry.
func (e *entry) mark() (fresh bool) {
	switch e.state {
	case stateFinal, stateAlias, stateMoved:
		return false
	}
	fresh, e.raised = !e.raised, true
	return fresh
}

// unmark clears the mark that hubs link to the entry, and reports whether it was set. The caller stores the entry.
func (e *entry) unmark() (was bool) {
	was, e.raised = e.raised, false
	return was
}

// raises reports whether a policy raises what hubs link to.
func (s *Shard) raises() bool { return schemas.Raises(s.ctl) }

// noteWhole notes whether the distiller has all pages of the shard. A shard that is rebuilt by replay is empty under the
// newest control record, whatever was in force when its pages came; therefore the record has the field late.
func (s *Shard) noteWhole() error {
	if s.ranked.whole || !s.raises() || s.c.clock > 0 || s.ctl.GetDistiller().GetLate() {
		return nil
	}
	s.ranked.whole = true
	return s.saveRanked()
}

// hubsDue reports whether dispatch waits for a ranking.
func (s *Shard) hubsDue() bool {
	return s.limits.sync && s.ranked.whole && s.raises() && s.ranked.pages < distill.Boundary(s.c.pages, s.limits.distillEvery)
}

func (s *Shard) saveRanked() error {
	s.value = appendBool(binary.AppendUvarint(append(s.value[:0], rankedVersion), s.ranked.pages), s.ranked.whole)
	return s.store.Set(s.keys.kind(kindRanked), s.value)
}

// loadRanked reads what saveRanked wrote.
func (s *Shard) loadRanked() error {
	value, ok, err := s.store.Get(s.keys.kind(kindRanked))
	if err != nil || !ok {
		return err
	}
	r := reader{b: value}
	r.version(rankedVersion)
	s.ranked = ranked{pages: r.u64(), whole: r.bool()}
	if err := r.end(); err != nil {
		return fmt.Errorf("frontier: ranked hubs: %w", err)
	}
	return nil
}

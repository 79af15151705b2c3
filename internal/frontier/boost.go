package frontier

import (
	"encoding/binary"
	"fmt"

	"forager/internal/frontier/place"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/rank/distill"
	"forager/schemas"
)

// hubs raises what hubs link to.
type hubs struct {
	cfg    *settings
	state  *state.Records
	places *place.Placer
	ranked ranked
}

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
	if pages > s.state.Counters.Pages {
		return false, nil
	}
	if pages <= s.hubs.ranked.pages {
		return true, nil
	}
	for _, id := range ids {
		e, err := s.state.SeenID(id)
		if err == nil && e != nil {
			err = s.hubs.boost(e)
		}
		if err == nil {
			err = s.hosts.EvictHosts()
		}
		if err != nil {
			return false, fmt.Errorf("raise URL %s: %w", id, err)
		}
	}
	s.hubs.ranked.pages = pages
	if err := s.hubs.saveRanked(); err != nil {
		return false, err
	}
	return true, s.save()
}

// boost marks the entry that a URL's entry leads to, if it is unvisited, and places it again.
func (hb *hubs) boost(e *state.Entry) error {
	e, err := hb.state.Resolve(e)
	if err != nil || !e.Mark() {
		return err
	}
	if e.State == state.Queued {
		return hb.places.Replace(e)
	}
	return hb.state.SaveEntry(e)
}

// raises reports whether a policy raises what hubs link to.
func (hb *hubs) raises() bool { return schemas.Raises(hb.cfg.ctl) }

// noteWhole notes whether the distiller has all pages of the shard. A shard that is rebuilt by replay is empty under the
// newest control record, whatever was in force when its pages came; therefore the record has the field late.
func (hb *hubs) noteWhole() error {
	if hb.ranked.whole || !hb.raises() || hb.state.Counters.Clock > 0 || hb.cfg.ctl.GetDistiller().GetLate() {
		return nil
	}
	hb.ranked.whole = true
	return hb.saveRanked()
}

// hubsDue reports whether dispatch waits for a ranking.
func (hb *hubs) hubsDue() bool {
	return hb.cfg.limits.sync && hb.ranked.whole && hb.raises() && hb.ranked.pages < distill.Boundary(hb.state.Counters.Pages, hb.cfg.limits.distillEvery)
}

func (hb *hubs) saveRanked() error {
	hb.state.Buffer = storage.AppendBool(binary.AppendUvarint(append(hb.state.Buffer[:0], rankedVersion), hb.ranked.pages), hb.ranked.whole)
	return hb.state.Store.Set(hb.state.Keys.Kind(state.KindRanked), hb.state.Buffer)
}

// loadRanked reads what saveRanked wrote.
func (hb *hubs) loadRanked() error {
	value, ok, err := hb.state.Store.Get(hb.state.Keys.Kind(state.KindRanked))
	if err != nil || !ok {
		return err
	}
	r := storage.Reader{Rest: value}
	r.Version(rankedVersion)
	hb.ranked = ranked{pages: r.U64(), whole: r.Bool()}
	if err := r.End(); err != nil {
		return fmt.Errorf("frontier: ranked hubs: %w", err)
	}
	return nil
}

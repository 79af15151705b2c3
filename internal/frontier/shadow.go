package frontier

import (
	"bytes"
	"fmt"
	"slices"

	"forager/internal/rank/rank"
	"forager/schemas"
)

// Shadows are policies that choose nothing. They have no queues: they place a URL once, when the
// leading policy has chosen it, by its links and the model at that time. Their places go into the request,
// come back with the verdict, and are copied to the leaps that the verdict settles; so no state is
// kept for them, and they are the same after a crash (docs/decisions/0108).

// maxShadows is the largest number of shadows of a crawl.
const maxShadows = 4

func newShadows(ctl *schemas.CrawlControl, policies []*rank.Policy) (shadows []*rank.Policy, err error) {
	if n := len(ctl.GetRankerShadows()); n > maxShadows {
		return nil, fmt.Errorf("%d shadows of rankers, there can be %d", n, maxShadows)
	}
	for _, p := range ctl.GetRankerShadows() {
		shadow, err := rank.New(p, ctl.GetRandomSeed())
		if err != nil {
			return nil, fmt.Errorf("shadow: %w", err)
		}
		same := func(other *rank.Policy) bool { return other.Name() == shadow.Name() }
		if slices.ContainsFunc(policies, same) || slices.ContainsFunc(shadows, same) {
			return nil, fmt.Errorf("shadow: a policy %q is there already", shadow.Name())
		}
		shadows = append(shadows, shadow)
	}
	return shadows, nil
}

// shadowed returns the place of an entry under each shadow, by all its links; nil if it has none.
func (s *Shard) shadowed(e *entry) ([]rank.Place, error) {
	if len(s.shadows) == 0 {
		return nil, nil
	}
	links, err := s.links(e)
	if err != nil || len(links) == 0 {
		return nil, err
	}
	places := make([]rank.Place, len(s.shadows))
	for i := range links {
		p, err := s.pageOf(&links[i])
		if err != nil {
			return nil, err
		}
		src, err := s.source(p, &links[i], s.asksModel)
		if err != nil {
			return nil, err
		}
		src.Raised = e.raised
		for k, shadow := range s.shadows {
			if places[k], err = shadow.Add(places[k], e.url, &src, p.number); err != nil {
				return nil, fmt.Errorf("shadow: %w", err)
			}
		}
	}
	return places, nil
}

// shadowPlaces converts the places under shadows for a request.
func (s *Shard) shadowPlaces(places []rank.Place) ([]*schemas.ShadowPlace, error) {
	var said []*schemas.ShadowPlace
	for i := range places {
		x := &schemas.ShadowPlace{Policy: s.shadows[i].Name(), Dropped: !places[i].In, Tier: places[i].Tier, Score: places[i].Score}
		if places[i].In && s.shadows[i].Learns() {
			var err error
			if x.Model, err = s.nameOf(s.using.number); err != nil {
				return nil, err
			}
		}
		said = append(said, x)
	}
	return said, nil
}

// tellShadows copies the places under shadows from a request to the leaps that the verdict on it settles.
func tellShadows(request *schemas.FetchRequest, rec *schemas.LinkFound, settled []*schemas.LeapSettled) {
	for _, leap := range settled {
		if bytes.Equal(leap.GetRequest(), rec.GetId()) {
			leap.Shadows = request.GetShadows()
		}
	}
}

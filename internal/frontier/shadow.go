package frontier

import (
	"bytes"
	"fmt"
	"slices"

	"forager/internal/rank/rank"
	"forager/schemas"
)

// Shadows are policies that choose nothing. They have no queues: a URL is placed by them once, when the
// policy that leads has chosen it, by the links and the model of that moment. What they say goes into the request,
// comes back with the verdict, and stands in the leaps that the verdict settles; so nothing of it is
// kept here, and it is the same after a crash.

// maxShadows is the number of shadows of a crawl.
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

// shadowed is where each shadow sees an entry, by all its links; nil where it has none.
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

// shadowPlaces is what a request says of shadows.
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

// tellShadows puts what shadows said at the dispatch of a request into the leaps that the verdict on it settles.
func tellShadows(request *schemas.FetchRequest, rec *schemas.LinkFound, settled []*schemas.LeapSettled) {
	for _, leap := range settled {
		if bytes.Equal(leap.GetRequest(), rec.GetId()) {
			leap.Shadows = request.GetShadows()
		}
	}
}

package place

import (
	"fmt"

	"forager/internal/frontier/state"
	"forager/internal/rank/policy"
	"forager/schemas"
)

// Shadowed returns the place of an entry under each shadow, by all its links; nil if it has none.
func (pr *Placer) Shadowed(e *state.Entry) ([]policy.Place, error) {
	if len(pr.Shadows) == 0 {
		return nil, nil
	}
	links, err := pr.state.Links(e)
	if err != nil || len(links) == 0 {
		return nil, err
	}
	places, group := make([]policy.Place, len(pr.Shadows)), pr.Groups.Group(e.URL)
	for i := range links {
		p, err := pr.pages.PageOf(&links[i])
		if err != nil {
			return nil, err
		}
		src, err := pr.source(p, &links[i], pr.AsksModel)
		if err != nil {
			return nil, err
		}
		src.Raised, src.Group = e.Raised, group
		for k, shadow := range pr.Shadows {
			if places[k], err = shadow.Add(places[k], e.URL, &src, p.Number); err != nil {
				return nil, fmt.Errorf("shadow: %w", err)
			}
		}
	}
	return places, nil
}

// ShadowPlaces converts the places under shadows for a request.
func (pr *Placer) ShadowPlaces(places []policy.Place) ([]*schemas.ShadowPlace, error) {
	var records []*schemas.ShadowPlace
	for i := range places {
		x := &schemas.ShadowPlace{Policy: pr.Shadows[i].Name(), Dropped: !places[i].In, Tier: places[i].Tier, Score: places[i].Score}
		if places[i].In && pr.Shadows[i].Learns() {
			var err error
			if x.Model, err = pr.state.NameOf(pr.Using.Number); err != nil {
				return nil, err
			}
		}
		records = append(records, x)
	}
	return records, nil
}

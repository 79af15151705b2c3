package frontier

import (
	"forager/internal/rank"
	"forager/schemas"
)

// source is a link as rankers see it, with Pr(high | u,v) where they ask for that.
func (s *Shard) source(p *page, l *link, learns bool) (rank.Source, error) {
	if p.seeds {
		return rank.Source{Seed: true}, nil
	}
	src := rank.Source{URL: p.url, Raw: p.raw, Tempered: p.tempered, Calibrated: p.calibrated, BestIsFocus: p.bestIsFocus, Expanded: p.expanded}
	if len(p.guidance) > 0 {
		src.Guided = guidedBy(p, l)
	}
	if l.anchor > 0 {
		src.Anchor, src.HasAnchor = float64(l.anchor-1)/schemas.AnchorSteps, true
	}
	switch {
	case l.scored:
		src.High, src.HasHigh, l.scored = l.high, true, false
	case learns && s.using.model != nil:
		if src.High, src.HasHigh = s.staleHigh(l); src.HasHigh {
			break
		}
		var err error
		if src.High, err = s.high(p, l); err != nil {
			return src, err
		}
		src.HasHigh = true
	}
	return src, nil
}

// modelOf is the name number of the model that policy p ranks by now.
func (s *Shard) modelOf(p int) uint32 {
	if s.policies[p].Learns() {
		return s.using.number
	}
	return 0
}

// place gives an unvisited entry the places that all its links add up to, under the newest
// generation and the model in use. An entry that no link lets in is pinned where it was requested
// or pinned before. It changes no queue.
func (s *Shard) place(e *entry) error {
	links, err := s.links(e)
	if err != nil {
		return err
	}
	tier, score, pinned := e.facts.tier, e.facts.score, e.attempt > 0
	if !pinned && len(e.places) > 0 && e.places[0].linkless() {
		tier, score, pinned = e.places[0].Tier, e.places[0].Score, true
	}
	e.places = s.noPlaces(e.places)
	for i := range links {
		p := links[i].from
		if links[i].from = nil; p == nil || s.expands {
			if p, err = s.pageOf(&links[i]); err != nil {
				return err
			}
		}
		if err := s.addPlace(e, p, &links[i]); err != nil {
			return err
		}
	}
	if pinned && !s.within(e.places) {
		s.pin(e, tier, score)
	}
	return nil
}

// pin places an entry by what its request was chosen by, under each policy that no link places it under. The entry came in
// by the verdict on a recovered request (landUnplaced), is replayed, or is where such a one redirected to: the links
// that let it in are settled or unknown, so a gate that keeps out later links must not keep out the entry.
func (s *Shard) pin(e *entry, tier uint32, score float64) {
	for p := range e.places {
		if !e.places[p].In {
			e.places[p].Place = rank.Place{In: true, Pinned: true, Tier: tier, Score: score, Best: score}
		}
	}
}

// linkless says that no link placed the entry there, but pin.
func (p *placed) linkless() bool { return p.Pinned && p.Via == 0 }

// noPlaces returns the places of an entry without links.
func (s *Shard) noPlaces(reuse []placed) []placed {
	places := reuse[:0]
	for p := range s.policies {
		places = append(places, placed{generation: s.generations[p].next, model: s.modelOf(p)})
	}
	return places
}

// addPlace folds one more link into the entry's places.
func (s *Shard) addPlace(e *entry, p *page, l *link) error {
	src, err := s.source(p, l, s.learns)
	if err != nil {
		return err
	}
	src.Raised = e.raised
	for i, policy := range s.policies {
		if e.places[i].Place, err = policy.Add(e.places[i].Place, e.url, &src, p.number); err != nil {
			return err
		}
	}
	return nil
}

// fresh says that the entry's places were made under the newest generation and the model in
// use, so that a further link can be folded into them.
func (s *Shard) fresh(e *entry) bool {
	for p := range s.policies {
		at := &e.places[p]
		if at.generation != s.generations[p].next || at.model != s.modelOf(p) || at.linkless() {
			return false
		}
	}
	return true
}

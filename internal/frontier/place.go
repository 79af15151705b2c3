package frontier

import (
	"forager/internal/rank/rank"
	"forager/schemas"
)

// source is a link as rankers see it, with Pr(high | u,v) where they ask for that.
func (s *Shard) source(p *page, l *link, learns bool) (src rank.Source, err error) {
	src = p.source(l)
	if !p.seeds && (l.scored || learns && s.using.model != nil) {
		src.High, err = s.knownHigh(p, l)
		src.HasHigh, l.scored = true, false
	}
	return src, err
}

// source is a link on the page as rankers see it that do not learn.
func (p *page) source(l *link) rank.Source {
	if p.seeds {
		return rank.Source{Seed: true}
	}
	src := rank.Source{URL: p.url, Raw: p.raw, Tempered: p.tempered, Calibrated: p.calibrated, BestIsFocus: p.bestIsFocus, Expanded: p.expanded}
	if len(p.guidance) > 0 {
		src.Guided = guidedBy(p, l)
	}
	if l.anchor > 0 {
		src.Anchor, src.HasAnchor = float64(l.anchor-1)/schemas.AnchorSteps, true
	}
	return src
}

// knownHigh is high for a link that may have been scored ahead.
func (s *Shard) knownHigh(p *page, l *link) (float64, error) {
	if l.scored {
		return l.high, nil
	}
	if high, ok := s.staleHigh(l); ok {
		return high, nil
	}
	return s.high(p, l)
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

// score is place for an entry of a pass. Where nothing but the model has changed since it was placed, the places under policies
// that do not learn stay, and of the others only the links count that lie in the entry's tier, as gates do not ask the model.
func (s *Shard) score(e *entry) error {
	if !s.onlyScores(e) {
		return s.place(e)
	}
	links, err := s.links(e)
	if err != nil {
		return err
	}
	for p, policy := range s.policies {
		at := &e.places[p]
		if !policy.Learns() {
			continue
		}
		was := at.Place
		at.generation, at.model = s.generations[p].next, s.using.number
		if was.Pinned {
			continue
		}
		at.Place = rank.Place{}
		for i := range links {
			l := &links[i]
			if l.from == nil {
				if l.from, err = s.pageOf(l); err != nil {
					return err
				}
			}
			src := l.from.source(l)
			src.Raised = e.raised
			if !policy.Counts(&src, was.Tier) {
				continue
			}
			if !src.Seed && s.using.model != nil {
				if l.high, err = s.knownHigh(l.from, l); err != nil {
					return err
				}
				src.High, src.HasHigh, l.scored = l.high, true, true // for other policies, too
			}
			if at.Place, err = policy.Add(at.Place, e.url, &src, l.from.number); err != nil {
				return err
			}
		}
	}
	for i := range links {
		links[i].from, links[i].scored = nil, false
	}
	return nil
}

// onlyScores says of a queued entry that placing it anew changes nothing but its scores under policies that learn.
func (s *Shard) onlyScores(e *entry) bool {
	if s.c.unranked > 0 || len(e.places) != len(s.policies) {
		return false
	}
	for p, policy := range s.policies {
		at := &e.places[p]
		if at.linkless() || policy.Learns() && !at.In || !policy.Learns() && at.generation != s.generations[p].next {
			return false
		}
	}
	return true
}

// wantsScore says that an entry's place depends on what a link on a page scores under the model; onlyScores holds for it.
func (s *Shard) wantsScore(e *entry, p *page, l *link) bool {
	if p.seeds {
		return false
	}
	src := p.source(l)
	for i, policy := range s.policies {
		if at := &e.places[i]; policy.Learns() && !at.Pinned && policy.Counts(&src, at.Tier) {
			return true
		}
	}
	return false
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

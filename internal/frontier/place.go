package frontier

import (
	"forager/internal/rank/rank"
	"forager/schemas"
)

// source is a link as rankers see it, with Pr(high | u,v) if learns.
func (s *Shard) source(p *page, l *link, learns bool) (src rank.Source, err error) {
	src = p.source(l)
	if !p.seeds && (l.scored || learns && s.using.model != nil) {
		src.High, err = s.knownHigh(p, l)
		src.HasHigh, l.scored = true, false
	}
	return src, err
}

// source is a link on the page as rankers that do not learn see it.
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

// knownHigh is high for a link that may have been scored in advance.
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

// place computes the places of an unvisited entry from all its links, under the newest generation and the
// model in use. An entry that no link lets in is pinned at the place by which it was requested
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

// score is place for an entry of a pass. If nothing but the model has changed since the entry was placed, the places under policies
// that do not learn stay, and under the others only the links of the entry's tier count, as gates do not depend on the model.
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

// onlyScores reports whether placing a queued entry again changes nothing but its scores under policies that learn.
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

// wantsScore reports whether an entry's place depends on the score of a link under the model; onlyScores holds for the entry.
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

// pin places an entry at the place by which its request was chosen, under each policy under which no link places it. The entry
// came in by the verdict on a recovered request (landUnplaced), is replayed, or is the target of a redirect of such a one: the links
// that let it in are settled or unknown, so a gate that refuses later links must not exclude the entry.
func (s *Shard) pin(e *entry, tier uint32, score float64) {
	for p := range e.places {
		if !e.places[p].In {
			e.places[p].Place = rank.Place{In: true, Pinned: true, Tier: tier, Score: score, Best: score}
		}
	}
}

// linkless reports whether pin placed the entry, not a link.
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

// fresh reports whether the entry's places were made under the newest generation and the model in
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

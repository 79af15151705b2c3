package frontier

import (
	"math"
	"strconv"

	"forager/internal/frontier/schedule"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// settle settles every pending leap into a final entry, in the order of discovery, and stores
// the entry.
func (s *Shard) settle(v *entry) ([]*schemas.LeapSettled, error) {
	links, err := s.dropLinks(v)
	if err != nil {
		return nil, err
	}
	var settled []*schemas.LeapSettled
	for i := range links {
		p, err := s.pageOf(&links[i])
		if err != nil {
			return nil, err
		}
		if !p.seeds {
			leap, err := s.leap(p, &links[i], v)
			if err != nil {
				return nil, err
			}
			settled = append(settled, leap)
			if err := s.touchBeside(p, &links[i], v); err != nil {
				return nil, err
			}
		}
		if err := s.settlePending(p); err != nil {
			return nil, err
		}
	}
	return settled, s.saveEntry(v)
}

// settleLate settles a leap whose target was final before its link was found. Under
// PAIRS_FORWARD there is no such leap.
func (s *Shard) settleLate(p *page, l *link, v *entry) (*schemas.LeapSettled, error) {
	if s.limits.forward {
		return nil, nil
	}
	return s.settleNow(p, l, v)
}

// settleNow settles a leap into a final entry, which did not have it pending.
func (s *Shard) settleNow(p *page, l *link, v *entry) (*schemas.LeapSettled, error) {
	if p.seeds {
		return nil, nil
	}
	s.c.links++
	trained := v.trained
	leap, err := s.leap(p, l, v)
	if err != nil || v.trained == trained {
		return leap, err
	}
	return leap, s.saveEntry(v)
}

// leap makes the record of a settled leap (u,v) and counts it. Score, policy and model are
// those of the dispatch that brought the outcome; a link that was redirected keeps its name.
func (s *Shard) leap(u *page, l *link, v *entry) (*schemas.LeapSettled, error) {
	found := v
	if l.alias != 0 {
		var err error
		if found, err = s.entry(l.alias); err != nil {
			return nil, err
		}
	}
	return s.leapNamed(u, l, v, found.url)
}

// leapNamed is leap for a link that names a URL.
func (s *Shard) leapNamed(u *page, l *link, v *entry, named string) (*schemas.LeapSettled, error) {
	policy, err := s.nameOf(v.facts.policy)
	if err != nil {
		return nil, err
	}
	version, err := s.nameOf(v.facts.model)
	if err != nil {
		return nil, err
	}
	id := schemas.LeapID(s.name.Crawl, u.url, named)
	request := schemas.RequestID(s.name.Crawl, v.url, v.attempt)
	leap := &schemas.LeapSettled{
		Id: id.Bytes(), Crawl: s.name.Crawl, Shard: s.name.Shard, U: u.url, V: named,
		Outcome: v.outcome, TargetRaw: v.raw, TargetTempered: v.tempered,
		SourceRaw: u.raw, SourceTempered: u.tempered,
		Score: v.facts.score, Policy: policy, Model: version,
		Request: request.Bytes(), Pages: s.c.pages,
		Forward: u.number <= v.facts.clock,
	}
	// A link that redirects back to its own page is settled and does not train; nor do backlinks, which are not on the page.
	leap.Trains = !l.backlink() && schemas.Outcomes[v.outcome].Trains && (leap.Forward || !s.limits.forward) &&
		v.trained < s.limits.pairs && u.url != v.url && math.Abs(u.raw-v.raw) >= s.limits.active
	if leap.Trains {
		v.trained++
		s.c.trained++
	}
	s.c.leaps++
	s.c.spans[spanSettled].add(id)
	if s.options.Features == FeaturesOfAll || s.options.Features == FeaturesOfLessons && leap.Trains {
		leap.Features, err = s.teaching(u, l, v)
	}
	return leap, err
}

// teaching are the features of a leap, as they were when v was requested.
func (s *Shard) teaching(u *page, l *link, v *entry) ([]*schemas.Feature, error) {
	features, err := s.features(u, l)
	if err != nil {
		return nil, err
	}
	cited, err := s.cocited(u, l, v.facts.clock)
	return linkfeature.Merge(features, cited), err
}

// boundaries returns the record that makes a new model due, if the pages that the crawl has delivered have reached a boundary of
// the schedule, which comes with the verdict or report that is applied. With several shards it comes from shard 0, which counts
// the pages that the others have reported. If several boundaries are passed at once, the last one counts.
func (s *Shard) boundaries(by *schemas.ModelSchedule) []*schemas.LeapSettled {
	if by == nil {
		by = s.models
	}
	pages := s.c.pages
	for _, n := range s.peers {
		pages += n
	}
	if by.GetFirst() == 0 || s.name.Shard != 0 {
		return nil
	}
	due := schedule.Last(pages, by.GetFirst(), by.GetEvery())
	if due <= s.c.boundary {
		return nil
	}
	s.c.boundary = due
	id := schemas.LeapID(s.name.Crawl, "boundary", strconv.FormatUint(due, 10))
	s.c.spans[spanSettled].add(id)
	return []*schemas.LeapSettled{{
		Id: id.Bytes(), Crawl: s.name.Crawl, Shard: s.name.Shard, Pages: due, Boundary: true,
	}}
}

// modelSchedule is when models are due by a control record.
func modelSchedule(asks bool, l *limits) *schemas.ModelSchedule {
	if !asks {
		return new(schemas.ModelSchedule)
	}
	return &schemas.ModelSchedule{First: l.switchPages, Every: l.refitPages}
}

package frontier

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"forager/internal/rank/linkfeature"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// shardOf is the shard that a canonical URL belongs to.
func (s *Shard) shardOf(url string) uint32 {
	if s.limits.shards <= 1 {
		return s.name.Shard
	}
	return schemas.ShardOf(weburl.Host(url), s.limits.shards)
}

// Shards is the number of shards of the crawl, by its control record.
func (s *Shard) Shards() uint32 { return s.limits.shards }

// outbound are links of a page to the hosts of one other shard, their indices on the page, and
// the critic's scores of their texts, if there are any.
type outbound struct {
	links   []*schemas.Link
	indices []uint32
	anchors []uint32
}

// with adds a link with its index and link.anchor; o may be nil.
func (o *outbound) with(l *schemas.Link, index, anchor uint32) *outbound {
	if o == nil {
		o = new(outbound)
	}
	o.links, o.indices = append(o.links, l), append(o.indices, index)
	if anchor > 0 {
		o.anchors = append(o.anchors, anchor-1)
	}
	return o
}

// sendLinks sends links of a page to other shards, one record to each.
func (s *Shard) sendLinks(p *page, to map[uint32]*outbound, depth uint32, rec *schemas.LinkFound) error {
	if len(to) == 0 {
		return nil
	}
	table, err := linkfeature.Open(rec.GetTable())
	if err != nil {
		return err
	}
	page, err := schemas.ParseID(rec.GetId())
	if err != nil {
		return err
	}
	for _, k := range slices.Sorted(maps.Keys(to)) {
		s.send(k, p, to[k], &schemas.LinkFound{
			Id: schemas.LinksID(page, k).Bytes(), Links: to[k].links, Table: table.Cut(to[k].links, s.limits.dMax, s.limits.families), Depth: depth,
		})
	}
	return nil
}

// send completes a record with the facts of the page that the other shard needs, and sends it.
func (s *Shard) send(to uint32, p *page, o *outbound, rec *schemas.LinkFound) {
	rec.Role, rec.Crawl, rec.Shard, rec.From = schemas.LinkRole_LINK_ROLE_LINKS, s.name.Crawl, to, s.name.Shard
	rec.Outcome = schemas.Outcome_OUTCOME_SEEDS
	if !p.seeds {
		rec.Outcome, rec.Url = schemas.Outcome_OUTCOME_DELIVERED, p.url
		rec.Judgement = &schemas.Judgement{Raw: p.raw, Tempered: p.tempered, Calibrated: p.calibrated, BestIsFocus: p.bestIsFocus, Anchors: o.anchors, Guidance: guidanceFor(p.guidance, o.indices)}
	}
	s.sends = append(s.sends, rec)
}

// maxMoves is how often a link is sent from shard to shard. It ends cycles of redirects through several
// shards, which no shard can see.
const maxMoves = 2 * maxHops

// moveTo takes v, which redirects to a URL on a host of another shard: the leaps into v
// are sent there. That shard decides whether the target is new and in scope.
func (s *Shard) moveTo(v *entry, target string) ([]*schemas.LeapSettled, error) {
	v.state, v.moved, v.places = stateMoved, target, nil
	links, err := s.dropLinks(v)
	if err != nil {
		return nil, err
	}
	if err := s.saveEntry(v); err != nil {
		return nil, err
	}
	if len(links) == 0 {
		rec, err := s.movedBy(v, v)
		if err != nil {
			return nil, err
		}
		rec.Depth, rec.Moved.Linkless, rec.Moved.Moves = v.depth, true, 1
		s.sendMoved(&page{seeds: true}, new(link), rec)
		return nil, nil
	}
	return s.moveAll(v, v, links)
}

// moveAll sends the pending links of entry v on, by entry e, which has moved: v itself or the target of v's
// redirect.
func (s *Shard) moveAll(e, v *entry, links []link) ([]*schemas.LeapSettled, error) {
	var settled []*schemas.LeapSettled
	for i := range links {
		l := &links[i]
		if e != v && l.alias == 0 {
			l.alias = v.ordinal
		}
		p, err := s.pageOf(l)
		if err != nil {
			return nil, err
		}
		if !p.seeds {
			s.c.links-- // it is counted in the other shard, or again below
		}
		leap, err := s.move(e, p, l, v.depth, 0)
		if err != nil {
			return nil, err
		}
		if leap != nil {
			settled = append(settled, leap)
		}
		if err := s.settlePending(p); err != nil {
			return nil, err
		}
	}
	return settled, nil
}

// move sends a link to the entry e, which has moved, on to the target of e; it was moved moves
// times before. A link that was moved too often is in a cycle: then it is settled, and e is final.
func (s *Shard) move(e *entry, p *page, l *link, depth, moves uint32) (*schemas.LeapSettled, error) {
	if moves >= maxMoves {
		e.state, e.outcome, e.moved = stateFinal, schemas.Outcome_OUTCOME_BAD_REDIRECT, ""
		leap, err := s.settleNow(p, l, e)
		if err != nil {
			return nil, err
		}
		return leap, s.saveEntry(e)
	}
	named := e
	if l.alias != 0 {
		var err error
		if named, err = s.entry(l.alias); err != nil {
			return nil, err
		}
	}
	rec, err := s.movedBy(e, named)
	if err != nil {
		return nil, err
	}
	rec.Depth, rec.Moved.Forward, rec.Moved.Moves = depth, p.number <= e.facts.clock, moves+1
	rec.Links[0].FirstLeaf, rec.Links[0].LastLeaf = l.first, l.last
	if !p.seeds {
		table, err := s.table(p)
		if err != nil {
			return nil, err
		}
		rec.Table = table.Cut(rec.Links, s.limits.dMax, s.limits.families)
	}
	s.sendMoved(p, l, rec)
	return nil, nil
}

// movedBy makes the record of a link that names a URL and is sent to the target of e.
func (s *Shard) movedBy(e, named *entry) (*schemas.LinkFound, error) {
	policy, err := s.nameOf(e.facts.policy)
	if err != nil {
		return nil, err
	}
	version, err := s.nameOf(e.facts.model)
	if err != nil {
		return nil, err
	}
	return &schemas.LinkFound{
		Links: []*schemas.Link{{Url: e.moved}},
		Moved: &schemas.MovedLink{
			Named: named.url, By: e.url, Attempt: e.attempt, Hops: e.hops + 1,
			Score: e.facts.score, Tier: e.facts.tier, Policy: policy, Model: version,
		},
	}, nil
}

// sendMoved sends a link of a page to the shard of a redirect's target.
func (s *Shard) sendMoved(p *page, l *link, rec *schemas.LinkFound) {
	target := rec.GetLinks()[0].GetUrl()
	rec.Moved.Clock = s.c.clock
	rec.Id = schemas.MovedID(s.name.Crawl, p.url, target, rec.GetMoved()).Bytes()
	var o *outbound
	s.send(s.shardOf(target), p, o.with(rec.GetLinks()[0], l.index, l.anchor), rec)
}

// applyForeign takes links that another shard has sent, once.
func (s *Shard) applyForeign(id schemas.ID, rec *schemas.LinkFound) (settled []*schemas.LeapSettled, duplicate bool, err error) {
	if duplicate, err := s.once(id); err != nil || duplicate {
		return nil, duplicate, err
	}
	s.c.clock++
	j := rec.GetJudgement()
	p := &page{
		number: s.c.clock, url: rec.GetUrl(), seeds: rec.GetOutcome() == schemas.Outcome_OUTCOME_SEEDS,
		raw: j.GetRaw(), tempered: j.GetTempered(), calibrated: j.GetCalibrated(), bestIsFocus: j.GetBestIsFocus(),
	}
	if rec.GetMoved() == nil {
		settled, err = s.applyLinks(p, nil, rec.GetDepth(), rec)
		return settled, false, err
	}
	if err := s.addPage(p, rec.GetTable()); err != nil {
		return nil, false, err
	}
	leap, err := s.applyMoved(p, rec)
	if err != nil {
		return nil, false, err
	}
	if leap != nil {
		settled = append(settled, leap)
	}
	return settled, false, s.keepPage(p)
}

// applyMoved takes the one link of a page that a redirect brought here.
func (s *Shard) applyMoved(p *page, rec *schemas.LinkFound) (*schemas.LeapSettled, error) {
	if len(rec.GetLinks()) != 1 {
		return nil, fmt.Errorf("a redirect brings %d links, not one", len(rec.GetLinks()))
	}
	err := Fit(rec)
	if err != nil {
		return nil, err
	}
	p.guidance = guidanceOf(rec)
	found, m := rec.GetLinks()[0], rec.GetMoved()
	l := &link{page: p.number, first: found.GetFirstLeaf(), last: found.GetLastLeaf(), anchor: anchorOf(rec, 0)}
	e, known, err := s.target(found.GetUrl(), rec.GetDepth(), m.GetHops())
	if err != nil {
		return nil, err
	}
	if m.GetLinkless() {
		if known || e == nil {
			return nil, nil
		}
		e.places = s.noPlaces(nil)
		s.pin(e, m.GetTier(), m.GetScore())
		return nil, s.queue(e)
	}
	if e == nil {
		return s.turnedAway(p, l, m)
	}
	if l.alias, err = s.alias(m.GetNamed(), e.ordinal); err != nil {
		return nil, err
	}
	if l.alias == e.ordinal {
		l.alias = 0 // the redirects came back to the URL that the link names
	}
	if !known {
		return nil, s.enter(e, p, l)
	}
	return s.join(e, p, l, rec.GetDepth(), m.GetMoves())
}

// target returns the entry that a redirect leads to, discovered if it was not seen before; nil
// if it may not be fetched.
func (s *Shard) target(url string, depth, hops uint32) (e *entry, known bool, err error) {
	if e, err = s.seen(url); err != nil {
		return nil, false, err
	}
	if e != nil {
		e, err = s.resolve(e)
		return e, true, err
	}
	if reason := s.scope.Check(url, depth); reason != "" {
		s.c.refused[reason]++
		return nil, false, nil
	}
	e, err = s.admit(url, depth, hops)
	return e, false, err
}

// alias returns the ordinal of the entry of a URL that redirected, maybe in another shard, to entry target; the entry
// keeps the URL.
func (s *Shard) alias(url string, target uint64) (uint64, error) {
	a, err := s.seen(url)
	if err != nil {
		return 0, err
	}
	if a != nil {
		return a.ordinal, nil
	}
	if a, err = s.discover(url, 0, 0); err != nil {
		return 0, err
	}
	a.state, a.target = stateAlias, target
	return a.ordinal, s.saveEntry(a)
}

// turnedAway settles a leap whose redirect leads to a URL that may not be fetched, as a redirect within
// the shard is (redirect.go), with the other shard's facts of the dispatch.
func (s *Shard) turnedAway(p *page, l *link, m *schemas.MovedLink) (*schemas.LeapSettled, error) {
	if p.seeds {
		return nil, nil
	}
	v := &entry{url: m.GetBy(), state: stateFinal, outcome: schemas.Outcome_OUTCOME_REDIRECTED, attempt: m.GetAttempt()}
	var err error
	if v.facts.policy, err = s.nameNumber(m.GetPolicy()); err != nil {
		return nil, err
	}
	if v.facts.model, err = s.nameNumber(m.GetModel()); err != nil {
		return nil, err
	}
	v.facts.score = m.GetScore()
	if m.GetForward() {
		v.facts.clock = math.MaxUint64
	}
	s.c.links++
	return s.leapNamed(p, l, v, m.GetNamed())
}

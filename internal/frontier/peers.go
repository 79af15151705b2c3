package frontier

import (
	"maps"
	"math"
	"slices"

	"forager/internal/frontier/state"
	"forager/internal/rank/linkfeature"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// shardOf is the shard that a canonical URL belongs to.
func (px *peers) shardOf(url string) uint32 {
	if px.cfg.limits.shards <= 1 {
		return px.state.Name.Shard
	}
	return schemas.ShardOf(weburl.Host(url), px.cfg.limits.shards)
}

// Shards is the number of shards of the crawl, by its control record.
func (s *Shard) Shards() uint32 { return s.cfg.limits.shards }

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
func (px *peers) sendLinks(p *state.Page, to map[uint32]*outbound, depth uint32, rec *schemas.LinkFound) error {
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
		px.send(k, p, to[k], &schemas.LinkFound{
			Id: schemas.LinksID(page, k).Bytes(), Links: to[k].links, Table: table.Cut(to[k].links, px.cfg.limits.dMax, px.cfg.limits.families), Depth: depth,
		})
	}
	return nil
}

// send completes a record with the facts of the page that the other shard needs, and sends it.
func (px *peers) send(to uint32, p *state.Page, o *outbound, rec *schemas.LinkFound) {
	rec.Role, rec.Crawl, rec.Shard, rec.From = schemas.LinkRole_LINK_ROLE_LINKS, px.state.Name.Crawl, to, px.state.Name.Shard
	rec.Outcome = schemas.Outcome_OUTCOME_SEEDS
	if !p.Seeds {
		rec.Outcome, rec.Url = schemas.Outcome_OUTCOME_DELIVERED, p.URL
		rec.Judgement = &schemas.Judgement{Raw: p.Raw, Tempered: p.Tempered, Calibrated: p.Calibrated, LogOdds: &p.LogOdds, TopicLogOdds: &p.TopicLogOdds, BestIsFocus: p.BestIsFocus, Anchors: o.anchors, Guidance: guidanceFor(p.Guidance, o.indices)}
	}
	px.sends = append(px.sends, rec)
}

// maxMoves is how often a link is sent from shard to shard. It ends cycles of redirects through several
// shards, which no shard can see.
const maxMoves = 2 * maxHops

// moveTo takes v, which redirects to a URL on a host of another shard: the leaps into v
// are sent there. That shard decides whether the target is new and in scope.
func (ap *applier) moveTo(v *state.Entry, target string) ([]*schemas.LeapSettled, error) {
	v.State, v.Moved, v.Places = state.Moved, target, nil
	links, err := ap.state.DropLinks(v)
	if err != nil {
		return nil, err
	}
	if err := ap.state.SaveEntry(v); err != nil {
		return nil, err
	}
	if len(links) == 0 {
		rec, err := ap.peers.movedBy(v, v)
		if err != nil {
			return nil, err
		}
		rec.Depth, rec.Moved.Linkless, rec.Moved.Moves = v.Depth, true, 1
		ap.peers.sendMoved(&state.Page{Seeds: true}, new(state.Link), rec)
		return nil, nil
	}
	return ap.moveAll(v, v, links)
}

// moveAll sends the pending links of entry v on, by entry e, which has moved: v itself or the target of v's
// redirect.
func (ap *applier) moveAll(e, v *state.Entry, links []state.Link) ([]*schemas.LeapSettled, error) {
	var settled []*schemas.LeapSettled
	for i := range links {
		l := &links[i]
		if e != v && l.Alias == 0 {
			l.Alias = v.Ordinal
		}
		p, err := ap.pages.PageOf(l)
		if err != nil {
			return nil, err
		}
		if !p.Seeds {
			ap.state.Counters.Links-- // it is counted in the other shard, or again below
		}
		leap, err := ap.move(e, p, l, v.Depth, 0)
		if err != nil {
			return nil, err
		}
		if leap != nil {
			settled = append(settled, leap)
		}
		if err := ap.pages.SettlePending(p); err != nil {
			return nil, err
		}
	}
	return settled, nil
}

// move sends a link to the entry e, which has moved, on to the target of e; it was moved moves
// times before. A link that was moved too often is in a cycle: then it is settled, and e is final.
func (ap *applier) move(e *state.Entry, p *state.Page, l *state.Link, depth, moves uint32) (*schemas.LeapSettled, error) {
	if moves >= maxMoves {
		e.State, e.Outcome, e.Moved = state.Final, schemas.Outcome_OUTCOME_BAD_REDIRECT, ""
		leap, err := ap.ledger.settleNow(p, l, e)
		if err != nil {
			return nil, err
		}
		return leap, ap.state.SaveEntry(e)
	}
	named := e
	if l.Alias != 0 {
		var err error
		if named, err = ap.state.Entry(l.Alias); err != nil {
			return nil, err
		}
	}
	rec, err := ap.peers.movedBy(e, named)
	if err != nil {
		return nil, err
	}
	rec.Depth, rec.Moved.Forward, rec.Moved.Moves = depth, p.Number <= e.Facts.Clock, moves+1
	rec.Links[0].FirstLeaf, rec.Links[0].LastLeaf = l.First, l.Last
	if !p.Seeds {
		table, err := ap.pages.Table(p)
		if err != nil {
			return nil, err
		}
		rec.Table = table.Cut(rec.Links, ap.cfg.limits.dMax, ap.cfg.limits.families)
	}
	ap.peers.sendMoved(p, l, rec)
	return nil, nil
}

// movedBy makes the record of a link that names a URL and is sent to the target of e.
func (px *peers) movedBy(e, named *state.Entry) (*schemas.LinkFound, error) {
	policy, err := px.state.NameOf(e.Facts.Policy)
	if err != nil {
		return nil, err
	}
	version, err := px.state.NameOf(e.Facts.Model)
	if err != nil {
		return nil, err
	}
	return &schemas.LinkFound{
		Links: []*schemas.Link{{Url: e.Moved}},
		Moved: &schemas.MovedLink{
			Named: named.URL, By: e.URL, Attempt: e.Attempt, Hops: e.Hops + 1,
			Score: e.Facts.Score, Tier: e.Facts.Tier, Policy: policy, Model: version,
		},
	}, nil
}

// sendMoved sends a link of a page to the shard of a redirect's target.
func (px *peers) sendMoved(p *state.Page, l *state.Link, rec *schemas.LinkFound) {
	target := rec.GetLinks()[0].GetUrl()
	rec.Moved.Clock = px.state.Counters.Clock
	rec.Id = schemas.MovedID(px.state.Name.Crawl, p.URL, target, rec.GetMoved()).Bytes()
	var o *outbound
	px.send(px.shardOf(target), p, o.with(rec.GetLinks()[0], l.Index, l.Anchor), rec)
}

// applyPeerLinks takes links of a page of another shard, once.
func (ap *applier) applyPeerLinks(rec schemas.PeerLinks) (settled []*schemas.LeapSettled, duplicate bool, err error) {
	p, duplicate, err := ap.peerPage(rec)
	if err != nil || duplicate {
		return nil, duplicate, err
	}
	settled, err = ap.applyLinks(p, nil, rec.GetDepth(), rec.Record())
	return settled, false, err
}

// peerPage returns the page of another shard that a record is about; nil if the record was taken before.
func (ap *applier) peerPage(rec schemas.PeerLinks) (p *state.Page, duplicate bool, err error) {
	if duplicate, err := ap.state.Once(rec.ID()); err != nil || duplicate {
		return nil, duplicate, err
	}
	ap.state.Counters.Clock++
	j := rec.GetJudgement()
	p = &state.Page{
		Number: ap.state.Counters.Clock, URL: rec.GetUrl(), Seeds: rec.GetOutcome() == schemas.Outcome_OUTCOME_SEEDS,
		Raw: j.GetRaw(), Tempered: j.GetTempered(), Calibrated: j.GetCalibrated(), BestIsFocus: j.GetBestIsFocus(),
	}
	p.LogOdds, p.TopicLogOdds = schemas.LogOddsOf(j)
	return p, false, nil
}

// applyPeerRedirect takes the one link of a page that a redirect brought here, once.
func (ap *applier) applyPeerRedirect(rec schemas.PeerRedirect) (settled []*schemas.LeapSettled, duplicate bool, err error) {
	p, duplicate, err := ap.peerPage(schemas.PeerLinks(rec))
	if err != nil || duplicate {
		return nil, duplicate, err
	}
	if err := ap.pages.AddPage(p, rec.Record().GetTable()); err != nil {
		return nil, false, err
	}
	leap, err := ap.applyMoved(p, rec)
	if err != nil {
		return nil, false, err
	}
	if leap != nil {
		settled = append(settled, leap)
	}
	return settled, false, ap.pages.KeepPage(p)
}

// applyMoved adds the link to the target of its redirect.
func (ap *applier) applyMoved(p *state.Page, rec schemas.PeerRedirect) (*schemas.LeapSettled, error) {
	if err := Fit(rec.Record()); err != nil {
		return nil, err
	}
	p.Guidance = guidanceOf(rec.Record())
	found, m := rec.Link(), rec.GetMoved()
	l := &state.Link{Page: p.Number, First: found.GetFirstLeaf(), Last: found.GetLastLeaf(), Anchor: state.AnchorOf(rec.Record(), 0)}
	e, known, err := ap.target(found.GetUrl(), rec.GetDepth(), m.GetHops())
	if err != nil {
		return nil, err
	}
	if m.GetLinkless() {
		if known || e == nil {
			return nil, nil
		}
		e.Places = ap.places.NoPlaces(nil)
		ap.places.Pin(e, m.GetTier(), m.GetScore())
		return nil, ap.queue(e)
	}
	if e == nil {
		return ap.turnedAway(p, l, m)
	}
	if l.Alias, err = ap.alias(m.GetNamed(), e.Ordinal); err != nil {
		return nil, err
	}
	if l.Alias == e.Ordinal {
		l.Alias = 0 // the redirects came back to the URL that the link names
	}
	if !known {
		return nil, ap.enter(e, p, l)
	}
	return ap.join(e, p, l, rec.GetDepth(), m.GetMoves())
}

// target returns the entry that a redirect leads to, discovered if it was not seen before; nil
// if it may not be fetched.
func (ap *applier) target(url string, depth, hops uint32) (e *state.Entry, known bool, err error) {
	if e, err = ap.state.Seen(url); err != nil {
		return nil, false, err
	}
	if e != nil {
		e, err = ap.state.Resolve(e)
		return e, true, err
	}
	if reason := ap.cfg.scope.Check(url, depth); reason != "" {
		ap.state.Counters.Refused[reason]++
		return nil, false, nil
	}
	e, err = ap.admit(url, depth, hops)
	return e, false, err
}

// alias returns the ordinal of the entry of a URL that redirected, maybe in another shard, to entry target; the entry
// keeps the URL.
func (ap *applier) alias(url string, target uint64) (uint64, error) {
	a, err := ap.state.Seen(url)
	if err != nil {
		return 0, err
	}
	if a != nil {
		return a.Ordinal, nil
	}
	if a, err = ap.hosts.Discover(url, 0, 0); err != nil {
		return 0, err
	}
	a.State, a.Target = state.Alias, target
	return a.Ordinal, ap.state.SaveEntry(a)
}

// turnedAway settles a leap whose redirect leads to a URL that may not be fetched, as a redirect within
// the shard is (redirect.go), with the other shard's facts of the dispatch.
func (ap *applier) turnedAway(p *state.Page, l *state.Link, m *schemas.MovedLink) (*schemas.LeapSettled, error) {
	if p.Seeds {
		return nil, nil
	}
	v := &state.Entry{URL: m.GetBy(), State: state.Final, Outcome: schemas.Outcome_OUTCOME_REDIRECTED, Attempt: m.GetAttempt()}
	var err error
	if v.Facts.Policy, err = ap.state.NameNumber(m.GetPolicy()); err != nil {
		return nil, err
	}
	if v.Facts.Model, err = ap.state.NameNumber(m.GetModel()); err != nil {
		return nil, err
	}
	v.Facts.Score = m.GetScore()
	if m.GetForward() {
		v.Facts.Clock = math.MaxUint64
	}
	ap.state.Counters.Links++
	return ap.ledger.leapNamed(p, l, v, m.GetNamed())
}

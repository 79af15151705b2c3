package frontier

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Apply takes a record of link.found: a verdict on u with the links of u, a virtual page of seeds, a request for a replay or a
// retry, or a record of another shard. Records are applied in the order of their partition; a verdict on no request in flight is a
// duplicate. The record is kept in part and must not be changed afterwards.
func (s *Shard) Apply(rec *schemas.LinkFound, now time.Time) (Effects, error) {
	if err := s.usable(); err != nil {
		return Effects{}, err
	}
	if rec.GetCrawl() != s.name.Crawl || rec.GetShard() != s.name.Shard {
		return Effects{}, fmt.Errorf("frontier: a record of %s came to shard %d of %s",
			schemas.ShardKey(rec.GetCrawl(), rec.GetShard()), s.name.Shard, s.name.Crawl)
	}
	var effects Effects
	var err error
	m := s.prepared[rec]
	s.sends, s.settling = nil, s.await(m)
	delete(s.prepared, rec)
	if m != nil && m.panicked != nil {
		return Effects{}, m.panicked
	}
	s.takeTables(s.settling)
	if rec.GetRole() == schemas.LinkRole_LINK_ROLE_NOTE {
		effects.Settled, err = s.applyNote(rec)
	} else {
		err = s.applyNamed(rec, unixMilli(now), &effects)
	}
	if err == nil {
		err = s.placeTouched()
	}
	if err == nil && !effects.Duplicate {
		err = s.observe(rec)
	}
	if err != nil {
		return Effects{}, err
	}
	effects.Sent, s.settling = s.sends, nil
	if effects.Duplicate {
		s.c.duplicates++
	}
	return effects, s.save()
}

// applyNamed takes a record that has an id.
func (s *Shard) applyNamed(rec *schemas.LinkFound, now int64, effects *Effects) error {
	id, err := schemas.ParseID(rec.GetId())
	if err != nil {
		return fmt.Errorf("frontier: verdict on %s: %w", rec.GetUrl(), err)
	}
	if rec.GetRole() == schemas.LinkRole_LINK_ROLE_LINKS {
		effects.Settled, effects.Duplicate, err = s.applyForeign(id, rec)
	} else if rec.GetOutcome() == schemas.Outcome_OUTCOME_SEEDS {
		effects.Duplicate, err = s.applySeeds(id, rec)
	} else if rec.GetOutcome() == schemas.Outcome_OUTCOME_RETRY_FAILED {
		effects.Duplicate, err = s.applyRetryFailed(id)
	} else if rec.GetOutcome() == schemas.Outcome_OUTCOME_REPLAY {
		effects.Duplicate, err = s.applyReplay(id, rec)
	} else if f, ok := s.flights[id]; ok {
		effects.Settled, err = s.applyVerdict(id, f, rec, now)
	} else {
		effects.Duplicate = true
	}
	if err != nil {
		return fmt.Errorf("apply verdict %s on %q: %w", id, rec.GetUrl(), err)
	}
	return nil
}

// applySeeds takes a virtual page of seeds, once.
func (s *Shard) applySeeds(id schemas.ID, rec *schemas.LinkFound) (duplicate bool, err error) {
	if duplicate, err := s.once(id); err != nil || duplicate {
		return duplicate, err
	}
	s.c.clock++
	s.c.seeds++
	s.c.spans[spanFound].add(id)
	_, err = s.applyLinks(&page{number: s.c.clock, seeds: true}, nil, 0, rec)
	return false, err
}

// once reports whether a record without a request was applied before, and notes it as applied.
func (s *Shard) once(id schemas.ID) (duplicate bool, err error) {
	key := s.keys.id(kindSeeds, id)
	if _, ok, err := s.store.Get(key); err != nil || ok {
		return ok, err
	}
	return false, s.store.Set(key, nil)
}

// applyVerdict takes the verdict on a request in flight.
func (s *Shard) applyVerdict(id schemas.ID, f *flight, rec *schemas.LinkFound, now int64) ([]*schemas.LeapSettled, error) {
	outcome, raw, tempered := rec.GetOutcome(), rec.GetJudgement().GetRaw(), rec.GetJudgement().GetTempered()
	consequence, known := schemas.Outcomes[outcome]
	if !known {
		return nil, fmt.Errorf("unknown outcome %v", outcome)
	}
	if consequence.Page && (rec.GetJudgement() == nil || !probability(raw) || !probability(tempered) || !probability(rec.GetJudgement().GetCalibrated())) {
		return nil, fmt.Errorf("a delivered page needs a judgement of numbers in [0,1], not %v", rec.GetJudgement())
	}
	s.c.clock++
	s.c.spans[spanFound].add(id)
	s.c.outcomes[outcome]++
	if consequence.Page {
		s.c.pages++
		s.c.raw += raw
		s.c.tempered += tempered
		if err := s.noteTarget(raw); err != nil {
			return nil, err
		}
	}
	if consequence.Request {
		s.c.requests++
	}
	queries := uint64(rec.GetJudgement().GetBacklinks().GetQueries())
	s.c.queries += queries
	s.c.requests += queries
	if consequence.Unreachable == schemas.UnreachableNothing { // else its latency is not that of the loop
		if err := s.measure(now, now-f.at); err != nil {
			return nil, err
		}
	}
	if err := s.reach(f.host, rec, now); err != nil {
		return nil, err
	}
	e, err := s.land(id, f, schemas.Deferred(outcome))
	if err != nil {
		return nil, err
	}
	var settled []*schemas.LeapSettled
	switch {
	case e == nil: // the URL went on without this attempt
	case outcome == schemas.Outcome_OUTCOME_REDIRECTED:
		settled, err = s.redirect(e, rec.GetRedirect())
	case consequence.Retry && (!consequence.Request || e.tries+1 < s.limits.attempts):
		err = s.again(e, rec, consequence.Request, now)
	default:
		settled, err = s.finish(e, rec)
	}
	if err != nil || len(settled) == 0 && !consequence.Page {
		return nil, err
	}
	// What depends on the control record under which the request was chosen is in the request.
	var request schemas.FetchRequest
	if err := proto.Unmarshal(rec.GetRequest(), &request); err != nil {
		return nil, fmt.Errorf("the request in it: %w", err)
	}
	tellShadows(&request, rec, settled)
	if consequence.Page {
		settled = append(settled, s.boundaries(request.GetModels())...)
	}
	return settled, nil
}

// unixMilli is a time as state holds it; times before 1970 do not occur.
func unixMilli(t time.Time) int64 { return max(0, t.UnixMilli()) }

func probability(p float64) bool { return p >= 0 && p <= 1 }

// finish gives the entry its final outcome, applies the links of a delivered page and settles
// the leaps into it.
func (s *Shard) finish(e *entry, rec *schemas.LinkFound) ([]*schemas.LeapSettled, error) {
	e.state, e.outcome, e.places = stateFinal, rec.GetOutcome(), nil
	e.unmark()
	var settled []*schemas.LeapSettled
	if e.outcome == schemas.Outcome_OUTCOME_DELIVERED {
		j := rec.GetJudgement()
		e.raw, e.tempered = j.GetRaw(), j.GetTempered()
		// Stored before the links are applied: one of them may be an alias of this page.
		if err := s.saveEntry(e); err != nil {
			return nil, err
		}
		if err := s.noteSince(e); err != nil {
			return nil, err
		}
		if err := s.credit(e, j); err != nil {
			return nil, err
		}
		p := &page{number: s.c.clock, url: e.url, raw: e.raw, tempered: e.tempered, calibrated: j.GetCalibrated(), bestIsFocus: j.GetBestIsFocus()}
		var err error
		if settled, err = s.applyLinks(p, e, e.depth+1, rec); err != nil {
			return nil, err
		}
	}
	own, err := s.settle(e)
	return append(settled, own...), err
}

// applyLinks takes the links of a page; depth is that of their targets; u is the page's entry, nil for a
// page of seeds or of another shard. Links to hosts of other shards are sent there.
func (s *Shard) applyLinks(p *page, u *entry, depth uint32, rec *schemas.LinkFound) ([]*schemas.LeapSettled, error) {
	links := rec.GetLinks()
	if err := Fit(rec); err != nil {
		return nil, err
	}
	p.guidance = guidanceOf(rec)
	others := make(map[uint32]*outbound)
	if err := s.addPage(p, rec.GetTable()); err != nil {
		return nil, err
	}
	if err := s.addSiblings(p, links); err != nil {
		return nil, err
	}
	var settled []*schemas.LeapSettled
	once := make(map[string]bool, len(links))
	for i, l := range links {
		if once[l.GetUrl()] || (u != nil && l.GetUrl() == u.url) {
			continue
		}
		once[l.GetUrl()] = true
		if k := s.shardOf(l.GetUrl()); k != s.name.Shard {
			others[k] = others[k].with(l, uint32(i), anchorOf(rec, i))
			continue
		}
		leap, err := s.applyLink(p, u, l, &link{
			page: p.number, index: uint32(i), first: l.GetFirstLeaf(), last: l.GetLastLeaf(), anchor: anchorOf(rec, i),
		}, depth)
		if err != nil {
			return nil, fmt.Errorf("link to %s: %w", l.GetUrl(), err)
		}
		if leap != nil {
			settled = append(settled, leap)
		}
		if err := s.evictHosts(); err != nil {
			return nil, err
		}
	}
	if err := s.sendLinks(p, others, depth, rec); err != nil {
		return nil, err
	}
	if err := s.addSiblings(p, links); err != nil {
		return nil, err
	}
	return settled, s.keepPage(p)
}

// applyLink takes one link: it is refused, settled at once, or added to its target's entry.
func (s *Shard) applyLink(p *page, u *entry, found *schemas.Link, l *link, depth uint32) (*schemas.LeapSettled, error) {
	if reason := s.scope.Check(found.GetUrl(), depth); reason != "" {
		s.c.refused[reason]++
		return nil, nil
	}
	named, err := s.foundAhead(found.GetUrl(), l, s.settling)
	if err != nil {
		return nil, err
	}
	if !p.seeds {
		s.scoredAhead(l, s.settling)
	}
	if named == nil {
		return nil, s.applyNew(p, found.GetUrl(), depth, l)
	}
	e, err := s.resolve(named)
	if err != nil {
		return nil, err
	}
	if e != named {
		l.alias = named.ordinal
	}
	if u != nil && e.ordinal == u.ordinal {
		return nil, nil // an alias of u: the page links to itself
	}
	return s.join(e, p, l, depth, 0)
}

// join adds a link to an entry that is known: the link is settled at once if the entry is final, and
// sent on if the entry redirected to another shard. moves is how often the link was sent on already.
func (s *Shard) join(e *entry, p *page, l *link, depth, moves uint32) (*schemas.LeapSettled, error) {
	switch e.state {
	case stateFinal:
		if moves > 0 {
			return s.settleNow(p, l, e)
		}
		return s.settleLate(p, l, e)
	case stateMoved:
		return s.move(e, p, l, depth, moves)
	}
	return nil, s.addLink(e, p, l, depth)
}

// applyNew enters a URL that was not seen before.
func (s *Shard) applyNew(p *page, url string, depth uint32, l *link) error {
	e, err := s.admit(url, depth, 0)
	if err != nil || e == nil {
		return err
	}
	return s.enter(e, p, l)
}

// enter queues an entry just discovered by its first link.
func (s *Shard) enter(e *entry, p *page, l *link) error {
	if _, err := s.keepLink(e, p, l); err != nil {
		return err
	}
	if adopted, err := s.adopt(e); err != nil || adopted {
		return err
	}
	e.places = s.noPlaces(nil)
	if err := s.addPlace(e, p, l); err != nil {
		return err
	}
	s.countGate(e)
	return s.queuePlaced(e)
}

// admit discovers a URL unless its host has reached its cap; then the entry is nil.
func (s *Shard) admit(url string, depth, hops uint32) (*entry, error) {
	if s.limits.hostCap > 0 && len(s.unplaced[url]) == 0 {
		h, err := s.knownHost(weburl.Host(url))
		if err != nil {
			return nil, err
		}
		if h != nil && s.full(h) {
			s.c.refused[scope.HostCap]++
			return nil, nil
		}
	}
	return s.discover(url, depth, hops)
}

// addLink adds a link to an entry that is known and not final.
func (s *Shard) addLink(e *entry, p *page, l *link, depth uint32) error {
	changed, err := s.keepLink(e, p, l)
	if err != nil {
		return err
	}
	changed = changed || depth < e.depth
	e.depth = min(depth, e.depth)
	if e.state != stateQueued {
		if changed {
			return s.saveEntry(e)
		}
		return nil
	}
	s.before = append(s.before[:0], e.places...)
	if s.fresh(e) {
		err = s.addPlace(e, p, l)
	} else {
		err = s.place(e)
	}
	if err != nil {
		return err
	}
	s.countGate(e)
	if !changed && slices.Equal(s.before, e.places) {
		return nil
	}
	if err := s.requeue(e, s.before); err != nil {
		return err
	}
	return s.saveEntry(e)
}

// keepLink keeps a link until its target is final, and reports whether the entry must be saved now.
func (s *Shard) keepLink(e *entry, p *page, l *link) (changed bool, err error) {
	p.pending++
	if !p.seeds {
		s.c.links++
	}
	if s.expands && p == s.applying {
		s.targets = append(s.targets, e.ordinal)
	}
	return s.saveLink(e, l)
}

// countGate counts a link whose target is still in no policy's queue.
func (s *Shard) countGate(e *entry) {
	if !slices.ContainsFunc(e.places, func(p placed) bool { return p.In }) {
		s.c.refused[scope.Gate]++
	}
}

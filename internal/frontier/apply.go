package frontier

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier/place"
	"forager/internal/frontier/queue"
	"forager/internal/frontier/rescore"
	"forager/internal/frontier/state"
	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// applier applies verdicts and other records of link.found.
type applier struct {
	cfg      *settings
	state    *state.Records
	pages    *state.Pages
	hosts    *queue.Hosts
	queues   *queue.Queues
	waits    *queue.Waits
	places   *place.Placer
	prefetch *rescore.Prefetcher
	excluder *rescore.Excluder
	arms     *arms
	flights  *flights
	pace     *pace
	peers    *peers
	renewal  *retraining
	ledger   *ledger
}

// Apply takes a record of link.found: a verdict on u with the links of u, a virtual page of seeds, a request for a replay or a
// retry, or a record of another shard. Records are applied in the order of their partition; a verdict on no request in flight is a
// duplicate. The record is kept in part and must not be changed afterwards.
func (s *Shard) Apply(rec *schemas.LinkFound, now time.Time) (Effects, error) {
	if err := s.usable(); err != nil {
		return Effects{}, err
	}
	if rec.GetCrawl() != s.state.Name.Crawl || rec.GetShard() != s.state.Name.Shard {
		return Effects{}, fmt.Errorf("frontier: a record of %s came to shard %d of %s",
			schemas.ShardKey(rec.GetCrawl(), rec.GetShard()), s.state.Name.Shard, s.state.Name.Crawl)
	}
	found, err := schemas.OpenFound(rec)
	if err != nil {
		return Effects{}, fmt.Errorf("frontier: %w", err)
	}
	if err := s.prefetch.Begin(rec); err != nil {
		return Effects{}, err
	}
	s.peers.sends = nil
	var effects Effects
	if err = s.applier.apply(found, unixMilli(now), &effects); err == nil {
		err = s.places.PlaceTouched()
	}
	if err == nil && !effects.Duplicate {
		err = s.learners.observe(found)
	}
	if err == nil {
		err = s.state.FillFilter()
	}
	if err != nil {
		return Effects{}, err
	}
	effects.Sent = s.peers.sends
	s.prefetch.End()
	if effects.Duplicate {
		s.state.Counters.Duplicates++
	}
	return effects, s.save()
}

// apply takes a record by its role.
func (ap *applier) apply(found schemas.Found, now int64, effects *Effects) (err error) {
	switch found := found.(type) {
	case schemas.Verdict:
		effects.Settled, effects.Duplicate, err = ap.applyVerdict(found, now)
	case schemas.Seeds:
		effects.Duplicate, err = ap.applySeeds(found)
	case schemas.Replay:
		effects.Duplicate, err = ap.applyReplay(found)
	case schemas.Retry:
		effects.Duplicate, err = ap.applyRetry(found)
	case schemas.PeerLinks:
		effects.Settled, effects.Duplicate, err = ap.applyPeerLinks(found)
	case schemas.PeerRedirect:
		effects.Settled, effects.Duplicate, err = ap.applyPeerRedirect(found)
	case schemas.PeerNote:
		effects.Settled, err = ap.applyNote(found)
	}
	if err != nil {
		return fmt.Errorf("apply %T %s on %q: %w", found, found.ID(), found.Record().GetUrl(), err)
	}
	return nil
}

// applySeeds takes a virtual page of seeds, once.
func (ap *applier) applySeeds(seeds schemas.Seeds) (duplicate bool, err error) {
	id := seeds.ID()
	if duplicate, err := ap.state.Once(id); err != nil || duplicate {
		return duplicate, err
	}
	ap.state.Counters.Clock++
	ap.state.Counters.Seeds++
	ap.state.Counters.Spans[state.SpanFound].Add(id)
	_, err = ap.applyLinks(&state.Page{Number: ap.state.Counters.Clock, Seeds: true}, nil, 0, seeds.Record())
	return false, err
}

// applyVerdict takes the verdict on a request in flight; one on another request is a duplicate.
func (ap *applier) applyVerdict(v schemas.Verdict, now int64) (settled []*schemas.LeapSettled, duplicate bool, err error) {
	id := v.ID()
	f, ok := ap.flights.byID[id]
	if !ok {
		return nil, true, nil
	}
	settled, err = ap.complete(id, f, v.Record(), now)
	return settled, false, err
}

// complete ends a request in flight by its verdict.
func (ap *applier) complete(id schemas.ID, f *flight, rec *schemas.LinkFound, now int64) ([]*schemas.LeapSettled, error) {
	outcome, raw, tempered := rec.GetOutcome(), rec.GetJudgement().GetRaw(), rec.GetJudgement().GetTempered()
	consequence := schemas.Outcomes[outcome]
	ap.state.Counters.Clock++
	ap.state.Counters.Spans[state.SpanFound].Add(id)
	ap.state.Counters.Outcomes[outcome]++
	if consequence.Page {
		ap.state.Counters.Pages++
		ap.state.Counters.Raw += raw
		ap.state.Counters.Tempered += tempered
		if err := ap.renewal.noteTarget(raw); err != nil {
			return nil, err
		}
	}
	if consequence.Request {
		ap.state.Counters.Requests++
	}
	queries := uint64(rec.GetJudgement().GetBacklinks().GetQueries())
	ap.state.Counters.Queries += queries
	ap.state.Counters.Requests += queries
	if consequence.Unreachable == schemas.UnreachableNothing { // else its latency is not that of the loop
		if err := ap.pace.measure(now, now-f.at); err != nil {
			return nil, err
		}
	}
	if err := ap.waits.Reach(f.host, rec, now); err != nil {
		return nil, err
	}
	e, err := ap.flights.complete(id, f, schemas.Deferred(outcome))
	if err != nil {
		return nil, err
	}
	// What depends on the control record under which the request was chosen is in the request.
	var request schemas.FetchRequest
	broken := proto.Unmarshal(rec.GetRequest(), &request)
	if broken == nil {
		if err := ap.ledger.noteApprentice(request.GetModels()); err != nil {
			return nil, err
		}
	}
	var settled []*schemas.LeapSettled
	switch {
	case e == nil: // the URL went on without this attempt
	case outcome == schemas.Outcome_OUTCOME_REDIRECTED:
		settled, err = ap.redirect(e, rec.GetRedirect())
	case consequence.Retry && (!consequence.Request || e.Tries+1 < ap.cfg.limits.attempts):
		err = ap.requeue(e, rec, consequence.Request, now)
	default:
		settled, err = ap.finish(e, rec)
	}
	if err != nil || len(settled) == 0 && !consequence.Page {
		return nil, err
	}
	if broken != nil {
		return nil, fmt.Errorf("the request in it: %w", broken)
	}
	copyShadows(&request, rec, settled)
	if consequence.Page {
		settled = append(settled, ap.ledger.boundaries(request.GetModels())...)
	}
	return settled, nil
}

// unixMilli is a time as state holds it; times before 1970 do not occur.
func unixMilli(t time.Time) int64 { return max(0, t.UnixMilli()) }

// finish gives the entry its final outcome, applies the links of a delivered page and settles
// the leaps into it.
func (ap *applier) finish(e *state.Entry, rec *schemas.LinkFound) ([]*schemas.LeapSettled, error) {
	e.State, e.Outcome, e.Places = state.Final, rec.GetOutcome(), nil
	e.Unmark()
	var settled []*schemas.LeapSettled
	if e.Outcome == schemas.Outcome_OUTCOME_DELIVERED {
		j := rec.GetJudgement()
		e.Raw, e.Tempered = j.GetRaw(), j.GetTempered()
		// Stored before the links are applied: one of them may be an alias of this page.
		if err := ap.state.SaveEntry(e); err != nil {
			return nil, err
		}
		if err := ap.pages.NoteSince(e); err != nil {
			return nil, err
		}
		if err := ap.arms.credit(e, j); err != nil {
			return nil, err
		}
		p := &state.Page{Number: ap.state.Counters.Clock, URL: e.URL, Raw: e.Raw, Tempered: e.Tempered, Calibrated: j.GetCalibrated(), BestIsFocus: j.GetBestIsFocus()}
		p.LogOdds, p.TopicLogOdds = schemas.LogOddsOf(j)
		var err error
		if settled, err = ap.applyLinks(p, e, e.Depth+1, rec); err != nil {
			return nil, err
		}
	}
	own, err := ap.ledger.settle(e)
	return append(settled, own...), err
}

// applyLinks takes the links of a page; depth is that of their targets; u is the page's entry, nil for a
// page of seeds or of another shard. Links to hosts of other shards are sent there.
func (ap *applier) applyLinks(p *state.Page, u *state.Entry, depth uint32, rec *schemas.LinkFound) ([]*schemas.LeapSettled, error) {
	links := rec.GetLinks()
	if err := Fit(rec); err != nil {
		return nil, err
	}
	p.Guidance = guidanceOf(rec)
	others := make(map[uint32]*outbound)
	if err := ap.pages.AddPage(p, rec.GetTable()); err != nil {
		return nil, err
	}
	if err := ap.addSiblings(p, links); err != nil {
		return nil, err
	}
	var settled []*schemas.LeapSettled
	once := make(map[string]bool, len(links))
	for i, l := range links {
		if once[l.GetUrl()] || (u != nil && l.GetUrl() == u.URL) {
			continue
		}
		once[l.GetUrl()] = true
		if k := ap.peers.shardOf(l.GetUrl()); k != ap.state.Name.Shard {
			others[k] = others[k].with(l, uint32(i), state.AnchorOf(rec, i))
			continue
		}
		leap, err := ap.applyLink(p, u, l, &state.Link{
			Page: p.Number, Index: uint32(i), First: l.GetFirstLeaf(), Last: l.GetLastLeaf(), Anchor: state.AnchorOf(rec, i),
		}, depth)
		if err != nil {
			return nil, fmt.Errorf("link to %s: %w", l.GetUrl(), err)
		}
		if leap != nil {
			settled = append(settled, leap)
		}
		if err := ap.hosts.EvictHosts(); err != nil {
			return nil, err
		}
	}
	if err := ap.peers.sendLinks(p, others, depth, rec); err != nil {
		return nil, err
	}
	if err := ap.addSiblings(p, links); err != nil {
		return nil, err
	}
	return settled, ap.pages.KeepPage(p)
}

// applyLink takes one link: it is refused, settled at once, or added to its target's entry.
func (ap *applier) applyLink(p *state.Page, u *state.Entry, found *schemas.Link, l *state.Link, depth uint32) (*schemas.LeapSettled, error) {
	if reason := ap.cfg.scope.Check(found.GetUrl(), depth); reason != "" {
		ap.state.Counters.Refused[reason]++
		return nil, nil
	}
	named, err := ap.prefetch.FoundAhead(found.GetUrl(), l)
	if err != nil {
		return nil, err
	}
	if !p.Seeds {
		ap.prefetch.ScoredAhead(l)
	}
	if named == nil {
		return nil, ap.applyNew(p, found.GetUrl(), depth, l)
	}
	e, err := ap.state.Resolve(named)
	if err != nil {
		return nil, err
	}
	if e != named {
		l.Alias = named.Ordinal
	}
	if u != nil && e.Ordinal == u.Ordinal {
		return nil, nil // an alias of u: the page links to itself
	}
	return ap.join(e, p, l, depth, 0)
}

// join adds a link to an entry that is known: the link is settled at once if the entry is final, and
// sent on if the entry redirected to another shard. moves is how often the link was sent on already.
func (ap *applier) join(e *state.Entry, p *state.Page, l *state.Link, depth, moves uint32) (*schemas.LeapSettled, error) {
	switch e.State {
	case state.Final:
		if moves > 0 {
			return ap.ledger.settleNow(p, l, e)
		}
		return ap.ledger.settleLate(p, l, e)
	case state.Moved:
		return ap.move(e, p, l, depth, moves)
	}
	return nil, ap.addLink(e, p, l, depth)
}

// applyNew enters a URL that was not seen before.
func (ap *applier) applyNew(p *state.Page, url string, depth uint32, l *state.Link) error {
	e, err := ap.admit(url, depth, 0)
	if err != nil || e == nil {
		return err
	}
	return ap.enter(e, p, l)
}

// enter queues an entry just discovered by its first link.
func (ap *applier) enter(e *state.Entry, p *state.Page, l *state.Link) error {
	if _, err := ap.keepLink(e, p, l); err != nil {
		return err
	}
	if away, err := ap.away(e); err != nil || away {
		return err
	}
	e.Places = ap.places.NoPlaces(nil)
	if err := ap.places.AddPlace(e, p, l); err != nil {
		return err
	}
	ap.countGate(e)
	return ap.queuePlaced(e)
}

// admit discovers a URL unless its host has reached its cap; then the entry is nil.
func (ap *applier) admit(url string, depth, hops uint32) (*state.Entry, error) {
	if ap.cfg.limits.hostCap > 0 && len(ap.flights.unplaced[url]) == 0 {
		h, err := ap.hosts.KnownHost(weburl.Host(url))
		if err != nil {
			return nil, err
		}
		if h != nil && ap.flights.full(h) {
			ap.state.Counters.Refused[scope.HostCap]++
			return nil, nil
		}
	}
	return ap.hosts.Discover(url, depth, hops)
}

// addLink adds a link to an entry that is known and not final.
func (ap *applier) addLink(e *state.Entry, p *state.Page, l *state.Link, depth uint32) error {
	ap.places.Before = append(ap.places.Before[:0], e.Places...)
	if e.State == state.Queued {
		if err := ap.places.Renew(e); err != nil {
			return err
		}
	}
	changed, err := ap.keepLink(e, p, l)
	if err != nil {
		return err
	}
	changed = changed || depth < e.Depth
	e.Depth = min(depth, e.Depth)
	if e.State != state.Queued {
		if changed {
			return ap.state.SaveEntry(e)
		}
		return nil
	}
	if ap.places.Fresh(e) {
		err = ap.places.AddPlace(e, p, l)
	} else {
		err = ap.places.Place(e)
	}
	if err != nil {
		return err
	}
	ap.countGate(e)
	if !changed && slices.Equal(ap.places.Before, e.Places) {
		return nil
	}
	if err := ap.queues.Requeue(e, ap.places.Before); err != nil {
		return err
	}
	return ap.state.SaveEntry(e)
}

// keepLink keeps a link until its target is final, and reports whether the entry must be saved now.
func (ap *applier) keepLink(e *state.Entry, p *state.Page, l *state.Link) (changed bool, err error) {
	p.Pending++
	if !p.Seeds {
		ap.state.Counters.Links++
	}
	if ap.places.Expands && p == ap.pages.Applying {
		ap.pages.Targets = append(ap.pages.Targets, e.Ordinal)
	}
	return ap.state.SaveLink(e, l)
}

// countGate counts a link whose target is still in no policy's queue.
func (ap *applier) countGate(e *state.Entry) {
	if !slices.ContainsFunc(e.Places, func(p state.Placed) bool { return p.In }) {
		ap.state.Counters.Refused[scope.Gate]++
	}
}

// away puts an unvisited entry into flight if its next attempt is known to be dispatched already, or excludes it if a rule of the
// crawl applies; it is stored then.
func (ap *applier) away(e *state.Entry) (bool, error) {
	if adopted, err := ap.flights.adopt(e); err != nil || adopted {
		return adopted, err
	}
	return ap.excluder.Exclude(e)
}

// queue places an unvisited entry by all its links and puts it into the queues, unless it is away. It stores the entry.
func (ap *applier) queue(e *state.Entry) error {
	if away, err := ap.away(e); err != nil || away {
		return err
	}
	if err := ap.places.Place(e); err != nil {
		return err
	}
	return ap.queuePlaced(e)
}

// queuePlaced is queue for an entry whose places are made.
func (ap *applier) queuePlaced(e *state.Entry) error {
	e.State = state.Queued
	if err := ap.queues.Enqueue(e); err != nil {
		return err
	}
	return ap.state.SaveEntry(e)
}

// addSiblings stores the links of a page that lead to URLs that were seen. It is called before the links are applied, and
// again afterwards, when all that the crawl takes are seen.
func (ap *applier) addSiblings(p *state.Page, links []*schemas.Link) error {
	if !ap.places.Families.Cocitation() || p.Seeds {
		return nil
	}
	var all []state.Sibling
	once := make(map[string]bool, len(links))
	for i, l := range links {
		if url := l.GetUrl(); url != p.URL && !once[url] && ap.peers.shardOf(url) == ap.state.Name.Shard {
			once[url] = true
			e, err := ap.state.Seen(url)
			if err != nil {
				return err
			}
			if e != nil {
				all = append(all, state.Sibling{Index: uint32(i), First: l.GetFirstLeaf(), Last: l.GetLastLeaf(), Ordinal: e.Ordinal})
			}
		}
	}
	return ap.pages.StoreSiblings(p, all)
}

// wakeEntries queues the entries whose wait is over.
func (ap *applier) wakeEntries(now int64) error {
	for {
		e, err := ap.waits.Due(now)
		if err != nil || e == nil {
			return err
		}
		if err := ap.waits.StopWaiting(e); err != nil {
			return err
		}
		if err := ap.queue(e); err != nil {
			return err
		}
		if err := ap.hosts.EvictHosts(); err != nil {
			return err
		}
	}
}

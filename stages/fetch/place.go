package main

import (
	"crypto/rand"
	"slices"
	"time"

	"forager/internal/crawl/turns"
	"forager/schemas"
)

const (
	// turnValid is how long after it was asked for a turn may be used; one that does not come in time is asked for again.
	turnValid = 30 * time.Second
	// turnSlack is added to the longest time of a request.
	turnSlack = 10 * time.Second
	// holdForTurn is the least that a request may wait for a turn, however short hold is.
	holdForTurn = 10 * time.Second
)

// place is an address as the crawls with certain limits see it, while requests wait for a turn there or have it. A
// process has at most one turn of a place at a time.
type place struct {
	address string
	limits  turns.Limits
	lanes   []*lane // that wait, in their order
	// id is the turn that was asked for; the zero id = none. It may begin if ready.
	id    turns.ID
	asked time.Time
	ready bool
	// holder is the lane that has the turn: it waits for a slot, or inUse.
	holder *lane
	inUse  bool
	// rest is the least pause at the address after the turn: that of a host that has refused.
	rest time.Duration
}

type placeKey struct {
	address string
	limits  turns.Limits
}

// valid reports whether a request may still begin in the turn that was asked for.
func (p *place) valid(now time.Time) bool { return now.Before(p.asked.Add(turnValid)) }

func (p *place) key() placeKey { return placeKey{p.address, p.limits} }

// places are the turns of a process at addresses, and those of all others as the log has them. It is part of the scheduler, under
// its lock.
type places struct {
	// lives is how long a turn lasts at most after it was asked for.
	lives  time.Duration
	send   func(*schemas.FetchTurn) // in the order of the calls; it does not block
	book   *turns.Table
	all    map[placeKey]*place
	byTurn map[turns.ID]*place
	// reviews are the times of the next reviews of networks.
	reviews map[string]time.Time
}

func newPlaces(longest time.Duration, send func(*schemas.FetchTurn)) *places {
	return &places{
		lives: turnValid + longest + turnSlack, send: send, book: turns.New(),
		all: map[placeKey]*place{}, byTurn: map[turns.ID]*place{}, reviews: map[string]time.Time{},
	}
}

// limited reports whether the task needs a turn for each of its requests.
func (t *task) limited() bool { return t.limits != turns.Limits{} }

// turnPlace returns the place at which the task needs a turn now, which is not known yet if nothing waits there; nil if it
// needs none.
func (s *scheduler) turnPlace(t *task) *place {
	if !t.limited() || t.address == "" {
		return nil
	}
	key := placeKey{t.address, t.limits}
	p := s.places.all[key]
	if p == nil {
		p = &place{address: t.address, limits: t.limits}
	}
	return p
}

// turnAt returns when a lane that begins to wait now may have its turn, if no other process needs one.
func (p *place) turnAt(now time.Time) time.Time {
	before := 0
	for _, l := range p.lanes {
		if l.live > 0 {
			before++
		}
	}
	if p.holder != nil {
		before++
	}
	return now.Add(time.Duration(before) * max(p.limits.Address, p.limits.Network))
}

// admit lets a lane of a host that may be requested wait for a slot, or first for its turn. Tasks whose turn would come too late
// are deferred.
func (s *scheduler) admit(l *lane, now time.Time) {
	for t := l.front(); t != nil; t = l.front() {
		p := s.turnPlace(t)
		if l.place != p {
			s.quit(l)
		}
		switch {
		case p == nil:
			s.queue(l)
			return
		case l.place == p:
			return
		}
		if at := p.turnAt(now); at.After(t.deadline) {
			s.leave(t)
			s.later(func() { t.job.deferred(at, "others wait for its address") })
			continue
		}
		l.place, s.places.all[p.key()] = p, p
		p.lanes = append(p.lanes, l)
		if p.id == (turns.ID{}) {
			s.askTurn(p, now)
		}
		s.proceed(p, now)
		return
	}
}

// quit ends the waiting of a lane for a turn.
func (s *scheduler) quit(l *lane) {
	p := l.place
	if p == nil {
		return
	}
	l.place = nil
	p.lanes = slices.DeleteFunc(p.lanes, func(x *lane) bool { return x == l })
	if p.holder == l && !p.inUse {
		p.holder = nil
		s.proceed(p, time.Now())
	}
}

// proceed gives a turn that may begin to the first lane that can use it; if there is none it ends unused.
func (s *scheduler) proceed(p *place, now time.Time) {
	if !p.ready || p.holder != nil {
		return
	}
	if !p.valid(now) {
		s.missed(p, now)
		return
	}
	var others []*host
	for p.holder == nil && len(p.lanes) > 0 {
		l := p.lanes[0]
		p.lanes[0], p.lanes = nil, p.lanes[1:]
		t := l.front()
		if t != nil && s.turnPlace(t) == p && l.host.free() && !s.earliest(l.host, now).After(now) {
			p.holder = l
			s.queue(l)
			break
		}
		l.place = nil
		others = append(others, l.host)
	}
	if p.holder == nil {
		s.endTurn(p, true, now)
	}
	for _, h := range others {
		s.offer(h)
	}
}

// askTurn asks for a turn of a place that has none.
func (s *scheduler) askTurn(p *place, now time.Time) {
	_, _ = rand.Read(p.id[:]) // it does not fail
	p.asked = now
	id := p.id
	s.places.byTurn[id] = p
	r := p.record()
	r.LivesMs = uint32(s.places.lives.Milliseconds())
	s.places.send(r)
	s.at(now.Add(turnValid), func() {
		if p.id == id && !p.inUse {
			s.missed(p, time.Now())
		}
	})
}

// missed ends a turn that was not used in time, and asks for another one where requests wait.
func (s *scheduler) missed(p *place, now time.Time) {
	if l := p.holder; l != nil {
		p.holder, p.lanes = nil, append([]*lane{l}, p.lanes...)
	}
	p.lanes = slices.DeleteFunc(p.lanes, func(l *lane) bool {
		if l.front() != nil {
			return false
		}
		l.place = nil
		return true
	})
	s.endTurn(p, true, now)
}

// endTurn ends a turn, and asks for the next one if requests wait.
func (s *scheduler) endTurn(p *place, unused bool, now time.Time) {
	r := p.record()
	r.End, r.Unused = true, unused
	if p.limits.Address > 0 {
		r.AddressDelayMs = max(r.AddressDelayMs, uint32(p.rest.Milliseconds()))
	}
	s.places.send(r)
	delete(s.places.byTurn, p.id)
	p.id, p.ready, p.holder, p.inUse, p.rest = turns.ID{}, false, nil, false, 0
	if len(p.lanes) > 0 {
		s.askTurn(p, now)
	} else {
		delete(s.places.all, p.key())
	}
}

func (p *place) record() *schemas.FetchTurn {
	return &schemas.FetchTurn{
		Id: slices.Clone(p.id[:]), Address: p.address,
		AddressDelayMs: uint32(p.limits.Address.Milliseconds()), NetworkDelayMs: uint32(p.limits.Network.Milliseconds()),
	}
}

// takeTurn takes a record of the log of turns that was read at a time.
func (s *scheduler) takeTurn(at time.Time, r *schemas.FetchTurn) error {
	s.mu.Lock()
	defer s.unlock()
	network, err := s.places.book.Read(at, r)
	if err == nil {
		s.review(network)
	}
	return err
}

// review finds the turns of this process in a network that may begin now.
func (s *scheduler) review(network string) {
	now := time.Now()
	var ready []*place
	var next time.Time
	again := s.places.book.Next(network, now, func(id turns.ID, from time.Time) {
		switch p := s.places.byTurn[id]; {
		case p == nil || p.ready:
		case !from.After(now):
			ready = append(ready, p)
		default:
			if next.IsZero() || from.Before(next) {
				next = from
			}
		}
	})
	if len(s.places.byTurn) > 0 && !again.IsZero() && (next.IsZero() || again.Before(next)) {
		next = again
	}
	if at := s.places.reviews[network]; !next.IsZero() && (at.IsZero() || next.Before(at)) {
		s.places.reviews[network] = next
		s.at(next, func() {
			if s.places.reviews[network].Equal(next) {
				delete(s.places.reviews, network)
				s.review(network)
			}
		})
	}
	for _, p := range ready {
		p.ready = true
		s.proceed(p, now)
	}
}

// endTurns ends all turns: the process ends.
func (s *scheduler) endTurns() {
	for _, p := range s.places.byTurn {
		p.lanes = nil
		s.endTurn(p, !p.inUse, time.Now())
	}
}

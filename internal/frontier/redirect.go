package frontier

import (
	"slices"

	"forager/internal/web/weburl"
	"forager/schemas"
)

// maxHops is the number of redirects followed in a row.
const maxHops = 10

// redirect decides what becomes of v, which redirects to a target t. If t may be fetched, or is known
// already, v becomes its alias: the leaps into v are leaps into t from now on (each keeps the
// link as it was found), and nothing is charged. Otherwise v is final without a relevance:
// REDIRECTED if t may not be fetched, BAD_REDIRECT if there is no t, if it leads
// back to v, or after more than maxHops redirects.
func (s *Shard) redirect(v *entry, target string) ([]*schemas.LeapSettled, error) {
	end := func(o schemas.Outcome) ([]*schemas.LeapSettled, error) {
		v.state, v.outcome = stateFinal, o
		return s.settle(v)
	}
	raised := v.unmark()
	u, err := weburl.Parse(target)
	if err != nil || v.hops+1 > maxHops {
		return end(schemas.Outcome_OUTCOME_BAD_REDIRECT)
	}
	if s.shardOf(u.String()) != s.name.Shard {
		return s.moveTo(v, u.String())
	}
	t, err := s.seen(u.String())
	if err != nil {
		return nil, err
	}
	known := t != nil
	if known {
		if t, err = s.resolve(t); err != nil {
			return nil, err
		}
		if t.ordinal == v.ordinal {
			return end(schemas.Outcome_OUTCOME_BAD_REDIRECT)
		}
	} else {
		if reason := s.scope.Check(u.String(), v.depth); reason != "" {
			s.c.refused[reason]++
			return end(schemas.Outcome_OUTCOME_REDIRECTED)
		}
		if t, err = s.admit(u.String(), v.depth, v.hops+1); err != nil {
			return nil, err
		}
		if t == nil {
			return end(schemas.Outcome_OUTCOME_REDIRECTED)
		}
	}
	v.state, v.target = stateAlias, t.ordinal
	if err := s.noteSince(v); err != nil {
		return nil, err
	}
	links, err := s.dropLinks(v)
	if err != nil {
		return nil, err
	}
	if err := s.saveEntry(v); err != nil {
		return nil, err
	}
	if raised { // hubs link to the target of v, which is saved below
		t.mark()
	}
	if t.state == stateMoved {
		return s.moveAll(t, v, links)
	}
	for i := range links {
		if links[i].alias == 0 {
			links[i].alias = v.ordinal
		}
		if _, err := s.saveLink(t, &links[i]); err != nil { // t is saved below
			return nil, err
		}
	}
	t.depth = min(t.depth, v.depth)
	switch {
	case !known:
		if len(links) == 0 {
			t.places = s.noPlaces(nil)
			s.pin(t, v.facts.tier, v.facts.score)
		}
		return nil, s.queue(t)
	case t.state == stateFinal:
		return s.settle(t)
	case t.state != stateQueued:
		return nil, s.saveEntry(t)
	}
	before := slices.Clone(t.places)
	if err := s.place(t); err != nil {
		return nil, err
	}
	if err := s.requeue(t, before); err != nil {
		return nil, err
	}
	return nil, s.saveEntry(t)
}

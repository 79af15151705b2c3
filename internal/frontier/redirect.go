package frontier

import (
	"slices"

	"forager/internal/frontier/state"
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
func (ap *applier) redirect(v *state.Entry, target string) ([]*schemas.LeapSettled, error) {
	end := func(o schemas.Outcome) ([]*schemas.LeapSettled, error) {
		v.State, v.Outcome = state.Final, o
		return ap.ledger.settle(v)
	}
	raised := v.Unmark()
	u, err := weburl.Parse(target)
	if err != nil || v.Hops+1 > maxHops {
		return end(schemas.Outcome_OUTCOME_BAD_REDIRECT)
	}
	if ap.peers.shardOf(u.String()) != ap.state.Name.Shard {
		return ap.moveTo(v, u.String())
	}
	t, err := ap.state.Seen(u.String())
	if err != nil {
		return nil, err
	}
	known := t != nil
	if known {
		if t, err = ap.state.Resolve(t); err != nil {
			return nil, err
		}
		if t.Ordinal == v.Ordinal {
			return end(schemas.Outcome_OUTCOME_BAD_REDIRECT)
		}
	} else {
		if reason := ap.cfg.scope.Check(u.String(), v.Depth); reason != "" {
			ap.state.Counters.Refused[reason]++
			return end(schemas.Outcome_OUTCOME_REDIRECTED)
		}
		if t, err = ap.admit(u.String(), v.Depth, v.Hops+1); err != nil {
			return nil, err
		}
		if t == nil {
			return end(schemas.Outcome_OUTCOME_REDIRECTED)
		}
	}
	v.State, v.Target = state.Alias, t.Ordinal
	if err := ap.pages.NoteSince(v); err != nil {
		return nil, err
	}
	links, err := ap.state.DropLinks(v)
	if err != nil {
		return nil, err
	}
	if err := ap.state.SaveEntry(v); err != nil {
		return nil, err
	}
	if raised { // hubs link to the target of v, which is saved below
		t.Mark()
	}
	if t.State == state.Moved {
		return ap.moveAll(t, v, links)
	}
	for i := range links {
		if links[i].Alias == 0 {
			links[i].Alias = v.Ordinal
		}
		if _, err := ap.state.SaveLink(t, &links[i]); err != nil { // t is saved below
			return nil, err
		}
	}
	t.Depth = min(t.Depth, v.Depth)
	switch {
	case !known:
		if len(links) == 0 {
			t.Places = ap.places.NoPlaces(nil)
			ap.places.Pin(t, v.Facts.Tier, v.Facts.Score)
		}
		return nil, ap.queue(t)
	case t.State == state.Final:
		return ap.ledger.settle(t)
	case t.State != state.Queued:
		return nil, ap.state.SaveEntry(t)
	}
	before := slices.Clone(t.Places)
	if err := ap.places.Place(t); err != nil {
		return nil, err
	}
	if err := ap.queues.Requeue(t, before); err != nil {
		return nil, err
	}
	return nil, ap.state.SaveEntry(t)
}

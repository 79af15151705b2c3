package why

import (
	"slices"

	"forager/internal/frontier/state"
	"forager/internal/rank/linkvalue"
	"forager/schemas"
)

// values explains the places of a queued entry under policies that learn what links are worth, by a ranker that is trained with the
// records that the shard trains its own with.
func (q *question) values(e *state.Entry) error {
	var learned []*Place
	for i := range q.answer.Places {
		p := &q.answer.Places[i]
		if p.In && q.Control.GetPolicies()[i].GetRanker() == schemas.Ranker_RANKER_LINK_VALUE {
			learned = append(learned, p)
		}
	}
	if len(learned) == 0 {
		return nil
	}
	ranker, _, err := q.state.LinkValue(q.Control)
	if err != nil {
		return err
	}
	x, ok := ranker.Explain(e.URL)
	if !ok { // a seed, or forgotten
		return nil
	}
	v := &Value{Relevance: x.Relevance, Behind: x.Behind}
	for _, p := range x.Parts {
		part := Part{Feature: p.Feature, Amount: p.Value, Relevance: p.Relevance, Behind: p.Behind}
		of := func(l Link) bool { return linkvalue.HashOf(l.From) == p.From }
		if at := slices.IndexFunc(q.answer.Links, of); at >= 0 && p.From != 0 {
			part.From = q.answer.Links[at].From
		}
		v.Parts = append(v.Parts, part)
	}
	for _, p := range learned {
		p.Value = v
	}
	return nil
}

package audit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"forager/internal/web/weburl"
	"forager/schemas"
)

// ledger checks every settled leap, and that every link is settled whose target has ended, itself or through
// redirects. Under PAIRS_FORWARD a link to a page that was already final is no leap (package frontier). Leaps
// and links are read together in the order of their ids.
func (j *judge) ledger() {
	boundaries := 0
	leaps, links, refused := j.each(kindLeap), j.each(kindFound), j.each(kindRefused)
	leap, anyLeap := leaps.next()
	link, anyLink := links.next()
	no, anyNo := refused.next()
	const size = len(schemas.ID{})
	for (anyLeap || anyLink) && j.err == nil {
		var id []byte
		if anyLeap {
			id = leap.key[:size]
		}
		if anyLink && (id == nil || bytes.Compare(link.key[:size], id) < 0) {
			id = link.key[:size]
		}
		var l *schemas.LeapSettled
		for ; anyLeap && bytes.Equal(leap.key[:size], id); leap, anyLeap = leaps.next() {
			if l != nil {
				j.copies[schemas.TopicLeapSettled]++
				continue
			}
			l = new(schemas.LeapSettled)
			j.decode(leap.value, l)
		}
		var edges []edge
		for ; anyLink && bytes.Equal(link.key[:size], id); link, anyLink = links.next() {
			edges = append(edges, edgeOf(link))
		}
		for anyNo && bytes.Compare(no.key, id) < 0 {
			no, anyNo = refused.next()
		}
		if l != nil {
			j.distinct[schemas.TopicLeapSettled]++
			j.count(schemas.TopicLeapSettled, schemas.ID(id))
		}
		switch {
		case l.GetBoundary():
			boundaries++
		case l != nil:
			j.tally.settled++
			j.leap(schemas.ID(id), l, slices.ContainsFunc(edges, func(e edge) bool { return e.delivered }))
		}
		if l == nil && j.Sample.has(id) && !(anyNo && bytes.Equal(no.key, id)) {
			j.candidate(edges)
		}
	}
	missing := j.unsettled()
	j.figure("leaps settled", int(j.tally.settled))
	j.figure("boundaries of models", boundaries)
	j.figure("links not settled though their target is final", missing)
}

// leap checks a settled leap.
func (j *judge) leap(id schemas.ID, l *schemas.LeapSettled, isLink bool) {
	if !j.Sample.has(id[:]) {
		return
	}
	name := fmt.Sprintf("leap %s from %s to %s", id, l.GetU(), l.GetV())
	if schemas.LeapID(j.Crawl, l.GetU(), l.GetV()) != id {
		j.problem("%s has another's id", name)
	}
	if !isLink {
		j.problem("%s is no link of a delivered page", name)
		return
	}
	if u := j.delivered(l.GetU()).GetJudgement(); l.GetSourceRaw() != u.GetRaw() || l.GetSourceTempered() != u.GetTempered() {
		j.problem("%s has R(u) = %g, the verdict on u %g", name, l.GetSourceRaw(), u.GetRaw())
	}
	rid, err := schemas.ParseID(l.GetRequest())
	if err != nil {
		j.problem("%s was settled by request %x, which is not known", name, l.GetRequest())
		return
	}
	r, v := j.request(rid), j.answer(rid)
	if r == nil || v == nil {
		j.problem("%s was settled by request %x, which is not known", name, l.GetRequest())
		return
	}
	if l.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
		if t := v.GetJudgement(); v.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED || l.GetTargetRaw() != t.GetRaw() || l.GetTargetTempered() != t.GetTempered() {
			j.problem("%s has R(v) = %g, the verdict on v %g", name, l.GetTargetRaw(), t.GetRaw())
		}
	}
	if l.GetTrains() && l.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED {
		j.problem("%s trains, but its target was %s", name, schemas.OutcomeName(l.GetOutcome()))
	}
	if l.GetScore() != r.GetScore() || l.GetPolicy() != r.GetPolicy() || l.GetModel() != r.GetModel() {
		j.problem("%s has score %g by %s %s, the dispatch %g by %s %s", name,
			l.GetScore(), l.GetPolicy(), l.GetModel(), r.GetScore(), r.GetPolicy(), r.GetModel())
	}
	given := len(l.GetShadows()) > 0 || l.GetForward() && j.ordered() && l.GetV() == r.GetUrl()
	if have := placeTexts(l.GetShadows()); given && !j.byCounts(schemas.TopicFetchRequested) && have != placeTexts(r.GetShadows()) {
		j.problem("%s has the shadow placements %q, the dispatch has %q", name, have, placeTexts(r.GetShadows()))
	}
}

// candidate stores a link without a leap, by its target.
func (j *judge) candidate(edges []edge) {
	forward := j.Control.GetLearning().GetPairs() == schemas.Pairs_PAIRS_FORWARD
	if forward && !j.ordered() {
		return // the order of a link and its target's end is unknown
	}
	for _, e := range edges {
		if e.delivered && e.taken && e.v != e.u {
			j.put(keyOf(kindCandidate, named(e.v), be64(e.place)), e.value())
		}
	}
}

// unsettled counts and names the links that should have a leap and have none. Candidates and fates are read
// together: most targets have no verdict.
func (j *judge) unsettled() (n int) {
	forward := j.Control.GetLearning().GetPairs() == schemas.Pairs_PAIRS_FORWARD
	fates := j.each(kindFate)
	at, more := fates.next()
	j.each(kindCandidate).all(func(c entry) {
		v := c.key[:len(c.key)-9]
		for more && bytes.Compare(at.key, v) < 0 {
			at, more = fates.next()
		}
		if !more || !bytes.Equal(at.key, v) {
			return
		}
		e := edgeIn(c.value)
		e.place = binary.BigEndian.Uint64(c.key[len(c.key)-8:])
		if f := decodeFate(at.value); len(f.ends) == 0 && f.alias == "" {
			return
		}
		target, settled := j.fates.settles(e.v, e.place, forward)
		if target == e.u || !settled || j.fates.mayBeCapped(e.v) || j.mayBeUnderWay(e, target) {
			return
		}
		n++
		j.problem("the link from %s to %s was never settled, though the target is final", e.u, e.v)
	})
	return n
}

// mayBeUnderWay reports whether a link of a running crawl may be in a record between two shards: the shard that settles it
// may have applied its target's verdict, and not yet the record that contains the link.
func (c *Case) mayBeUnderWay(e edge, target string) bool {
	shards := schemas.ShardsOf(c.Control)
	if c.Taken == nil || shards <= 1 {
		return false
	}
	return target != e.v || schemas.ShardOf(weburl.Host(e.u), shards) != schemas.ShardOf(weburl.Host(e.v), shards)
}

// edge is a link as it was found.
type edge struct {
	u, v    string
	request schemas.ID
	place   uint64
	// delivered: the page u was. taken: prioritize had applied the verdict (Case.Taken).
	delivered, taken bool
}

func (e *edge) value() []byte {
	flags := byte(0)
	if e.delivered {
		flags |= 1
	}
	if e.taken {
		flags |= 2
	}
	return append(append([]byte{flags}, e.request[:]...), pack([]string{e.u, e.v})...)
}

// edgeOf reads an edge under a key of a leap's id and its place.
func edgeOf(e entry) edge {
	x := edgeIn(e.value)
	x.place = binary.BigEndian.Uint64(e.key[len(schemas.ID{}):])
	return x
}

func edgeIn(value []byte) edge {
	texts := unpack(value[1+len(schemas.ID{}):])
	return edge{
		u: texts[0], v: texts[1], request: schemas.ID(value[1 : 1+len(schemas.ID{})]), delivered: value[0]&1 != 0, taken: value[0]&2 != 0,
	}
}

// ordered reports whether the order in which verdicts were applied is known: those of several shards have none.
func (c *Case) ordered() bool { return schemas.ShardsOf(c.Control) <= 1 }

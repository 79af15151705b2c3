package frontier

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier/place"
	"forager/internal/frontier/state"
	"forager/internal/rank/linkvalue"
	"forager/internal/rank/policy"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Some rankers learn from every verdict, and change the scores of pages that were found long ago. What they have
// learned is in memory; the samples are in the store, from the time on that a policy or a shadow ranks by one. From time to time
// linkvalue.Ranker is stored in their place: a shard that is opened again trains it with the later ones. With several shards each
// learns from its own pages, and from the links to them.

// Learner is a ranker of one shard of a crawl that learns from verdicts. Its scores are a function of the records that it
// observed, in their order.
type Learner interface {
	policy.Ranker
	// Observe takes a verdict, seeds (OUTCOME_SEEDS), or the links of a page of another shard that lead to URLs of this one, and
	// returns the URLs whose scores have changed. The record has its URL, outcome, R, the target of a redirect, and the links, the last
	// two only if they lead to URLs of the frontier. Observe keeps the record.
	Observe(rec *schemas.LinkFound) (changed []string)
}

// learners are the rankers that learn from verdicts.
type learners struct {
	state    *state.Records
	places   *place.Placer
	byPolicy map[string]Learner // by policy
	// linkValue is that of all policies of the kind, nil if there is none, and unstored the number of samples later than the stored one.
	linkValue *linkvalue.Ranker
	unstored  int
	// storedEvery is the constant, except in tests.
	storedEvery int
}

// storedEvery bounds the samples that a shard that is opened trains a linkvalue.Ranker with. Stored, one takes some MiB.
const storedEvery = 5_000

// train makes the learners of a control record and trains them with the samples in the store, including those of earlier
// policies.
func (ln *learners) train(ctl *schemas.CrawlControl, o Options) (err error) {
	ln.byPolicy, ln.linkValue = make(map[string]Learner), nil
	for _, p := range schemas.Orders(ctl) {
		if learner, ok := o.Learners[p.GetName()]; ok {
			l := learner()
			ln.byPolicy[p.GetName()] = l
			err = ln.state.Samples(0, func(rec *schemas.LinkFound) { l.Observe(rec) })
		} else if p.GetRanker() == schemas.Ranker_RANKER_LINK_VALUE {
			if ln.linkValue == nil {
				ln.linkValue, ln.unstored, err = ln.state.LinkValue(ctl)
			}
			ln.byPolicy[p.GetName()] = ln.linkValue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bytes returns what the learners keep in memory. Learners of experiments need no method Bytes.
func (ln *learners) bytes() (sum int) {
	for _, l := range ln.byPolicy {
		if l, ok := l.(interface{ Bytes() int }); ok {
			sum += l.Bytes()
		}
	}
	return sum
}

// follow makes policies rank by the learners of their rankers.
func (ln *learners) follow(policies []*policy.Policy, of []*schemas.Policy) {
	for i, p := range of {
		if l, ok := ln.byPolicy[p.GetName()]; ok {
			policies[i] = policies[i].With(l)
		}
	}
}

// observe trains the learners with a verdict, seeds or links of a page of another shard that were applied, and places again the URLs whose
// scores have changed.
func (ln *learners) observe(found schemas.Found) error {
	if len(ln.byPolicy) == 0 {
		return nil
	}
	switch found.(type) {
	case schemas.Verdict, schemas.Seeds, schemas.PeerLinks:
	default:
		return nil
	}
	sample, err := ln.sample(found.Record())
	if err != nil {
		return err
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(sample)
	if err != nil {
		return err
	}
	if err := ln.state.Store.Set(ln.state.Keys.U64(state.KindSample, ln.state.Counters.Clock), b); err != nil {
		return err
	}
	var changed []string
	for _, l := range ln.byPolicy {
		changed = append(changed, l.Observe(sample)...)
	}
	if ln.unstored++; ln.linkValue != nil && ln.unstored >= ln.storedEvery {
		if err := ln.store(); err != nil {
			return err
		}
	}
	slices.Sort(changed) // the order of placing must not depend on that of the learners
	return ln.places.Reconsider(slices.Compact(changed))
}

// store stores linkValue, and deletes the samples that it has observed unless learners of experiments need them.
func (ln *learners) store() error {
	ln.unstored = 0
	if err := ln.state.SetLinkValue(ln.linkValue); err != nil {
		return err
	}
	for _, l := range ln.byPolicy {
		if l != Learner(ln.linkValue) {
			return nil
		}
	}
	return ln.state.DropSamples()
}

// sample is the part of a record that learners observe.
func (ln *learners) sample(rec *schemas.LinkFound) (*schemas.LinkFound, error) {
	sample := &schemas.LinkFound{Url: rec.GetUrl(), Outcome: rec.GetOutcome()}
	if j := rec.GetJudgement(); j != nil {
		sample.Judgement = &schemas.Judgement{Raw: j.GetRaw(), Calibrated: j.GetCalibrated(), LogOdds: j.LogOdds, TopicLogOdds: j.TopicLogOdds}
	}
	if to, err := weburl.Parse(rec.GetRedirect()); err == nil && rec.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED {
		e, err := ln.state.Seen(to.String())
		if err != nil {
			return nil, err
		}
		if e != nil {
			sample.Redirect = e.URL
		}
	}
	for i, l := range rec.GetLinks() {
		if l.GetBacklink() { // not a link of the page
			continue
		}
		e, err := ln.state.Seen(l.GetUrl())
		if err != nil {
			return nil, err
		}
		if e != nil {
			sample.Links = append(sample.Links, &schemas.Link{Url: l.GetUrl()})
			if anchors := rec.GetJudgement().GetAnchors(); len(anchors) > 0 {
				sample.Judgement.Anchors = append(sample.Judgement.Anchors, anchors[i])
			}
		}
	}
	return sample, nil
}

package frontier

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/internal/rank/interest"
	"forager/internal/rank/rank"
	"forager/internal/rank/tagbandit"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Some rankers learn from every verdict, and change the scores of pages that were found long ago. What they have
// learned is in memory; the samples are in the store, from the time on that a policy or a shadow ranks by one, so that a
// shard that is opened again trains them again. With several shards each learns from its own pages, and from links that do
// not leave it.

// Learner is a ranker of one shard of a crawl that learns from verdicts. Its scores are a function of the records that it
// observed, in their order.
type Learner interface {
	rank.Ranker
	// Observe takes a verdict, or seeds (OUTCOME_SEEDS), and returns the URLs whose scores have changed. The
	// record has its URL, outcome, R and words of the judgement, the target of a redirect, and the links with
	// their tag paths, the last two only if they lead to URLs of the frontier. Observe keeps the record.
	Observe(rec *schemas.LinkFound) (changed []string)
	// Bound returns the memory that the ranker takes, and how many verdicts it has skipped because it was full.
	Bound() rank.Bound
}

// autoInFlight is used instead of the window if that is found by trying.
const autoInFlight = 32

// Learned returns the memory that rankers that learn from verdicts take, bytes, and the number of verdicts that they skipped
// because they were full (rank.MaxLearned).
func (s *Shard) Learned() (bytes int, skipped uint64) {
	for _, l := range s.learners {
		b := l.Bound()
		bytes, skipped = bytes+b.Used, skipped+b.Skipped
	}
	return bytes, skipped
}

// newLearners makes the learners that a crawl's policies and shadows rank by.
func newLearners(ctl *schemas.CrawlControl) map[schemas.Ranker]Learner {
	learners := make(map[schemas.Ranker]Learner)
	for _, p := range schemas.Orders(ctl) {
		switch r := p.GetRanker(); r {
		case schemas.Ranker_RANKER_INTEREST:
			learners[r] = interest.New(!ctl.GetLabelsFromUrls())
		case schemas.Ranker_RANKER_TAG_BANDIT:
			learners[r] = tagbandit.New(ctl.GetRandomSeed(), inFlight(ctl))
		}
	}
	return learners
}

// inFlight is the number of requests in flight that a bandit has to expect.
func inFlight(ctl *schemas.CrawlControl) int {
	if w := ctl.GetWindow(); w > 0 {
		return int(w)
	}
	return autoInFlight
}

// teach makes the learners of a control record and trains them with the samples in the store, including those of earlier
// policies.
func (s *Shard) teach(ctl *schemas.CrawlControl) error {
	s.learners = newLearners(ctl)
	from := append([]byte(nil), s.keys.kind(kindLesson)...)
	if len(s.learners) == 0 {
		return nil
	}
	return s.store.Scan(from, after(from), func(_, value []byte) (bool, error) {
		lesson := new(schemas.LinkFound)
		if err := proto.Unmarshal(value, lesson); err != nil {
			return false, fmt.Errorf("frontier: a lesson of rankers that learn: %w", err)
		}
		for _, l := range s.learners {
			l.Observe(lesson)
		}
		return true, nil
	})
}

// follow makes policies rank by the learners of their rankers.
func (s *Shard) follow(policies []*rank.Policy, of []*schemas.Policy) {
	for i, p := range of {
		l, ok := s.learners[p.GetRanker()]
		if _, overridden := s.options.Rankers[p.GetName()]; ok && !overridden {
			policies[i] = policies[i].With(l)
		}
	}
}

// observe trains the learners with a record that was applied, and places again the URLs whose scores have changed.
func (s *Shard) observe(rec *schemas.LinkFound) error {
	if len(s.learners) == 0 || rec.GetRole() != schemas.LinkRole_LINK_ROLE_VERDICT || rec.GetOutcome() == schemas.Outcome_OUTCOME_REPLAY {
		return nil
	}
	lesson, err := s.lesson(rec)
	if err != nil {
		return err
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(lesson)
	if err != nil {
		return err
	}
	if err := s.store.Set(s.keys.u64(kindLesson, s.c.clock), b); err != nil {
		return err
	}
	var changed []string
	for _, l := range s.learners {
		changed = append(changed, l.Observe(lesson)...)
	}
	slices.Sort(changed) // the order of placing must not depend on that of the learners
	return s.reconsider(slices.Compact(changed))
}

// lesson is the part of a record that learners observe.
func (s *Shard) lesson(rec *schemas.LinkFound) (*schemas.LinkFound, error) {
	lesson := &schemas.LinkFound{Url: rec.GetUrl(), Outcome: rec.GetOutcome()}
	if j := rec.GetJudgement(); j != nil {
		lesson.Judgement = &schemas.Judgement{Raw: j.GetRaw(), Words: j.GetWords()}
	}
	if to, err := weburl.Parse(rec.GetRedirect()); err == nil && rec.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED {
		e, err := s.seen(to.String())
		if err != nil {
			return nil, err
		}
		if e != nil {
			lesson.Redirect = e.url
		}
	}
	for _, l := range rec.GetLinks() {
		if l.GetBacklink() { // not a link of the page
			continue
		}
		e, err := s.seen(l.GetUrl())
		if err != nil {
			return nil, err
		}
		if e != nil {
			lesson.Links = append(lesson.Links, &schemas.Link{Url: l.GetUrl(), TagPath: l.GetTagPath()})
		}
	}
	return lesson, nil
}

package frontier

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"forager/internal/rank/rank"
	"forager/schemas"
)

// lead returns the policy whose head is dispatched next; ok is false if no policy that leads has one.
func (s *Shard) lead() (policy int, ok bool, err error) {
	open := func(p int) bool {
		some, e := s.hasReady(p)
		err = cmp.Or(err, e)
		return some
	}
	if s.mixture == nil {
		ok = open(0)
	} else {
		policy, ok = s.mixture.Choose(s.arms, s.c.ordinal+1, open)
	}
	return policy, ok && err == nil, err
}

// within reports whether a policy that leads has a place for an entry.
func (s *Shard) within(places []placed) bool {
	if s.mixture == nil {
		return places[0].In
	}
	return slices.ContainsFunc(places, func(p placed) bool { return p.In })
}

// credit credits the arms with a delivered page. Seeds, and targets of their redirects, were chosen by
// no arm.
func (s *Shard) credit(e *entry, j *schemas.Judgement) error {
	if s.mixture == nil {
		return nil
	}
	chosen := slices.Index(s.policyNames, e.facts.policy) // −1: the crawl has no such policy any more
	if e.depth == 0 {
		chosen = -1
	}
	s.mixture.Credit(s.arms, chosen, j.GetCalibrated())
	return s.saveArms()
}

// countChosen counts a request for the arm of a policy.
func (s *Shard) countChosen(policy string) error {
	if s.mixture == nil {
		return nil
	}
	for i, p := range s.policies {
		if p.Name() == policy {
			s.arms[i].Chosen++
			return s.saveArm(i)
		}
	}
	return nil
}

// loadArms reads the arms of the mixture; a policy that was not an arm before begins with NewArm, one
// that was continues with its former counts.
func (s *Shard) loadArms() error {
	s.arms = nil
	if s.mixture == nil {
		return nil
	}
	for i, number := range s.policyNames {
		s.arms = append(s.arms, rank.NewArm())
		b, ok, err := s.store.Get(s.keys.u32(kindArm, number))
		if err != nil {
			return err
		}
		if ok {
			if s.arms[i], err = decodeArm(b); err != nil {
				return fmt.Errorf("frontier: arm %s: %w", s.policies[i].Name(), err)
			}
		}
	}
	return nil
}

func (s *Shard) saveArms() error {
	for i := range s.arms {
		if err := s.saveArm(i); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shard) saveArm(i int) error {
	s.value = appendArm(s.value[:0], s.arms[i])
	return s.store.Set(s.keys.u32(kindArm, s.policyNames[i]), s.value)
}

const armVersion = 1

func appendArm(b []byte, a rank.Arm) []byte {
	b = appendFloat(appendFloat(append(b, armVersion), a.Alpha), a.Beta)
	b = binary.AppendUvarint(binary.AppendUvarint(b, a.Chosen), a.Credited)
	return appendFloat(b, a.Reward)
}

func decodeArm(b []byte) (rank.Arm, error) {
	r := reader{b: b}
	r.version(armVersion)
	a := rank.Arm{Alpha: r.float(), Beta: r.float(), Chosen: r.u64(), Credited: r.u64(), Reward: r.float()}
	if r.err == nil && !(a.Alpha >= 1 && a.Beta >= 1) {
		r.fail(errNumber)
	}
	return a, r.end()
}

func (s *Shard) armsStatus() (arms []*schemas.Arm) {
	for i, a := range s.arms {
		arms = append(arms, &schemas.Arm{
			Policy: s.policies[i].Name(), Chosen: a.Chosen, Credited: a.Credited, Reward: a.Reward, Alpha: a.Alpha, Beta: a.Beta,
		})
	}
	return arms
}

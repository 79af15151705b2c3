package frontier

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"forager/internal/frontier/place"
	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/rank/policy"
	"forager/schemas"
)

// arms choose the policy that leads.
type arms struct {
	state       *state.Records
	queues      *queue.Queues
	places      *place.Placer
	policyNames []uint32 // name numbers
	// mixture chooses among the policies, which are its arms; nil = the first one leads.
	mixture *policy.Mixture
	all     []policy.Arm
}

// lead returns the policy whose head is dispatched next; ok is false if no policy that leads has one.
func (am *arms) lead() (policy int, ok bool, err error) {
	open := func(p int) bool {
		some, e := am.queues.HasReady(p)
		err = cmp.Or(err, e)
		return some
	}
	if am.mixture == nil {
		ok = open(0)
	} else {
		policy, ok = am.mixture.Choose(am.all, am.state.Counters.Ordinal+1, open)
	}
	return policy, ok && err == nil, err
}

// credit credits the arms with a delivered page. Seeds, and targets of their redirects, were chosen by
// no arm.
func (am *arms) credit(e *state.Entry, j *schemas.Judgement) error {
	if am.mixture == nil {
		return nil
	}
	chosen := slices.Index(am.policyNames, e.Facts.Policy) // −1: the crawl has no such policy any more
	if e.Depth == 0 {
		chosen = -1
	}
	am.mixture.Credit(am.all, chosen, j.GetCalibrated())
	return am.saveArms()
}

// countChosen counts a request for the arm of a policy.
func (am *arms) countChosen(policy string) error {
	if am.mixture == nil {
		return nil
	}
	for i, p := range am.places.Policies {
		if p.Name() == policy {
			am.all[i].Chosen++
			return am.saveArm(i)
		}
	}
	return nil
}

// loadArms reads the arms of the mixture; a policy that was not an arm before begins with NewArm, one
// that was continues with its former counts.
func (am *arms) loadArms() error {
	am.all = nil
	if am.mixture == nil {
		return nil
	}
	for i, number := range am.policyNames {
		am.all = append(am.all, policy.NewArm())
		b, ok, err := am.state.Store.Get(am.state.Keys.U32(state.KindArm, number))
		if err != nil {
			return err
		}
		if ok {
			if am.all[i], err = decodeArm(b); err != nil {
				return fmt.Errorf("frontier: arm %s: %w", am.places.Policies[i].Name(), err)
			}
		}
	}
	return nil
}

func (am *arms) saveArms() error {
	for i := range am.all {
		if err := am.saveArm(i); err != nil {
			return err
		}
	}
	return nil
}

func (am *arms) saveArm(i int) error {
	am.state.Buffer = appendArm(am.state.Buffer[:0], am.all[i])
	return am.state.Store.Set(am.state.Keys.U32(state.KindArm, am.policyNames[i]), am.state.Buffer)
}

const armVersion = 1

func appendArm(b []byte, a policy.Arm) []byte {
	b = storage.AppendFloat(storage.AppendFloat(append(b, armVersion), a.Alpha), a.Beta)
	b = binary.AppendUvarint(binary.AppendUvarint(b, a.Chosen), a.Credited)
	return storage.AppendFloat(b, a.Reward)
}

func decodeArm(b []byte) (policy.Arm, error) {
	r := storage.Reader{Rest: b}
	r.Version(armVersion)
	a := policy.Arm{Alpha: r.Float(), Beta: r.Float(), Chosen: r.U64(), Credited: r.U64(), Reward: r.Float()}
	if r.Err == nil && !(a.Alpha >= 1 && a.Beta >= 1) {
		r.Fail(storage.ErrNumber)
	}
	return a, r.End()
}

func (am *arms) armsStatus() (arms []*schemas.Arm) {
	for i, a := range am.all {
		arms = append(arms, &schemas.Arm{
			Policy: am.places.Policies[i].Name(), Chosen: a.Chosen, Credited: a.Credited, Reward: a.Reward, Alpha: a.Alpha, Beta: a.Beta,
		})
	}
	return arms
}

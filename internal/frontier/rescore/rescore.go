package rescore

import (
	"math"

	"forager/internal/frontier/place"
	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/internal/rank/apprentice"
)

// Rescorer places entries again under a new model or new policies.
type Rescorer struct {
	state   *state.Records
	queues  *queue.Queues
	places  *place.Placer
	workers *Workers
	// Memory of the shard, of which batches have a share, bytes.
	Memory int
	Newest place.VersionedModel
	// Sync: nothing is dispatched before all that it depends on is scored under the newest model.
	Sync bool
	// Batch is what the pass under way has scored in advance.
	Batch *batch
	// RerankFirst is the constant, except in tests.
	RerankFirst int
}

// NewRescorer returns a rescorer without a model.
func NewRescorer(workers *Workers) *Rescorer {
	return &Rescorer{
		state: workers.state, queues: workers.queues, places: workers.places, workers: workers, RerankFirst: RerankFirst,
	}
}

// NextPass begins a pass if one is due and none is under way. If tiers can wait it makes none: ScoreHead scores what is needed.
func (rs *Rescorer) NextPass() error {
	if rs.state.Counters.Unranked > 0 || rs.queues.Passing() {
		return nil
	}
	if err := rs.ScoreWaiting(); err != nil {
		return err
	}
	if rs.places.Using.Number == rs.Newest.Number && (!rs.state.Counters.Mixed || rs.places.Scored != nil) {
		return nil
	}
	wait := rs.tiersWait()
	rs.places.Using, rs.state.Counters.Mixed, rs.state.Counters.Scanned, rs.Batch = rs.Newest, wait, 0, nil
	rs.state.Counters.Model, rs.state.Counters.ModelPages = rs.places.Using.Number, rs.places.Using.Pages
	if !rs.places.Learns {
		return nil
	}
	if wait {
		rs.places.Scored = make([]uint32, len(rs.places.Policies))
		return nil
	}
	rs.queues.BeginPass(func(p int) bool { return rs.places.Policies[p].Learns() })
	if rs.queues.HasOldEntries() {
		return nil
	}
	return rs.EndPass()
}

// mostWaiting bounds the entries that wait for their scores: one call of ScoreHead may have to score them all.
const mostWaiting = 1 << 16

// tiersWait reports whether entries are scored under the newest model only when a policy that learns is about to choose from their
// tier. Then most are scored under few models: gates defer most links, and not every model gets to choose from what they defer. It
// makes no difference to what is chosen if a score depends on the model and the page alone, and nothing is chosen meanwhile.
func (rs *Rescorer) tiersWait() bool {
	keys := uint64(0)
	for p, policy := range rs.places.Policies {
		if policy.Learns() {
			keys += rs.state.Generations[p].Keys[state.SlotOld]
		}
	}
	_, ok := rs.Newest.Model.(*apprentice.Model)
	return ok && rs.Sync && rs.places.Learns && !rs.places.Expands && !rs.places.Families.Cocitation() && keys <= mostWaiting
}

// ScoreWaiting scores all entries that wait for their scores if they cannot wait any longer.
func (rs *Rescorer) ScoreWaiting() error {
	if rs.places.Scored == nil || rs.tiersWait() {
		return nil
	}
	for p := range rs.places.Policies {
		if err := rs.scoreTiers(p, math.MaxUint8); err != nil {
			return err
		}
	}
	rs.places.Scored, rs.state.Counters.Mixed = nil, false
	return nil
}

// ScoreFirst scores the entries that wait under the first policy: Rerank places first what is best under it. It must be called before the
// policies change.
func (rs *Rescorer) ScoreFirst() error {
	if rs.places.Scored == nil {
		return nil
	}
	return rs.scoreTiers(0, math.MaxUint8)
}

// ScoreHead scores the entries that wait in the tier of the best entry of policy p that may be dispatched, of which there is one, and
// in the tiers before it. It reports whether there were such tiers.
func (rs *Rescorer) ScoreHead(p int) (bool, error) {
	if rs.places.Scored == nil || !rs.places.Policies[p].Learns() {
		return false, nil
	}
	h, err := rs.queues.BestReady(p)
	if err != nil || h.Queues[p].Bound().Tier < rs.places.Scored[p] {
		return false, err
	}
	return true, rs.scoreTiers(p, h.Queues[p].Bound().Tier)
}

// scoreTiers scores the entries of policy p that wait in tiers up to one.
func (rs *Rescorer) scoreTiers(p int, last uint32) error {
	if !rs.places.Policies[p].Learns() {
		return nil
	}
	rs.places.Scored[p] = last + 1
	_, err := rs.scoreWanted(1, func(e *state.Entry) bool {
		at := &e.Places[p]
		return at.In && at.Tier <= last && at.Model != rs.places.Using.Number
	})
	return err
}

// RescoreSome scores up to n entries of the pass under way, subtracts them from n and reports whether
// some are left.
func (rs *Rescorer) RescoreSome(n *int) (left bool, err error) {
	if done, err := rs.scoreRest(*n); err != nil || done > 0 {
		*n -= done
		return rs.queues.HasOldEntries(), err
	}
	best, done := (*n+BestShare-1)/BestShare, 0
	err = rs.whileScoring(func() (err error) {
		done, err = rs.rescoreBest(best)
		return err
	})
	if *n -= done; err != nil || done < best {
		return false, err
	}
	if *n > 0 {
		done, _, err = rs.scan(*n)
		if err != nil {
			return false, err
		}
		*n -= done
	}
	return rs.queues.HasOldEntries(), nil
}

// rescoreBest scores the n best entries that the pass has not scored yet, or as many as there are.
func (rs *Rescorer) rescoreBest(n int) (done int, err error) {
	for ; done < n; done++ {
		e, err := rs.queues.BestOld()
		if err != nil || e == nil {
			return done, err
		}
		if err := rs.places.ReplaceBy(e, rs.places.Score); err != nil {
			return done, err
		}
	}
	return done, nil
}

// EndPass makes the new generation the only one.
func (rs *Rescorer) EndPass() error {
	rs.Batch = nil
	if err := rs.queues.EndPass(); err != nil {
		return err
	}
	return rs.NextPass()
}

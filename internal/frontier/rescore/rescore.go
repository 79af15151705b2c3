package rescore

import (
	"forager/internal/frontier/place"
	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
)

// Rescorer places entries again under a new model or new policies.
type Rescorer struct {
	state   *state.Records
	queues  *queue.Queues
	places  *place.Placer
	workers *Workers
	// Memory of the shard, of which stretches have a share, bytes.
	Memory int
	Newest place.VersionedModel
	// Stretch is what the pass under way has scored in advance.
	Stretch *stretch
	// RerankFirst is the constant, except in tests.
	RerankFirst int
}

// NewRescorer returns a rescorer without a model.
func NewRescorer(workers *Workers) *Rescorer {
	return &Rescorer{
		state: workers.state, queues: workers.queues, places: workers.places, workers: workers, RerankFirst: RerankFirst,
	}
}

// NextPass begins a pass if one is due and none is under way.
func (rs *Rescorer) NextPass() error {
	if rs.state.Counters.Unranked > 0 || rs.queues.Passing() || (rs.places.Using.Number == rs.Newest.Number && !rs.state.Counters.Mixed) {
		return nil
	}
	rs.places.Using, rs.state.Counters.Mixed, rs.state.Counters.Swept, rs.Stretch = rs.Newest, false, 0, nil
	rs.state.Counters.Model, rs.state.Counters.ModelPages = rs.places.Using.Number, rs.places.Using.Pages
	if !rs.places.Learns {
		return nil
	}
	rs.queues.BeginPass(func(p int) bool { return rs.places.Policies[p].Learns() })
	if rs.queues.HasOldEntries() {
		return nil
	}
	return rs.EndPass()
}

// RescoreSome scores up to n entries of the pass under way, subtracts them from n and reports whether
// some are left.
func (rs *Rescorer) RescoreSome(n *int) (left bool, err error) {
	if done, err := rs.sweepRest(*n); err != nil || done > 0 {
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
		done, _, err = rs.sweep(*n)
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
	rs.Stretch = nil
	if err := rs.queues.EndPass(); err != nil {
		return err
	}
	return rs.NextPass()
}

package frontier

import (
	"encoding/binary"
	"fmt"

	"forager/internal/frontier/schedule"
	"forager/internal/frontier/state"
	"forager/schemas"
)

// A guide that is built from the crawl's own pages (schemas.Renewal) is put in force by a control record that names it. With
// learning.sync dispatch waits when one is due; therefore targets are counted here as in stage distill.

// retraining counts the targets of guides.
type retraining struct {
	cfg   *settings
	state *state.Records
	// onTopic is the number of delivered pages that are targets of guides.
	onTopic uint64
}

// noteTarget counts a delivered page with relevance raw if it is a target.
func (rn *retraining) noteTarget(raw float64) error {
	if rn.cfg.ctl.GetRenewal() == nil || raw < schemas.TargetFrom {
		return nil
	}
	rn.onTopic++
	return rn.state.Store.Set(rn.state.Keys.Kind(state.KindRenewal), binary.AppendUvarint(nil, rn.onTopic))
}

func (rn *retraining) loadRetraining() error {
	b, ok, err := rn.state.Store.Get(rn.state.Keys.Kind(state.KindRenewal))
	if err != nil || !ok {
		return err
	}
	n, size := binary.Uvarint(b)
	if size <= 0 || size != len(b) {
		return fmt.Errorf("frontier: number of targets: damaged: %x", b)
	}
	rn.onTopic = n
	return nil
}

// guideDue reports whether dispatch waits for a guide.
func (rn *retraining) guideDue() bool {
	return rn.cfg.limits.sync && schedule.RenewalDue(rn.cfg.ctl, rn.state.Counters.Pages, rn.onTopic)
}

// revision is FetchRequest.revision: that of the control record in force, if a guide is rebuilt; else 0.
func (cf *settings) revision() uint64 {
	if cf.ctl.GetRenewal() == nil {
		return 0
	}
	return cf.ctl.GetRevision()
}

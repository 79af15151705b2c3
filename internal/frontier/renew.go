package frontier

import (
	"encoding/binary"
	"fmt"

	"forager/schemas"
)

// A guide that is built from the crawl's own pages (schemas.Renewal) is put in force by a control record that names it. With
// learning.sync dispatch waits when one is due; therefore targets are counted here as in stage distill.

// noteTarget counts a delivered page with relevance raw if it is a target.
func (s *Shard) noteTarget(raw float64) error {
	if s.ctl.GetRenewal() == nil || raw < schemas.TargetFrom {
		return nil
	}
	s.onTopic++
	return s.store.Set(s.keys.kind(kindRenewal), binary.AppendUvarint(nil, s.onTopic))
}

func (s *Shard) loadRenewal() error {
	b, ok, err := s.store.Get(s.keys.kind(kindRenewal))
	if err != nil || !ok {
		return err
	}
	n, size := binary.Uvarint(b)
	if size <= 0 || size != len(b) {
		return fmt.Errorf("frontier: number of targets: damaged: %x", b)
	}
	s.onTopic = n
	return nil
}

// guideDue reports whether dispatch waits for a guide.
func (s *Shard) guideDue() bool {
	return s.limits.sync && schemas.RenewalDue(s.ctl, s.c.pages, s.onTopic)
}

// revision is FetchRequest.revision: that of the control record in force, if a guide is rebuilt; else 0.
func (s *Shard) revision() uint64 {
	if s.ctl.GetRenewal() == nil {
		return 0
	}
	return s.ctl.GetRevision()
}

package frontier

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier/shards"
	"forager/schemas"
)

// Lease is what the shard may use of the crawl's budget and window, why the crawl has ended, and
// the epoch and sequence of the note of shard 0 that it came in. If there are several shards none dispatches without a lease.
func (s *Shard) Lease() *schemas.ShardNote { return proto.CloneOf(s.lease) }

// SetLease puts a lease in force that shard 0 gives itself.
func (s *Shard) SetLease(lease *schemas.ShardLease) error {
	if proto.Equal(s.lease.GetLease(), lease) {
		return nil
	}
	s.lease = &schemas.ShardNote{Lease: proto.CloneOf(lease)}
	return s.saveLease()
}

// applyNote takes a note of another shard: a lease, unless a newer one is known, or, in shard 0, a
// report, of which the pages delivered count for the boundaries of learning.
func (s *Shard) applyNote(rec *schemas.LinkFound) ([]*schemas.LeapSettled, error) {
	note := rec.GetNote()
	if report := note.GetReport(); report != nil {
		if report.GetPages() <= s.peers[rec.GetFrom()] {
			return nil, nil
		}
		s.peers[rec.GetFrom()] = report.GetPages()
		s.value = binary.AppendUvarint(s.value[:0], report.GetPages())
		if err := s.store.Set(s.keys.u32(kindPeer, rec.GetFrom()), s.value); err != nil {
			return nil, err
		}
		return s.boundaries(report.GetModels()), nil
	}
	if was := s.lease; note.GetEpoch() < was.GetEpoch() || note.GetEpoch() == was.GetEpoch() && note.GetSequence() <= was.GetSequence() {
		return nil, nil
	}
	lease := note.GetLease()
	if lease.GetKeep() {
		lease = proto.CloneOf(s.lease.GetLease())
	}
	s.lease = &schemas.ShardNote{Epoch: note.GetEpoch(), Sequence: note.GetSequence(), Lease: lease}
	return nil, s.saveLease()
}

func (s *Shard) saveLease() error {
	var err error
	if s.value, err = (proto.MarshalOptions{}).MarshalAppend(s.value[:0], s.lease); err != nil {
		return fmt.Errorf("frontier: lease: %w", err)
	}
	return s.store.Set(s.keys.kind(kindLease), s.value)
}

// loadPeers reads the lease and the pages that other shards reported.
func (s *Shard) loadPeers() error {
	s.lease, s.peers = new(schemas.ShardNote), make(map[uint32]uint64)
	b, _, err := s.store.Get(s.keys.kind(kindLease))
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(b, s.lease); err != nil {
		return fmt.Errorf("frontier: lease: %w", err)
	}
	from := append([]byte(nil), s.keys.kind(kindPeer)...)
	return s.store.Scan(from, after(from), func(key, value []byte) (bool, error) {
		k, err := s.keys.parseU32(key)
		if err != nil {
			return false, err
		}
		r := reader{b: value}
		s.peers[k] = r.u64()
		if err := r.end(); err != nil {
			return false, fmt.Errorf("frontier: pages of shard %d: %w", k, err)
		}
		return true, nil
	})
}

// want is an upper bound of the requests that the shard could dispatch now if its lease let it.
func (s *Shard) want() uint64 {
	if s.ctl.GetState() != schemas.CrawlState_CRAWL_STATE_RUNNING || s.c.stopped {
		return 0
	}
	if _, ok, err := s.lead(); err != nil || !ok { // the next Dispatch returns the error
		return 0
	}
	return s.backlog()
}

// Report is the state of the shard for shard 0; the caller adds the offsets.
func (s *Shard) Report() *schemas.ShardReport {
	return &schemas.ShardReport{
		LeaseEpoch: s.lease.GetEpoch(), LeaseSequence: s.lease.GetSequence(), Lease: proto.CloneOf(s.lease.GetLease()),
		Pages: s.c.pages, Requests: s.c.requests, InFlight: uint64(len(s.flights)),
		Want: s.want(), Window: s.window(), Backlog: s.backlog() + s.c.unranked, Outside: s.c.outside, GivenUp: s.c.backlog[givenUp].all(),
		Stopped: s.c.stopped, Seeds: s.c.seeds, Models: s.models,
	}
}

// Limits are those of the whole crawl.
func (s *Shard) Limits() shards.Limits {
	w := s.limits.window
	if w == 0 {
		w = s.limits.windowCap
	}
	return shards.Limits{Pages: s.limits.pages, Requests: s.limits.requests, Window: w}
}

// Stride is the number of pages delivered after which the shard should report to shard 0, so that models
// become due about in time; 0 = it need not.
func (s *Shard) Stride() uint64 {
	if !s.asksModel {
		return 0
	}
	return max(1, s.limits.refitPages/uint64(2*s.limits.shards))
}

// leaseStatus puts what the lease allows into a status.
func (s *Shard) leaseStatus(st *schemas.CrawlStatus) {
	l := s.lease.GetLease()
	st.Shards = s.limits.shards
	st.Window = uint32(min(uint64(st.GetWindow()), l.GetWindow()))
	if s.limits.pages > 0 {
		st.PagesLeft = left(l.GetPages(), s.c.pages, st.InFlight)
	}
	if s.limits.requests > 0 {
		st.RequestsLeft = left(l.GetRequests(), s.c.requests, st.InFlight+s.asking)
	}
}

package frontier

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier/shards"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/schemas"
)

// peers are the other shards of the crawl: what they reported, and what is sent to them.
type peers struct {
	cfg   *settings
	state *state.Records
	// lease is what the shard may use; peers are the pages delivered that other shards reported.
	lease     *schemas.ShardNote
	delivered map[uint32]uint64
	// sends is what this call sends.
	sends []*schemas.LinkFound
}

// Lease is what the shard may use of the crawl's budget and window, why the crawl has ended, and
// the epoch and sequence of the note of shard 0 that it came in. If there are several shards none dispatches without a lease.
func (s *Shard) Lease() *schemas.ShardNote { return proto.CloneOf(s.peers.lease) }

// SetLease puts a lease in force that shard 0 gives itself.
func (s *Shard) SetLease(lease *schemas.ShardLease) error {
	if proto.Equal(s.peers.lease.GetLease(), lease) {
		return nil
	}
	s.peers.lease = &schemas.ShardNote{Lease: proto.CloneOf(lease)}
	return s.peers.saveLease()
}

// applyNote takes a note of another shard: a lease, unless a newer one is known, or, in shard 0, a
// report, of which the pages delivered count for the boundaries of learning.
func (ap *applier) applyNote(rec schemas.PeerNote) ([]*schemas.LeapSettled, error) {
	note := rec.GetNote()
	if report := note.GetReport(); report != nil {
		if report.GetPages() <= ap.peers.delivered[rec.GetFrom()] {
			return nil, nil
		}
		ap.peers.delivered[rec.GetFrom()] = report.GetPages()
		ap.state.Buffer = binary.AppendUvarint(ap.state.Buffer[:0], report.GetPages())
		if err := ap.state.Store.Set(ap.state.Keys.U32(state.KindPeer, rec.GetFrom()), ap.state.Buffer); err != nil {
			return nil, err
		}
		if err := ap.ledger.noteApprentice(report.GetModels()); err != nil {
			return nil, err
		}
		return ap.ledger.boundaries(report.GetModels()), nil
	}
	if was := ap.peers.lease; note.GetEpoch() < was.GetEpoch() || note.GetEpoch() == was.GetEpoch() && note.GetSequence() <= was.GetSequence() {
		return nil, nil
	}
	lease := note.GetLease()
	if lease.GetKeep() {
		lease = proto.CloneOf(ap.peers.lease.GetLease())
	}
	ap.peers.lease = &schemas.ShardNote{Epoch: note.GetEpoch(), Sequence: note.GetSequence(), Lease: lease}
	return nil, ap.peers.saveLease()
}

func (px *peers) saveLease() error {
	var err error
	if px.state.Buffer, err = (proto.MarshalOptions{}).MarshalAppend(px.state.Buffer[:0], px.lease); err != nil {
		return fmt.Errorf("frontier: lease: %w", err)
	}
	return px.state.Store.Set(px.state.Keys.Kind(state.KindLease), px.state.Buffer)
}

// loadPeers reads the lease and the pages that other shards reported.
func (px *peers) loadPeers() error {
	px.lease, px.delivered = new(schemas.ShardNote), make(map[uint32]uint64)
	b, _, err := px.state.Store.Get(px.state.Keys.Kind(state.KindLease))
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(b, px.lease); err != nil {
		return fmt.Errorf("frontier: lease: %w", err)
	}
	from := append([]byte(nil), px.state.Keys.Kind(state.KindPeer)...)
	return px.state.Store.Scan(from, state.After(from), func(key, value []byte) (bool, error) {
		k, err := px.state.Keys.ParseU32(key)
		if err != nil {
			return false, err
		}
		r := storage.Reader{Rest: value}
		px.delivered[k] = r.U64()
		if err := r.End(); err != nil {
			return false, fmt.Errorf("frontier: pages of shard %d: %w", k, err)
		}
		return true, nil
	})
}

// want is an upper bound of the requests that the shard could dispatch now if its lease let it.
func (ds *dispatcher) want() uint64 {
	if ds.cfg.ctl.GetState() != schemas.CrawlState_CRAWL_STATE_RUNNING || ds.state.Counters.Stopped {
		return 0
	}
	if _, ok, err := ds.arms.lead(); err != nil || !ok { // the next Dispatch returns the error
		return 0
	}
	return ds.hosts.Backlog()
}

// Report is the state of the shard for shard 0; the caller adds the offsets.
func (s *Shard) Report() *schemas.ShardReport {
	return &schemas.ShardReport{
		LeaseEpoch: s.peers.lease.GetEpoch(), LeaseSequence: s.peers.lease.GetSequence(), Lease: proto.CloneOf(s.peers.lease.GetLease()),
		Pages: s.state.Counters.Pages, Requests: s.state.Counters.Requests, InFlight: uint64(len(s.flights.byID)),
		Want: s.dispatcher.want(), Window: s.pace.window(), Backlog: s.hosts.Backlog() + s.state.Counters.Unranked + s.excluder.Left(), Outside: s.state.Counters.Outside, GivenUp: s.state.Counters.Backlog[state.GivenUp].All(),
		Stopped: s.state.Counters.Stopped, Seeds: s.state.Counters.Seeds, Models: s.cfg.models,
	}
}

// Limits are those of the whole crawl.
func (s *Shard) Limits() shards.Limits {
	w := s.cfg.limits.window
	if w == 0 {
		w = s.cfg.limits.windowCap
	}
	return shards.Limits{Pages: s.cfg.limits.pages, Requests: s.cfg.limits.requests, Window: w}
}

// Stride is the number of pages delivered after which the shard should report to shard 0, so that models
// become due about in time; 0 = it need not.
func (s *Shard) Stride() uint64 {
	if !s.places.AsksModel {
		return 0
	}
	return max(1, s.cfg.limits.refitPages/uint64(2*s.cfg.limits.shards))
}

// leaseStatus puts what the lease allows into a status.
func (s *Shard) leaseStatus(st *schemas.CrawlStatus) {
	l := s.peers.lease.GetLease()
	st.Shards = s.cfg.limits.shards
	st.Window = uint32(min(uint64(st.GetWindow()), l.GetWindow()))
	if s.cfg.limits.pages > 0 {
		st.PagesLeft = left(l.GetPages(), s.state.Counters.Pages, st.InFlight)
	}
	if s.cfg.limits.requests > 0 {
		st.RequestsLeft = left(l.GetRequests(), s.state.Counters.Requests, st.InFlight+s.flights.asking)
	}
}

package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier"
	"forager/internal/frontier/shards"
	"forager/internal/stream"
	"forager/schemas"
)

// peers is the exchange of a shard with the other shards of its crawl (package shards).
type peers struct {
	// lead is used by shard 0, member by the others; nil before the first step that is not a replay.
	lead   *shards.Coordinator
	member *shards.Follower
	// sent is, by shard, the largest offset of links sent to it. It is stored.
	sent map[uint32]int64
	// sending: links to these shards are among the outputs of the step, so their offsets are not known.
	sending map[uint32]bool
	// links came from another shard, or were sent to one, since the last report.
	links bool
	// due: the previous step has looked for newer owners, and its report is to be sent.
	due bool
}

// quiet reports whether the shard waits for no note and no other shard waits for its own.
func (p *peers) quiet() bool {
	return !p.due && !p.links && (p.lead == nil || p.lead.Quiet())
}

func sentKey(unit string) []byte { return append([]byte{ownPrefix, sentKind}, unit...) }

func loadPeers(store frontier.Store, unit string) (peers, error) {
	p := peers{sent: make(map[uint32]int64)}
	b, ok, err := store.Get(sentKey(unit))
	if err != nil || !ok {
		return p, err
	}
	span := new(schemas.TopicSpan)
	if err := proto.Unmarshal(b, span); err != nil {
		return p, fmt.Errorf("state of crawl %s: offsets of links sent: %w", unit, err)
	}
	maps.Copy(p.sent, span.GetLast())
	return p, nil
}

// placed notes the offset of links that a shard sent to another one.
func (p *prioritizer) placed(c *crawl, out stream.Out, at stream.Position) error {
	if out.Headers[schemas.HeaderID] == "" {
		return nil // a note: it activates no shard
	}
	to, err := shardOf(out.Headers, schemas.HeaderShard)
	if err != nil {
		return err
	}
	clear(c.peers.sending)
	if last, ok := c.peers.sent[to]; c.deleted() || ok && last >= at.Offset {
		return nil
	}
	c.peers.sent[to] = at.Offset
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&schemas.TopicSpan{Last: c.peers.sent})
	if err != nil {
		return fmt.Errorf("state of crawl %s: offsets of links sent: %w", c.name, err)
	}
	return p.store.Set(sentKey(unit(c.name, c.number)), b)
}

func (p *prioritizer) partitionOf(crawl string, shard uint32) int {
	return stream.PartitionOf([]byte(schemas.ShardKey(crawl, shard)), p.partitions)
}

// hasShard returns an error if the shard that a record is for does not exist; it may while the control record
// is unknown.
func (p *prioritizer) hasShard(rec *schemas.LinkFound) error {
	if ctl, _ := p.book.look(rec.GetCrawl()); ctl != nil && rec.GetShard() >= schemas.ShardsOf(ctl) {
		return fmt.Errorf("link.found is for shard %d of %s, and it has %d", rec.GetShard(), rec.GetCrawl(), schemas.ShardsOf(ctl))
	}
	return nil
}

// checkShards refuses control records with another number of shards than the shard was made for.
func (c *crawl) checkShards(ctl *schemas.CrawlControl) error {
	n := schemas.ShardsOf(ctl)
	if c.number >= n {
		return fmt.Errorf("shards: there is no shard %d of %d", c.number, n)
	}
	if c.shard != nil && c.shard.Shards() != n {
		return fmt.Errorf("shards: the crawl has %d, and that never changes", c.shard.Shards())
	}
	return nil
}

// relay sends the links for other shards that follow from an applied record, and passes a report to
// shard 0's coordinator.
func (s *step) relay(c *crawl, found schemas.Found, sent []*schemas.LinkFound) error {
	switch found := found.(type) {
	case schemas.PeerLinks, schemas.PeerRedirect:
		c.peers.links = true
	case schemas.PeerNote:
		if c.peers.lead != nil {
			c.peers.lead.Observe(found.GetFrom(), found.GetNote())
		}
	}
	for _, to := range sent {
		if err := s.sendPeer(c, to); err != nil {
			return err
		}
		if c.peers.sending == nil {
			c.peers.sending = make(map[uint32]bool)
		}
		c.peers.sending[to.GetShard()] = true
		c.peers.links = true
	}
	return nil
}

// sendPeer sends a record to another shard.
func (s *step) sendPeer(c *crawl, rec *schemas.LinkFound) error {
	value, err := proto.Marshal(rec)
	if err != nil {
		return fmt.Errorf("crawl %s: record for shard %d: %w", c.name, rec.GetShard(), err)
	}
	h := headers(c.name, rec.GetShard())
	h[schemas.HeaderFrom] = strconv.FormatUint(uint64(c.number), 10)
	if len(rec.GetId()) > 0 {
		h[schemas.HeaderID] = schemas.ID(rec.GetId()).String()
	}
	s.outs = append(s.outs, stream.Out{
		Topic: schemas.TopicLinkFound, Partition: -1, Key: []byte(schemas.ShardKey(c.name, rec.GetShard())), Value: value, Headers: h,
	})
	return nil
}

// sendNote sends a note to another shard.
func (s *step) sendNote(c *crawl, to uint32, note *schemas.ShardNote) error {
	return s.sendPeer(c, schemas.NoteTo(c.name, c.number, to, note))
}

// leaseVoid reports whether shard 0's lease is that of another owner; what is left of it is unknown until this
// owner's coordinator has decided.
func (c *crawl) leaseVoid() bool {
	return c.number == 0 && c.shard.Shards() > 1 && c.peers.lead == nil
}

// exchanges reports whether the shard has applied all of its input that was read, and there are other shards.
func (s *step) exchanges(c *crawl) bool {
	return c.ready && c.shard.Shards() > 1 && !s.replaying && c.records.count == 0
}

// sendReport sends the report on the state at the end of the previous step, if that one looked for newer
// owners.
func (s *step) sendReport(c *crawl) error {
	if !c.peers.due {
		return nil
	}
	c.peers.due = false
	if !s.exchanges(c) {
		return nil
	}
	report := c.report(s.prioritizer.next)
	c.peers.links = false
	return s.sendNote(c, 0, c.peers.member.Note(report, s.now))
}

// report is the state of the shard before offset next of its input.
func (c *crawl) report(next int64) *schemas.ShardReport {
	r := c.shard.Report()
	r.Next, r.Sent = next, maps.Clone(c.peers.sent)
	for to := range c.peers.sending {
		r.Sent[to] = math.MaxInt64 // not applied by any shard, as its offset is unknown
	}
	return r
}

// coordinate ends the step if there are several shards: shard 0 gives leases, another one checks whether a
// report is due.
func (s *step) coordinate(c *crawl) error {
	if !s.exchanges(c) {
		return nil
	}
	if c.number == 0 {
		return s.lead(c)
	}
	if c.peers.member == nil {
		c.peers.member = shards.NewFollower(s.epoch)
	}
	c.peers.member.Stride = c.shard.Stride()
	due, at := c.peers.member.Due(c.report(s.next), c.peers.links, s.now)
	if due {
		// It is sent by the next step, once it is known that no newer owner had claimed the partition.
		c.peers.due, s.look = true, true
		at = s.now
	}
	if !at.IsZero() {
		s.wakeAt(at)
	}
	return nil
}

// ends are the end reasons of package frontier.
var ends = shards.Ends{
	Stopped: frontier.EndStopped, Pages: frontier.EndPages, Requests: frontier.EndRequests,
	Empty: frontier.EndEmpty, Stagnated: frontier.EndStagnated, Unreachable: frontier.EndUnreachable,
}

// lead decides for all shards of the crawl.
func (s *step) lead(c *crawl) error {
	if c.peers.lead == nil {
		c.peers.lead = shards.NewCoordinator(s.epoch, c.shard.Shards(), ends)
	}
	if len(c.peers.sending) > 0 {
		s.wakeAt(s.now) // the next step has their offsets
	}
	own := c.report(s.next)
	c.peers.links = false
	lease, notes := c.peers.lead.Decide(c.shard.Limits(), own)
	if !proto.Equal(lease, own.GetLease()) {
		if err := c.shard.SetLease(lease); err != nil {
			return err
		}
		c.dirty = true
		s.wakeAt(s.now)
	}
	for _, k := range slices.Sorted(maps.Keys(notes)) {
		if err := s.sendNote(c, k, notes[k]); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/platform/disk"
	"forager/internal/stream"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// step is one step of a prioritizer under way.
type step struct {
	*prioritizer
	now       time.Time
	replaying bool
	next      int64 // offset after its records
	space     disk.State
	outs      []stream.Out
	statuses  []stream.Out
	wake      time.Time
	look      bool
}

// wakeAt requests another step at a time, or earlier.
func (s *step) wakeAt(at time.Time) {
	if s.wake.IsZero() || at.Before(s.wake) {
		s.wake = at
	}
}

// each calls f for every crawl; an error names the crawl.
func (s *step) each(f func(*crawl) error) error {
	for _, name := range s.order {
		c := s.crawls[name]
		if err := stateful.Guard(c.name, func() error { return f(c) }); err != nil {
			return err
		}
	}
	return nil
}

// prepare lets the shards read in advance what they need for records.
func (s *step) prepare(records []decoded) error {
	recs := make(map[*crawl][]*schemas.LinkFound)
	for _, d := range records {
		if d.err != nil {
			continue
		}
		rec := d.found.Record()
		if c := s.crawls[unit(rec.GetCrawl(), rec.GetShard())]; c != nil && c.ready && c.records.count == 0 {
			recs[c] = append(recs[c], rec)
		}
	}
	for c, recs := range recs {
		if err := stateful.Guard(c.name, func() error { return c.shard.Prepare(recs) }); err != nil {
			return err
		}
	}
	return nil
}

// take applies a record of the input to its crawl, or parks it there.
func (s *step) take(r stream.Record, d decoded) error {
	found, err := d.found, d.err
	if err != nil {
		found = rescue(r, err)
	}
	if found == nil {
		return s.poison(r, err)
	}
	rec := found.Record()
	if err := s.hasShard(rec); err != nil {
		return s.poison(r, err)
	}
	c, perr := s.crawl(rec.GetCrawl(), rec.GetShard(), s.now)
	if perr != nil {
		return perr
	}
	if c.deleted() {
		return nil
	}
	if !schemas.BetweenShards(found) {
		c.state.note(r.Topic, r.Partition, r.Offset)
		c.unsaved = true
	}
	if !c.ready || c.records.count > 0 {
		c.dirty = true
		return c.records.put(r)
	}
	return stateful.GuardRecord(c.name, &r, func() error { return s.apply(c, r, found, err) })
}

// apply applies a record; cause is why it had to be made from the record's headers, or nil.
func (s *step) apply(c *crawl, r stream.Record, found schemas.Found, cause error) error {
	if cause != nil {
		if err := s.poison(r, cause); err != nil {
			return err
		}
	}
	effects, err := c.shard.Apply(found.Record(), s.now)
	if err != nil {
		return fmt.Errorf("%s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err)
	}
	_, note := found.(schemas.PeerNote)
	c.dirty = c.dirty || !note
	if !effects.Duplicate && !schemas.BetweenShards(found) {
		s.count(c, r, found.ID())
		c.state.reject(found.Record().GetJudgement())
	}
	if err := s.relay(c, found, effects.Sent); err != nil {
		return err
	}
	for _, l := range effects.Settled {
		if err := s.sendLeap(c, l); err != nil {
			return err
		}
	}
	return nil
}

// count counts in the crawl's spans the records of page.* that led to a verdict.
// A trail that cannot be read is no reason to lose the verdict: the counts will differ from those of
// the topic, and verify reports that.
func (s *step) count(c *crawl, r stream.Record, id schemas.ID) {
	trail, err := schemas.ParseTrail(r.Headers[schemas.HeaderTrail])
	if err != nil {
		s.log.Error("trail", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "error", err)
		return
	}
	c.state.count(id, trail)
	c.unsaved = true
}

func (s *step) sendLeap(c *crawl, l *schemas.LeapSettled) error {
	out, err := leapOut(l)
	if err != nil {
		return err
	}
	s.outs = append(s.outs, out)
	c.wrote = true
	if l.GetBoundary() {
		c.state.boundary, c.unsaved = l.GetPages(), true
		c.dueSince = s.now
	}
	return nil
}

func (s *step) poison(r stream.Record, cause error) error {
	if r.Skipped() {
		return nil // its dead letter is written
	}
	letter, err := stream.DeadLetter(name, r, cause, 1)
	if err != nil {
		return stream.Broken(err)
	}
	s.log.Error("poison", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "error", cause)
	s.outs = append(s.outs, letter)
	return nil
}

// drain applies parked records when the crawl is ready.
func (s *step) drain(c *crawl) error {
	if !c.ready || c.records.count == 0 {
		return nil
	}
	records, err := c.records.take(slice)
	if err != nil {
		return err
	}
	for _, r := range records {
		found, cause := decode(r)
		if cause != nil {
			found = rescue(r, cause)
		}
		if err := s.apply(c, r, found, cause); err != nil {
			return err
		}
	}
	if c.records.count > 0 {
		s.wakeAt(s.now)
	}
	return nil
}

// decide scores some entries again and dispatches requests.
func (s *step) decide(c *crawl) error {
	if !c.ready {
		return nil
	}
	if s.space.Low {
		s.wakeAt(s.now.Add(diskEvery))
		return nil
	}
	if err := s.boost(c); err != nil {
		return err
	}
	more, err := c.shard.Rescore(s.rescoreBatch)
	if err != nil {
		return err
	}
	if more {
		s.wakeAt(s.now)
	}
	c.dirty = c.dirty || more || c.slices > 0 // also behind the last slice of a pass
	c.scored(more, s.now)
	// While verdicts on earlier requests are still being read, or are parked, a choice would be made
	// without them.
	if s.replaying || c.records.count > 0 || c.leaseVoid() {
		return nil
	}
	requests, err := c.shard.Dispatch(s.now, slice)
	if err != nil {
		return err
	}
	for _, r := range requests {
		out, err := requestOut(r)
		if err != nil {
			return err
		}
		s.outs = append(s.outs, out)
		c.wrote = true
	}
	if len(requests) == slice {
		s.wakeAt(s.now)
	}
	if at, ok := c.shard.Wake(s.now); ok {
		s.wakeAt(at)
	}
	return nil
}

// close ends the step for a crawl: boundary reminder, status, state.
func (s *step) close(c *crawl) error {
	if parked, ok := s.parked[c.name]; ok {
		return s.reportParked(c, parked)
	}
	if c.asleep() {
		if c.sent == nil || c.repeat { // a new owner repeats the last status, so that a late one of a former owner is not the last
			st := proto.CloneOf(c.state.last)
			st.Epoch, st.At, st.Revision = s.epoch, max(s.now.UnixMilli(), st.GetAt()+1), c.seen
			if err := s.report(c, st); err != nil {
				return err
			}
		}
		return s.save(c)
	}
	if !c.retryAt.IsZero() {
		s.wakeAt(c.retryAt)
	}
	st, err := s.formerEnd(c, s.status(c))
	if err != nil {
		return err
	}
	if c.ready && !s.replaying {
		if err := s.remind(c, st); err != nil {
			return err
		}
	}
	if err := s.report(c, st); err != nil {
		return err
	}
	if c.ready && !c.dirty && !s.replaying && c.records.count == 0 && c.refused == "" && c.peers.quiet() &&
		st.GetState() == schemas.ShardState_SHARD_STATE_FINISHED {
		// Nothing is in flight and the last status is sent: the shard leaves memory. A record or a new
		// control record loads it again.
		c.state.finished, c.state.last, c.unsaved = c.revision, st, true
		c.shard, c.ready, c.model, c.list, c.listKey, c.raised = nil, false, "", nil, "", 0
	}
	return s.save(c)
}

// reportParked repeats the last status of a crawl that is parked for a fault, with the cause.
func (s *step) reportParked(c *crawl, why stateful.ParkedCrawl) error {
	st, err := s.book.lastStatus(unit(c.name, c.number))
	if err != nil {
		return err
	}
	if st == nil {
		st = &schemas.CrawlStatus{Crawl: c.name, Shard: c.number, State: schemas.ShardState_SHARD_STATE_RUNNING}
	}
	cause, _, _ := strings.Cut(why.Cause, "\n")
	st.Epoch, st.At = s.epoch, s.now.UnixMilli()
	st.Activity = fmt.Sprintf("parked for a fault of prioritize since %s: %s (its log has more; forager crawl resume %s tries again)", why.Since.Format(time.RFC3339), cause, c.name)
	st.Waits = schemas.Hold(st.GetWaits(), schemas.WaitCause_WAIT_CAUSE_STAGE, name)
	if err := s.report(c, st); err != nil {
		return err
	}
	return s.save(c)
}

// remind sends a boundary again for which no model has come for long: the announcement was lost when
// model.published was compacted after a late copy of an older model.
func (s *step) remind(c *crawl, st *schemas.CrawlStatus) error {
	if st.GetActivity() != modelWait || c.state.boundary == 0 {
		c.dueSince = time.Time{}
		return nil
	}
	if c.dueSince.IsZero() {
		c.dueSince = s.now
	}
	if due := c.dueSince.Add(remindEvery); s.now.Before(due) {
		s.wakeAt(due)
		return nil
	}
	s.wakeAt(s.now.Add(remindEvery))
	return s.sendLeap(c, boundary(c.name, c.state.boundary))
}

// diskEvery is the time between two checks of a low disk.
const diskEvery = time.Second

// modelWait is the activity of a shard whose dispatch waits for a model.
const modelWait = "model wait"

// status returns the status of the crawl.
func (s *step) status(c *crawl) *schemas.CrawlStatus {
	var st *schemas.CrawlStatus
	if c.shard != nil {
		st = c.shard.Status(s.now)
	} else {
		st = &schemas.CrawlStatus{Crawl: c.name, Shard: c.number, At: s.now.UnixMilli(), State: schemas.ShardState_SHARD_STATE_RUNNING}
	}
	st.Epoch, st.Fixed, st.Revision, st.Rejected = s.epoch, c.fixed, c.seen, maps.Clone(c.state.rejected)
	for topic, span := range c.state.spans {
		if st.Spans == nil {
			st.Spans = make(map[string]*schemas.TopicSpan)
		}
		if st.Spans[topic] == nil {
			st.Spans[topic] = &schemas.TopicSpan{Count: span.GetCount(), Xor: span.GetXor()}
		}
		st.Spans[topic].First, st.Spans[topic].Last = span.GetFirst(), span.GetLast()
	}
	switch {
	case c.refused != "" && c.shard == nil:
		st.State, st.EndReason = schemas.ShardState_SHARD_STATE_FINISHED, "refused: "+c.refused
	case c.refused != "":
		st.Activity = "revision " + fmt.Sprint(c.refusedRevision) + " refused: " + c.refused
	case !c.ready && c.awaits != "":
		st.Activity = "waiting for " + c.awaits
		st.Waits = schemas.Hold(st.GetWaits(), schemas.WaitCause_WAIT_CAUSE_MISSING, c.awaits)
	case s.replaying || c.records.count > 0:
		st.Activity = "replaying"
		st.Waits = schemas.Hold(st.GetWaits(), schemas.WaitCause_WAIT_CAUSE_STAGE, name)
	case s.space.Low && c.ready && st.State == schemas.ShardState_SHARD_STATE_RUNNING:
		st.State, st.Activity = schemas.ShardState_SHARD_STATE_PAUSED, s.space.String()
		st.DiskDir, st.DiskFree, st.DiskNeeded = s.space.Dir, s.space.Free, s.space.Need
		st.Waits = schemas.Hold(st.GetWaits(), schemas.WaitCause_WAIT_CAUSE_DISK, s.space.Dir)
	case c.awaits != "":
		st.Activity = "waiting for " + c.awaits
	case st.GetActivity() == "":
		st.Activity, _ = controls.Restored(s.book.controls.Get(c.name))
	}
	if s.behind(c) && st.State == schemas.ShardState_SHARD_STATE_FINISHED {
		st.State, st.EndReason = schemas.ShardState_SHARD_STATE_RUNNING, "" // that may change when the rest is read
	}
	return st
}

// behind reports whether the state of the crawl lacks what a former owner may have known.
func (s *step) behind(c *crawl) bool {
	return (s.replaying || c.records.count > 0 || !c.ready) && c.refused == ""
}

// formerEnd returns the last status of a former owner in place of st if by that the crawl has finished and this owner's
// state is still behind, so that the crawl does not seem to run again. Otherwise it returns st.
func (s *step) formerEnd(c *crawl, st *schemas.CrawlStatus) (*schemas.CrawlStatus, error) {
	if !s.behind(c) || c.sent != nil && !c.former {
		c.repeat = c.repeat || c.former
		c.former = false
		return st, nil
	}
	last, err := s.book.lastStatus(unit(c.name, c.number))
	if c.former = last.GetState() == schemas.ShardState_SHARD_STATE_FINISHED; err != nil || !c.former {
		return st, err
	}
	last.Epoch, last.At, last.Activity = s.epoch, max(st.GetAt(), last.GetAt()+1), st.GetActivity()
	return last, nil
}

// report sends the status if it has changed: at once if the state changed, else
// once a second.
func (s *step) report(c *crawl, st *schemas.CrawlStatus) error {
	wrote := c.wrote
	c.dirty, c.wrote = c.dirty || wrote, false
	changed := c.sent == nil || c.repeat || c.sent.GetState() != st.GetState() || c.sent.GetEndReason() != st.GetEndReason()
	if !changed && !c.dirty {
		return nil
	}
	due := s.now
	if c.sent != nil {
		due = time.UnixMilli(c.sent.GetAt()).Add(statusEvery)
	}
	if !changed && s.now.Before(due) {
		s.wakeAt(due)
		return nil
	}
	// A reader that gets statuses twice or late compares epochs, then times: no two of an epoch have
	// the same time.
	st.At = max(st.GetAt(), c.sent.GetAt()+1)
	before := c.sent
	if before == nil { // a new owner goes on from its predecessor's status
		var err error
		if before, err = s.book.lastStatus(unit(c.name, c.number)); err != nil {
			return err
		}
	}
	schemas.WaitsSince(st, before)
	out, err := statusOut(st)
	if err != nil {
		return err
	}
	s.statuses = append(s.statuses, out)
	c.sent, c.dirty, c.repeat = st, wrote, false
	if c.dirty {
		s.wakeAt(s.now.Add(statusEvery))
	}
	return nil
}

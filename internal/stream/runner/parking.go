package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/stream"
	"forager/internal/stream/kafka"
)

// Parking: where a stage names the unit that a record belongs to (Stateless.Unit, its crawl), a record for which
// Handle returns Unavailable does not delay its partition. It is parked, and so is every later record of the unit,
// while the records of other units go on. The parked records stay in the input topic: the committed offset does not
// pass the first of them, and the commit's metadata lists them, so that the next owner of the partition continues
// after the others. The unit is tried again with back-off, in the order of its records.

const (
	// maxParked bounds the parked records of a partition, some 30 bytes each. The partition waits when it is
	// reached.
	maxParked = 1 << 16
	// parkedChunk is the number of parked records that are handled at a time.
	parkedChunk = 64
	// longestParkPause is the longest pause between two tries of a parked unit.
	longestParkPause = 5 * time.Second
)

// parking are the parked records of a claim.
type parking struct {
	mu    sync.Mutex
	units map[string]*parkedUnit
	count int
	high  int64
	wake  chan struct{} // signals that a unit was parked
	shown bool          // in the metric
}

type parkedUnit struct {
	stream.Parked
	offsets []int64 // ascending
	pause   time.Duration
	next    time.Time // of the next try
	logged  time.Time
}

func newParking(next int64) *parking {
	return &parking{units: make(map[string]*parkedUnit), high: next, wake: make(chan struct{}, 1)}
}

// restore reads the parked records from the metadata of a commit. It returns the offset to continue
// from.
func (p *parking) restore(committed int64, metadata string) (next int64, err error) {
	if metadata == "" {
		return committed, nil
	}
	var m stream.ParkedCommit
	if err := json.Unmarshal([]byte(metadata), &m); err != nil {
		return 0, fmt.Errorf("commit metadata %q: %w", metadata, err)
	}
	if m.High <= committed {
		return committed, nil
	}
	for _, x := range m.Parked {
		offsets, err := parseOffsets(x.Offsets)
		if err != nil {
			return 0, fmt.Errorf("commit metadata %q: %w", metadata, err)
		}
		if len(offsets) == 0 || p.units[x.Unit] != nil || offsets[0] < committed || !slices.IsSorted(offsets) || offsets[len(offsets)-1] >= m.High {
			return 0, fmt.Errorf("commit metadata %q: the offsets of crawl %q are not between %d and %d", metadata, x.Unit, committed, m.High)
		}
		x.Offsets = ""
		p.units[x.Unit] = &parkedUnit{Parked: x, offsets: offsets, pause: kafka.FirstPause}
		p.count += len(offsets)
	}
	p.high = m.High
	return m.High, nil
}

func formatOffsets(offsets []int64) string {
	var b strings.Builder
	last := int64(0)
	for i, o := range offsets {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.FormatInt(o-last, 36))
		last = o
	}
	return b.String()
}

func parseOffsets(text string) (offsets []int64, err error) {
	last := int64(0)
	for _, field := range strings.Fields(text) {
		d, err := strconv.ParseInt(field, 36, 64)
		if err != nil {
			return nil, fmt.Errorf("offset %q: %w", field, err)
		}
		last += d
		offsets = append(offsets, last)
	}
	return offsets, nil
}

// holds reports whether records of the unit are parked, and full whether no more may be.
func (p *parking) holds(unit string) (parked, full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.units[unit] != nil, p.count >= maxParked
}

// park adds a record of a unit. cause is nil if the unit is parked already.
func (p *parking) park(unit string, offset int64, cause error) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.units[unit]
	if first = u == nil; first {
		u = &parkedUnit{Parked: stream.Parked{Unit: unit, Since: time.Now().UTC()}, pause: kafka.FirstPause}
		p.units[unit] = u
	}
	if cause != nil {
		u.Because(cause)
	}
	u.offsets = append(u.offsets, offset)
	p.count++
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return first
}

// point returns what to commit: the first parked offset, or the end of what was completed, and the
// metadata.
func (p *parking) point() (low int64, metadata string) {
	low = p.high
	if p.count == 0 {
		return low, ""
	}
	m := stream.ParkedCommit{High: p.high}
	for _, unit := range slices.Sorted(maps.Keys(p.units)) {
		u := p.units[unit]
		low = min(low, u.offsets[0])
		x := u.Parked
		x.Records, x.Offsets = len(u.offsets), formatOffsets(u.offsets)
		m.Parked = append(m.Parked, x)
	}
	return low, m.String()
}

// due returns a unit to be tried now, with its first records, or else the time to wait.
func (p *parking) due(now time.Time) (unit string, offsets []int64, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var best *parkedUnit
	for _, u := range p.units {
		if best == nil || u.next.Before(best.next) {
			best = u
		}
	}
	switch {
	case best == nil:
		return "", nil, time.Hour
	case now.Before(best.next):
		return "", nil, best.next.Sub(now)
	}
	return best.Unit, slices.Clone(best.offsets[:min(len(best.offsets), parkedChunk)]), 0
}

// later postpones the next try of a unit, and reports whether to log it.
func (p *parking) later(unit string, cause error) (log bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u, now := p.units[unit], time.Now()
	u.Because(cause)
	u.next = now.Add(u.pause)
	u.pause = min(2*u.pause, longestParkPause)
	if log = now.Sub(u.logged) >= kafka.LogPause; log {
		u.logged = now
	}
	return log
}

// done removes the first n records of a unit; over: it had no more.
func (p *parking) done(unit string, n int) (over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.units[unit]
	u.offsets, u.pause, u.next = u.offsets[n:], kafka.FirstPause, time.Time{}
	p.count -= n
	if len(u.offsets) == 0 {
		delete(p.units, unit)
	}
	return len(u.offsets) == 0
}

// show sets the metric of parked records.
func (p *parking) show(g *prometheus.GaugeVec, topic, partition string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shown && p.count == 0 {
		return
	}
	p.shown = p.count > 0
	g.DeletePartialMatch(prometheus.Labels{"topic": topic, "partition": partition})
	for _, u := range p.units {
		g.WithLabelValues(topic, partition, u.Unit, u.Object).Set(float64(len(u.offsets)))
	}
}

// drain retries parked units until ctx ends. Its error ends the claim.
func (s *statelessClaim) drain(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		unit, offsets, wait := s.park.due(time.Now())
		if unit != "" {
			if err := s.retryParked(ctx, unit, offsets); err != nil {
				if class := stream.ClassOf(err); ctx.Err() != nil || class == stream.ClassEnded || class == stream.ClassLost {
					return nil
				}
				return err
			}
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-s.park.wake:
		}
	}
}

// retryParked handles the first records of a unit and sends their outputs in order.
func (s *statelessClaim) retryParked(ctx context.Context, unit string, offsets []int64) error {
	first, err := s.handleParked(ctx, offsets[0])
	if err != nil {
		return s.stillParked(unit, err)
	}
	outs := make([][]stream.Out, len(offsets))
	errs := make([]error, len(offsets))
	outs[0] = first
	var group sync.WaitGroup
	for i, offset := range offsets[1:] {
		group.Go(func() { outs[i+1], errs[i+1] = s.handleParked(ctx, offset) })
	}
	group.Wait()
	n := len(offsets)
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		n = i
	}
	if _, err := s.client.Produce(s.claim.Hard, slices.Concat(outs[:n]...)); err != nil {
		return err
	}
	stream.Failpoint("acked-before-commit")
	over := s.park.done(unit, n)
	s.commit(0)
	if over {
		s.client.Log.Info("resumed", "topic", s.claim.Topic, "partition", s.claim.Partition, "crawl", unit)
	}
	if n < len(offsets) {
		return s.stillParked(unit, errs[n])
	}
	return nil
}

// stillParked postpones the next try if err reports a missing object; other errors are returned.
func (s *statelessClaim) stillParked(unit string, err error) error {
	class := stream.ClassOf(err)
	s.client.Metrics.Failed(class)
	if class != stream.ClassUnavailable {
		return err
	}
	if s.park.later(unit, err) {
		s.client.Log.Warn("parked", "topic", s.claim.Topic, "partition", s.claim.Partition, "crawl", unit, "cause", err)
	}
	s.commit(0)
	return nil
}

// handleParked reads a parked record and handles it. A record that has waited for half of its topic's retention
// is poison, because the topic will soon delete it.
func (s *statelessClaim) handleParked(ctx context.Context, offset int64) (outs []stream.Out, err error) {
	var r *stream.Record
	err = s.client.Read(ctx, s.claim.Topic, s.claim.Partition, offset, offset+1, func(x stream.Record) error {
		r = &x
		return nil
	})
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, stream.Broken(fmt.Errorf("%s/%d holds no record at offset %d, which was parked", s.claim.Topic, s.claim.Partition, offset))
	}
	if err := s.worker(ctx); err != nil {
		return nil, err
	}
	outs, cause, err := s.stage.apply(s.claim.Hard, *r, s.client.CheckSizes)
	<-s.workers
	if retention := s.client.Retention(r.Topic); stream.ClassOf(err) == stream.ClassUnavailable && retention > 0 && time.Since(r.Time) > retention/2 {
		cause = fmt.Errorf("parked for half of the retention of %s: %w", r.Topic, err)
		outs, err = poisoned(s.stage.Stage, s.stage.Poison, *r, cause, 1)
	}
	if cause != nil && err == nil {
		s.client.NotePoison(r, cause)
	}
	return outs, err
}

// commit notes the position of the claim; next is the offset after the records completed or parked, 0 = as
// before.
func (s *statelessClaim) commit(next int64) {
	s.park.mu.Lock()
	s.park.high = max(s.park.high, next)
	low, metadata := s.park.point()
	s.claim.Commit(low, metadata)
	s.park.mu.Unlock()
	if s.stage.Unit != nil {
		s.park.show(s.client.Metrics.Parked, s.claim.Topic, strconv.Itoa(s.claim.Partition))
	}
}

package stream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
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
	// maxMetadata bounds the metadata of a commit, bytes; brokers accept 4096.
	maxMetadata = 3800
	// parkedChunk is the number of parked records that are handled at a time.
	parkedChunk = 64
	// longestParkPause is the longest pause between two tries of a parked unit.
	longestParkPause = 5 * time.Second
	// maxNamed bounds the units that the metadata of a commit names.
	maxNamed = 16
)

// Parked describes the records of a unit that wait for a missing object.
type Parked struct {
	// Unit is the crawl.
	Unit string `json:"crawl"`
	// Object is the missing object, Cause the error.
	Object string    `json:"object"`
	Cause  string    `json:"cause"`
	Since  time.Time `json:"since"`
	// Records that wait.
	Records int `json:"records"`
	// Offsets of the records, in base 36: the first, and then the differences.
	Offsets string `json:"offsets,omitempty"`
}

// parkedMetadata is the metadata of a commit of a claim with parked records.
type parkedMetadata struct {
	// High is the offset after the last record that was completed or parked. 0: the lists did not fit, and the records
	// after the committed offset are handled once more.
	High   int64    `json:"high,omitempty"`
	Parked []Parked `json:"parked"`
}

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
	Parked
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
	var m parkedMetadata
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
		p.units[x.Unit] = &parkedUnit{Parked: x, offsets: offsets, pause: firstPause}
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
		u = &parkedUnit{Parked: Parked{Unit: unit, Since: time.Now().UTC()}, pause: firstPause}
		p.units[unit] = u
	}
	if cause != nil {
		u.because(cause)
	}
	u.offsets = append(u.offsets, offset)
	p.count++
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return first
}

func (u *parkedUnit) because(cause error) {
	u.Cause, u.Object = cause.Error(), ""
	if m := (*missing)(nil); errors.As(cause, &m) {
		u.Object, u.Cause = m.object, m.err.Error()
	}
}

// point returns what to commit: the first parked offset, or the end of what was completed, and the
// metadata.
func (p *parking) point() (low int64, metadata string) {
	low = p.high
	if p.count == 0 {
		return low, ""
	}
	m := parkedMetadata{High: p.high}
	for _, unit := range slices.Sorted(maps.Keys(p.units)) {
		u := p.units[unit]
		low = min(low, u.offsets[0])
		x := u.Parked
		x.Records, x.Offsets = len(u.offsets), formatOffsets(u.offsets)
		x.Cause, x.Object = short(x.Cause), short(x.Object)
		m.Parked = append(m.Parked, x)
	}
	return low, m.String()
}

// String returns the metadata as it is committed, without offsets, or without some crawls, where it would be
// too long.
func (m *parkedMetadata) String() string {
	b, err := json.Marshal(m)
	if err == nil && len(b) <= maxMetadata {
		return string(b)
	}
	m.High, m.Parked = 0, m.Parked[:min(len(m.Parked), maxNamed)]
	for i := range m.Parked {
		m.Parked[i].Offsets = ""
	}
	for b, err = json.Marshal(m); err == nil && len(b) > maxMetadata; b, err = json.Marshal(m) {
		m.Parked = m.Parked[:len(m.Parked)-1]
	}
	return string(b)
}

// short truncates a text for the metadata of a commit.
func short(s string) string {
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?")
	if r := []rune(s); len(r) > 160 {
		return string(r[:159]) + "…"
	}
	return s
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
	u.because(cause)
	u.next = now.Add(u.pause)
	u.pause = min(2*u.pause, longestParkPause)
	if log = now.Sub(u.logged) >= logPause; log {
		u.logged = now
	}
	return log
}

// done removes the first n records of a unit; over: it had no more.
func (p *parking) done(unit string, n int) (over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.units[unit]
	u.offsets, u.pause, u.next = u.offsets[n:], firstPause, time.Time{}
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
		g.WithLabelValues(topic, partition, u.Unit, short(u.Object)).Set(float64(len(u.offsets)))
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
				if class := classOf(err); ctx.Err() != nil || class == ended || class == lost {
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
	outs := make([][]Out, len(offsets))
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
	if _, err := s.client.Produce(s.claim.hard, slices.Concat(outs[:n]...)); err != nil {
		return err
	}
	Failpoint("acked-before-commit")
	over := s.park.done(unit, n)
	s.commit(0)
	if over {
		s.client.log.Info("resumed", "topic", s.claim.topic, "partition", s.claim.partition, "crawl", unit)
	}
	if n < len(offsets) {
		return s.stillParked(unit, errs[n])
	}
	return nil
}

// stillParked postpones the next try if err reports a missing object; other errors are returned.
func (s *statelessClaim) stillParked(unit string, err error) error {
	class := classOf(err)
	s.client.metrics.errors.WithLabelValues(class.String()).Inc()
	if class != unavailable {
		return err
	}
	if s.park.later(unit, err) {
		s.client.log.Warn("parked", "topic", s.claim.topic, "partition", s.claim.partition, "crawl", unit, "cause", err)
	}
	s.commit(0)
	return nil
}

// handleParked reads a parked record and handles it. A record that has waited for half of its topic's retention
// is poison, because the topic will soon delete it.
func (s *statelessClaim) handleParked(ctx context.Context, offset int64) (outs []Out, err error) {
	var r *Record
	err = s.client.Read(ctx, s.claim.topic, s.claim.partition, offset, offset+1, func(x Record) error {
		r = &x
		return nil
	})
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, Broken(fmt.Errorf("%s/%d holds no record at offset %d, which was parked", s.claim.topic, s.claim.partition, offset))
	}
	if err := s.worker(ctx); err != nil {
		return nil, err
	}
	outs, cause, err := s.stage.apply(s.claim.hard, *r, s.client.checkSizes)
	<-s.workers
	if retention := s.client.topics[r.Topic].Retention; classOf(err) == unavailable && retention > 0 && time.Since(r.Time) > retention/2 {
		cause = fmt.Errorf("parked for half of the retention of %s: %w", r.Topic, err)
		outs, err = poisoned(s.stage.Stage, s.stage.Poison, *r, cause, 1)
	}
	if cause != nil && err == nil {
		s.client.notePoison(r, cause)
	}
	return outs, err
}

// commit notes the position of the claim; next is the offset after the records completed or parked, 0 = as
// before.
func (s *statelessClaim) commit(next int64) {
	s.park.mu.Lock()
	s.park.high = max(s.park.high, next)
	low, metadata := s.park.point()
	s.claim.commit(low, metadata)
	s.park.mu.Unlock()
	if s.stage.Unit != nil {
		s.park.show(s.client.metrics.parked, s.claim.topic, strconv.Itoa(s.claim.partition))
	}
}

// Parked returns the parked units of a stage in all partitions of an input topic, as read from its
// commits.
func (c *Client) Parked(ctx context.Context, stage, topic string) (list []Parked, err error) {
	n, err := c.Partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	byUnit := make(map[string]*Parked)
	err = c.retry(ctx, "commits of group "+c.groupName(stage), func(ctx context.Context) error {
		clear(byUnit)
		r, err := c.kafka.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: c.groupName(stage), Topics: map[string][]int{topic: all}})
		if err != nil {
			return err
		}
		if errors.Is(r.Error, kafka.GroupIdNotFound) {
			return nil // the stage has never run
		}
		if r.Error != nil {
			return r.Error
		}
		for _, p := range r.Topics[topic] {
			if p.Error != nil {
				return p.Error
			}
			var m parkedMetadata
			if p.Metadata == "" || json.Unmarshal([]byte(p.Metadata), &m) != nil {
				continue
			}
			for _, x := range m.Parked {
				x.Offsets = ""
				if y := byUnit[x.Unit]; y == nil {
					byUnit[x.Unit] = &x
				} else {
					y.Records += x.Records
					if x.Since.Before(y.Since) {
						y.Since = x.Since
					}
				}
			}
		}
		return nil
	})
	for _, x := range byUnit {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b Parked) int { return cmp.Compare(a.Unit, b.Unit) })
	return list, err
}

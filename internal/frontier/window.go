package frontier

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// The window by default: min(max(4, 2 · rate · latency), max(1, budget/20)).
//
// In a closed loop rate · latency is what is in flight anyway (Little's law), so taking the
// product as it is would never open the window. Hence twice the product, with the least median
// latency seen so far: as long as the loop is not busy, latency stays at that floor and the
// window doubles from measurement to measurement; once it is busy, the rate no longer grows
// and the window stays at twice of what keeps the loop busy.
const (
	// latencySlots is the number of verdicts that Status shows percentiles of.
	latencySlots = 1024
	// measureEvery so many verdicts, over the last measureOver, rate and latency are measured.
	measureEvery = 32
	measureOver  = 256
	// leastWindow is the window before anything is measured.
	leastWindow = 4
)

// latency holds the last samples in a ring; sample n stands at n mod latencySlots.
type latency struct {
	at, took [latencySlots]int64 // milliseconds
}

// window is the number of requests that may be in flight.
func (s *Shard) window() uint64 {
	if s.limits.window > 0 {
		return s.limits.window
	}
	return min(max(leastWindow, s.c.windowNow), s.limits.windowCap)
}

// measure takes the latency of one verdict, dispatch → verdict.
func (s *Shard) measure(now, took int64) error {
	now, took = max(now, 0), max(took, 0)
	slot := s.c.samples % latencySlots
	s.latency.at[slot], s.latency.took[slot] = now, took
	s.c.samples++
	if s.c.samples%measureEvery == 0 {
		s.measureWindow()
	}
	s.value = binary.AppendUvarint(s.value[:0], uint64(now))
	s.value = binary.AppendUvarint(s.value, uint64(took))
	return s.store.Set(s.keys.u32(kindLatency, uint32(slot)), s.value)
}

func (s *Shard) measureWindow() {
	n := min(s.c.samples, measureOver)
	first, last := s.c.samples-n, s.c.samples-1
	took := make([]int64, 0, n)
	for i := first; i <= last; i++ {
		took = append(took, s.latency.took[i%latencySlots])
	}
	slices.Sort(took)
	if median := uint64(took[len(took)/2]); s.c.floor == 0 || median < s.c.floor {
		s.c.floor = median
	}
	span := s.latency.at[last%latencySlots] - s.latency.at[first%latencySlots]
	if span > 0 {
		s.c.windowNow = (2*(n-1)*s.c.floor + uint64(span) - 1) / uint64(span)
	}
}

// percentiles returns median and 95th percentile of the last samples, milliseconds.
func (s *Shard) percentiles() (p50, p95 uint32) {
	n := int(min(s.c.samples, latencySlots))
	if n == 0 {
		return 0, 0
	}
	took := slices.Clone(s.latency.took[:n])
	slices.Sort(took)
	return milliseconds(took[n/2]), milliseconds(took[min(n-1, n*95/100)])
}

func milliseconds(ms int64) uint32 { return uint32(min(ms, 1<<32-1)) }

func (s *Shard) loadLatency() error {
	from := append([]byte(nil), s.keys.kind(kindLatency)...)
	return s.store.Scan(from, after(from), func(key, value []byte) (bool, error) {
		r := reader{b: value}
		at, took := r.i64(), r.i64()
		slot, err := s.keys.parseU32(key)
		if err == nil {
			err = r.end()
		}
		if err != nil || slot >= latencySlots {
			return false, fmt.Errorf("frontier: latency sample %d: %w", slot, err)
		}
		s.latency.at[slot], s.latency.took[slot] = at, took
		return true, nil
	})
}

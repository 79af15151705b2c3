package frontier

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// The window by default is found by trying: min(what was found, max(1, budget/20)).
//
// In a closed loop rate · latency is what is in flight anyway (Little's law), so the product
// does not tell whether a wider window would bring more. So the window begins at
// firstWindow and is doubled while that brings verdicts an eighth faster; a doubling that does not is
// taken back. Another one is tried after tryAgain windows of verdicts, and the best rate decays
// meanwhile: hosts come and go, and one measurement may be too high by chance (docs/decisions/0102).
const (
	// latencySlots is the number of verdicts of which Status has percentiles.
	latencySlots = 1024
	// The rate is measured after measureEvery verdicts, or two windows of them if that is more.
	measureEvery = 64
	firstWindow  = 16
	lastWindow   = 1024
	// forget: each measurement reduces the best rate by this share.
	forget   = 16
	tryAgain = 16
)

// latency holds the last samples in a ring; sample n is at n mod latencySlots.
type latency struct {
	at, took [latencySlots]int64 // milliseconds
}

// window is the number of requests that may be in flight.
func (s *Shard) window() uint64 {
	if s.limits.window > 0 {
		return s.limits.window
	}
	return min(max(firstWindow, s.c.windowNow), s.limits.windowCap)
}

// windowInForce is the window, bounded by the lease if there are several shards.
func (s *Shard) windowInForce() uint64 {
	if s.limits.shards > 1 {
		return min(s.window(), s.lease.GetLease().GetWindow())
	}
	return s.window()
}

// measure takes the latency of one verdict, dispatch → verdict.
func (s *Shard) measure(now, took int64) error {
	now, took = max(now, 0), max(took, 0)
	slot := s.c.samples % latencySlots
	s.latency.at[slot], s.latency.took[slot] = now, took
	s.c.samples++
	s.tune()
	s.value = binary.AppendUvarint(s.value[:0], uint64(now))
	s.value = binary.AppendUvarint(s.value, uint64(took))
	return s.store.Set(s.keys.u32(kindLatency, uint32(slot)), s.value)
}

// tune measures the rate if it is due, and changes the window.
func (s *Shard) tune() {
	c := &s.c
	c.windowNow = max(firstWindow, c.windowNow)
	since := c.samples - c.tunedAt
	if since < max(measureEvery, 2*c.windowNow) {
		return
	}
	// Verdicts come in bursts, of which each measurement has a few: the rate is that since the last verdict of
	// the former measurement. Between the first and the last of a burst it would be any number.
	last := c.samples - 1
	n := min(since, last, latencySlots-1)
	span := max(1, s.latency.at[last%latencySlots]-s.latency.at[(last-n)%latencySlots])
	rate := n * 1_000_000 / uint64(span) // verdicts in 1,000 s
	faster := rate*8 > c.bestRate*9
	c.bestRate = max(rate, c.bestRate-c.bestRate/forget)
	again := c.samples/(tryAgain*c.windowNow) > c.tunedAt/(tryAgain*c.windowNow)
	c.tunedAt = c.samples
	switch {
	case !faster && c.widened == 1:
		c.windowNow, c.widened = c.windowNow/2, 0
	case (faster || again) && c.windowNow < lastWindow:
		c.windowNow, c.widened = 2*c.windowNow, 1
	default:
		c.widened = 0
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
		if err != nil {
			return false, fmt.Errorf("frontier: latency sample: %w", err)
		}
		if slot >= latencySlots {
			return false, fmt.Errorf("frontier: latency sample %d of %d", slot, latencySlots)
		}
		s.latency.at[slot], s.latency.took[slot] = at, took
		return true, nil
	})
}

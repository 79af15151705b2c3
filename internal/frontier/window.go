package frontier

import (
	"encoding/binary"
	"fmt"
	"slices"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
)

// The window by default is found by trying: min(what was found, max(1, budget/20)).
//
// In a closed loop rate · latency is what is in flight anyway (Little's law), so the product
// does not show whether a wider window would bring more. So the window begins at
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

// pace measures the latency of requests and finds the window.
type pace struct {
	cfg     *settings
	state   *state.Records
	latency latency
}

// window is the number of requests that may be in flight.
func (pc *pace) window() uint64 {
	if pc.cfg.limits.window > 0 {
		return pc.cfg.limits.window
	}
	return min(max(firstWindow, pc.state.Counters.WindowNow), pc.cfg.limits.windowCap)
}

// windowInForce is the window, bounded by the lease if there are several shards.
func (ds *dispatcher) windowInForce() uint64 {
	if ds.cfg.limits.shards > 1 {
		return min(ds.pace.window(), ds.peers.lease.GetLease().GetWindow())
	}
	return ds.pace.window()
}

// measure takes the latency of one verdict, dispatch → verdict.
func (pc *pace) measure(now, took int64) error {
	now, took = max(now, 0), max(took, 0)
	slot := pc.state.Counters.Samples % latencySlots
	pc.latency.at[slot], pc.latency.took[slot] = now, took
	pc.state.Counters.Samples++
	pc.tune()
	pc.state.Buffer = binary.AppendUvarint(pc.state.Buffer[:0], uint64(now))
	pc.state.Buffer = binary.AppendUvarint(pc.state.Buffer, uint64(took))
	return pc.state.Store.Set(pc.state.Keys.U32(state.KindLatency, uint32(slot)), pc.state.Buffer)
}

// tune measures the rate if it is due, and changes the window.
func (pc *pace) tune() {
	c := &pc.state.Counters
	c.WindowNow = max(firstWindow, c.WindowNow)
	since := c.Samples - c.TunedAt
	if since < max(measureEvery, 2*c.WindowNow) {
		return
	}
	// Verdicts come in bursts, of which each measurement has a few: the rate is that since the last verdict of
	// the former measurement. Between the first and the last of a burst it would be any number.
	last := c.Samples - 1
	n := min(since, last, latencySlots-1)
	span := max(1, pc.latency.at[last%latencySlots]-pc.latency.at[(last-n)%latencySlots])
	rate := n * 1_000_000 / uint64(span) // verdicts in 1,000 s
	faster := rate*8 > c.BestRate*9
	c.BestRate = max(rate, c.BestRate-c.BestRate/forget)
	again := c.Samples/(tryAgain*c.WindowNow) > c.TunedAt/(tryAgain*c.WindowNow)
	c.TunedAt = c.Samples
	switch {
	case !faster && c.Widened == 1:
		c.WindowNow, c.Widened = c.WindowNow/2, 0
	case (faster || again) && c.WindowNow < lastWindow:
		c.WindowNow, c.Widened = 2*c.WindowNow, 1
	default:
		c.Widened = 0
	}
}

// percentiles returns median and 95th percentile of the last samples, milliseconds.
func (pc *pace) percentiles() (p50, p95 uint32) {
	n := int(min(pc.state.Counters.Samples, latencySlots))
	if n == 0 {
		return 0, 0
	}
	took := slices.Clone(pc.latency.took[:n])
	slices.Sort(took)
	return milliseconds(took[n/2]), milliseconds(took[min(n-1, n*95/100)])
}

func milliseconds(ms int64) uint32 { return uint32(min(ms, 1<<32-1)) }

func (pc *pace) loadLatency() error {
	from := append([]byte(nil), pc.state.Keys.Kind(state.KindLatency)...)
	return pc.state.Store.Scan(from, state.After(from), func(key, value []byte) (bool, error) {
		r := storage.Reader{Rest: value}
		at, took := r.I64(), r.I64()
		slot, err := pc.state.Keys.ParseU32(key)
		if err == nil {
			err = r.End()
		}
		if err != nil {
			return false, fmt.Errorf("frontier: latency sample: %w", err)
		}
		if slot >= latencySlots {
			return false, fmt.Errorf("frontier: latency sample %d of %d", slot, latencySlots)
		}
		pc.latency.at[slot], pc.latency.took[slot] = at, took
		return true, nil
	})
}

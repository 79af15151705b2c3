package frontier

import (
	"testing"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
)

// TestWindowOfBursts: verdicts come in bursts of a whole window. If a round takes the same time however
// many it brings, the window grows; if the time is proportional to the verdicts, it stays at its first value.
func TestWindowOfBursts(t *testing.T) {
	for name, c := range map[string]struct {
		round func(window uint64) int64 // milliseconds
		least uint64
		most  uint64
	}{
		"waiting": {func(uint64) int64 { return 100 }, lastWindow, lastWindow},
		"busy":    {func(window uint64) int64 { return int64(window) }, firstWindow, 2 * firstWindow},
		"between": {func(window uint64) int64 { return 50 + int64(window)/8 }, 128, lastWindow},
	} {
		s, now := newShard(storage.NewMemory(), state.ShardName{Crawl: "c"}), int64(1)
		s.state.Counters.WindowNow = firstWindow
		for s.state.Counters.Samples < 20_000 {
			window := s.state.Counters.WindowNow
			now += c.round(window)
			for range window {
				s.pace.latency.at[s.state.Counters.Samples%latencySlots] = now
				s.state.Counters.Samples++
				s.pace.tune()
			}
			if s.state.Counters.WindowNow > c.most {
				t.Fatalf("%s: a window of %d after %d verdicts", name, s.state.Counters.WindowNow, s.state.Counters.Samples)
			}
		}
		if s.state.Counters.WindowNow < c.least {
			t.Errorf("%s: a window of %d after %d verdicts, want %d at least", name, s.state.Counters.WindowNow, s.state.Counters.Samples, c.least)
		}
	}
}

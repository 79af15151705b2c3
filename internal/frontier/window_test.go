package frontier

import "testing"

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
		s, now := new(Shard), int64(1)
		s.c.windowNow = firstWindow
		for s.c.samples < 20_000 {
			window := s.c.windowNow
			now += c.round(window)
			for range window {
				s.latency.at[s.c.samples%latencySlots] = now
				s.c.samples++
				s.tune()
			}
			if s.c.windowNow > c.most {
				t.Fatalf("%s: a window of %d after %d verdicts", name, s.c.windowNow, s.c.samples)
			}
		}
		if s.c.windowNow < c.least {
			t.Errorf("%s: a window of %d after %d verdicts, want %d at least", name, s.c.windowNow, s.c.samples, c.least)
		}
	}
}

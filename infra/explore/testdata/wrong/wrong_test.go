package wrong

import (
	"testing"

	"pgregory.net/rapid"

	"forager/internal/stream/crashtest"
)

func TestHolds(t *testing.T) { check(t, func(uint64) bool { return true }) }

// TestDoesNotHold fails for one number in a thousand.
func TestDoesNotHold(t *testing.T) { check(t, func(n uint64) bool { return n%1000 != 7 }) }

func TestSimulationHolds(t *testing.T) {
	crashtest.Seeds(t, 10, func(uint64) error { return nil })
}

func TestOfNothing(*testing.T) { panic("this is no property test") }

func check(t *testing.T, property func(uint64) bool) {
	rapid.Check(t, func(t *rapid.T) {
		if n := rapid.Uint64().Draw(t, "n"); !property(n) {
			t.Fatalf("not for %d", n)
		}
	})
}

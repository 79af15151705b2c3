package main

import "testing"

func TestMemoryIsSharedByShardsThatAreAwake(t *testing.T) {
	m := newMemory(1000)
	for i, c := range []struct{ partition, awake, share int }{
		{0, 0, 1000}, {0, 1, 1000}, {1, 3, 250}, {0, 2, 200}, {1, 0, 500}, {2, 2000, 1},
	} {
		if got := m.share(c.partition, c.awake); got != c.share {
			t.Errorf("%d: %d bytes, want %d", i, got, c.share)
		}
	}
}

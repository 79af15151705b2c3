package main

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

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

func TestLearnedIsSummedOverPartitions(t *testing.T) {
	m, reg := newMemory(1000), prometheus.NewRegistry()
	if err := m.register(reg); err != nil {
		t.Fatal(err)
	}
	m.noteLearned(0, learned{bytes: 500, skipped: 1})
	m.noteLearned(1, learned{bytes: 70, skipped: 4})
	m.noteLearned(0, learned{bytes: 30, skipped: 2})
	got := make(map[string]float64)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		got[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
	}
	if got["forager_prioritize_learned_bytes"] != 100 || got["forager_prioritize_learned_skipped_verdicts"] != 6 || len(got) != 2 {
		t.Errorf("metrics %v, want 100 bytes and 6 verdicts", got)
	}
}

package bench

import "forager/cmd/forager/deploy"

// MemoryPeaks are the peak memory of processes and their limits.
type MemoryPeaks struct {
	// PeakMemory is the largest resident size of a process so far, bytes, by its name ("fetch-0").
	PeakMemory map[string]int64 `json:"peak_memory"`
	// Limit is the setting memory_bytes, where there is one: a soft limit for the part that Go uses.
	Limit map[string]int64 `json:"memory_bytes"`
}

// memoryPeaks returns those of all running processes.
func (b *bench) memoryPeaks() MemoryPeaks {
	m := MemoryPeaks{PeakMemory: b.PeakMemory(), Limit: make(map[string]int64)}
	for name := range m.PeakMemory {
		limit := b.Config.Stages.Common(deploy.StageOf(name)).MemoryBytes
		if name == "local" {
			limit = b.Config.Local.MemoryBytes
		}
		if limit > 0 {
			m.Limit[name] = limit
		}
	}
	return m
}

// Of returns the largest peak of a stage's processes, bytes, and the limit of each; 0 = no limit.
func (m MemoryPeaks) Of(stage string) (peak, limit int64) {
	for name, bytes := range m.PeakMemory {
		if deploy.StageOf(name) == stage {
			peak, limit = max(peak, bytes), m.Limit[name]
		}
	}
	return peak, limit
}

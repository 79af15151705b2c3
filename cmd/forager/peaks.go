package main

// memoryPeaks are the peak memory of processes and their limits.
type memoryPeaks struct {
	// PeakMemory is the largest resident size of a process so far, bytes, by its name ("fetch-0").
	PeakMemory map[string]int64 `json:"peak_memory"`
	// Limit is the setting memory_bytes, where there is one: a soft limit for the part that Go uses.
	Limit map[string]int64 `json:"memory_bytes"`
}

// memoryPeaks returns those of all running processes.
func (b *bench) memoryPeaks() memoryPeaks {
	m := memoryPeaks{PeakMemory: b.peakMemory(), Limit: make(map[string]int64)}
	for name := range m.PeakMemory {
		limit := b.config.Stages.Common(stageOf(name)).MemoryBytes
		if name == "local" {
			limit = b.config.Local.MemoryBytes
		}
		if limit > 0 {
			m.Limit[name] = limit
		}
	}
	return m
}

// of returns the largest peak of a stage's processes, bytes, and the limit of each; 0 = no limit.
func (m memoryPeaks) of(stage string) (peak, limit int64) {
	for name, bytes := range m.PeakMemory {
		if stageOf(name) == stage {
			peak, limit = max(peak, bytes), m.Limit[name]
		}
	}
	return peak, limit
}

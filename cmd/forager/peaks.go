package main

// memoryPeaks say how much memory processes took at most, beside the bound that each was given.
type memoryPeaks struct {
	// PeakMemory is the largest resident size of a process so far, bytes, by its name ("fetch-0").
	PeakMemory map[string]int64 `json:"peak_memory"`
	// Limit is the setting memory_bytes of those that have one: a soft limit of what Go uses of it.
	Limit map[string]int64 `json:"memory_bytes"`
}

// memoryPeaks are those of every process under way.
func (b *bench) memoryPeaks() memoryPeaks {
	m := memoryPeaks{PeakMemory: b.peakMemory(), Limit: make(map[string]int64)}
	for name := range m.PeakMemory {
		limit := b.config.Stages.Process(stageOf(name)).MemoryBytes
		if name == "local" {
			limit = b.config.Local.MemoryBytes
		}
		if limit > 0 {
			m.Limit[name] = limit
		}
	}
	return m
}

// of returns the largest peak of a stage's processes, bytes, and what each of them may take; 0 = no bound.
func (m memoryPeaks) of(stage string) (peak, limit int64) {
	for name, bytes := range m.PeakMemory {
		if stageOf(name) == stage {
			peak, limit = max(peak, bytes), m.Limit[name]
		}
	}
	return peak, limit
}

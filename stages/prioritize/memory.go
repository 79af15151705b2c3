package main

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// memory is what the frontiers of the process may keep in memory, shared evenly by its shards
// that are awake.
type memory struct {
	bytes int64

	mu sync.Mutex
	// awake is the number of shards in memory by partition. A partition that was lost still counts: it may come back, and a
	// smaller share is safe.
	awake map[int]int
	// learned by partition.
	learned map[int]learned
}

// learned is what rankers that learn from verdicts take in memory, bytes, and the number of verdicts that they skipped because they
// were full.
type learned struct {
	bytes   int
	skipped uint64
}

func newMemory(bytes int64) *memory {
	return &memory{bytes: bytes, awake: make(map[int]int), learned: make(map[int]learned)}
}

// share sets the number of a partition's shards that are awake, and returns the bytes of one shard.
func (m *memory) share(partition, awake int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.awake[partition] = awake
	all := 0
	for _, n := range m.awake {
		all += n
	}
	return int(max(1, m.bytes/int64(max(1, all))))
}

// noteLearned sets what the rankers of a partition have learned.
func (m *memory) noteLearned(partition int, l learned) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.learned[partition] = l
}

// allLearned is the sum over the partitions.
func (m *memory) allLearned() (sum learned) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.learned {
		sum.bytes, sum.skipped = sum.bytes+l.bytes, sum.skipped+l.skipped
	}
	return sum
}

// register registers the metrics.
func (m *memory) register(reg prometheus.Registerer) error {
	gauge := func(name, help string, value func(learned) float64) error {
		return reg.Register(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Namespace: "forager", Subsystem: "prioritize", Name: name, Help: help},
			func() float64 { return value(m.allLearned()) }))
	}
	return errors.Join(
		gauge("learned_bytes", "Memory of rankers that learn from verdicts, estimated.", func(l learned) float64 { return float64(l.bytes) }),
		gauge("learned_skipped_verdicts", "Verdicts that such rankers did not learn from, as they were full.", func(l learned) float64 { return float64(l.skipped) }),
	)
}

// noteLearned adds up what the rankers of all shards of the partition have learned.
func (p *prioritizer) noteLearned() {
	var sum learned
	for _, c := range p.crawls {
		if c.shard != nil {
			bytes, skipped := c.shard.Learned()
			sum.bytes, sum.skipped = sum.bytes+bytes, sum.skipped+skipped
		}
	}
	p.memory.noteLearned(p.partition, sum)
}

// shareMemory sets the memory of every shard of the partition.
func (p *prioritizer) shareMemory() {
	awake := 0
	for _, c := range p.crawls {
		if c.shard != nil {
			awake++
		}
	}
	if p.each = p.memory.share(p.partition, awake); awake == 0 {
		return
	}
	for _, c := range p.crawls {
		if c.shard != nil {
			c.shard.SetMemory(p.each)
		}
	}
}

// memTable is the size of Pebble's write buffer, bytes, for a number of bytes of frontiers.
func memTable(frontier int64) uint64 { return uint64(min(frontier/8, 64<<20)) }

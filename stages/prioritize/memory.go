package main

import "sync"

// memory is what the frontiers of the process may keep in memory. Rankers that learn from verdicts have what they need, by
// which scores would otherwise differ; the rest is shared evenly by the shards that are awake.
type memory struct {
	bytes int64

	mu sync.Mutex
	// used by partition. A partition that was lost still counts: it may come back, and a smaller share is safe.
	used map[int]usage
}

// usage is the number of a partition's shards that are awake, and what their rankers have learned, bytes.
type usage struct {
	awake   int
	learned int64
}

func newMemory(bytes int64) *memory { return &memory{bytes: bytes, used: make(map[int]usage)} }

// shareStep, bytes: what rankers learn is counted in such steps, so that shares do not change with every page.
const shareStep = 1 << 20

// share sets what a partition uses, and returns the bytes of one shard.
func (m *memory) share(partition int, u usage) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used[partition] = u
	var all usage
	for _, u := range m.used {
		all.awake += u.awake
		all.learned += u.learned
	}
	rest := m.bytes - (all.learned+shareStep-1)/shareStep*shareStep
	return int(max(1, rest/int64(max(1, all.awake))))
}

// shareMemory sets the memory of every shard of the partition.
func (p *prioritizer) shareMemory() {
	var u usage
	for _, c := range p.crawls {
		if c.shard != nil {
			u.awake++
			u.learned += int64(c.shard.Learned())
		}
	}
	if p.each = p.memory.share(p.partition, u); u.awake == 0 {
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

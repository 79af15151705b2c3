package main

import "sync"

// memory is what the frontiers of the process may keep in memory, shared evenly by its shards
// that are awake.
type memory struct {
	bytes int64

	mu sync.Mutex
	// awake is the number of shards in memory by partition. A partition that was lost still counts: it may come back, and a
	// smaller share is safe.
	awake map[int]int
}

func newMemory(bytes int64) *memory { return &memory{bytes: bytes, awake: make(map[int]int)} }

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

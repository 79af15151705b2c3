package frontier

// DefaultMemory is the bound of a shard's memory where Options.Memory is 0, bytes.
const DefaultMemory = 256 << 20

// What an item takes in memory with its place in a map and a list, bytes.
const (
	entryCost = 384
	linkCost  = 64
	pageCost  = 256
	tableCost = 256
	frontCost = 64
)

// stretchShare is the part of the memory for a stretch of a sweep and the next one. It is estimated: a link takes 20 bytes and its share
// of a page, once while the entries are moved and once before, when it takes 8 more.
const stretchShare, stretchLinkCost, stretchEntryCost = 8, 64, 8

// minFront and maxFront are the least and the largest number of keys that a front reads at a time.
const minFront, maxFront = 1, 32

// SetMemory bounds what the shard keeps in memory to save reading, bytes; what does not fit is
// read from the store when it is needed. The package's documentation lists what is bounded and
// what is not.
func (s *Shard) SetMemory(bytes int) {
	if bytes <= 0 {
		bytes = DefaultMemory
	}
	s.sharePages(bytes / 8)
	if bytes == s.memory {
		return
	}
	s.memory = bytes
	s.entries.limit(bytes / 4)
	s.tables.limit(bytes * 3 / 16)
	s.hostMemory = bytes / 8
	s.known.filter.limit(bytes / 8)
	s.known.ordinals.limit(bytes / 16)
	s.fitFronts()
}

// fitFronts sets the size of fronts to what the memory for all of them allows.
func (s *Shard) fitFronts() {
	queues := max(1, len(s.hosts.at)*len(s.generations))
	s.frontSize = min(max(minFront, s.memory/16/frontCost/queues/2), maxFront)
	s.fittedHosts = len(s.hosts.at)
	for _, x := range s.hosts.at {
		h := x.item
		for p := range h.queues {
			for slot := range h.queues[p].fronts {
				h.queues[p].fronts[slot].cut(s.frontSize)
			}
		}
		s.weigh(h)
	}
}

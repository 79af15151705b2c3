package frontier

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"forager/schemas"
)

// Keys of a shard: 'F', the length of the crawl's name (one byte), the name, the shard (u32), one byte for the kind, then the
// parts named here. Numbers are big-endian, so that keys sort as numbers do. A score is the float's bits, with the sign bit flipped for
// positive and all bits for negative numbers, then complemented, so that larger scores come first; −0 is 0, NaN is refused.
const (
	kindLayout   = 'v' // → layout version, one byte
	kindCounters = 'c' // → counters, with outcomes, refusals and spans
	kindName     = 'm' // name number u32 → name of a policy or model
	kindHost     = 'h' // host u32 → host (storedHost)
	kindHostName = 'H' // URLID of a host's name, 16 → host number
	kindIndex    = 'Q' // policy u8, generation u32, class u32, as kindQueue from tier on, host u32 → nothing: a host not in memory
	kindResident = 'R' // host u32 → nothing: a host that is in memory
	kindSleeping = 'z' // unreachable u8, not before u64, host u32 → nothing: a host that waits
	kindFailing  = 'Z' // ^since u64, host u32 → nothing: a host that is unreachable
	kindSeen     = 'u' // URLID 16 → ordinal: the exact seen-set
	kindEntry    = 'e' // ordinal u64 → entry
	kindLink     = 'l' // ordinal of v u64, page u u64, index on u u32 → link: a pending leap that is not in v's value
	kindQueue    = 'q' // policy u8, generation u32, host u32, tier u8, tries u16, score 8, ordinal u64 → nothing
	kindWaiting  = 'w' // not before u64, ordinal u64 → nothing: an entry that waits after a failed try
	kindFlight   = 'f' // request id 16 → flight: a request without a verdict
	kindPage     = 'p' // page u64 → page, while one of its links is not settled
	kindTable    = 't' // page u64 → its leaf table (linkfeature.Table)
	kindGuidance = 'i' // page u64 → guidance of its links, if there is any
	kindTargets  = 'x' // page u64 → ordinals that its links lead to, if a policy orders pages
	kindSiblings = 'b' // page u64 → its links with the ordinals of their targets (cocitation.go)
	kindSince    = 'n' // ordinal u64 → clock of the verdict that made R known, or of the redirect (cocitation.go)
	kindSeeds    = 's' // id 16 → nothing: an applied record that has no request: seeds, replays, links from another shard
	kindLatency  = 'd' // slot u32 → latency sample
	kindLease    = 'g' // → the newest lease (schemas.ShardNote)
	kindPeer     = 'k' // shard u32 → pages delivered that it reported; in shard 0
	kindArm      = 'a' // name number u32 of a policy → arm of a mixture
	kindRanked   = 'r' // → ranked
	kindRenewal  = 'j' // → number of delivered pages that are targets of a guide built from the crawl
	kindOutage   = 'y' // → outage, and the host that failed last
	kindLesson   = 'o' // clock u64 → a record that rankers learned from (schemas.LinkFound)
)

// layout is the version of keys and values that this package writes; Open refuses others.
const layout = 11

// shardsPrefix begins every key of the package, so that a store can hold other things.
const shardsPrefix = 'F'

// shardPrefix is what every key of a shard begins with. The name's length comes before the
// name, so that no shard's prefix begins with another's.
func shardPrefix(n ShardName) []byte {
	b := []byte{shardsPrefix, byte(len(n.Crawl))}
	b = append(b, n.Crawl...)
	return binary.BigEndian.AppendUint32(b, n.Shard)
}

// after returns the smallest key above every key that begins with prefix; prefixes contain a
// kind byte or a crawl's name, so that not all bytes are 0xff.
func after(prefix []byte) []byte {
	b := append([]byte(nil), prefix...)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < math.MaxUint8 {
			b[i]++
			return b[:i+1]
		}
	}
	return nil
}

// keys builds keys in one buffer: each call overwrites the key of the call before.
type keys struct {
	buf    []byte
	prefix int
}

func newKeys(prefix []byte) keys {
	return keys{buf: append(make([]byte, 0, len(prefix)+64), prefix...), prefix: len(prefix)}
}

func (k *keys) kind(kind byte) []byte { return append(k.buf[:k.prefix], kind) }

func (k *keys) u32(kind byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32(k.kind(kind), n)
}

// parseU32 reads the number of a key that u32 made.
func (k *keys) parseU32(key []byte) (uint32, error) {
	b := key[min(len(key), k.prefix+1):]
	if len(b) != 4 {
		return 0, fmt.Errorf("frontier: key %x has the wrong length", key)
	}
	return binary.BigEndian.Uint32(b), nil
}

func (k *keys) u64(kind byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(k.kind(kind), n)
}

// parseU64 reads the number of a key that u64 made.
func (k *keys) parseU64(key []byte) (uint64, error) {
	b := key[min(len(key), k.prefix+1):]
	if len(b) != 8 {
		return 0, fmt.Errorf("frontier: key %x has the wrong length", key)
	}
	return binary.BigEndian.Uint64(b), nil
}

// entries returns the first key of the entries from ≤ ordinal ≤ to, and the one after them.
func (k *keys) entries(from, to uint64) (begin, end []byte) {
	return slices.Clone(k.u64(kindEntry, from)), after(k.u64(kindEntry, to))
}

func (k *keys) id(kind byte, id schemas.ID) []byte { return append(k.kind(kind), id[:]...) }

// link is the key of the link to entry v that page u has at index.
func (k *keys) link(v, u uint64, index uint32) []byte {
	b := binary.BigEndian.AppendUint64(k.kind(kindLink), v)
	b = binary.BigEndian.AppendUint64(b, u)
	return binary.BigEndian.AppendUint32(b, index)
}

// parseLink reads entry, page and index of a link key.
func (k *keys) parseLink(key []byte) (v, u uint64, index uint32, err error) {
	b := key[min(len(key), k.prefix+1):]
	if len(b) != 8+12 {
		return 0, 0, 0, fmt.Errorf("frontier: link key %x has the wrong length", key)
	}
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint32(b[16:]), nil
}

// waiting is the key of an entry that waits until at (Unix milliseconds, ≥ 0).
func (k *keys) waiting(at int64, ordinal uint64) []byte {
	return binary.BigEndian.AppendUint64(k.u64(kindWaiting, uint64(at)), ordinal)
}

// sleeping is the key of a host that waits until at (Unix milliseconds, ≥ 0).
func (k *keys) sleeping(unreachable bool, at int64, host uint32) []byte {
	b := binary.BigEndian.AppendUint64(k.sleepers(unreachable), uint64(at))
	return binary.BigEndian.AppendUint32(b, host)
}

// sleepers is the prefix of the hosts that wait and are unreachable, or of the others that wait.
func (k *keys) sleepers(unreachable bool) []byte {
	return appendBool(k.kind(kindSleeping), unreachable)
}

func (k *keys) parseSleeping(key []byte) (at int64, host uint32, err error) {
	b := key[min(len(key), k.prefix+1):]
	if len(b) != 13 {
		return 0, 0, fmt.Errorf("frontier: sleeping key %x has the wrong length", key)
	}
	return int64(binary.BigEndian.Uint64(b[1:])), binary.BigEndian.Uint32(b[9:]), nil
}

// failing is the key of a host that is unreachable since a time (Unix milliseconds, ≥ 0), the latest first.
func (k *keys) failing(since int64, host uint32) []byte {
	return binary.BigEndian.AppendUint32(k.u64(kindFailing, ^uint64(since)), host)
}

func (k *keys) parseFailing(key []byte) (since int64, host uint32, err error) {
	b := key[min(len(key), k.prefix+1):]
	if len(b) != 12 {
		return 0, 0, fmt.Errorf("frontier: key %x of an unreachable host has the wrong length", key)
	}
	return int64(^binary.BigEndian.Uint64(b)), binary.BigEndian.Uint32(b[8:]), nil
}

func (k *keys) parseWaiting(key []byte) (at int64, ordinal uint64, err error) {
	b := key[min(len(key), k.prefix+1):]
	if len(b) != 16 {
		return 0, 0, fmt.Errorf("frontier: waiting key %x has the wrong length", key)
	}
	return int64(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:]), nil
}

// order is an entry's position in its host's queue.
type order struct {
	tier, tries uint32
	score       float64
	ordinal     uint64
}

// less implements the order of the frontier: tier ↑, failed tries ↑, score ↓, first discovery ↑.
func (a order) less(b order) bool {
	switch {
	case a.tier != b.tier:
		return a.tier < b.tier
	case a.tries != b.tries:
		return a.tries < b.tries
	case a.score != b.score:
		return a.score > b.score
	}
	return a.ordinal < b.ordinal
}

// queueHost is the prefix of one host's queue of a policy and generation.
func (k *keys) queueHost(policy uint8, generation, host uint32) []byte {
	b := binary.BigEndian.AppendUint32(append(k.kind(kindQueue), policy), generation)
	return binary.BigEndian.AppendUint32(b, host)
}

// generation is the prefix of all keys of a kind, queues or index, of a policy and generation.
func (k *keys) generation(kind byte, policy uint8, generation uint32) []byte {
	return binary.BigEndian.AppendUint32(append(k.kind(kind), policy), generation)
}

// queue is the key of an entry in a queue; keys of one host sort as order.less does.
func (k *keys) queue(policy uint8, generation, host uint32, o order) []byte {
	return appendOrder(k.queueHost(policy, generation, host), o)
}

// orderBytes is the length of what appendOrder appends.
const orderBytes = 1 + 2 + 8 + 8

// appendOrder appends bytes that sort as order.less does.
func appendOrder(b []byte, o order) []byte {
	b = binary.BigEndian.AppendUint16(append(b, byte(o.tier)), uint16(o.tries))
	b = binary.BigEndian.AppendUint64(b, ^ascending(o.score))
	return binary.BigEndian.AppendUint64(b, o.ordinal)
}

// readOrder reads what appendOrder wrote; b has at least orderBytes.
func readOrder(b []byte) order {
	return order{
		tier: uint32(b[0]), tries: uint32(binary.BigEndian.Uint16(b[1:])),
		score: fromAscending(^binary.BigEndian.Uint64(b[3:])), ordinal: binary.BigEndian.Uint64(b[11:]),
	}
}

// queueKey is a parsed queue key.
type queueKey struct {
	policy           uint8
	generation, host uint32
	order            order
}

func (k *keys) parseQueue(key []byte) (queueKey, error) {
	b := key[min(len(key), k.prefix+1):]
	if len(b) != 1+4+4+orderBytes {
		return queueKey{}, fmt.Errorf("frontier: queue key %x has the wrong length", key)
	}
	return queueKey{
		policy: b[0], generation: binary.BigEndian.Uint32(b[1:]), host: binary.BigEndian.Uint32(b[5:]),
		order: readOrder(b[9:]),
	}, nil
}

// ascending maps a float to bits that sort as the floats do: positive numbers get their sign
// bit set, negative ones are inverted. −0 becomes 0. NaN cannot be ordered; scores are
// checked where they are made (rank.Policy.Add).
func ascending(f float64) uint64 {
	if f == 0 {
		f = 0 // −0 == 0, but their bits differ
	}
	b := math.Float64bits(f)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

func fromAscending(b uint64) float64 {
	if b>>63 == 1 {
		return math.Float64frombits(b &^ (1 << 63))
	}
	return math.Float64frombits(^b)
}

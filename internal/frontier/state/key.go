package state

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"forager/internal/frontier/storage"
	"forager/schemas"
)

// CompareOrders compares as Order.Less does.
func CompareOrders(a, b Order) int {
	switch {
	case a.Less(b):
		return -1
	case b.Less(a):
		return 1
	}
	return 0
}

// Indexed is a host in the index by the bound of one of its queues.
type Indexed struct {
	Order
	Host uint32
}

// CompareIndexed compares hosts in the order of the index.
func CompareIndexed(a, b Indexed) int {
	return cmp.Or(CompareOrders(a.Order, b.Order), cmp.Compare(a.Host, b.Host))
}

// IndexClass is the prefix of the index of a policy, generation and class.
func (k *Keys) IndexClass(policy uint8, generation, class uint32) []byte {
	return binary.BigEndian.AppendUint32(k.Generation(KindIndex, policy, generation), class)
}

// Index is the key of a host in the index; keys of a class sort as CompareIndexed does.
func (k *Keys) Index(policy uint8, generation, class uint32, x Indexed) []byte {
	return binary.BigEndian.AppendUint32(AppendOrder(k.IndexClass(policy, generation, class), x.Order), x.Host)
}

// ParseIndex reads a key that Index made.
func (k *Keys) ParseIndex(key []byte) (Indexed, error) {
	b := key[min(len(key), k.Prefix+1):]
	if len(b) != 1+4+4+orderBytes+4 {
		return Indexed{}, fmt.Errorf("frontier: index key %x has the wrong length", key)
	}
	return Indexed{readOrder(b[9:]), binary.BigEndian.Uint32(b[9+orderBytes:])}, nil
}

// Keys of a shard: 'F', the length of the crawl's name (one byte), the name, the shard (u32), one byte for the kind, then the
// parts named here. Numbers are big-endian, so that keys sort as numbers do. A score is the float's bits, with the sign bit flipped for
// positive and all bits for negative numbers, then complemented, so that larger scores come first; −0 is 0, NaN is refused.
const (
	KindLayout   = 'v' // → layout version, one byte
	KindCounters = 'c' // → counters, with outcomes, refusals and spans
	kindName     = 'm' // name number u32 → name of a policy or model
	KindHost     = 'h' // host u32 → host (queue.StoredHost)
	KindHostName = 'H' // URLID of a host's name, 16 → host number
	KindIndex    = 'Q' // policy u8, generation u32, class u32, as KindQueue from tier on, host u32 → nothing: a host not in memory
	KindResident = 'R' // host u32 → nothing: a host that is in memory
	kindSleeping = 'z' // unreachable u8, not before u64, host u32 → nothing: a host that waits
	KindFailing  = 'Z' // ^since u64, host u32 → nothing: a host that is unreachable
	KindSeen     = 'u' // URLID 16 → ordinal: the exact seen-set
	KindEntry    = 'e' // ordinal u64 → entry
	KindLink     = 'l' // ordinal of v u64, page u u64, index on u u32 → link: a pending leap that is not in v's value
	KindQueue    = 'q' // policy u8, generation u32, host u32, tier u8, tries u16, score 8, ordinal u64 → nothing
	KindWaiting  = 'w' // not before u64, ordinal u64 → nothing: an entry that waits after a failed try
	KindFlight   = 'f' // request id 16 → flight: a request without a verdict
	KindPage     = 'p' // page u64 → page, while one of its links is not settled
	KindTable    = 't' // page u64 → its leaf table (linkfeature.AppendStored)
	kindTerm     = 'T' // term number u32 → term of leaf tables
	KindGuidance = 'i' // page u64 → guidance of its links, if there is any
	kindTargets  = 'x' // page u64 → ordinals that its links lead to, if a policy orders pages
	KindSiblings = 'b' // page u64 → its links with the ordinals of their targets (siblings.go)
	KindSince    = 'n' // ordinal u64 → clock of the verdict that made R known, or of the redirect (siblings.go)
	kindSeeds    = 's' // id 16 → nothing: an applied record that has no request: seeds, replays, links from another shard
	KindLatency  = 'd' // slot u32 → latency sample
	KindLease    = 'g' // → the newest lease (schemas.ShardNote)
	KindPeer     = 'k' // shard u32 → pages delivered that it reported; in shard 0
	KindArm      = 'a' // name number u32 of a policy → arm of a mixture
	KindRanked   = 'r' // → ranked
	KindRenewal  = 'j' // → number of delivered pages that are targets of a guide built from the crawl
	KindOutage   = 'y' // → outage, and the host that failed last
	KindExcluder = 'X' // → digest of the crawl's excludes, and which entries were checked by them
	KindTeaching = 'J' // → whether no apprentice ranks, and since how many pages that is so (frontier/ledger.go)
	KindSample   = 'o' // clock u64 → a record that rankers learned from (schemas.LinkFound)
	KindLearned  = 'O' // → clock u64 of a sample, and a linkvalue.Ranker that has observed it and those before, which are deleted
)

// Layout is the version of keys and values that this package writes; Open refuses others. It changes with linkvalue.Format, too.
const Layout = 14

// shardsPrefix begins every key of the package, so that a store can hold other things.
const shardsPrefix = 'F'

// ShardPrefix is what every key of a shard begins with. The name's length comes before the
// name, so that no shard's prefix begins with another's.
func ShardPrefix(n ShardName) []byte {
	b := []byte{shardsPrefix, byte(len(n.Crawl))}
	b = append(b, n.Crawl...)
	return binary.BigEndian.AppendUint32(b, n.Shard)
}

// After returns the smallest key above every key that begins with prefix; prefixes contain a
// kind byte or a crawl's name, so that not all bytes are 0xff.
func After(prefix []byte) []byte {
	b := append([]byte(nil), prefix...)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < math.MaxUint8 {
			b[i]++
			return b[:i+1]
		}
	}
	return nil
}

// Keys builds keys in one buffer: each call overwrites the key of the call before.
type Keys struct {
	Buf    []byte
	Prefix int
}

// NewKeys returns the keys that begin with a prefix (ShardPrefix).
func NewKeys(prefix []byte) Keys {
	return Keys{Buf: append(make([]byte, 0, len(prefix)+64), prefix...), Prefix: len(prefix)}
}

// Kind is the key that has nothing but its kind, and the prefix of all keys of the kind.
func (k *Keys) Kind(kind byte) []byte { return append(k.Buf[:k.Prefix], kind) }

// U32 is the key of a number of 32 bits.
func (k *Keys) U32(kind byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32(k.Kind(kind), n)
}

// ParseU32 reads the number of a key that U32 made.
func (k *Keys) ParseU32(key []byte) (uint32, error) {
	b := key[min(len(key), k.Prefix+1):]
	if len(b) != 4 {
		return 0, fmt.Errorf("frontier: key %x has the wrong length", key)
	}
	return binary.BigEndian.Uint32(b), nil
}

// U64 is the key of a number of 64 bits.
func (k *Keys) U64(kind byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(k.Kind(kind), n)
}

// ParseU64 reads the number of a key that U64 made.
func (k *Keys) ParseU64(key []byte) (uint64, error) {
	b := key[min(len(key), k.Prefix+1):]
	if len(b) != 8 {
		return 0, fmt.Errorf("frontier: key %x has the wrong length", key)
	}
	return binary.BigEndian.Uint64(b), nil
}

// Entries returns the first key of the entries from ≤ ordinal ≤ to, and the one after them.
func (k *Keys) Entries(from, to uint64) (begin, end []byte) {
	return slices.Clone(k.U64(KindEntry, from)), After(k.U64(KindEntry, to))
}

// ID is the key of an id.
func (k *Keys) ID(kind byte, id schemas.ID) []byte { return append(k.Kind(kind), id[:]...) }

// link is the key of the link to entry v that page u has at index.
func (k *Keys) link(v, u uint64, index uint32) []byte {
	b := binary.BigEndian.AppendUint64(k.Kind(KindLink), v)
	b = binary.BigEndian.AppendUint64(b, u)
	return binary.BigEndian.AppendUint32(b, index)
}

// parseLink reads entry, page and index of a link key.
func (k *Keys) parseLink(key []byte) (v, u uint64, index uint32, err error) {
	b := key[min(len(key), k.Prefix+1):]
	if len(b) != 8+12 {
		return 0, 0, 0, fmt.Errorf("frontier: link key %x has the wrong length", key)
	}
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint32(b[16:]), nil
}

// Waiting is the key of an entry that waits until at (Unix milliseconds, ≥ 0).
func (k *Keys) Waiting(at int64, ordinal uint64) []byte {
	return binary.BigEndian.AppendUint64(k.U64(KindWaiting, uint64(at)), ordinal)
}

// Sleeping is the key of a host that waits until at (Unix milliseconds, ≥ 0).
func (k *Keys) Sleeping(unreachable bool, at int64, host uint32) []byte {
	b := binary.BigEndian.AppendUint64(k.Sleepers(unreachable), uint64(at))
	return binary.BigEndian.AppendUint32(b, host)
}

// Sleepers is the prefix of the hosts that wait and are unreachable, or of the others that wait.
func (k *Keys) Sleepers(unreachable bool) []byte {
	return storage.AppendBool(k.Kind(kindSleeping), unreachable)
}

// ParseSleeping reads the end of the wait, Unix milliseconds, and the host of a key that Sleeping made.
func (k *Keys) ParseSleeping(key []byte) (at int64, host uint32, err error) {
	b := key[min(len(key), k.Prefix+1):]
	if len(b) != 13 {
		return 0, 0, fmt.Errorf("frontier: sleeping key %x has the wrong length", key)
	}
	return int64(binary.BigEndian.Uint64(b[1:])), binary.BigEndian.Uint32(b[9:]), nil
}

// Failing is the key of a host that is unreachable since a time (Unix milliseconds, ≥ 0), the latest first.
func (k *Keys) Failing(since int64, host uint32) []byte {
	return binary.BigEndian.AppendUint32(k.U64(KindFailing, ^uint64(since)), host)
}

// ParseFailing reads the time, Unix milliseconds, and the host of a key that Failing made.
func (k *Keys) ParseFailing(key []byte) (since int64, host uint32, err error) {
	b := key[min(len(key), k.Prefix+1):]
	if len(b) != 12 {
		return 0, 0, fmt.Errorf("frontier: key %x of an unreachable host has the wrong length", key)
	}
	return int64(^binary.BigEndian.Uint64(b)), binary.BigEndian.Uint32(b[8:]), nil
}

// ParseWaiting reads the end of the wait, Unix milliseconds, and the ordinal of a key that Waiting made.
func (k *Keys) ParseWaiting(key []byte) (at int64, ordinal uint64, err error) {
	b := key[min(len(key), k.Prefix+1):]
	if len(b) != 16 {
		return 0, 0, fmt.Errorf("frontier: waiting key %x has the wrong length", key)
	}
	return int64(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:]), nil
}

// Order is an entry's position in its host's queue.
type Order struct {
	Tier, Tries uint32
	Score       float64
	Ordinal     uint64
}

// Less implements the order of the frontier: tier ↑, failed tries ↑, score ↓, first discovery ↑.
func (a Order) Less(b Order) bool {
	switch {
	case a.Tier != b.Tier:
		return a.Tier < b.Tier
	case a.Tries != b.Tries:
		return a.Tries < b.Tries
	case a.Score != b.Score:
		return a.Score > b.Score
	}
	return a.Ordinal < b.Ordinal
}

// Better reports whether a comes before b for another reason than that it was discovered first.
func (a Order) Better(b Order) bool {
	a.Ordinal = b.Ordinal
	return a.Less(b)
}

// QueueHost is the prefix of one host's queue of a policy and generation.
func (k *Keys) QueueHost(policy uint8, generation, host uint32) []byte {
	b := binary.BigEndian.AppendUint32(append(k.Kind(KindQueue), policy), generation)
	return binary.BigEndian.AppendUint32(b, host)
}

// Generation is the prefix of all keys of a kind, queues or index, of a policy and generation.
func (k *Keys) Generation(kind byte, policy uint8, generation uint32) []byte {
	return binary.BigEndian.AppendUint32(append(k.Kind(kind), policy), generation)
}

// Queue is the key of an entry in a queue; keys of one host sort as Order.Less does.
func (k *Keys) Queue(policy uint8, generation, host uint32, o Order) []byte {
	return AppendOrder(k.QueueHost(policy, generation, host), o)
}

// orderBytes is the length of what AppendOrder appends.
const orderBytes = 1 + 2 + 8 + 8

// AppendOrder appends bytes that sort as Order.Less does.
func AppendOrder(b []byte, o Order) []byte {
	b = binary.BigEndian.AppendUint16(append(b, byte(o.Tier)), uint16(o.Tries))
	b = binary.BigEndian.AppendUint64(b, ^ascending(o.Score))
	return binary.BigEndian.AppendUint64(b, o.Ordinal)
}

// readOrder reads what AppendOrder wrote; b has at least orderBytes.
func readOrder(b []byte) Order {
	return Order{
		Tier: uint32(b[0]), Tries: uint32(binary.BigEndian.Uint16(b[1:])),
		Score: fromAscending(^binary.BigEndian.Uint64(b[3:])), Ordinal: binary.BigEndian.Uint64(b[11:]),
	}
}

// OrderOf reads what AppendOrder wrote.
func OrderOf(r *storage.Reader) (o Order) {
	b := r.Bytes(orderBytes)
	if b == nil {
		return o
	}
	if o = readOrder(b); math.IsNaN(o.Score) {
		r.Fail(storage.ErrNaN)
	}
	return o
}

// QueueKey is a parsed queue key.
type QueueKey struct {
	Policy           uint8
	Generation, Host uint32
	Order            Order
}

// ParseQueue reads a key that Queue made.
func (k *Keys) ParseQueue(key []byte) (QueueKey, error) {
	b := key[min(len(key), k.Prefix+1):]
	if len(b) != 1+4+4+orderBytes {
		return QueueKey{}, fmt.Errorf("frontier: queue key %x has the wrong length", key)
	}
	return QueueKey{
		Policy: b[0], Generation: binary.BigEndian.Uint32(b[1:]), Host: binary.BigEndian.Uint32(b[5:]),
		Order: readOrder(b[9:]),
	}, nil
}

// ascending maps a float to bits that sort as the floats do: positive numbers get their sign
// bit set, negative ones are inverted. −0 becomes 0. NaN cannot be ordered; scores are
// checked where they are made (policy.Policy.Add).
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

// ShardName names a shard in a store.
type ShardName struct {
	Crawl string
	// Shard is 0-based.
	Shard uint32
}

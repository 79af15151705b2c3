package audit

import (
	"bytes"
	"encoding/binary"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/progress"
	"forager/schemas"
)

// Store holds what an audit has read: an ordered map of byte strings. stream.Store implements it on disk, so
// that the memory of an audit does not grow with the crawl.
type Store interface {
	Get(key []byte) (value []byte, ok bool, err error)
	Set(key, value []byte) error
	// Scan calls f for from ≤ key < to in ascending order until f returns false; f does not call the store.
	Scan(from, to []byte, f func(key, value []byte) (more bool, err error)) error
	// Commit writes what is held in memory.
	Commit() error
}

// Kinds of entries; each is the first byte of its key. The comments give the rest of the key, and the value.
const (
	kindRequest   = 'q' // id → FetchRequest
	kindFetched   = 'f' // id → PageFetched
	kindParsed    = 'P' // id → nothing
	kindJudged    = 'j' // id → PageJudged
	kindVerdict   = 'v' // id → place, LinkFound without its links
	kindLink      = 'r' // id of the verdict, place, position → URL
	kindApplied   = 'a' // place → id of a verdict: the order in which prioritize applied them
	kindSent      = 's' // id → nothing: links sent between shards
	kindTick      = 't' // shard, place → id of the record that advanced the shard's clock
	kindNote      = 'N' // shard, place → ShardNote
	kindLeap      = 'l' // id, place → LeapSettled without its features
	kindRanking   = 'h' // id → HubRanked
	kindDelivered = 'd' // URL → id of the verdict
	kindOrder     = 'o' // shard, ordinal, id → nothing
	kindAttempt   = 'w' // URL, attempt → id
	kindHost      = 'H' // host, id → outcome
	kindCapped    = 'C' // host → nothing: it may have been at its cap for a while
	kindStored    = 'p' // object, offset, id → nothing
	kindFate      = 'u' // URL → fate
	kindFound     = 'k' // leap id, place, position → edge
	kindRefused   = 'x' // leap id → nothing
	kindCandidate = 'y' // URL of the target, place → edge that has no leap
	kindRow       = 'R' // table, id, place, position → columns
	kindExpected  = 'E' // table, id → columns
	kindUnread    = 'X' // topic, id → nothing: records that cannot be decoded
	kindSegment   = 'G' // object → nothing: a record of some crawl names it
)

// commitEvery is the number of bytes written between two commits.
const commitEvery = 2 << 20

func keyOf(kind byte, parts ...[]byte) []byte {
	n := 1
	for _, p := range parts {
		n += len(p)
	}
	key := append(make([]byte, 0, n), kind)
	for _, p := range parts {
		key = append(key, p...)
	}
	return key
}

func be64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
func be32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// named is a text as part of a key, followed by other parts.
func named(s string) []byte { return append([]byte(s), 0) }

// put writes an entry. The first error of the store ends the audit; later calls do nothing.
func (j *judge) put(key, value []byte) {
	if j.err != nil {
		return
	}
	if j.err = j.kv.Set(key, value); j.err != nil {
		return
	}
	if j.written += len(key) + len(value); j.written >= commitEvery {
		j.commit()
	}
}

func (j *judge) commit() {
	if j.err == nil {
		j.written, j.err = 0, j.kv.Commit()
	}
}

// get reads an entry; the value is valid until the next call.
func (j *judge) get(key []byte) (value []byte, ok bool) {
	if j.err != nil {
		return nil, false
	}
	value, ok, j.err = j.kv.Get(key)
	return value, ok && j.err == nil
}

func (j *judge) has(key []byte) bool { _, ok := j.get(key); return ok }

// read reads a message; ok is false if there is none.
func (j *judge) read(key []byte, m proto.Message) (ok bool) {
	value, ok := j.get(key)
	if ok {
		j.decode(value, m)
	}
	return ok && j.err == nil
}

func (j *judge) decode(value []byte, m proto.Message) {
	if err := proto.Unmarshal(value, m); err != nil && j.err == nil {
		j.err = err
	}
}

func (j *judge) encode(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil && j.err == nil {
		j.err = err
	}
	return b
}

// request, fetched, judged and verdict return the first record of an id; nil if there is none.
func (j *judge) request(id schemas.ID) *schemas.FetchRequest {
	if m := new(schemas.FetchRequest); j.read(keyOf(kindRequest, id[:]), m) {
		return m
	}
	return nil
}

func (j *judge) fetched(id schemas.ID) *schemas.PageFetched {
	if m := new(schemas.PageFetched); j.read(keyOf(kindFetched, id[:]), m) {
		return m
	}
	return nil
}

func (j *judge) judged(id schemas.ID) *schemas.PageJudged {
	if m := new(schemas.PageJudged); j.read(keyOf(kindJudged, id[:]), m) {
		return m
	}
	return nil
}

// verdict returns a record of link.found, except those sent between shards.
func (j *judge) verdict(id schemas.ID) *schemas.LinkFound {
	value, ok := j.get(keyOf(kindVerdict, id[:]))
	if !ok {
		return nil
	}
	m := new(schemas.LinkFound)
	j.decode(value[8:], m)
	return m
}

// answer is verdict of a request; nil for seeds and replays.
func (j *judge) answer(id schemas.ID) *schemas.LinkFound {
	if v := j.verdict(id); v != nil && !schemas.Virtual(v.GetOutcome()) {
		return v
	}
	return nil
}

// entry is a key without its first byte, and its value.
type entry struct{ key, value []byte }

func (e *entry) id() schemas.ID { return schemas.ID(e.key) }

// cursor iterates over the entries of a kind in the order of their keys, while others are read and written.
type cursor struct {
	j        *judge
	from, to []byte
	skip     int
	entries  []entry
	over     bool
}

// Entries are read in batches of at most this number, or this number of bytes.
const batchEntries, batchBytes = 512, 256 << 10

// each returns a cursor over the keys of a kind that begin with prefix.
func (j *judge) each(kind byte, prefix ...[]byte) *cursor {
	from := keyOf(kind, prefix...)
	return &cursor{j: j, from: from, to: after(from), skip: 1}
}

// after returns the smallest key that is larger than all keys with the prefix.
func after(prefix []byte) []byte {
	to := bytes.Clone(prefix)
	for i := len(to) - 1; ; i-- {
		if to[i]++; to[i] != 0 {
			return to[:i+1]
		}
	}
}

// next returns the next entry, which remains valid; ok is false at the end.
func (c *cursor) next() (e entry, ok bool) {
	if len(c.entries) == 0 && !c.over {
		c.fill()
	}
	if len(c.entries) == 0 || c.j.err != nil {
		return entry{}, false
	}
	e, c.entries = c.entries[0], c.entries[1:]
	return e, true
}

// peek returns the next entry without consuming it.
func (c *cursor) peek() (e entry, ok bool) {
	if len(c.entries) == 0 && !c.over {
		c.fill()
	}
	if len(c.entries) == 0 {
		return entry{}, false
	}
	return c.entries[0], true
}

// upTo returns the next entries whose keys end with a place before this one, without consuming them, one batch at most.
func (c *cursor) upTo(place uint64) []entry {
	c.peek()
	for i, e := range c.entries {
		if binary.BigEndian.Uint64(e.key[len(e.key)-8:]) >= place {
			return c.entries[:i]
		}
	}
	return c.entries
}

func (c *cursor) fill() {
	j := c.j
	if j.err == nil {
		j.err = progress.Add(j.ctx, int64(batchEntries))
	}
	if j.err != nil {
		return
	}
	n, size := 0, 0
	c.over = true
	var last []byte
	j.err = j.kv.Scan(c.from, c.to, func(key, value []byte) (bool, error) {
		c.entries = append(c.entries, entry{bytes.Clone(key[c.skip:]), bytes.Clone(value)})
		n, size, last = n+1, size+len(key)+len(value), append(last[:0], key...)
		c.over = n < batchEntries && size < batchBytes
		return c.over, nil
	})
	c.from = append(last, 0)
}

// all calls f for each entry.
func (c *cursor) all(f func(e entry)) {
	for e, ok := c.next(); ok; e, ok = c.next() {
		f(e)
	}
}

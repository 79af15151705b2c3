package audit

import (
	"bytes"
	"context"
	"encoding/binary"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/progress"
	"forager/schemas"
)

// Store holds what an audit has read: an ordered map of byte strings. state.Store implements it on disk, so
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

// scratch is the store of an audit.
type scratch struct {
	ctx context.Context // of the task whose progress is shown
	kv  Store
	err error // of the store, or of decoding what it has; the first one stays
	// written is the number of bytes written since the last commit.
	written int
}

// put writes an entry. The first error of the store ends the audit; later calls do nothing.
func (s *scratch) put(key, value []byte) {
	if s.err != nil {
		return
	}
	if s.err = s.kv.Set(key, value); s.err != nil {
		return
	}
	if s.written += len(key) + len(value); s.written >= commitEvery {
		s.commit()
	}
}

func (s *scratch) commit() {
	if s.err == nil {
		s.written, s.err = 0, s.kv.Commit()
	}
}

// get reads an entry; the value is valid until the next call.
func (s *scratch) get(key []byte) (value []byte, ok bool) {
	if s.err != nil {
		return nil, false
	}
	value, ok, s.err = s.kv.Get(key)
	return value, ok && s.err == nil
}

func (s *scratch) has(key []byte) bool { _, ok := s.get(key); return ok }

// first reads the first record of an id; nil if there is none.
func first[M any, P interface {
	*M
	proto.Message
}](s *scratch, kind byte, id schemas.ID) P {
	value, ok := s.get(keyOf(kind, id[:]))
	if !ok {
		return nil
	}
	m := P(new(M))
	if s.decode(value, m); s.err != nil {
		return nil
	}
	return m
}

func (s *scratch) decode(value []byte, m proto.Message) {
	if err := proto.Unmarshal(value, m); err != nil && s.err == nil {
		s.err = err
	}
}

func (s *scratch) encode(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil && s.err == nil {
		s.err = err
	}
	return b
}

// request, fetched, judged and verdict return the first record of an id; nil if there is none.
func (s *scratch) request(id schemas.ID) *schemas.FetchRequest {
	return first[schemas.FetchRequest](s, kindRequest, id)
}

func (s *scratch) fetched(id schemas.ID) *schemas.PageFetched {
	return first[schemas.PageFetched](s, kindFetched, id)
}

func (s *scratch) judged(id schemas.ID) *schemas.PageJudged {
	return first[schemas.PageJudged](s, kindJudged, id)
}

// verdict returns a record of link.found, except those sent between shards.
func (s *scratch) verdict(id schemas.ID) *schemas.LinkFound {
	value, ok := s.get(keyOf(kindVerdict, id[:]))
	if !ok {
		return nil
	}
	m := new(schemas.LinkFound)
	s.decode(value[8:], m)
	return m
}

// answer is verdict of a request; nil for seeds and replays.
func (s *scratch) answer(id schemas.ID) *schemas.LinkFound {
	if v := s.verdict(id); v != nil && !schemas.Virtual(v.GetOutcome()) {
		return v
	}
	return nil
}

// entry is a key without its first byte, and its value.
type entry struct{ key, value []byte }

func (e *entry) id() schemas.ID { return schemas.ID(e.key) }

// cursor iterates over the entries of a kind in the order of their keys, while others are read and written.
type cursor struct {
	s        *scratch
	from, to []byte
	skip     int
	entries  []entry
	over     bool
}

// Entries are read in batches of at most this number, or this number of bytes.
const batchEntries, batchBytes = 512, 256 << 10

// each returns a cursor over the keys of a kind that begin with prefix.
func (s *scratch) each(kind byte, prefix ...[]byte) *cursor {
	from := keyOf(kind, prefix...)
	return &cursor{s: s, from: from, to: after(from), skip: 1}
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
	if len(c.entries) == 0 || c.s.err != nil {
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
	s := c.s
	if s.err == nil {
		s.err = progress.Add(s.ctx, int64(batchEntries))
	}
	if s.err != nil {
		return
	}
	n, size := 0, 0
	c.over = true
	var last []byte
	s.err = s.kv.Scan(c.from, c.to, func(key, value []byte) (bool, error) {
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

// linksOf calls f for the links of a record of link.found, in their order.
func (s *scratch) linksOf(id schemas.ID, f func(position uint32, url string)) {
	s.each(kindLink, id[:]).all(func(e entry) { f(binary.BigEndian.Uint32(e.key[len(e.key)-4:]), string(e.value)) })
}

package frontier

import (
	"encoding/binary"
	"fmt"

	"forager/schemas"
)

// The seen-set is exact and in the store. Most links lead to URLs that were linked shortly before, so the ordinals of those
// looked up last are in memory, too (ordinals.go). A filter excludes most URLs that were never linked; its false
// positives are looked up.

// known is what is in memory of the seen-set.
type known struct {
	ordinals ordinals
	// filter of all URLs that were seen.
	filter filter
}

// seen returns the entry of a canonical URL itself, not the one that it redirected to; nil if the URL
// was not seen.
func (s *Shard) seen(url string) (*entry, error) { return s.seenBy(url, schemas.URLID(url)) }

// seenBy is seen for a URL whose id is known.
func (s *Shard) seenBy(url string, id schemas.ID) (*entry, error) {
	if ordinal, ok := s.known.ordinals.peek(id); ok {
		e, err := s.entry(ordinal)
		if err != nil {
			return nil, err
		}
		if e.url == url {
			s.known.ordinals.put(id, ordinal) // as the one used last
			return e, nil
		}
	}
	if !s.known.filter.has(id) {
		return nil, nil
	}
	e, err := s.seenID(id)
	if e != nil {
		s.known.ordinals.put(id, e.ordinal)
	}
	return e, err
}

// seenID returns the entry of the URL of an id from the store; nil if it was not seen.
func (s *Shard) seenID(id schemas.ID) (*entry, error) {
	ordinal, ok, err := readSeen(s.store.Get, &s.keys, id)
	if err != nil || !ok {
		return nil, err
	}
	return s.entry(ordinal)
}

// readSeen looks the URL of an id up in the store.
func readSeen(get func(key []byte) ([]byte, bool, error), keys *keys, id schemas.ID) (ordinal uint64, ok bool, err error) {
	b, ok, err := get(keys.id(kindSeen, id))
	if err != nil || !ok {
		return 0, false, err
	}
	r := reader{b: b}
	ordinal = r.u64()
	if err := r.end(); err != nil {
		return 0, false, fmt.Errorf("frontier: seen-set at %s: %w", id, err)
	}
	return ordinal, true, nil
}

// see puts a URL into the seen-set.
func (s *Shard) see(url string, ordinal uint64) error {
	id := schemas.URLID(url)
	s.known.ordinals.put(id, ordinal)
	s.known.filter.add(id)
	if s.awaited() {
		s.since.urls[id] = true
	}
	s.value = binary.AppendUvarint(s.value[:0], ordinal)
	return s.store.Set(s.keys.id(kindSeen, id), s.value)
}

// loadSeen fills the filter, which also contains the hosts that were seen.
func (s *Shard) loadSeen() error {
	for _, kind := range []byte{kindSeen, kindHostName} {
		from := append([]byte(nil), s.keys.kind(kind)...)
		err := s.store.Scan(from, after(from), func(key, _ []byte) (bool, error) {
			id, err := schemas.ParseID(key[len(from):])
			s.known.filter.add(id)
			return err == nil && !s.known.filter.off, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

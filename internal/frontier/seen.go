package frontier

import (
	"encoding/binary"
	"fmt"

	"forager/schemas"
)

// The seen-set is exact and lies in the store. Most links lead to URLs that were linked a
// moment ago, so those looked up last are known in memory, too. Of URLs that were never linked a
// filter knows it; the few that it is wrong about are looked up.

// known holds the ordinals of the URLs that were looked up last, in two halves: when recent is
// full it becomes older, and what was older is forgotten.
type known struct {
	recent, older map[schemas.ID]uint64
	// size of each half.
	size int
	// filter of all URLs that were seen.
	filter filter
}

func (k *known) get(id schemas.ID) (ordinal uint64, ok bool) {
	if ordinal, ok = k.recent[id]; ok {
		return ordinal, true
	}
	if ordinal, ok = k.older[id]; ok {
		k.put(id, ordinal)
	}
	return ordinal, ok
}

// peek is get that changes nothing.
func (k *known) peek(id schemas.ID) (ordinal uint64, ok bool) {
	if ordinal, ok = k.recent[id]; !ok {
		ordinal, ok = k.older[id]
	}
	return ordinal, ok
}

func (k *known) put(id schemas.ID, ordinal uint64) {
	if len(k.recent) >= k.size {
		k.recent, k.older = nil, k.recent
	}
	if k.recent == nil {
		k.recent = make(map[schemas.ID]uint64)
	}
	k.recent[id] = ordinal
}

// seen looks a canonical URL up in the seen-set.
func (s *Shard) seen(url string) (ordinal uint64, ok bool, err error) {
	if ordinal, ok, err = s.seenID(schemas.URLID(url)); err != nil {
		return 0, false, fmt.Errorf("%s: %w", url, err)
	}
	return ordinal, ok, nil
}

// seenID is seen for a URL of which the id is known.
func (s *Shard) seenID(id schemas.ID) (ordinal uint64, ok bool, err error) {
	if ordinal, ok = s.known.get(id); ok || !s.known.filter.has(id) {
		return ordinal, ok, nil
	}
	b, ok, err := s.store.Get(s.keys.id(kindSeen, id))
	if err != nil || !ok {
		return 0, false, err
	}
	if ordinal, err = decodeSeen(id.String(), b); err != nil {
		return 0, false, err
	}
	s.known.put(id, ordinal)
	return ordinal, true, nil
}

func decodeSeen(url string, b []byte) (ordinal uint64, err error) {
	r := reader{b: b}
	ordinal = r.u64()
	if err := r.end(); err != nil {
		return 0, fmt.Errorf("frontier: seen-set at %s: %w", url, err)
	}
	return ordinal, nil
}

// see puts a URL into the seen-set.
func (s *Shard) see(url string, ordinal uint64) error {
	id := schemas.URLID(url)
	s.known.put(id, ordinal)
	s.known.filter.add(id)
	s.value = binary.AppendUvarint(s.value[:0], ordinal)
	return s.store.Set(s.keys.id(kindSeen, id), s.value)
}

// loadSeen fills the filter.
func (s *Shard) loadSeen() error {
	from := append([]byte(nil), s.keys.kind(kindSeen)...)
	return s.store.Scan(from, after(from), func(key, _ []byte) (bool, error) {
		id, err := schemas.ParseID(key[len(from):])
		s.known.filter.add(id)
		return err == nil && !s.known.filter.off, err
	})
}

package frontier

import (
	"encoding/binary"
	"fmt"

	"forager/schemas"
)

// The seen-set is exact and lies in the store. Most links lead to URLs that were linked a
// moment ago, so those looked up last are known in memory, too.

// knownSize is the number of URLs in each half of known.
const knownSize = 1 << 17

// known holds the ordinals of the URLs that were looked up last, in two halves: when recent is
// full it becomes older, and what was older is forgotten.
type known struct {
	recent, older map[schemas.ID]uint64
	// whole: nothing was forgotten since the shard was empty, so what is not known was not seen.
	whole bool
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

func (k *known) put(id schemas.ID, ordinal uint64) {
	if len(k.recent) >= knownSize {
		k.whole = k.whole && len(k.older) == 0
		k.recent, k.older = nil, k.recent
	}
	if k.recent == nil {
		k.recent = make(map[schemas.ID]uint64)
	}
	k.recent[id] = ordinal
}

// seen looks a canonical URL up in the seen-set.
func (s *Shard) seen(url string) (ordinal uint64, ok bool, err error) {
	id := schemas.URLID(url)
	if ordinal, ok = s.known.get(id); ok || s.known.whole {
		return ordinal, ok, nil
	}
	b, ok, err := s.store.Get(s.keys.id(kindSeen, id))
	if err != nil || !ok {
		return 0, false, err
	}
	r := reader{b: b}
	ordinal = r.u64()
	if err := r.end(); err != nil {
		return 0, false, fmt.Errorf("frontier: seen-set at %s: %w", url, err)
	}
	s.known.put(id, ordinal)
	return ordinal, true, nil
}

// see puts a URL into the seen-set.
func (s *Shard) see(url string, ordinal uint64) error {
	id := schemas.URLID(url)
	s.known.put(id, ordinal)
	s.value = binary.AppendUvarint(s.value[:0], ordinal)
	return s.store.Set(s.keys.id(kindSeen, id), s.value)
}

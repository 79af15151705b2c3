package state

import (
	"encoding/binary"
	"fmt"
	"slices"

	"forager/internal/frontier/storage"
	"forager/schemas"
)

// The seen-set is exact and in the store. Most links lead to URLs that were linked shortly before, so the ordinals of those
// looked up last are in memory, too (storage.Ordinals). A filter excludes most URLs that were never linked; its false
// positives are looked up.

// Known is what is in memory of the seen-set.
type Known struct {
	Ordinals storage.Ordinals
	// Filter of the URLs and hosts that were seen. It is filled while the shard works, so that a shard of 10⁸ URLs opens as
	// fast as one of 10³; until then it excludes nothing.
	Filter storage.Filter
	// next is the key from which the filter is filled; nil = it has all ids, or is off.
	next []byte
	// Slice is the number of ids that FillFilter adds.
	Slice int
}

// Has is false for most ids of URLs and hosts that were not seen.
func (k *Known) Has(id schemas.ID) bool { return k.next != nil || k.Filter.Has(id) }

// filterSlice is the number of ids that are added to the filter with each record: some 8 ms.
const filterSlice = 16 << 10

// Seen returns the entry of a canonical URL itself, not the one that it redirected to; nil if the URL
// was not seen.
func (s *Records) Seen(url string) (*Entry, error) { return s.SeenBy(url, schemas.URLID(url)) }

// SeenBy is Seen for a URL whose id is known.
func (s *Records) SeenBy(url string, id schemas.ID) (*Entry, error) {
	if ordinal, ok := s.Known.Ordinals.Peek(id); ok {
		e, err := s.Entry(ordinal)
		if err != nil {
			return nil, err
		}
		if e.URL == url {
			s.Known.Ordinals.Put(id, ordinal) // as the one used last
			return e, nil
		}
	}
	if !s.Known.Has(id) {
		return nil, nil
	}
	e, err := s.SeenID(id)
	if e != nil {
		s.Known.Ordinals.Put(id, e.Ordinal)
	}
	return e, err
}

// SeenID returns the entry of the URL of an id from the store; nil if it was not seen.
func (s *Records) SeenID(id schemas.ID) (*Entry, error) {
	ordinal, ok, err := ReadSeen(s.Store.Get, &s.Keys, id)
	if err != nil || !ok {
		return nil, err
	}
	return s.Entry(ordinal)
}

// ReadSeen looks the URL of an id up in the store.
func ReadSeen(get func(key []byte) ([]byte, bool, error), keys *Keys, id schemas.ID) (ordinal uint64, ok bool, err error) {
	b, ok, err := get(keys.ID(KindSeen, id))
	if err != nil || !ok {
		return 0, false, err
	}
	r := storage.Reader{Rest: b}
	ordinal = r.U64()
	if err := r.End(); err != nil {
		return 0, false, fmt.Errorf("frontier: seen-set at %s: %w", id, err)
	}
	return ordinal, true, nil
}

// See puts a URL into the seen-set.
func (s *Records) See(url string, ordinal uint64) error {
	id := schemas.URLID(url)
	s.Known.Ordinals.Put(id, ordinal)
	s.Known.Filter.Add(id)
	if s.Dirty.On {
		s.Dirty.Urls[id] = true
	}
	s.Buffer = binary.AppendUvarint(s.Buffer[:0], ordinal)
	return s.Store.Set(s.Keys.ID(KindSeen, id), s.Buffer)
}

// FillFilter adds the next ids of the store to the filter, hosts before URLs.
func (s *Records) FillFilter() error {
	known := &s.Known
	for left := known.Slice; left > 0 && known.next != nil; {
		from := known.next
		kind, at := from[s.Keys.Prefix], s.Keys.Prefix+1
		var last []byte
		err := s.Store.Scan(from, After(from[:at]), func(key, _ []byte) (bool, error) {
			id, err := schemas.ParseID(key[at:])
			known.Filter.Add(id)
			last = append(last[:0], key...)
			left--
			return err == nil && left > 0, err
		})
		known.next = nil
		switch {
		case err != nil:
			return err
		case known.Filter.Off:
		case left == 0:
			known.next = append(last, 0)
		case kind == KindHostName:
			known.next = slices.Clone(s.Keys.Kind(KindSeen))
		}
	}
	return nil
}

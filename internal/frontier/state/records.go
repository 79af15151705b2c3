package state

import (
	"encoding/binary"
	"fmt"
	"slices"

	"forager/internal/frontier/storage"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Records are what is stored of a shard apart from its pages and hosts: entries with their links, the seen-set, names and counters.
type Records struct {
	Name  ShardName
	Store storage.Store
	Keys  Keys
	// Buffer and KeyBuffer are scratch for encoded values and keys.
	Buffer, KeyBuffer []byte

	Counters    Counters
	Generations []Generations // by policy
	names       Names
	// Terms are the dictionary of leaf tables.
	Terms   linkfeature.Dictionary
	Known   Known
	Entries *storage.LRU[uint64, *Entry] // by ordinal
	// Dirty is what was stored while prepared verdicts are in use.
	Dirty Dirty
}

// NewRecords returns the records of a shard, of which nothing is read yet.
func NewRecords(store storage.Store, name ShardName) *Records {
	s := &Records{Name: name, Store: store, Keys: NewKeys(ShardPrefix(name)), Entries: storage.NewLRU[uint64, *Entry](0)}
	s.Known = Known{next: slices.Clone(s.Keys.Kind(KindHostName)), Slice: filterSlice}
	return s
}

// CheckLayout returns an error if the state is of another layout than that of this program; exists is false if there is none.
func (s *Records) CheckLayout() (exists bool, err error) {
	v, ok, err := s.Store.Get(s.Keys.Kind(KindLayout))
	if err != nil || !ok {
		return false, err
	}
	if n, _ := binary.Uvarint(v); len(v) != 1 || n != Layout {
		return true, fmt.Errorf("the state has layout %d, this program reads %d", n, Layout)
	}
	return true, nil
}

// MarkLayout refuses state of another layout and marks new state.
func (s *Records) MarkLayout() error {
	exists, err := s.CheckLayout()
	if err != nil || exists {
		return err
	}
	return s.Store.Set(s.Keys.Kind(KindLayout), []byte{Layout})
}

// Entry reads an entry. A caller that changes it stores it with SaveEntry before the call ends.
func (s *Records) Entry(ordinal uint64) (*Entry, error) {
	if e, ok := s.Entries.Get(ordinal); ok {
		return e, nil
	}
	e, err := ReadEntry(s.Store.Get, &s.Keys, ordinal, s.Counters.Hosts)
	if err == nil {
		s.Keep(e)
	}
	return e, err
}

// ReadEntry reads an entry of one of so many hosts from the store.
func ReadEntry(get func(key []byte) ([]byte, bool, error), keys *Keys, ordinal uint64, hosts uint32) (*Entry, error) {
	b, ok, err := get(keys.U64(KindEntry, ordinal))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("frontier: entry %d is missing", ordinal)
	}
	e, err := DecodeEntry(ordinal, b)
	if err != nil {
		return nil, err
	}
	if e.Host >= hosts {
		return nil, fmt.Errorf("frontier: entry %d has the unknown host %d", ordinal, e.Host)
	}
	return e, nil
}

// SaveEntry stores an entry and keeps it in memory for now.
func (s *Records) SaveEntry(e *Entry) error {
	s.Keep(e)
	return s.StoreEntry(e)
}

// StoreEntry is SaveEntry for an entry that need not be in memory afterwards.
func (s *Records) StoreEntry(e *Entry) error {
	s.Buffer = e.Append(s.Buffer[:0])
	return s.SetEntry(e.Ordinal, s.Buffer)
}

// SetEntry stores an entry's value.
func (s *Records) SetEntry(ordinal uint64, value []byte) error {
	if s.Dirty.On {
		s.Dirty.Entries[ordinal] = true
	}
	return s.Store.Set(s.Keys.U64(KindEntry, ordinal), value)
}

// Keep holds an entry in memory, with its links if they are loaded.
func (s *Records) Keep(e *Entry) {
	cost := entryCost + len(e.URL) + 96*len(e.Places) + linkCost*cap(e.Links)
	if e.Held() {
		s.Entries.Renew(e.place, cost)
	} else {
		e.place = s.Entries.Put(e.Ordinal, e, cost)
	}
}

// Resolve follows redirects from the entry of a seen URL; an entry that is no alias is returned as it is.
func (s *Records) Resolve(e *Entry) (_ *Entry, err error) {
	for steps := uint64(0); e.State == Alias; steps++ {
		if steps > s.Counters.Entries {
			return nil, fmt.Errorf("frontier: entry %d redirects in a circle", e.Ordinal)
		}
		if e, err = s.Entry(e.Target); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Unvisited reads the queued entry of an ordinal, or the one to which that has redirected since; nil if it is
// not queued.
func (s *Records) Unvisited(ordinal uint64) (*Entry, error) {
	e, err := s.Entry(ordinal)
	if err == nil {
		e, err = s.Resolve(e)
	}
	if err != nil || e.State != Queued {
		return nil, err
	}
	return e, nil
}

// Once reports whether a record without a request was applied before, and notes it as applied.
func (s *Records) Once(id schemas.ID) (duplicate bool, err error) {
	key := s.Keys.ID(kindSeeds, id)
	if _, ok, err := s.Store.Get(key); err != nil || ok {
		return ok, err
	}
	return false, s.Store.Set(key, nil)
}

// LoadCounters reads the counters and generations; those of a new shard are zero.
func (s *Records) LoadCounters() error {
	b, ok, err := s.Store.Get(s.Keys.Kind(KindCounters))
	if err != nil {
		return err
	}
	if !ok {
		s.Counters = newCounters()
		return nil
	}
	s.Counters, s.Generations, err = decodeCounters(b)
	return err
}

// KeepRead keeps an entry in memory, unless one of its ordinal is there, which is returned then.
func (s *Records) KeepRead(e *Entry) *Entry {
	if e.Held() {
		s.Entries.Touch(e.place)
		return e
	}
	if held, ok := s.Entries.Get(e.Ordinal); ok {
		return held
	}
	s.Keep(e)
	return e
}

// Dirty is what was stored since the last call of Prepare, as long as prepared verdicts are in use.
type Dirty struct {
	// On: it is in use.
	On      bool
	Entries map[uint64]bool
	Urls    map[schemas.ID]bool
}

// Begin clears it, and keeps the memory of its maps.
func (s *Dirty) Begin() {
	if s.Entries == nil {
		s.Entries, s.Urls = make(map[uint64]bool), make(map[schemas.ID]bool)
	}
	s.On = true
	clear(s.Entries)
	clear(s.Urls)
}

// FailedEntries returns the ordinals of the entries that may be tried again. It reads all entries, some microseconds each.
func (s *Records) FailedEntries() (ordinals []uint64, err error) {
	from := append([]byte(nil), s.Keys.Kind(KindEntry)...)
	err = s.Store.Scan(from, After(from), func(key, value []byte) (bool, error) {
		ordinal := binary.BigEndian.Uint64(key[len(from):])
		e, err := DecodeEntry(ordinal, value)
		if err != nil {
			return false, err
		}
		if e.State == Final && schemas.Repeatable(e.Outcome) {
			ordinals = append(ordinals, ordinal)
		}
		return true, nil
	})
	return ordinals, err
}

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream/stateful"
	"forager/schemas"
)

// keyValue is the part of *stateful.Store that holds the state.
type keyValue interface {
	Get(key []byte) (value []byte, ok bool, err error)
	Set(key, value []byte) error
	DeleteRange(from, to []byte) error
	Scan(from, to []byte, f func(key, value []byte) (more bool, err error)) error
}

// state of a partition:
//
//	'c' crawl                     → entry
//	's' len(crawl) crawl leap id  → nothing: the leap was noted
//	'j' len(crawl) crawl number   → journal: offset in leap.settled, leap or boundary
//
// The journal has the leaps since the last model; a model's object has everything before.
type state struct{ kv keyValue }

// entry is the state of a crawl.
type entry struct {
	// first and end are the number of the first journal line and that after the last one.
	first, end uint64
	// boundary is the last boundary noted, in pages.
	boundary uint64
	// published is the last model; nil = none.
	published *schemas.ModelPublished
}

const stateVersion = 1

func (s state) save(crawl string, e *entry) error {
	b := []byte{stateVersion}
	for _, n := range []uint64{e.first, e.end, e.boundary} {
		b = binary.AppendUvarint(b, n)
	}
	if e.published != nil {
		var err error
		if b, err = (proto.MarshalOptions{Deterministic: true}).MarshalAppend(b, e.published); err != nil {
			return fmt.Errorf("state of crawl %s: %w", crawl, err)
		}
	}
	return s.kv.Set(append([]byte{'c'}, crawl...), b)
}

func readEntry(b []byte) (*entry, error) {
	if len(b) == 0 || b[0] != stateVersion {
		return nil, stateful.OtherLayout(errors.New("another version"))
	}
	b = b[1:]
	e := new(entry)
	for _, n := range []*uint64{&e.first, &e.end, &e.boundary} {
		v, k := binary.Uvarint(b)
		if k <= 0 {
			return nil, errors.New("cut short")
		}
		*n, b = v, b[k:]
	}
	if len(b) > 0 {
		e.published = new(schemas.ModelPublished)
		if err := proto.Unmarshal(b, e.published); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// entries reads all crawls.
func (s state) entries() (map[string]*entry, error) {
	all := make(map[string]*entry)
	err := s.kv.Scan([]byte{'c'}, []byte{'c' + 1}, func(key, value []byte) (bool, error) {
		e, err := readEntry(value)
		if err != nil {
			return false, fmt.Errorf("state of crawl %s: %w", key[1:], err)
		}
		all[string(key[1:])] = e
		return true, nil
	})
	return all, err
}

func crawlKey(kind byte, crawl string) []byte {
	return append([]byte{kind, byte(len(crawl))}, crawl...)
}

// see notes a leap's id; fresh reports that it was not noted before.
func (s state) see(crawl string, id []byte) (fresh bool, err error) {
	key := append(crawlKey('s', crawl), id...)
	if _, ok, err := s.kv.Get(key); err != nil || ok {
		return false, err
	}
	return true, s.kv.Set(key, nil)
}

func journalKey(crawl string, number uint64) []byte {
	return binary.BigEndian.AppendUint64(crawlKey('j', crawl), number)
}

// note writes a line of the journal.
func (s state) note(crawl string, number uint64, offset int64, leap *schemas.LeapSettled) error {
	b := binary.AppendUvarint(nil, uint64(offset))
	b, err := proto.MarshalOptions{}.MarshalAppend(b, &schemas.LeapSettled{
		Features: leap.GetFeatures(), TargetRaw: leap.GetTargetRaw(), Boundary: leap.GetBoundary(), Pages: leap.GetPages(),
	})
	if err != nil {
		return fmt.Errorf("leap at offset %d: %w", offset, err)
	}
	return s.kv.Set(journalKey(crawl, number), b)
}

// read reads a line of the journal.
func (s state) read(crawl string, number uint64) (offset int64, leap *schemas.LeapSettled, err error) {
	b, ok, err := s.kv.Get(journalKey(crawl, number))
	if err != nil {
		return 0, nil, err
	}
	if !ok {
		return 0, nil, fmt.Errorf("line %d of the journal is missing", number)
	}
	n, k := binary.Uvarint(b)
	if k <= 0 {
		return 0, nil, fmt.Errorf("line %d of the journal is cut short", number)
	}
	leap = new(schemas.LeapSettled)
	if err := proto.Unmarshal(b[k:], leap); err != nil {
		return 0, nil, fmt.Errorf("line %d of the journal: %w", number, err)
	}
	return int64(n), leap, nil
}

// forget deletes lines first ≤ number < end of the journal.
func (s state) forget(crawl string, first, end uint64) error {
	return s.kv.DeleteRange(journalKey(crawl, first), journalKey(crawl, end))
}

// drop deletes the state of a crawl.
func (s state) drop(crawl string) error {
	entry := append([]byte{'c'}, crawl...)
	if err := s.kv.DeleteRange(entry, append(entry, 0)); err != nil {
		return err
	}
	for _, kind := range []byte{'s', 'j'} {
		prefix := crawlKey(kind, crawl)
		if err := s.kv.DeleteRange(prefix, append(crawlKey(kind, crawl), bytes.Repeat([]byte{0xff}, len(schemas.ID{})+1)...)); err != nil {
			return err
		}
	}
	return nil
}

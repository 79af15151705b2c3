package state

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// Snapshot is the state of a Store at one of its last commits, for reading. It is not safe for concurrent use, and Close must be
// called soon: the Store waits for it when it closes. Slices returned by Get and passed by Scan are valid until the next call. It
// implements frontier.Store; what writes returns an error.
type Snapshot struct {
	db    *pebble.Snapshot
	value []byte
	done  func()
}

// ErrClosed is the error of reads after Close.
var ErrClosed = pebble.ErrClosed

// Snapshot returns the last commit that was written, or the one before while that is being written. It may be called concurrently
// with any other method; after Close it fails with ErrClosed.
func (s *Store) Snapshot() (*Snapshot, error) {
	s.open.RLock()
	if s.closed {
		s.open.RUnlock()
		return nil, fmt.Errorf("state: snapshot: %w", ErrClosed)
	}
	return &Snapshot{db: s.db.NewSnapshot(), done: sync.OnceFunc(s.open.RUnlock)}, nil
}

// Close releases the snapshot.
func (s *Snapshot) Close() error {
	defer s.done()
	return s.db.Close()
}

// Get returns the value of a key.
func (s *Snapshot) Get(key []byte) (value []byte, ok bool, err error) {
	if value, ok, err = s.Read(key, s.value[:0]); ok {
		s.value = value
	}
	return value, ok, err
}

// Read is Get, with the value appended to buf.
func (s *Snapshot) Read(key, buf []byte) (value []byte, ok bool, err error) {
	if err := checkKey(key); err != nil {
		return nil, false, err
	}
	return read(s.db, key, buf)
}

// read appends the value of a key in Pebble to buf.
func read(db pebble.Reader, key, buf []byte) (value []byte, ok bool, err error) {
	v, closer, err := db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err == nil {
		value = append(buf, v...)
		err = closer.Close()
	}
	if err != nil {
		return nil, false, fmt.Errorf("state: get %x: %w", key, err)
	}
	return value, true, nil
}

// Scan calls f for from ≤ key < to in ascending order until f returns false.
func (s *Snapshot) Scan(from, to []byte, f func(key, value []byte) (more bool, err error)) error {
	if err := checkKey(from); err != nil {
		return err
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return fmt.Errorf("state: scan %x to %x: %w", from, to, err)
	}
	for more := it.First(); more && err == nil; {
		var value []byte
		if value, err = it.ValueAndErr(); err == nil {
			more, err = f(it.Key(), value)
		}
		more = more && it.Next()
	}
	return errors.Join(err, it.Close())
}

// ReadCommitted calls f for those of some keys that exist, with the index of the key and its value.
func (s *Snapshot) ReadCommitted(keys [][]byte, f func(i int, value []byte) error) error {
	for i, key := range keys {
		value, ok, err := s.Get(key)
		if err == nil && ok {
			err = f(i, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ScanCommitted is Scan.
func (s *Snapshot) ScanCommitted(from, to []byte, f func(key, value []byte) (more bool, err error)) error {
	return s.Scan(from, to, f)
}

var errSnapshot = errors.New("state: a snapshot cannot be changed")

// Set returns an error.
func (s *Snapshot) Set(_, _ []byte) error { return errSnapshot }

// Delete returns an error.
func (s *Snapshot) Delete(_ []byte) error { return errSnapshot }

// DeleteRange returns an error.
func (s *Snapshot) DeleteRange(_, _ []byte) error { return errSnapshot }

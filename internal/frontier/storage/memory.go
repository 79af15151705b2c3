package storage

import (
	"sync"

	"github.com/tidwall/btree"
)

// Memory is a Store for experiments and tests. Whatever is written counts as committed.
type Memory struct {
	mu   sync.RWMutex
	tree btree.Map[string, []byte]
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return new(Memory) }

// Get implements Store.
func (m *Memory) Get(key []byte) ([]byte, bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	v, ok := m.tree.Get(string(key))
	return v, ok, nil
}

// Read implements Store.
func (m *Memory) Read(key, buf []byte) ([]byte, bool, error) {
	v, ok, err := m.Get(key)
	return append(buf, v...), ok, err
}

// ReadCommitted implements Store.
func (m *Memory) ReadCommitted(keys [][]byte, f func(i int, value []byte) error) error {
	for i, key := range keys {
		if v, ok, _ := m.Get(key); ok {
			if err := f(i, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// Set implements Store.
func (m *Memory) Set(key, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tree.Set(string(key), append([]byte(nil), value...))
	return nil
}

// Delete implements Store.
func (m *Memory) Delete(key []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tree.Delete(string(key))
	return nil
}

// DeleteRange implements Store.
func (m *Memory) DeleteRange(from, to []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var doomed []string
	end := string(to)
	m.tree.Ascend(string(from), func(k string, _ []byte) bool {
		if k >= end {
			return false
		}
		doomed = append(doomed, k)
		return true
	})
	for _, k := range doomed {
		m.tree.Delete(k)
	}
	return nil
}

// ScanCommitted implements Store.
func (m *Memory) ScanCommitted(from, to []byte, f func(key, value []byte) (bool, error)) error {
	return m.Scan(from, to, f)
}

// Scan implements Store.
func (m *Memory) Scan(from, to []byte, f func(key, value []byte) (bool, error)) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var failed error
	end := string(to)
	m.tree.Ascend(string(from), func(k string, v []byte) bool {
		if k >= end {
			return false
		}
		more, err := f([]byte(k), v)
		failed = err
		return more && err == nil
	})
	return failed
}

// Clone returns an independent copy.
func (m *Memory) Clone() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Memory{tree: *m.tree.Copy()}
}

package storage

import (
	"slices"
	"sync"

	"github.com/tidwall/btree"
)

// Memory is a Store for experiments and tests. Whatever is written counts as committed.
type Memory struct {
	mu sync.RWMutex
	// tree has all keys, values those with a value, most of which are set again and again.
	tree   btree.Map[string, *[]byte]
	values map[string]*[]byte
}

// none is the value of keys without one.
var none []byte

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{values: make(map[string]*[]byte)} }

// get returns nil for a key that is not there.
func (m *Memory) get(key []byte) *[]byte {
	v := m.values[string(key)]
	if v == nil {
		v, _ = m.tree.Get(string(key))
	}
	return v
}

// Get implements Store.
func (m *Memory) Get(key []byte) ([]byte, bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	v := m.get(key)
	if v == nil {
		return nil, false, nil
	}
	return *v, true, nil
}

// Read implements Store.
func (m *Memory) Read(key, buf []byte) ([]byte, bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	v := m.get(key)
	if v == nil {
		return buf, false, nil
	}
	return append(buf, *v...), true, nil
}

// ReadCommitted implements Store.
func (m *Memory) ReadCommitted(keys [][]byte, f func(i int, value []byte) error) error {
	for i, key := range keys {
		if v, ok, _ := m.Read(key, nil); ok {
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
	if len(value) == 0 { // most of these keys are of queues: they come and go
		if v, ok := m.tree.Set(string(key), &none); ok && v != &none {
			delete(m.values, string(key))
		}
		return nil
	}
	if v := m.values[string(key)]; v != nil {
		*v = append((*v)[:0], value...)
		return nil
	}
	name, v := string(key), slices.Clone(value)
	m.tree.Set(name, &v)
	m.values[name] = &v
	return nil
}

// Delete implements Store.
func (m *Memory) Delete(key []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.delete(string(key))
	return nil
}

func (m *Memory) delete(key string) {
	if v, ok := m.tree.Delete(key); ok && v != &none {
		delete(m.values, key)
	}
}

// DeleteRange implements Store.
func (m *Memory) DeleteRange(from, to []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var doomed []string
	end := string(to)
	m.tree.Ascend(string(from), func(k string, _ *[]byte) bool {
		if k >= end {
			return false
		}
		doomed = append(doomed, k)
		return true
	})
	for _, k := range doomed {
		m.delete(k)
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
	var key []byte
	end := string(to)
	m.tree.Ascend(string(from), func(k string, v *[]byte) bool {
		if k >= end {
			return false
		}
		key = append(key[:0], k...)
		more, err := f(key, *v)
		failed = err
		return more && err == nil
	})
	return failed
}

// Clone returns an independent copy.
func (m *Memory) Clone() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := NewMemory()
	m.tree.Scan(func(k string, v *[]byte) bool {
		_ = c.Set([]byte(k), *v) // it never fails
		return true
	})
	return c
}

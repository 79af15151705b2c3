package frontier

import "github.com/tidwall/btree"

// memory is a Store for experiments and tests.
type memory struct {
	tree btree.Map[string, []byte]
}

// NewMemory returns an empty Store in memory.
func NewMemory() Store { return &memory{} }

func (m *memory) Get(key []byte) ([]byte, bool, error) {
	v, ok := m.tree.Get(string(key))
	return v, ok, nil
}

func (m *memory) Read(key, buf []byte) ([]byte, bool, error) {
	v, ok := m.tree.Get(string(key))
	return append(buf, v...), ok, nil
}

func (m *memory) Set(key, value []byte) error {
	m.tree.Set(string(key), append([]byte(nil), value...))
	return nil
}

func (m *memory) Delete(key []byte) error {
	m.tree.Delete(string(key))
	return nil
}

func (m *memory) DeleteRange(from, to []byte) error {
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

func (m *memory) Scan(from, to []byte, f func(key, value []byte) (bool, error)) error {
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

package frontier

import "fmt"

// names numbers the names of policies and models, which are in every dispatched entry.
// Number 0 is the empty name.
type names struct {
	list   []string
	number map[string]uint32
}

func (s *Shard) nameNumber(name string) (uint32, error) {
	if n, ok := s.names.number[name]; ok {
		return n, nil
	}
	n := uint32(len(s.names.list))
	s.names.add(name)
	return n, s.store.Set(s.keys.u32(kindName, n), []byte(name))
}

func (n *names) add(name string) {
	n.number[name] = uint32(len(n.list))
	n.list = append(n.list, name)
}

// nameOf is the name with a number.
func (s *Shard) nameOf(number uint32) (string, error) {
	if int(number) >= len(s.names.list) {
		return "", fmt.Errorf("frontier: name %d is unknown", number)
	}
	return s.names.list[number], nil
}

func (s *Shard) loadNames() error {
	s.names = names{number: make(map[string]uint32)}
	s.names.add("")
	from := append([]byte(nil), s.keys.kind(kindName)...)
	return s.store.Scan(from, after(from), func(key, value []byte) (bool, error) {
		n, err := s.keys.parseU32(key)
		if err != nil || int(n) != len(s.names.list) {
			return false, fmt.Errorf("frontier: name %d follows %d names", n, len(s.names.list))
		}
		s.names.add(string(value))
		return true, nil
	})
}

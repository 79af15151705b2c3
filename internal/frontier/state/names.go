package state

import (
	"fmt"
)

// Names numbers the names of policies and models, which are in every dispatched entry.
// Number 0 is the empty name.
type Names struct {
	list   []string
	number map[string]uint32
}

// NameNumber is the number of a name; a new one gets the next number.
func (s *Records) NameNumber(name string) (uint32, error) {
	if n, ok := s.names.number[name]; ok {
		return n, nil
	}
	n := uint32(len(s.names.list))
	s.names.add(name)
	return n, s.Store.Set(s.Keys.U32(kindName, n), []byte(name))
}

func (n *Names) add(name string) {
	n.number[name] = uint32(len(n.list))
	n.list = append(n.list, name)
}

// NameOf is the name with a number.
func (s *Records) NameOf(number uint32) (string, error) {
	if int(number) >= len(s.names.list) {
		return "", fmt.Errorf("frontier: name %d is unknown", number)
	}
	return s.names.list[number], nil
}

// LoadNames reads the names.
func (s *Records) LoadNames() error {
	s.names = Names{number: make(map[string]uint32)}
	s.names.add("")
	return s.loadNumbered(kindName, func(name string) (int, bool) {
		s.names.add(name)
		return len(s.names.list) - 1, true
	})
}

// loadNumbered reads the strings that are stored by their numbers; add numbers each of them again.
func (s *Records) loadNumbered(kind byte, add func(text string) (number int, ok bool)) error {
	from := append([]byte(nil), s.Keys.Kind(kind)...)
	return s.Store.Scan(from, After(from), func(key, value []byte) (bool, error) {
		n, err := s.Keys.ParseU32(key)
		if err != nil {
			return false, err
		}
		if number, ok := add(string(value)); !ok || number != int(n) {
			return false, fmt.Errorf("frontier: %q is number %d of kind %q, not %d", value, number, kind, n)
		}
		return true, nil
	})
}

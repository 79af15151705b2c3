package frontier

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// Hosts that are not in memory are found by an index in the store: for each policy and generation, the hosts with a queue in the
// order of the heads of these queues, or of what comes before the head (front.bound). A host is in the index or in
// memory, never in both. The index is divided into classes: openClass has hosts that were open when they were written,
// each of the others those that were not, as they waited or were at the cap that was in force under that class. The last class is that
// of the cap in force; of the hosts of all classes before it some may be open now, which is checked when they are read.

// openClass is the class of hosts that were open.
const openClass = 0

// indexed is a host in the index by the bound of one of its queues.
type indexed struct {
	order
	host uint32
}

func compareIndexed(a, b indexed) int {
	return cmp.Or(compareOrders(a.order, b.order), cmp.Compare(a.host, b.host))
}

// hostIndex is what is in memory of the index: its first keys, by policy, slot and class.
type hostIndex [][slots][]*rangeHead[indexed]

// indexClass is the prefix of the index of a policy, generation and class.
func (k *keys) indexClass(policy uint8, generation, class uint32) []byte {
	return binary.BigEndian.AppendUint32(k.generation(kindIndex, policy, generation), class)
}

// index is the key of a host in the index; keys of a class sort as compareIndexed does.
func (k *keys) index(policy uint8, generation, class uint32, x indexed) []byte {
	return binary.BigEndian.AppendUint32(appendOrder(k.indexClass(policy, generation, class), x.order), x.host)
}

func (k *keys) parseIndex(key []byte) (indexed, error) {
	b := key[min(len(key), k.prefix+1):]
	if len(b) != 1+4+4+orderBytes+4 {
		return indexed{}, fmt.Errorf("frontier: index key %x has the wrong length", key)
	}
	return indexed{readOrder(b[9:]), binary.BigEndian.Uint32(b[9+orderBytes:])}, nil
}

// newIndex resets what is in memory of the index, with nothing read yet.
func (s *Shard) newIndex() {
	s.index = make(hostIndex, len(s.generations))
	for p, g := range s.generations {
		s.index[p][slotOld] = s.newClasses(p, g.current)
		if g.passing() {
			s.index[p][slotNew] = s.newClasses(p, g.next)
		}
	}
}

func (s *Shard) newClasses(policy int, generation uint32) (classes []*rangeHead[indexed]) {
	for class := range s.c.class + 1 {
		classes = append(classes, s.newClass(policy, generation, class))
	}
	return classes
}

func (s *Shard) newClass(policy int, generation, class uint32) *rangeHead[indexed] {
	return &rangeHead[indexed]{compare: compareIndexed, scan: func(last *indexed, f func(indexed) bool) error {
		from := slices.Clone(s.keys.indexClass(uint8(policy), generation, class))
		end := after(from)
		if last != nil {
			from = slices.Clone(s.keys.index(uint8(policy), generation, class, *last))
		}
		return s.store.Scan(from, end, func(key, _ []byte) (bool, error) {
			x, err := s.keys.parseIndex(key)
			return err == nil && f(x), err
		})
	}}
}

// leastIndexed is the host of policy p that comes first in some slots of the index; candidates: only of hosts that may be open.
func (s *Shard) leastIndexed(p int, candidates bool, in ...int) (least indexed, ok bool, err error) {
	for _, slot := range in {
		classes := s.index[p][slot]
		if candidates && len(classes) > 0 {
			classes = classes[:s.c.class]
		}
		for _, class := range classes {
			x, some, err := class.least()
			if err != nil {
				return least, false, err
			}
			if some && (!ok || x.less(least.order)) {
				least, ok = x, true
			}
		}
	}
	return least, ok, nil
}

// indexHost adds a host that leaves memory to the index, or removes one that is read.
func (s *Shard) indexHost(h *host, class uint32, in bool) error {
	for p := range h.queues {
		for slot := range h.queues[p].fronts {
			f := &h.queues[p].fronts[slot]
			if f.empty() {
				continue
			}
			generation := s.generations[p].of(slot)
			x, head := indexed{f.bound(), h.number}, s.index[p][slot][class]
			key := s.keys.index(uint8(p), generation, class, x)
			if !in {
				head.remove(x)
				if err := s.store.Delete(key); err != nil {
					return err
				}
				continue
			}
			head.insert(x)
			if err := s.store.Set(key, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

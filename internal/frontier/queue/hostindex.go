package queue

import (
	"slices"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
)

// hostIndex is what is in memory of the index: its first keys, by policy, slot and class.
type hostIndex [][state.Slots][]*storage.RangeHead[state.Indexed]

// newIndex resets what is in memory of the index, with nothing read yet.
func (hs *Hosts) newIndex() {
	hs.index = make(hostIndex, len(hs.state.Generations))
	for p, g := range hs.state.Generations {
		hs.index[p][state.SlotOld] = hs.newClasses(p, g.Current)
		if g.Passing() {
			hs.index[p][state.SlotNew] = hs.newClasses(p, g.Next)
		}
	}
}

func (hs *Hosts) newClasses(policy int, generation uint32) (classes []*storage.RangeHead[state.Indexed]) {
	for class := range hs.state.Counters.Class + 1 {
		classes = append(classes, hs.newClass(policy, generation, class))
	}
	return classes
}

func (hs *Hosts) newClass(policy int, generation, class uint32) *storage.RangeHead[state.Indexed] {
	return &storage.RangeHead[state.Indexed]{Compare: state.CompareIndexed, Scan: func(last *state.Indexed, f func(state.Indexed) bool) error {
		from := slices.Clone(hs.state.Keys.IndexClass(uint8(policy), generation, class))
		end := state.After(from)
		if last != nil {
			from = slices.Clone(hs.state.Keys.Index(uint8(policy), generation, class, *last))
		}
		return hs.state.Store.Scan(from, end, func(key, _ []byte) (bool, error) {
			x, err := hs.state.Keys.ParseIndex(key)
			return err == nil && f(x), err
		})
	}}
}

// leastIndexed is the host of policy p that comes first in some slots of the index; candidates: only of hosts that may be open.
func (hs *Hosts) leastIndexed(p int, candidates bool, in ...int) (least state.Indexed, ok bool, err error) {
	for _, slot := range in {
		classes := hs.index[p][slot]
		if candidates && len(classes) > 0 {
			classes = classes[:hs.state.Counters.Class]
		}
		for _, class := range classes {
			x, some, err := class.Least()
			if err != nil {
				return least, false, err
			}
			if some && (!ok || x.Less(least.Order)) {
				least, ok = x, true
			}
		}
	}
	return least, ok, nil
}

// indexHost adds a host that leaves memory to the index, or removes one that is read.
func (hs *Hosts) indexHost(h *Host, class uint32, in bool) error {
	for p := range h.Queues {
		for slot := range h.Queues[p].Fronts {
			f := &h.Queues[p].Fronts[slot]
			if f.empty() {
				continue
			}
			generation := hs.state.Generations[p].Of(slot)
			x, head := state.Indexed{Order: f.bound(), Host: h.Number}, hs.index[p][slot][class]
			key := hs.state.Keys.Index(uint8(p), generation, class, x)
			if !in {
				head.Remove(x)
				if err := hs.state.Store.Delete(key); err != nil {
					return err
				}
				continue
			}
			head.Insert(x)
			if err := hs.state.Store.Set(key, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

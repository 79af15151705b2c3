package frontier

import (
	"encoding/binary"
	"fmt"
)

// The hosts used last are in memory, up to their share of the shard's memory (bounds.go), and those with requests in
// flight. The others are in the store and in the index (hostindex.go); they are read when a record concerns
// them, or when one has the best entry that may be dispatched. The stored values of the hosts in memory are updated at
// the end of each call, so a shard that is opened reads these hosts and no others (docs/decisions/0020).

// host returns the host of a number. It stays in memory until the next call of evictHosts.
func (s *Shard) host(number uint32) (*host, error) {
	if h, ok := s.hosts.get(number); ok {
		return h, nil
	}
	r, err := s.readHost(number)
	if err != nil {
		return nil, err
	}
	h := s.restore(number, r)
	if r.place > 0 {
		if err := s.indexHost(h, r.place-1, false); err != nil {
			return nil, err
		}
	}
	if err := s.store.Set(s.keys.u32(kindResident, number), nil); err != nil {
		return nil, err
	}
	s.addHost(h)
	s.refresh(h)
	return h, nil
}

func (s *Shard) readHost(number uint32) (*storedHost, error) {
	b, ok, err := s.store.Get(s.keys.u32(kindHost, number))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("frontier: host %d is missing", number)
	}
	r, err := decodeHost(b)
	if err == nil && r.place > s.c.class+1 {
		err = errNumber
	}
	if err != nil {
		return nil, fmt.Errorf("host %d: %w", number, err)
	}
	return r, nil
}

// knownHost returns the host of a name; nil if it is new.
func (s *Shard) knownHost(name string) (*host, error) {
	if h, ok := s.hostByName[name]; ok {
		return s.host(h.number)
	}
	id := hostID(name)
	if !s.known.filter.has(id) {
		return nil, nil
	}
	b, ok, err := s.store.Get(s.keys.id(kindHostName, id))
	if err != nil || !ok {
		return nil, err
	}
	r := reader{b: b}
	number := r.u32()
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("frontier: number of host %q: %w", name, err)
	}
	return s.host(number)
}

// hostNamed returns the host of a name; a new one gets a number.
func (s *Shard) hostNamed(name string) (*host, error) {
	h, err := s.knownHost(name)
	if err != nil || h != nil {
		return h, err
	}
	h = &host{number: s.c.hosts, name: name, queues: newHostQueues(len(s.generations))}
	s.c.hosts++
	id := hostID(name)
	s.known.filter.add(id)
	s.value = binary.AppendUvarint(s.value[:0], uint64(h.number))
	if err := s.store.Set(s.keys.id(kindHostName, id), s.value); err != nil {
		return nil, err
	}
	if err := s.store.Set(s.keys.u32(kindResident, h.number), nil); err != nil {
		return nil, err
	}
	s.addHost(h)
	return h, nil
}

// addHost puts a host into memory.
func (s *Shard) addHost(h *host) {
	h.place = s.hosts.put(h.number, h, h.cost())
	s.hostByName[h.name] = h
	s.change(h)
	if len(s.hosts.at) > 2*s.fittedHosts {
		s.fitFronts()
	}
}

// change notes that a host is to be stored at the end of the call.
func (s *Shard) change(h *host) {
	s.weigh(h)
	if !h.changed {
		h.changed = true
		s.changed = append(s.changed, h)
	}
}

// weigh updates the memory that a host takes.
func (s *Shard) weigh(h *host) { s.hosts.renew(h.place, h.cost()) }

// saveHosts evicts hosts, and stores those that have changed.
func (s *Shard) saveHosts() error {
	if err := s.evictHosts(); err != nil {
		return err
	}
	for i, h := range s.changed {
		if s.changed[i] = nil; !h.changed {
			continue
		}
		if err := s.saveHost(h, 0); err != nil {
			return err
		}
	}
	s.changed = s.changed[:0]
	return nil
}

// evictHosts evicts the least recently used hosts until the others are within the bound of memory.
func (s *Shard) evictHosts() error {
	for n := len(s.hosts.at); s.hosts.used > s.hostMemory && n > 0 && s.ctl != nil; n-- {
		x := s.hosts.ring.newer
		if x.item.inFlight > 0 {
			s.hosts.touch(x)
			continue
		}
		if err := s.evictHost(x.item); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shard) evictHost(h *host) error {
	class := uint32(openClass)
	if !s.open(h) {
		class = s.c.class
	}
	if err := s.indexHost(h, class, true); err != nil {
		return err
	}
	if err := s.saveHost(h, class+1); err != nil {
		return err
	}
	for p := range s.ready {
		s.ready[p].fix(h, false)
		s.old[p].fix(h, false)
	}
	s.hosts.drop(h.number)
	delete(s.hostByName, h.name)
	return s.store.Delete(s.keys.u32(kindResident, h.number))
}

// loadHosts reads the hosts that were in memory.
func (s *Shard) loadHosts() error {
	s.newIndex()
	var numbers []uint32
	from := append([]byte(nil), s.keys.kind(kindResident)...)
	err := s.store.Scan(from, after(from), func(key, _ []byte) (bool, error) {
		n, err := s.keys.parseU32(key)
		numbers = append(numbers, n)
		return true, err
	})
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if _, err := s.host(n); err != nil {
			return err
		}
	}
	return nil
}

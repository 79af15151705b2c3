package queue

import (
	"encoding/binary"
	"fmt"
	"math"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/web/weburl"
)

// frontCost is what a key of a front takes in memory, bytes.
const frontCost = 64

// minFront and maxFront are the least and the largest number of keys that a front reads at a time.
const minFront, maxFront = 1, 32

// The hosts used last are in memory, up to their share of the shard's memory, and those with requests in
// flight. The others are in the store and in the index (hostindex.go); they are read when a record concerns
// them, or when one has the best entry that may be dispatched. The stored values of the hosts in memory are updated at
// the end of each call, so a shard that is opened reads these hosts and no others (docs/decisions/0020).

// Hosts are the hosts of a shard with the heads of their queues.
type Hosts struct {
	state *state.Records
	// hosts in memory, by number; changed are those to be stored at the end of the call; index has the heads of the
	// index of the others.
	Cache      *storage.LRU[uint32, *Host]
	HostByName map[string]*Host
	changed    []*Host
	index      hostIndex
	fronts     []storedFront // scratch
	// ready and old are the hosts in memory in the order of their heads, by policy; built by RebuildHeaps.
	ready, old []*storage.Heap[*Host]
	Limits     Limits
	// busy is counted by tally, and again by RebuildHeaps.
	busy uint64
	// Memory bounds the memory of hosts, bytes; frontSize is the number of keys that a front reads at a time, for
	// fittedHosts hosts.
	Memory, frontSize, fittedHosts int
}

// NewHosts returns the hosts of a shard; LoadHosts reads those that were in memory.
func NewHosts(state *state.Records) *Hosts {
	return &Hosts{state: state, Cache: storage.NewLRU[uint32, *Host](math.MaxInt), HostByName: make(map[string]*Host)}
}

// Host returns the host of a number. It stays in memory until the next call of EvictHosts.
func (hs *Hosts) Host(number uint32) (*Host, error) {
	if h, ok := hs.Cache.Get(number); ok {
		return h, nil
	}
	r, err := hs.ReadHost(number)
	if err != nil {
		return nil, err
	}
	h := hs.restore(number, r)
	if r.Place > 0 {
		if err := hs.indexHost(h, r.Place-1, false); err != nil {
			return nil, err
		}
	}
	if err := hs.state.Store.Set(hs.state.Keys.U32(state.KindResident, number), nil); err != nil {
		return nil, err
	}
	hs.addHost(h)
	hs.Refresh(h)
	return h, nil
}

// ReadHost reads a host as it is stored.
func (hs *Hosts) ReadHost(number uint32) (*StoredHost, error) {
	b, ok, err := hs.state.Store.Get(hs.state.Keys.U32(state.KindHost, number))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("frontier: host %d is missing", number)
	}
	r, err := decodeHost(b)
	if err == nil && r.Place > hs.state.Counters.Class+1 {
		err = storage.ErrNumber
	}
	if err != nil {
		return nil, fmt.Errorf("host %d: %w", number, err)
	}
	return r, nil
}

// KnownHost returns the host of a name; nil if it is new.
func (hs *Hosts) KnownHost(name string) (*Host, error) {
	if h, ok := hs.HostByName[name]; ok {
		return hs.Host(h.Number)
	}
	id := hostID(name)
	if !hs.state.Known.Has(id) {
		return nil, nil
	}
	b, ok, err := hs.state.Store.Get(hs.state.Keys.ID(state.KindHostName, id))
	if err != nil || !ok {
		return nil, err
	}
	r := storage.Reader{Rest: b}
	number := r.U32()
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("frontier: number of host %q: %w", name, err)
	}
	return hs.Host(number)
}

// HostNamed returns the host of a name; a new one gets a number.
func (hs *Hosts) HostNamed(name string) (*Host, error) {
	h, err := hs.KnownHost(name)
	if err != nil || h != nil {
		return h, err
	}
	h = &Host{Number: hs.state.Counters.Hosts, Name: name, Queues: newHostQueues(len(hs.state.Generations))}
	hs.state.Counters.Hosts++
	id := hostID(name)
	hs.state.Known.Filter.Add(id)
	hs.state.Buffer = binary.AppendUvarint(hs.state.Buffer[:0], uint64(h.Number))
	if err := hs.state.Store.Set(hs.state.Keys.ID(state.KindHostName, id), hs.state.Buffer); err != nil {
		return nil, err
	}
	if err := hs.state.Store.Set(hs.state.Keys.U32(state.KindResident, h.Number), nil); err != nil {
		return nil, err
	}
	hs.addHost(h)
	return h, nil
}

// Discover makes the entry of a URL that was not seen before. It is not stored yet, and in no
// queue.
func (hs *Hosts) Discover(url string, depth, hops uint32) (*state.Entry, error) {
	h, err := hs.HostNamed(weburl.Host(url))
	if err != nil {
		return nil, err
	}
	hs.state.Counters.Entries++
	e := &state.Entry{Ordinal: hs.state.Counters.Entries, URL: url, Host: h.Number, Depth: depth, Hops: hops, Loaded: true}
	hs.state.Keep(e) // it can be looked up by its URL from now on
	return e, hs.state.See(url, e.Ordinal)
}

// addHost puts a host into memory.
func (hs *Hosts) addHost(h *Host) {
	h.place = hs.Cache.Put(h.Number, h, h.Cost())
	hs.HostByName[h.Name] = h
	hs.change(h)
	if len(hs.Cache.At) > 2*hs.fittedHosts {
		hs.FitFronts()
	}
}

// change notes that a host is to be stored at the end of the call.
func (hs *Hosts) change(h *Host) {
	hs.weigh(h)
	if !h.changed {
		h.changed = true
		hs.changed = append(hs.changed, h)
	}
}

// weigh updates the memory that a host takes.
func (hs *Hosts) weigh(h *Host) { hs.Cache.Renew(h.place, h.Cost()) }

// SaveHosts evicts hosts, and stores those that have changed.
func (hs *Hosts) SaveHosts() error {
	if err := hs.EvictHosts(); err != nil {
		return err
	}
	for i, h := range hs.changed {
		if hs.changed[i] = nil; !h.changed {
			continue
		}
		if err := hs.saveHost(h, 0); err != nil {
			return err
		}
	}
	hs.changed = hs.changed[:0]
	return nil
}

// EvictHosts evicts the least recently used hosts until the others are within the bound of memory. Before Configure the
// limits are not known by which hosts are open, and none is evicted.
func (hs *Hosts) EvictHosts() error {
	for n := len(hs.Cache.At); hs.Cache.Used > hs.Memory && n > 0 && hs.Limits.Window > 0; n-- {
		x := hs.Cache.Ring.Newer
		if x.Item.InFlight > 0 {
			hs.Cache.Touch(x)
			continue
		}
		if err := hs.evictHost(x.Item); err != nil {
			return err
		}
	}
	return nil
}

func (hs *Hosts) evictHost(h *Host) error {
	class := uint32(state.OpenClass)
	if !hs.open(h) {
		class = hs.state.Counters.Class
	}
	if err := hs.indexHost(h, class, true); err != nil {
		return err
	}
	if err := hs.saveHost(h, class+1); err != nil {
		return err
	}
	for p := range hs.ready {
		hs.ready[p].Fix(h, false)
		hs.old[p].Fix(h, false)
	}
	hs.Cache.Drop(h.Number)
	delete(hs.HostByName, h.Name)
	return hs.state.Store.Delete(hs.state.Keys.U32(state.KindResident, h.Number))
}

// LoadHosts reads the hosts that were in memory.
func (hs *Hosts) LoadHosts() error {
	hs.newIndex()
	var numbers []uint32
	from := append([]byte(nil), hs.state.Keys.Kind(state.KindResident)...)
	err := hs.state.Store.Scan(from, state.After(from), func(key, _ []byte) (bool, error) {
		n, err := hs.state.Keys.ParseU32(key)
		numbers = append(numbers, n)
		return true, err
	})
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if _, err := hs.Host(n); err != nil {
			return err
		}
	}
	return nil
}

// FitFronts sets the size of fronts to what the memory for all of them allows.
func (hs *Hosts) FitFronts() {
	queues := max(1, len(hs.Cache.At)*len(hs.state.Generations))
	hs.frontSize = min(max(minFront, hs.Memory/2/frontCost/queues/2), maxFront)
	hs.fittedHosts = len(hs.Cache.At)
	for _, x := range hs.Cache.At {
		h := x.Item
		for p := range h.Queues {
			for slot := range h.Queues[p].Fronts {
				h.Queues[p].Fronts[slot].cut(hs.frontSize)
			}
		}
		hs.weigh(h)
	}
}

package turns

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"forager/schemas"
)

// Proxy is the address of everything that is requested through a proxy, whose addresses are unknown.
const Proxy = "proxy"

// ID identifies a turn.
type ID [16]byte

// Limits are the pauses that a crawl keeps between the end of a request and the begin of the next one; 0 = none.
type Limits struct {
	// Address holds for one address, Network for a /24 of IPv4 or a /48 of IPv6.
	Address, Network time.Duration
}

// LimitsOf returns those of a crawl.
func LimitsOf(p *schemas.Politeness) Limits {
	return Limits{millis(p.GetAddressDelayMs()), millis(p.GetNetworkDelayMs())}
}

func millis(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }

// Network returns the network of an address; an address that is none, as Proxy, is its own.
func Network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	bits := 24
	if a = a.Unmap().WithZone(""); a.Is6() {
		bits = 48
	}
	return netip.PrefixFrom(a, bits).Masked().String()
}

// Table has the turns that have not ended, and the pauses after those that have. It is not safe for concurrent use.
type Table struct {
	networks map[string]*network
	of       map[ID]string // the network of a turn that has not ended
	// longest pause of all turns so far, after which what has ended counts no more.
	longest time.Duration
	// kept is how many networks and addresses are, and how many at most before the next sweep.
	kept, sweepAt int
}

type network struct {
	turns     []*turn // in the order of the log
	past      past    // of turns that keep a pause in the network
	addresses map[string]past
}

type turn struct {
	id      ID
	address string
	limits  Limits
	dies    time.Time
}

// past is what has ended: when last, and until when the pauses of those that ended last.
type past struct{ ended, until time.Time }

func (p past) after(ended time.Time, pause time.Duration) past {
	if ended.After(p.ended) {
		p.ended = ended
	}
	if until := ended.Add(pause); until.After(p.until) {
		p.until = until
	}
	return p
}

// free returns when the next one may begin that keeps a pause.
func (p past) free(pause time.Duration) time.Time {
	if p.ended.IsZero() {
		return time.Time{}
	}
	if own := p.ended.Add(pause); own.After(p.until) {
		return own
	}
	return p.until
}

// New returns a table without turns.
func New() *Table {
	return &Table{networks: map[string]*network{}, of: map[ID]string{}, sweepAt: 1024}
}

// Read takes a record of the log that was read at a time. It returns the network that the record concerns.
func (b *Table) Read(now time.Time, r *schemas.FetchTurn) (string, error) {
	if len(r.GetId()) != len(ID{}) || r.GetAddress() == "" {
		return "", fmt.Errorf("turn %x at address %q: not 16 bytes and an address", r.GetId(), r.GetAddress())
	}
	t := &turn{id: ID(r.GetId()), address: r.GetAddress(), limits: Limits{millis(r.GetAddressDelayMs()), millis(r.GetNetworkDelayMs())}, dies: now.Add(millis(r.GetLivesMs()))}
	if b.kept >= b.sweepAt {
		b.sweep(now)
	}
	name := Network(t.address)
	n := b.networks[name]
	if n == nil {
		b.kept++
		n = &network{addresses: map[string]past{}}
		b.networks[name] = n
	}
	n.expire(b, now)
	b.longest = max(b.longest, t.limits.Address, t.limits.Network)
	switch _, open := b.of[t.id]; {
	case !r.GetEnd() && !open:
		b.of[t.id] = name
		n.turns = append(n.turns, t)
	case r.GetEnd():
		delete(b.of, t.id)
		n.turns = slices.DeleteFunc(n.turns, func(x *turn) bool { return x.id == t.id })
		if !r.GetUnused() {
			n.end(b, t, now)
		}
	}
	return name, nil
}

// end begins the pauses of a turn.
func (n *network) end(b *Table, t *turn, at time.Time) {
	if t.limits.Address > 0 {
		if _, known := n.addresses[t.address]; !known {
			b.kept++
		}
		n.addresses[t.address] = n.addresses[t.address].after(at, t.limits.Address)
	}
	if t.limits.Network > 0 {
		n.past = n.past.after(at, t.limits.Network)
	}
}

// expire ends the turns that have lived too long.
func (n *network) expire(b *Table, now time.Time) {
	n.turns = slices.DeleteFunc(n.turns, func(t *turn) bool {
		if t.dies.After(now) {
			return false
		}
		delete(b.of, t.id)
		n.end(b, t, t.dies)
		return true
	})
}

// Next calls first for each turn of a network that conflicts with none before it, with the time from which on it may
// begin, in the order of the log. The result is when the first of the others may, if no record comes until then; zero = none waits.
func (b *Table) Next(name string, now time.Time, first func(id ID, from time.Time)) (again time.Time) {
	n := b.networks[name]
	if n == nil {
		return time.Time{}
	}
	n.expire(b, now)
	taken, networkTaken := map[string]bool{}, false
	for _, t := range n.turns {
		waits := t.limits.Address > 0 && taken[t.address] || t.limits.Network > 0 && networkTaken
		taken[t.address] = taken[t.address] || t.limits.Address > 0
		networkTaken = networkTaken || t.limits.Network > 0
		if !waits {
			first(t.id, n.free(t))
		}
		if again.IsZero() || t.dies.Before(again) {
			again = t.dies
		}
	}
	return again
}

// free returns when the pauses before a turn have passed.
func (n *network) free(t *turn) (from time.Time) {
	if t.limits.Address > 0 {
		from = n.addresses[t.address].free(t.limits.Address)
	}
	if t.limits.Network > 0 {
		if at := n.past.free(t.limits.Network); at.After(from) {
			from = at
		}
	}
	return from
}

// sweep drops what has ended so long ago that no pause counts any more.
func (b *Table) sweep(now time.Time) {
	over := func(p past) bool { return !now.Before(p.free(b.longest)) }
	b.kept = 0
	for name, n := range b.networks {
		n.expire(b, now)
		for address, p := range n.addresses {
			if over(p) {
				delete(n.addresses, address)
			}
		}
		if len(n.turns) == 0 && len(n.addresses) == 0 && over(n.past) {
			delete(b.networks, name)
			continue
		}
		b.kept += 1 + len(n.addresses)
	}
	b.sweepAt = max(1024, 2*b.kept)
}

package turns

import (
	"fmt"
	"testing"
	"time"

	"forager/schemas"
)

func TestNetworks(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.77": "192.0.2.0/24", "::ffff:192.0.2.77": "192.0.2.0/24", "2001:db8:1:2::3": "2001:db8:1::/48", "fe80::1%eth0": "fe80::/48", Proxy: Proxy,
	} {
		if got := Network(address); got != want {
			t.Errorf("%s lies in %s, want %s", address, got, want)
		}
	}
}

func id(n int) []byte { return fmt.Appendf(nil, "%016d", n) }

// read takes a record at so many seconds.
func read(t *testing.T, b *Table, second int, r *schemas.FetchTurn) string {
	t.Helper()
	name, err := b.Read(time.Unix(int64(second), 0), r)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// first returns the turns that may begin, with the second from which on, and the second of the next look.
func first(b *Table, network string, second int) (from map[string]int64, again int64) {
	from = map[string]int64{}
	at := b.Next(network, time.Unix(int64(second), 0), func(id ID, at time.Time) { from[string(id[:])] = max(0, at.Unix()) })
	return from, at.Unix()
}

// A turn whose process died ends when it has lived long enough; its pause follows, as after any other end but that of an
// unused turn. The longer pause of two counts.
func TestEnds(t *testing.T) {
	b := New()
	ask := func(n, pause int) *schemas.FetchTurn {
		return &schemas.FetchTurn{Id: id(n), Address: "192.0.2.1", AddressDelayMs: uint32(1000 * pause), LivesMs: 60_000}
	}
	network := read(t, b, 1000, ask(1, 5))
	read(t, b, 1010, ask(2, 2))
	if from, again := first(b, network, 1010); len(from) != 1 || from[string(id(1))] != 0 || again != 1060 {
		t.Errorf("the first turn: %v, again at %d", from, again)
	}
	if from, _ := first(b, network, 1060); len(from) != 1 || from[string(id(2))] != 1065 {
		t.Errorf("behind a turn that died at 1060, pause 5: %v", from)
	}
	unused := ask(2, 2)
	unused.End, unused.Unused = true, true
	read(t, b, 1061, unused)
	read(t, b, 1062, ask(3, 9))
	if from, _ := first(b, network, 1062); from[string(id(3))] != 1069 {
		t.Errorf("its own pause is longer: %v", from)
	}
	end := ask(3, 9)
	end.End = true
	read(t, b, 1070, end)
	read(t, b, 1071, ask(4, 1))
	if from, _ := first(b, network, 1071); from[string(id(4))] != 1079 {
		t.Errorf("the pause of the last one is longer: %v", from)
	}
	for _, bad := range []*schemas.FetchTurn{{Id: id(5)}, {Id: []byte("short"), Address: "192.0.2.1"}} {
		if _, err := b.Read(time.Unix(1072, 0), bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// What has ended for longer than any pause is forgotten, also within one network.
func TestMemory(t *testing.T) {
	b := New()
	for i := range 50_000 {
		r := &schemas.FetchTurn{Id: id(i), Address: fmt.Sprintf("2001:db8::%x", i%40_000), AddressDelayMs: 1000, LivesMs: 60_000}
		if i%2 == 0 {
			r.Address = fmt.Sprintf("10.%d.%d.1", i>>9&255, i>>1&255)
		}
		read(t, b, 1000+i, r)
		r.End = true
		read(t, b, 1000+i, r)
	}
	addresses := 0
	for _, n := range b.networks {
		addresses += 1 + len(n.addresses)
	}
	if addresses > 2048 || len(b.of) > 0 {
		t.Errorf("%d networks and addresses are kept, %d turns", addresses, len(b.of))
	}
}

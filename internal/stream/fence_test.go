package stream

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/schemas"
)

func TestFence(t *testing.T) {
	type step struct {
		r    Record
		want Kind
	}
	var f Fence
	for i, s := range []step{
		{decision(1, 5), Decision},
		{Record{Headers: OwnerHeaders(1, 0)}, Claim},
		{decision(1, 5), Decision}, // the claim alone changes nothing
		{Record{Headers: OwnerHeaders(1, 9)}, Marker},
		{decision(1, 5), Void},
		{decision(1, 9), Decision},
		{decision(1, 12), Decision}, // its marker may be in another partition first
		{decision(2, 1), Decision},  // another owner
		{Record{Headers: OwnerHeaders(1, 7)}, Marker},
		{decision(1, 8), Void}, // a lower marker after a higher one is a stalled owner's
		{Record{}, Decision},   // no owner, no fence
	} {
		got, err := f.Read(&s.r)
		if err != nil || got != s.want {
			t.Errorf("step %d: %v, %v, want %v", i, got, err, s.want)
		}
	}
	if f.Epoch(1) != 9 || f.Epoch(2) != 0 {
		t.Errorf("epochs %d, %d", f.Epoch(1), f.Epoch(2))
	}
	for _, h := range []map[string]string{
		{schemas.HeaderOwner: "-1"}, {schemas.HeaderOwner: "x"}, {schemas.HeaderOwner: "1", schemas.HeaderEpoch: "y"},
	} {
		if _, err := f.Read(&Record{Headers: h}); err == nil {
			t.Errorf("%v was read", h)
		}
	}
}

func TestFenceTravelsInMetadata(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f Fence
		want := rapid.MapOf(rapid.Uint32(), rapid.Uint64Min(1)).Draw(t, "epochs")
		for o, e := range want {
			f.Mark(o, e)
		}
		g, err := ParseFence(f.String())
		if err != nil || !maps.Equal(g.epochs, f.epochs) || g.String() != f.String() {
			t.Fatalf("%v came back as %v, %v", f, g, err)
		}
		c := g.Clone()
		c.Mark(1, 1<<63)
		if g.Epoch(1) != want[1] {
			t.Fatal("a clone shares its epochs")
		}
	})
	var full Fence // owners are partitions of link.found; a broker takes 4,096 bytes
	for o := range uint32(128) {
		full.Mark(o, 1<<53)
	}
	if n := len(full.String()); n > 4096 {
		t.Errorf("128 owners take %d bytes", n)
	}
}

func FuzzParseFence(f *testing.F) {
	for _, s := range []string{"", "fence1", "fence1 0=1 3=zz", "fence1 0=", "fence2 1=1", "fence1 1=1 1=2", " ", "fence1 0=1\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, err := ParseFence(s)
		if err != nil {
			return
		}
		h, err := ParseFence(g.String())
		if err != nil || h.String() != g.String() {
			t.Errorf("%q was read as %q, which is read as %q, %v", s, g.String(), h.String(), err)
		}
	})
}

func FuzzFenceRead(f *testing.F) {
	f.Add("1", "2", "3")
	f.Add("", "", "")
	f.Add("4294967296", "18446744073709551616", "x")
	f.Fuzz(func(t *testing.T, owner, epoch, id string) {
		var g Fence
		kind, err := g.Read(&Record{Headers: map[string]string{schemas.HeaderOwner: owner, schemas.HeaderEpoch: epoch, schemas.HeaderID: id}})
		if err != nil && kind != Decision {
			t.Errorf("%v with error %v", kind, err)
		}
		if kind == Marker {
			o, _ := strconv.ParseUint(owner, 10, 32)
			if e, _ := strconv.ParseUint(epoch, 10, 64); g.Epoch(uint32(o)) != e || !strings.HasPrefix(g.String(), "fence1 ") {
				t.Errorf("marker %s %s became %q", owner, epoch, g.String())
			}
		}
	})
}

func decision(owner uint32, epoch uint64) Record {
	h := OwnerHeaders(owner, epoch)
	h[schemas.HeaderID] = "00112233445566778899aabbccddeeff"
	return Record{Headers: h}
}

package modelfile

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOpenReportsErrors(t *testing.T) {
	whole := Seal("critic", 2, []byte("body"))
	flip := func(at int) []byte {
		b := bytes.Clone(whole)
		b[at] ^= 4
		return b
	}
	tests := []struct {
		name     string
		b        []byte
		want     error
		expected string
	}{
		{"empty", nil, ErrDamaged, "empty"},
		{"half a first line", whole[:9], ErrDamaged, "cut short after 9 bytes"},
		{"only a first line", whole[:17], ErrDamaged, "cut short after 17 bytes"},
		{"half a body", whole[:len(whole)-34], ErrDamaged, "cut short after 27 bytes"},
		{"two bytes missing", whole[:len(whole)-2], ErrDamaged, "2 of 4 bytes"},
		{"half a checksum", whole[:len(whole)-1], ErrDamaged, "3 of 4 bytes"},
		{"more behind", append(bytes.Clone(whole), 0), ErrDamaged, "1 bytes follow"},
		{"changed body", flip(26), ErrDamaged, "checksum"},
		{"changed checksum", flip(len(whole) - 1), ErrDamaged, "checksum"},
		{"text", []byte("hello, world\nthis is no model at all, of any kind, in any way, never"), ErrForeign, "begins with"},
		{"gzip", []byte{0x1f, 0x8b, 8, 0}, ErrForeign, "begins with"},
		{"other kind", Seal("apprentice", 1, nil), ErrForeign, `kind "apprentice"`},
		{"newer", Seal("critic", 3, nil), ErrNewer, "version 3"},
		{"version 0", Seal("critic", 0, nil), ErrDamaged, "version"},
	}
	for _, c := range tests {
		_, _, err := Open(c.b, "critic", 2)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.expected) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.want, c.expected)
		}
	}
	for want, b := range map[string][]byte{"critic": whole, "": []byte("forager critic"), "apprentice": Seal("apprentice", 1, nil)} {
		if got := Kind(b); got != want {
			t.Errorf("kind %q, want %q", got, want)
		}
	}
	if v, body, err := Open(whole, "critic", 2); v != 2 || string(body) != "body" || err != nil {
		t.Errorf("Open = %d, %q, %v", v, body, err)
	}
}

// TestEveryBitCounts: no single flipped bit and no cut goes unseen.
func TestEveryBitCounts(t *testing.T) {
	whole := Seal("critic", 1, []byte("some body of a model"))
	for at := range whole {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[at] ^= 1 << bit
			if _, _, err := Open(b, "critic", 1); err == nil {
				t.Fatalf("bit %d of byte %d flipped: no error", bit, at)
			}
		}
		if _, _, err := Open(whole[:at], "critic", 1); err == nil {
			t.Fatalf("cut at %d: no error", at)
		}
	}
}

func TestBodyComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, f, s := rapid.Uint64().Draw(t, "n"), rapid.Float64().Draw(t, "f"), rapid.String().Draw(t, "s")
		var e Encoder
		e.Uint(n)
		e.Float(f)
		e.String(s)
		d := NewDecoder(e.Bytes())
		n2, f2, s2 := d.Uint("n", math.MaxUint64), d.Float("f"), d.String("s")
		if n2 != n || f2 != f || s2 != s || d.End() != nil {
			t.Fatalf("%d %v %q came back as %d %v %q, %v", n, f, s, n2, f2, s2, d.End())
		}
		for cut := range len(e.Bytes()) {
			d := NewDecoder(e.Bytes()[:cut])
			d.Uint("n", math.MaxUint64)
			d.Float("f")
			d.String("s")
			if !errors.Is(d.End(), ErrDamaged) {
				t.Fatalf("cut at %d: %v", cut, d.End())
			}
		}
	})
}

func TestDecoderRefuses(t *testing.T) {
	var e Encoder
	e.Uint(1 << 40)
	e.Float(math.NaN())
	if d := NewDecoder(e.Bytes()); d.Len("items", 1) != 0 || !strings.Contains(d.End().Error(), "items") {
		t.Errorf("a length beyond the file: %v", d.End())
	}
	d := NewDecoder(e.Bytes())
	d.Uint("n", 1<<40)
	if d.Float("mean"); !strings.Contains(d.End().Error(), "mean: not a number") {
		t.Errorf("NaN: %v", d.End())
	}
	d = NewDecoder(e.Bytes())
	d.Uint("n", 1<<40)
	if !strings.Contains(d.End().Error(), "8 bytes are left over") {
		t.Errorf("left over: %v", d.End())
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("forager critic 1\n"))
	f.Add(Seal("critic", 1, []byte("body")))
	f.Add(Seal("critic", 7, []byte("body")))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, body, err := Open(b, "critic", 1)
		if err == nil && !bytes.Equal(Seal("critic", v, body), b) {
			t.Errorf("other bytes mean the same: %q", b)
		}
	})
}

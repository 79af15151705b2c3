package modelfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestArraysComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name, small := rapid.StringN(0, 20, 40).Draw(t, "name"), rapid.SliceOf(rapid.Uint16()).Draw(t, "small")
		large, parts := rapid.SliceOf(rapid.Uint64()).Draw(t, "large"), rapid.SliceOf(rapid.Float32Range(-9, 9)).Draw(t, "parts")
		e := NewEncoder("critic", 3)
		e.String(name)
		PutArray(e, small)
		PutArray(e, large)
		PutArray(e, parts)
		file := Seal("critic", 3, e.Bytes())
		// At every address: read in place, and copied where that cannot be.
		for shift := range aligned {
			moved := append(make([]byte, shift, shift+len(file)), file...)[shift:]
			_, body, err := Open(moved, "critic", 3)
			if err != nil {
				t.Fatal(err)
			}
			d := NewDecoder(body)
			d.String("name")
			a, b, c := Array[uint16](d, "small"), Array[uint64](d, "large"), Array[float32](d, "parts")
			if d.End() != nil || !slices.Equal(a, small) || !slices.Equal(b, large) || !slices.Equal(c, parts) {
				t.Fatalf("came back as %v %v %v, %v", a, b, c, d.End())
			}
		}
		for cut := range e.Bytes() {
			d := NewDecoder(e.Bytes()[:cut])
			d.String("name")
			Array[uint16](d, "small")
			Array[uint64](d, "large")
			Array[float32](d, "parts")
			if !errors.Is(d.End(), ErrDamaged) {
				t.Fatalf("cut at %d: %v", cut, d.End())
			}
		}
	})
}

func TestArrayRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"pad too long":           {1, 8, 0, 0, 0, 0, 0, 0, 0, 0, 7},
		"something in the pad":   {1, 1, 9, 7},
		"a number is missing":    {2, 0, 7},
		"more than there can be": {0xff, 0xff, 0xff, 0xff, 0x0f, 0},
	} {
		d := NewDecoder(b)
		if s := Array[uint8](d, "numbers"); s != nil || !errors.Is(d.Err(), ErrDamaged) {
			t.Errorf("%s: %v, %v", name, s, d.Err())
		}
	}
}

// TestMappedArraysLieInTheFile: nothing is copied.
func TestMappedArraysLieInTheFile(t *testing.T) {
	e := NewEncoder("critic", 2)
	PutArray(e, []float64{1, 2, 3})
	path := filepath.Join(t.TempDir(), "m")
	if err := os.WriteFile(path, Seal("critic", 2, e.Bytes()), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Map(path)
	if err != nil {
		t.Fatal(err)
	}
	_, body, err := Open(m.Bytes(), "critic", 2)
	if err != nil {
		t.Fatal(err)
	}
	var a []float64
	if n := testing.AllocsPerRun(10, func() {
		d := Decoder{b: body}
		a = Array[float64](&d, "numbers")
	}); n > 0 || !slices.Equal(a, []float64{1, 2, 3}) {
		t.Errorf("%v after %v allocations", a, n)
	}
	if _, err := Map(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err = Map(empty); err != nil || !bytes.Equal(m.Bytes(), nil) {
		t.Errorf("an empty file: %v, %v", m, err)
	}
}

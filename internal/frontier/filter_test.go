package frontier

import (
	"fmt"
	"testing"

	"forager/schemas"
)

func TestFilterForgetsNothing(t *testing.T) {
	f := filter{budget: 1 << 20}
	id := func(n int) schemas.ID { return schemas.URLID(fmt.Sprint(n)) }
	const ids = 5 * firstLayer
	for n := range ids {
		f.add(id(n))
	}
	if len(f.layers) != 3 || f.size() > ids*2*filterBits/8 {
		t.Errorf("%d layers, %d bytes for %d ids", len(f.layers), f.size(), ids)
	}
	for n := range ids {
		if !f.has(id(n)) {
			t.Fatalf("id %d is forgotten", n)
		}
	}
	wrong := 0
	for n := range 100_000 {
		if f.has(id(-1 - n)) {
			wrong++
		}
	}
	if wrong > 2500 {
		t.Errorf("%d of 100,000 ids are taken for known", wrong)
	}
	// What no budget holds is no filter: anything may be known.
	for n := range 100 * firstLayer {
		if f.add(id(n)); f.off {
			break
		}
	}
	if !f.off || f.size() > 0 || !f.has(id(-1)) {
		t.Errorf("off %t, %d bytes", f.off, f.size())
	}
	g := filter{budget: 1 << 20}
	g.add(id(1))
	if g.limit(10); !g.off || !g.has(id(2)) {
		t.Error("a filter above its budget goes on")
	}
}

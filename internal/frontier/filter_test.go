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
	// At the end of the budget the last layer takes more than it should, and then the filter is off.
	f = filter{budget: 1 << 20}
	added, crowded := 0, 0
	for ; !f.off; added++ {
		if f.crowded && crowded == 0 {
			crowded = added
		}
		if f.size() > f.budget {
			t.Fatalf("%d bytes", f.size())
		}
		if f.add(id(added)); f.crowded && added%1000 == 0 && !f.off && !f.has(id(added/2)) {
			t.Fatalf("id %d is forgotten", added/2)
		}
	}
	if should := 8 * f.budget / filterBits; crowded < should*9/10 || added < should*3/2 || added > crowd*should {
		t.Errorf("crowded with %d ids, off with %d, should have %d", crowded, added, should)
	}
	if f.size() > 0 || !f.has(id(-1)) {
		t.Errorf("off with %d bytes", f.size())
	}
	g := filter{budget: 1 << 20}
	g.add(id(1))
	if g.limit(10); !g.off || !g.has(id(2)) {
		t.Error("a filter above its budget goes on")
	}
}

package storage

import (
	"fmt"
	"testing"

	"forager/schemas"
)

func TestFilterLosesNothing(t *testing.T) {
	f := Filter{budget: 1 << 20}
	id := func(n int) schemas.ID { return schemas.URLID(fmt.Sprint(n)) }
	const ids = 5 * firstLayer
	for n := range ids {
		f.Add(id(n))
	}
	if len(f.layers) != 3 || f.size() > ids*2*filterBits/8 {
		t.Errorf("%d layers, %d bytes for %d ids", len(f.layers), f.size(), ids)
	}
	for n := range ids {
		if !f.Has(id(n)) {
			t.Fatalf("id %d is forgotten", n)
		}
	}
	wrong := 0
	for n := range 100_000 {
		if f.Has(id(-1 - n)) {
			wrong++
		}
	}
	if wrong > 2500 {
		t.Errorf("%d of 100,000 ids are taken for known", wrong)
	}
	// At the end of the budget the last layer takes more than it should, and then the filter is off.
	f = Filter{budget: 1 << 20}
	added, crowded := 0, 0
	for ; !f.Off; added++ {
		if f.crowded && crowded == 0 {
			crowded = added
		}
		if f.size() > f.budget {
			t.Fatalf("%d bytes", f.size())
		}
		if f.Add(id(added)); f.crowded && added%1000 == 0 && !f.Off && !f.Has(id(added/2)) {
			t.Fatalf("id %d is forgotten", added/2)
		}
	}
	if should := 8 * f.budget / filterBits; crowded < should*9/10 || added < should*3/2 || added > crowd*should {
		t.Errorf("crowded with %d ids, off with %d, should have %d", crowded, added, should)
	}
	if f.size() > 0 || !f.Has(id(-1)) {
		t.Errorf("off with %d bytes", f.size())
	}
	g := Filter{budget: 1 << 20}
	g.Add(id(1))
	if g.Limit(10); !g.Off || !g.Has(id(2)) {
		t.Error("a filter above its budget goes on")
	}
}

package storage

import (
	"fmt"
	"testing"

	"forager/schemas"
)

// TestOrdinals: what was put last is found with its ordinal, what is used often stays, and the table grows to its
// budget and no further.
func TestOrdinals(t *testing.T) {
	const budget = 1 << 16
	var o Ordinals
	o.Limit(budget)
	id := func(n int) schemas.ID { return schemas.URLID(fmt.Sprint(n)) }
	if _, ok := o.Peek(id(1)); ok {
		t.Error("an empty table has an entry")
	}
	const slots = budget / 8
	for n := 1; n <= 3*slots; n++ {
		o.Put(id(n), uint64(n))
		if ordinal, ok := o.Peek(id(n)); !ok || ordinal != uint64(n) {
			t.Fatalf("%d is %d, %t", n, ordinal, ok)
		}
		if o.Put(id(1), 1); len(o.buckets) > budget/bucketBytes {
			t.Fatalf("%d buckets", len(o.buckets))
		}
	}
	if len(o.buckets) != budget/bucketBytes {
		t.Errorf("%d buckets of %d", len(o.buckets), budget/bucketBytes)
	}
	kept, wrong := 0, 0
	for n := 2*slots + 1; n <= 3*slots; n++ {
		switch ordinal, ok := o.Peek(id(n)); {
		case ok && ordinal == uint64(n):
			kept++
		case ok:
			wrong++
		}
	}
	if ordinal, ok := o.Peek(id(1)); !ok || ordinal != 1 || kept < slots/2 || wrong > slots/100 {
		t.Errorf("1 is %d, %t; of the last %d %d are kept, %d wrong", ordinal, ok, slots, kept, wrong)
	}
	// The whole table was used, and a copy of an id takes no second slot.
	used := 0
	for _, b := range o.buckets {
		tags := make(map[uint64]bool)
		for _, slot := range b {
			if slot != 0 {
				used++
				tags[slot>>32] = true
			}
		}
		if len(tags) < bucketSlots/2 {
			t.Fatalf("bucket %x", b)
		}
	}
	if used != o.used {
		t.Errorf("%d slots are used, %d counted", used, o.used)
	}
	before := o.used
	o.Put(id(2), 0)
	if o.Put(id(3), 1<<32); o.used != before {
		t.Error("an ordinal that does not fit was kept")
	}
	if o.Limit(budget / 4); o.used != 0 || o.buckets != nil {
		t.Errorf("%d slots are used after the budget shrank", o.used)
	}
	o.Limit(1)
	for n := 1; n <= 100; n++ {
		o.Put(id(n), uint64(n))
	}
	if ordinal, ok := o.Peek(id(100)); !ok || ordinal != 100 || len(o.buckets) != 1 {
		t.Errorf("one bucket: %d, %t, %d buckets", ordinal, ok, len(o.buckets))
	}
}

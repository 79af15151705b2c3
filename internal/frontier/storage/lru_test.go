package storage

import (
	"testing"
)

// TestLRU checks the budget and the order of eviction.
func TestLRU(t *testing.T) {
	c := NewLRU[int, string](10)
	kept := func(keys ...int) {
		t.Helper()
		for _, k := range keys {
			if _, ok := c.Peek(k); !ok {
				t.Errorf("%d is gone", k)
			}
		}
		if len(c.At) != len(keys) {
			t.Errorf("%d items are kept, want %v", len(c.At), keys)
		}
	}
	c.Put(1, "a", 4)
	c.Put(2, "b", 4)
	c.Get(1)
	c.Peek(2) // is no use
	c.Put(3, "c", 4)
	kept(1, 3)
	three := c.Put(3, "c", 4)
	c.Put(1, "a", 7)
	if kept(1); c.Used != 7 || three.Kept() {
		t.Errorf("used %d; 3 is kept: %t", c.Used, three.Kept())
	}
	c.Put(4, "d", 100) // larger than the budget: it stays alone
	kept(4)
	c.Limit(200)
	c.Put(5, "e", 50)
	kept(4, 5)
	c.Limit(60)
	kept(5)
	c.Drop(5)
	c.Drop(5)
	if kept(); c.Used != 0 {
		t.Errorf("used %d", c.Used)
	}
}

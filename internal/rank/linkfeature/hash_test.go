package linkfeature

import (
	"testing"

	"github.com/cespare/xxhash/v2"

	"forager/schemas"
)

// TestHashesAreThoseOfTerms: kept or not, and what is kept is counted.
func TestHashesAreThoseOfTerms(t *testing.T) {
	table, err := Open(&schemas.LeafTable{
		Terms: []string{"a", "bc", "ä"}, PageTerms: []string{"topic:x"}, Leaves: []uint32{1}, LeafLengths: []uint32{3}, Tokens: []uint32{0, 1, 2},
		LinkLeaves: []uint32{1}, LinkLengths: []uint32{1}, LinkTerms: []uint32{0}, LinkNames: []string{"rel:x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	before := table.Memory()
	for range 2 {
		for term := range uint32(table.Terms() + 1) { // the last one is of a link
			if got, want := table.Hash(term), xxhash.Sum64(table.Term(term)); got != want {
				t.Errorf("%q: %x, want %x", table.Term(term), got, want)
			}
		}
		table.KeepHashes()
	}
	if grown := table.Memory() - before; grown != 8*table.Terms() {
		t.Errorf("%d terms take %d bytes", table.Terms(), grown)
	}
}

package linkfeature

import (
	"fmt"
	"testing"

	"github.com/cespare/xxhash/v2"

	"forager/schemas"
)

// TestHashesAreThoseOfTerms: of the dictionary, of others, of the page and of links.
func TestHashesAreThoseOfTerms(t *testing.T) {
	record, d := &schemas.LeafTable{
		Terms: []string{"a", "bc", "ä"}, PageTerms: []string{"topic:x"}, Leaves: []uint32{1}, LeafLengths: []uint32{3}, Tokens: []uint32{0, 1, 2},
		LinkLeaves: []uint32{1}, LinkLengths: []uint32{1}, LinkTerms: []uint32{0}, LinkNames: []string{"rel:x"},
	}, new(Dictionary)
	for n := range MostTerms - 2 {
		d.Add(fmt.Sprint("other ", n))
	}
	table, err := ReadStored(stored(t, record, d), d)
	if err != nil {
		t.Fatal(err)
	}
	for term, want := range []string{"a", "bc", "ä", "topic:x", "rel:x"} {
		if got := table.Term(uint32(term)); got != want || table.Hash(uint32(term)) != xxhash.Sum64String(want) {
			t.Errorf("term %d is %q with hash %x, want %q", term, got, table.Hash(uint32(term)), want)
		}
	}
}

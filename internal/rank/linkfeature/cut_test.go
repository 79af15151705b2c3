package linkfeature

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"forager/schemas"
)

// TestACutTableServesItsLinks: of the links it was cut for it gives the same features as the whole,
// and it holds nothing that none of them needs.
func TestACutTableServesItsLinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPage.Draw(t, "page")
		dMax := rapid.IntRange(0, 12).Draw(t, "d_max")
		families := genFamilies.Draw(t, "families")
		record, links, _, err := Extract(p, nil, Settings{DMax: dMax, Families: families})
		if err != nil {
			t.Fatal(err)
		}
		if record == nil {
			record = new(schemas.LeafTable)
		}
		record.PageTerms = rapid.SliceOfN(rapid.StringMatching(`c:/[AB]`), 0, 2).Draw(t, "page terms")
		whole, err := Open(record)
		if err != nil {
			t.Fatal(err)
		}
		some := links[:rapid.IntRange(0, len(links)).Draw(t, "links")]
		cut := whole.Cut(some, dMax, families)
		table, err := Open(cut)
		if err != nil {
			t.Fatal(err)
		}
		needed := make(map[uint32]bool)
		for _, l := range some {
			if diff := cmp.Diff(whole.FeaturesOf(l, dMax, families), table.FeaturesOf(l, dMax, families), protocmp.Transform()); diff != "" {
				t.Fatalf("%v: %s", l, diff)
			}
			for leaf := range uint32(60) {
				needed[leaf] = needed[leaf] || int(leaf)+dMax >= int(l.FirstLeaf) && int(leaf) <= int(l.LastLeaf)+dMax
			}
		}
		terms := make(map[uint32]bool)
		for _, n := range cut.Tokens {
			terms[n] = true
		}
		if len(terms) != len(cut.Terms) {
			t.Fatalf("%d terms, of which %d occur", len(cut.Terms), len(terms))
		}
		for _, leaf := range cut.Leaves {
			if !needed[leaf] && !families.Far() {
				t.Fatalf("leaf %d is needed by none of %v", leaf, some)
			}
		}
	})
}

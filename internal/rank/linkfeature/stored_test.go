package linkfeature

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/schemas"
)

// zipfTables are tables of some 500 tokens, as pages have them.
func zipfTables() (tables []*schemas.LeafTable) {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 5, 60_000)
	for range 500 {
		t, number := new(schemas.LeafTable), make(map[uint64]uint32)
		for leaf := range uint32(120) {
			n := r.Uint32N(9)
			t.Leaves, t.LeafLengths = append(t.Leaves, leaf), append(t.LeafLengths, n)
			for range n {
				word := zipf.Uint64()
				if _, ok := number[word]; !ok {
					number[word] = uint32(len(t.Terms))
					t.Terms = append(t.Terms, fmt.Sprintf("word%d", word))
				}
				t.Tokens = append(t.Tokens, number[word])
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// genStored opens a table, or what was stored of it with a dictionary that has some of its terms, all or none.
func genStored(t *rapid.T, record *schemas.LeafTable) (*Table, error) {
	d := new(Dictionary)
	switch rapid.IntRange(0, 3).Draw(t, "stored") {
	case 0:
		return Open(record)
	case 1:
		for n := range MostTerms - rapid.IntRange(0, 2).Draw(t, "left") {
			d.Add(fmt.Sprint("other ", n))
		}
	case 2:
		for _, term := range record.GetTerms() {
			if rapid.Bool().Draw(t, "known") {
				d.Add(term)
			}
		}
	}
	return ReadStored(stored(t, record, d), d)
}

func stored(t interface{ Fatal(args ...any) }, record *schemas.LeafTable, d *Dictionary) []byte {
	b, err := AppendStored(nil, record, d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checkDamage stores a table and reads it with each byte cut off or changed: an error, or a table that can be read.
func checkDamage(t *testing.T, record *schemas.LeafTable, links ...*schemas.Link) {
	t.Helper()
	d := new(Dictionary)
	all := stored(t, record, d)
	for i, b := range all {
		if _, err := ReadStored(all[:i], d); !errors.Is(err, errTable) {
			t.Errorf("cut at %d: %v", i, err)
		}
		other := slices.Clone(all)
		for _, other[i] = range []byte{^b, b + 1, b - 1, 0} {
			readAll(other, d, links)
		}
	}
}

// readAll reads all of a stored table, if it is one.
func readAll(stored []byte, d *Dictionary, links []*schemas.Link) {
	t, err := ReadStored(stored, d)
	if err != nil {
		return
	}
	everything := schemas.Link{LastLeaf: math.MaxUint32}
	for _, l := range append(links, &everything) {
		t.FeaturesOf(l, 5, Offsets|far|ofLink)
		t.Cut([]*schemas.Link{l}, 5, Offsets)
	}
	for term := range t.Terms() {
		t.Hash(uint32(term))
	}
}

// FuzzReadStored: no bytes make a table that cannot be read.
func FuzzReadStored(f *testing.F) {
	d := new(Dictionary)
	for _, t := range zipfTables()[:2] {
		f.Add(stored(f, t, d))
	}
	f.Add(stored(f, &schemas.LeafTable{
		Terms: []string{"a", "a word that is longer than all that are in dictionaries"}, Leaves: []uint32{1, 1 << 17}, LeafLengths: []uint32{1, 2}, Tokens: []uint32{0, 1, 1},
		PageTerms: []string{"p:/", "p:/x"}, PageCounts: []uint32{3, 4}, LinkNames: []string{"rel:nofollow"}, LinkLeaves: []uint32{1}, LinkLengths: []uint32{1}, LinkTerms: []uint32{0},
	}, d))
	f.Fuzz(func(_ *testing.T, b []byte) { readAll(b, d, []*schemas.Link{{FirstLeaf: 1, LastLeaf: 3}}) })
}

// TestDictionary: it is bounded, numbers terms once in the order in which they came, and takes no long ones.
func TestDictionary(t *testing.T) {
	d := new(Dictionary)
	if d.Add(strings.Repeat("x", longestTerm+1)) {
		t.Error("a long term was added")
	}
	for n := range MostTerms {
		if term := fmt.Sprint(n); !d.Add(term) || d.Add(term) || d.Len() != n+1 || d.Term(n) != term {
			t.Fatalf("term %d: the dictionary has %d", n, d.Len())
		}
	}
	if d.Add("one more") || d.Len() != MostTerms {
		t.Error("more terms than there should be")
	}
}

// BenchmarkStored writes and reads tables whose terms are mostly in the dictionary.
func BenchmarkStored(b *testing.B) {
	tables, d := zipfTables(), new(Dictionary)
	var all [][]byte
	var size, terms int
	for _, t := range tables {
		all = append(all, stored(b, t, d))
		size += len(all[len(all)-1])
		terms += len(t.Terms)
	}
	b.Run("append", func(b *testing.B) {
		var buf []byte
		for i := 0; b.Loop(); i++ {
			buf, _ = AppendStored(buf[:0], tables[i%len(tables)], d)
		}
		b.ReportMetric(float64(size)/float64(len(tables)), "bytes/table")
		b.ReportMetric(float64(terms)/float64(len(tables)), "terms/table")
	})
	b.Run("read", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := ReadStored(all[i%len(all)], d); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := Open(tables[i%len(tables)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

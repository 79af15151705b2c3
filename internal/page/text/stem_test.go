package text

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// surfaces are English texts of so many words each, drawn from a vocabulary larger than a reader keeps stems of: most are frequent, as
// in real texts.
func surfaces(texts, words int) []*Surface {
	r := rand.New(rand.NewPCG(1, 1))
	frequent := rand.NewZipf(r, 1.1, 4, 1<<18)
	all := make([]*Surface, texts)
	for i := range all {
		s, number := &Surface{Language: "en"}, make(map[uint64]uint32)
		for range words {
			n := frequent.Uint64()
			at, known := number[n]
			if !known {
				at = uint32(len(s.Terms))
				number[n], s.Terms = at, append(s.Terms, fmt.Sprintf("crawl%xing", n))
			}
			s.Tokens = append(s.Tokens, at)
		}
		all[i] = s
	}
	return all
}

// TestStemsAreThoseOfANewReader: what a reader has read before changes no word.
func TestStemsAreThoseOfANewReader(t *testing.T) {
	settings := Settings{Stem: true, StopWords: true}
	old := NewWords(settings)
	for _, s := range surfaces(60, 2000) {
		young := NewWords(settings)
		for _, w := range []*Words{old, young} {
			if err := w.Surface(s); err != nil {
				t.Fatal(err)
			}
		}
		for young.Next() {
			if !old.Next() || string(old.Word()) != string(young.Word()) || old.Count() != young.Count() {
				t.Fatalf("word %q ×%d, a new reader has %q ×%d", old.Word(), old.Count(), young.Word(), young.Count())
			}
		}
		if old.Next() {
			t.Fatalf("a further word %q", old.Word())
		}
	}
}

// BenchmarkStems reads the words of texts whose stems do not all fit the cache.
func BenchmarkStems(b *testing.B) {
	w, all := NewWords(Settings{Stem: true, StopWords: true}), surfaces(300, 1000)
	for b.Loop() {
		for _, s := range all {
			if err := w.Surface(s); err != nil {
				b.Fatal(err)
			}
			for w.Next() {
			}
		}
	}
}

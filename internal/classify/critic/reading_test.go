package critic

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/page/text"
)

// TestReadingFindsWords compares the words of surfaces, in sequence, with those of a map, independent of earlier
// texts: by their terms or, where case matters, token by token: short words that differ in bytes of zero, long
// ones with the same beginning, some that are not in the vocabulary.
func TestReadingFindsWords(t *testing.T) {
	word := rapid.OneOf(rapid.StringMatching(`[ab\x00]{1,9}`), rapid.StringMatching(`abcdefgh[ab\x00]{0,3}`), rapid.StringMatching(`[a-z]{1,3}`))
	rapid.Check(t, func(t *rapid.T) {
		var (
			r       reading
			has     interner
			numbers = make(map[string]uint32)
			times   []uint32
			closed  bool // no more words are added to the vocabulary
		)
		for n := range rapid.IntRange(1, 4).Draw(t, "texts") {
			s := &text.Surface{Terms: rapid.SliceOfNDistinct(word, 1, 100, rapid.ID[string]).Draw(t, "terms")}
			s.Tokens = rapid.SliceOfN(rapid.Uint32Range(0, uint32(len(s.Terms)-1)), 0, 150).Draw(t, "tokens")
			if closed = n > 1; n == 2 {
				r = reading{} // of which it is the vocabulary
			}
			cut := text.Settings{Case: rapid.SampledFrom([]text.Case{text.CaseFolded, text.CaseKept}).Draw(t, "case")}
			w := text.NewWords(cut)
			if err := w.Surface(s); err != nil {
				t.Fatal(err)
			}
			r.read(w, numbered{&has, closed, numbers})
			want, order := make(map[uint32]uint32), []uint32(nil)
			var terms []int // in the order of occurrence
			for i := range s.Terms {
				terms = append(terms, i)
			}
			if cut.Case == text.CaseKept {
				slices.SortStableFunc(terms, func(a, b int) int {
					return slices.Index(s.Tokens, uint32(a)) - slices.Index(s.Tokens, uint32(b))
				})
			}
			for _, i := range terms {
				term, n := s.Terms[i], uint32(0)
				for _, token := range s.Tokens {
					if int(token) == i {
						n++
					}
				}
				if _, known := numbers[term]; n > 0 && !known && !closed {
					numbers[term] = uint32(len(numbers) + 1)
				}
				if at := numbers[term]; n > 0 && at > 0 {
					order, want[at-1] = append(order, at-1), n
				}
			}
			for len(times) < len(numbers) {
				times = append(times, 0)
			}
			found := r.count(times)
			if !slices.Equal(found, order) {
				t.Fatalf("the words %d of %q, want %d", found, s.Terms, order)
			}
			for _, f := range found {
				if times[f] != want[f] {
					t.Fatalf("word %d comes %d times, want %d", f, times[f], want[f])
				}
				times[f] = 0
			}
		}
	})
}

// numbered is an interner or, once it is closed, the vocabulary made from it.
type numbered struct {
	*interner
	closed  bool
	numbers map[string]uint32
}

func (n numbered) number(hash uint64, word []byte) uint32 {
	if n.closed {
		return n.numbers[string(word)]
	}
	return n.interner.number(hash, word)
}

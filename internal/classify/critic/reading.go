package critic

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"forager/internal/page/text"
)

// reading finds the words of texts in a vocabulary. It is for one vocabulary; the zero value is ready to use.
type reading struct {
	tokens []token
	recent [recentWords]recent
	missed []missed // tokens whose words are looked up next
	text   []byte   // of these words
	near   uint64   // see numbering.touch
	found  []uint32
}

// numbering is the vocabulary of a reading: one under construction (interner), or a model's.
type numbering interface {
	// number returns the number of the word with this hash, from 1, or 0.
	number(hash uint64, word []byte) uint32
	// touch reads the places where the words are looked up, so that they are in the cache. The caller stores the
	// result, which has no meaning, so that the compiler keeps the reads.
	touch(words []missed) uint64
}

// token is a word of a text: its number from 1, 0 = not in the vocabulary.
type token struct{ word, times uint32 }

// recent is a word that was looked up before. Most tokens of a text are of few words, which then need no look-up
// in the whole table. A word of up to eight bytes is its own key; the key of a longer one is its hash.
type recent struct {
	key    uint64
	length uint32 // of the word, bytes; 0 = none
	word   uint32 // as in token
}

// recentWords is the number of entries that fit the nearest cache of the processor.
const recentWords = 1 << 11

// missed is a token whose word is not among the recent ones.
type missed struct {
	token  int
	hash   uint64
	end    int // of the word, in the text of all
	recent     // length 0: not to be stored
}

// mostMissed is the number of words that are looked up together, without branches on the results, so that the
// processor waits for memory for several at once.
const mostMissed = 64

// read reads the words of a text. Words of a page that was cut into tokens before occur nearly all once: they are
// not looked up among the recent ones.
func (r *reading) read(w *text.Words, in numbering) {
	r.tokens = r.tokens[:0]
	once := w.Once()
	for w.Next() {
		word := w.Word()
		t := token{times: w.Count()}
		if once {
			r.miss(word, xxhash.Sum64(word), recent{})
		} else {
			key := keyOf(word)
			known := &r.recent[placeOf(key)]
			t.word = known.word
			if known.key != key || known.length != uint32(len(word)) {
				hash := key
				if len(word) <= keyLength {
					hash = xxhash.Sum64(word)
				}
				r.miss(word, hash, recent{key: key, length: uint32(len(word))})
			}
		}
		r.tokens = append(r.tokens, t)
		if len(r.missed) == mostMissed {
			r.lookUp(in)
		}
	}
	r.lookUp(in)
}

// miss adds the next token's word to those to be looked up.
func (r *reading) miss(word []byte, hash uint64, as recent) {
	r.text = append(r.text, word...)
	r.missed = append(r.missed, missed{len(r.tokens), hash, len(r.text), as})
}

// lookUp looks up the missed words.
func (r *reading) lookUp(in numbering) {
	r.near = in.touch(r.missed)
	from := 0
	for i := range r.missed {
		m := &r.missed[i]
		m.word = in.number(m.hash, r.text[from:m.end])
		from = m.end
	}
	for i := range r.missed {
		m := &r.missed[i]
		r.tokens[m.token].word = m.word
		if m.length > 0 {
			r.recent[placeOf(m.key)] = m.recent
		}
	}
	r.missed, r.text = r.missed[:0], r.text[:0]
}

// count returns the numbers, from 0, of the words that were read and are in the vocabulary, in the order of their
// first occurrence, valid until the next call. It sets times, by these numbers, to the number of occurrences. All
// of times must be 0, and the caller must reset it.
func (r *reading) count(times []uint32) []uint32 {
	r.found = r.found[:0]
	for _, t := range r.tokens {
		if t.word == 0 {
			continue
		}
		n := &times[t.word-1]
		if *n == 0 {
			r.found = append(r.found, t.word-1)
		}
		*n += t.times
	}
	return r.found
}

// keyLength is the length of the longest word that is its own key, bytes.
const keyLength = 8

// keyOf returns a key that is unique among words of its length.
func keyOf(word []byte) uint64 {
	switch {
	case len(word) > keyLength:
		return xxhash.Sum64(word)
	case cap(word) >= keyLength: // the bytes after the word are cut off
		return binary.LittleEndian.Uint64(word[:keyLength]) & (1<<(8*len(word)) - 1)
	}
	var key [keyLength]byte
	copy(key[:], word)
	return binary.LittleEndian.Uint64(key[:])
}

// placeOf returns the place of a key: the highest bits of a product (Fibonacci hashing).
func placeOf(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> 32 % recentWords }

package critic

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"forager/internal/text"
)

// reading finds the words of texts in a vocabulary. It belongs to that vocabulary; the zero value is ready.
type reading struct {
	tokens []token
	recent [recentWords]recent
	missed []missed // tokens whose words are looked up next
	text   []byte   // of these words
	found  []uint32
}

// token is a word as it is read: its number from 1, 0 = it is not in the vocabulary.
type token struct{ word, times uint32 }

// recent is a word that was looked up before. Most tokens of a text are of few words, which then need not
// be looked for in the whole table. A word of up to eight bytes is its own key; the key of a longer one is its hash.
type recent struct {
	key    uint64
	length uint32 // of the word, bytes; 0 = there is none
	word   uint32 // as in token
}

// recentWords are as many as the nearest cache of the processor holds.
const recentWords = 1 << 11

// missed is a token whose word is not among the recent ones.
type missed struct {
	token int
	hash  uint64
	end   int // of the word, in the text of all
	recent
}

// mostMissed is the number of words that are looked up behind one another, where nothing is decided by what
// is found, so that the processor waits for memory for several at once.
const mostMissed = 64

// read reads the words of a text. number is the vocabulary: the number of a word with its hash, from 1, or 0.
func (r *reading) read(w *text.Words, number func(hash uint64, word []byte) uint32) {
	r.tokens = r.tokens[:0]
	for w.Next() {
		word := w.Word()
		key := keyOf(word)
		known := &r.recent[placeOf(key)]
		t := token{known.word, w.Count()}
		if known.key != key || known.length != uint32(len(word)) {
			hash := key
			if len(word) <= keyLength {
				hash = xxhash.Sum64(word)
			}
			r.text = append(r.text, word...)
			r.missed = append(r.missed, missed{len(r.tokens), hash, len(r.text), recent{key: key, length: uint32(len(word))}})
		}
		r.tokens = append(r.tokens, t)
		if len(r.missed) == mostMissed {
			r.lookUp(number)
		}
	}
	r.lookUp(number)
}

// lookUp looks up the words that were missed.
func (r *reading) lookUp(number func(hash uint64, word []byte) uint32) {
	from := 0
	for i := range r.missed {
		m := &r.missed[i]
		m.word = number(m.hash, r.text[from:m.end])
		from = m.end
	}
	for _, m := range r.missed {
		r.tokens[m.token].word = m.word
		r.recent[placeOf(m.key)] = m.recent
	}
	r.missed, r.text = r.missed[:0], r.text[:0]
}

// count returns the numbers, from 0, of the words that were read and are in the vocabulary, in the order
// in which they come first, valid until the next call; times, by these numbers, is how often. All of times
// must be 0, as whoever calls must leave it.
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

// keyOf tells a word apart from all others of its length.
func keyOf(word []byte) uint64 {
	switch {
	case len(word) > keyLength:
		return xxhash.Sum64(word)
	case cap(word) >= keyLength: // what stands behind the word is cut off
		return binary.LittleEndian.Uint64(word[:keyLength]) & (1<<(8*len(word)) - 1)
	}
	var key [keyLength]byte
	copy(key[:], word)
	return binary.LittleEndian.Uint64(key[:])
}

// placeOf is where a key is kept: by its highest bits when multiplied (Fibonacci hashing).
func placeOf(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> 32 % recentWords }

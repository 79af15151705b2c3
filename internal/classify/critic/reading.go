package critic

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"forager/internal/page/text"
)

// reading finds the words of texts in a vocabulary. It belongs to that vocabulary; the zero value is ready.
type reading struct {
	tokens []token
	recent [recentWords]recent
	missed []missed // tokens whose words are looked up next
	text   []byte   // of these words
	near   uint64   // see numbering.touch
	found  []uint32
}

// numbering is the vocabulary of a reading: one that is made (interner), or a model's.
type numbering interface {
	// number returns the number of a word with its hash, from 1, or 0.
	number(hash uint64, word []byte) uint32
	// touch reads where the words are looked for, so that it is near when they are. What it returns
	// means nothing, and is to be kept: it is why the reading is not left out.
	touch(words []missed) uint64
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
	token  int
	hash   uint64
	end    int // of the word, in the text of all
	recent     // length 0: not to be kept
}

// mostMissed is the number of words that are looked up behind one another, where nothing is decided by what
// is found, so that the processor waits for memory for several at once.
const mostMissed = 64

// read reads the words of a text. Those of a page that was cut into tokens before come once, all but:
// they are not looked for among the recent ones.
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

// miss keeps the next token's word, to be looked up.
func (r *reading) miss(word []byte, hash uint64, as recent) {
	r.text = append(r.text, word...)
	r.missed = append(r.missed, missed{len(r.tokens), hash, len(r.text), as})
}

// lookUp looks up the words that were missed.
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

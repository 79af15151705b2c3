package critic

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"forager/internal/platform/modelfile"
)

// vocabulary numbers words, in their order. It is a hash table that is read in place in a mapped file.
type vocabulary struct {
	text []byte   // all words, concatenated
	ends []uint32 // of each word in text
	// slots are pairs: the hash of a word, and its number from 1; 0 = empty. A word is identified by the 64 bits
	// of its hash: text is not compared.
	slots []uint64
}

// newVocabulary returns the table of sorted, distinct words.
func newVocabulary(words []string) (*vocabulary, error) {
	v := &vocabulary{slots: make([]uint64, slotsFor(len(words)))}
	for i, w := range words {
		v.text = append(v.text, w...)
		if len(v.text) > math.MaxUint32 {
			return nil, errors.New("the words are longer than 4 GiB together")
		}
		v.ends = append(v.ends, uint32(len(v.text)))
		hash := xxhash.Sum64String(w)
		at := v.find(hash)
		if v.slots[at+1] != 0 {
			return nil, fmt.Errorf("the words %q and %q have the same hash", w, v.word(uint32(v.slots[at+1]-1)))
		}
		v.slots[at], v.slots[at+1] = hash, uint64(i+1)
	}
	return v, nil
}

// slotsFor returns the length of the slots for a number of words: a power of two that leaves at least a quarter of
// them empty.
func slotsFor(words int) int { return 2 << bits.Len(uint(words+words/3)) }

// find returns the index of the slot of a hash, or of the empty slot where it belongs.
func (v *vocabulary) find(hash uint64) int { return slotOf(v.slots, hash) }

func slotOf(slots []uint64, hash uint64) int {
	mask := uint64(len(slots) - 2) // even: slots are pairs
	for at := hash << 1 & mask; ; at = (at + 2) & mask {
		if slots[at] == hash || slots[at+1] == 0 {
			return int(at)
		}
	}
}

func (v *vocabulary) len() int { return len(v.ends) }

// bytes returns a word, in the memory of the vocabulary.
func (v *vocabulary) bytes(i uint32) []byte {
	begin := uint32(0)
	if i > 0 {
		begin = v.ends[i-1]
	}
	return v.text[begin:v.ends[i]]
}

// word returns a copy of a word.
func (v *vocabulary) word(i uint32) string { return string(v.bytes(i)) }

// lookup returns the number of the word with a hash, from 1; 0 = none.
func (v *vocabulary) lookup(hash uint64) uint32 { return uint32(v.slots[v.find(hash)+1]) }

// number implements numbering by lookup.
func (v *vocabulary) number(hash uint64, _ []byte) uint32 { return v.lookup(hash) }

func (v *vocabulary) touch(words []missed) uint64 { return touch(v.slots, words) }

// touch implements numbering. It waits for memory once for all slots, as no read depends on another.
func touch(slots []uint64, words []missed) (all uint64) {
	if len(slots) == 0 {
		return 0
	}
	mask := uint64(len(slots) - 2)
	for i := range words {
		all |= slots[words[i].hash<<1&mask]
	}
	return all
}

// interner numbers words in the order of their first occurrence, in a table like that of a vocabulary. The zero
// value is ready to use.
type interner struct {
	words []string
	slots []uint64
}

// number returns the number of the word with this hash, from 1: a new one for a new word.
func (n *interner) number(hash uint64, word []byte) uint32 {
	if need := slotsFor(len(n.words) + 1); need > len(n.slots) {
		n.grow(need)
	}
	at := slotOf(n.slots, hash)
	if n.slots[at+1] == 0 {
		n.words = append(n.words, string(word))
		n.slots[at], n.slots[at+1] = hash, uint64(len(n.words))
	}
	return uint32(n.slots[at+1])
}

func (n *interner) touch(words []missed) uint64 { return touch(n.slots, words) }

func (n *interner) grow(slots int) {
	old := n.slots
	n.slots = make([]uint64, slots)
	for i := 0; i < len(old); i += 2 {
		if old[i+1] != 0 {
			at := slotOf(n.slots, old[i])
			n.slots[at], n.slots[at+1] = old[i], old[i+1]
		}
	}
}

func (v *vocabulary) encode(e *modelfile.Encoder) {
	modelfile.PutArray(e, v.text)
	modelfile.PutArray(e, v.ends)
	modelfile.PutArray(e, v.slots)
}

func decodeVocabulary(d *modelfile.Decoder) *vocabulary {
	v := &vocabulary{
		text: modelfile.Array[uint8](d, "words"), ends: modelfile.Array[uint32](d, "ends of words"),
		slots: modelfile.Array[uint64](d, "table of words"),
	}
	if d.Err() != nil {
		return v
	}
	if err := v.check(); err != nil {
		d.Fail("%v", err)
	}
	return v
}

// check returns an error if a vocabulary that was read from a file is invalid. That every word is found in a slot,
// and that no other slot is full, implies that look-ups end.
func (v *vocabulary) check() error {
	if len(v.slots) != slotsFor(v.len()) {
		return fmt.Errorf("%d slots for %d words", len(v.slots), v.len())
	}
	last := uint32(0)
	for i, end := range v.ends {
		if end < last || int(end) > len(v.text) {
			return fmt.Errorf("word %d ends at %d", i, end)
		}
		last = end
	}
	if int(last) != len(v.text) {
		return fmt.Errorf("%d bytes follow the last word", len(v.text)-int(last))
	}
	full := 0
	for at := 0; at < len(v.slots); at += 2 {
		if v.slots[at+1] != 0 {
			full++
		} else if v.slots[at] != 0 {
			return fmt.Errorf("slot %d is empty and has a hash", at/2)
		}
	}
	if full != v.len() {
		return fmt.Errorf("%d slots hold %d words", full, v.len())
	}
	for i := range uint32(v.len()) {
		if i > 0 && string(v.bytes(i-1)) >= string(v.bytes(i)) {
			return fmt.Errorf("word %q behind %q", v.bytes(i), v.bytes(i-1))
		}
		if at := v.find(xxhash.Sum64(v.bytes(i))); v.slots[at+1] != uint64(i)+1 {
			return fmt.Errorf("word %q is not found", v.bytes(i))
		}
	}
	return nil
}

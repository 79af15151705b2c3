package critic

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"forager/internal/modelfile"
)

// vocabulary numbers words, in their order. It is a hash table that is looked up where it lies in a
// mapped file.
type vocabulary struct {
	text  []byte   // all words, one behind the other
	ends  []uint32 // of each word in text
	slots []uint64 // low 32 bits: number of a word from 1, 0 = empty; high 32 bits: those of its hash
}

// newVocabulary makes the table of sorted, distinct words.
func newVocabulary(words []string) (*vocabulary, error) {
	v := &vocabulary{slots: make([]uint64, slotsFor(len(words)))}
	for i, w := range words {
		v.text = append(v.text, w...)
		if len(v.text) > math.MaxUint32 {
			return nil, errors.New("the words are longer than 4 GiB together")
		}
		v.ends = append(v.ends, uint32(len(v.text)))
		hash := xxhash.Sum64String(w)
		at := hash & uint64(len(v.slots)-1)
		for v.slots[at] != 0 {
			at = (at + 1) & uint64(len(v.slots)-1)
		}
		v.slots[at] = uint64(i+1) | hash>>32<<32
	}
	return v, nil
}

// slotsFor is a power of two that leaves half of the slots empty, or more.
func slotsFor(words int) int { return 1 << bits.Len(uint(2*words)) }

func (v *vocabulary) len() int { return len(v.ends) }

// bytes is a word, in the memory of the vocabulary.
func (v *vocabulary) bytes(i uint32) []byte {
	begin := uint32(0)
	if i > 0 {
		begin = v.ends[i-1]
	}
	return v.text[begin:v.ends[i]]
}

// word is a copy of a word.
func (v *vocabulary) word(i uint32) string { return string(v.bytes(i)) }

func (v *vocabulary) lookup(word []byte) (i uint32, ok bool) {
	hash := xxhash.Sum64(word)
	mask := uint64(len(v.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		slot := v.slots[at]
		if slot == 0 {
			return 0, false
		}
		if slot>>32 == hash>>32 {
			if i := uint32(slot) - 1; string(v.bytes(i)) == string(word) {
				return i, true
			}
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

// check says what is wrong with a vocabulary that was read from a file. That every word is found, and
// half of the slots are empty, means that lookups end.
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
	for at, slot := range v.slots {
		if slot == 0 {
			continue
		}
		full++
		if n := uint32(slot); n == 0 || int(n) > v.len() {
			return fmt.Errorf("slot %d holds the word %d of %d", at, n, v.len())
		}
	}
	if full != v.len() {
		return fmt.Errorf("%d slots hold %d words", full, v.len())
	}
	for i := range uint32(v.len()) {
		if i > 0 && string(v.bytes(i-1)) >= string(v.bytes(i)) {
			return fmt.Errorf("word %q behind %q", v.bytes(i), v.bytes(i-1))
		}
		if at, ok := v.lookup(v.bytes(i)); !ok || at != i {
			return fmt.Errorf("word %q is not found", v.bytes(i))
		}
	}
	return nil
}

package pageguide

import (
	"encoding/binary"
	"fmt"
	"math"

	"forager/internal/rank/memm"
)

// keywords is a bit set, in as few bytes as hold all.
type keywords []byte

func (k keywords) add(i uint32) { k[i/8] |= 1 << (i % 8) }

// each calls f with its members, ascending.
func (k keywords) each(f func(i uint32)) {
	for at, b := range k {
		for bit := range uint32(8) {
			if b>>bit&1 == 1 {
				f(uint32(at)*8 + bit)
			}
		}
	}
}

// A state of a path is the belief, one float64 for each hidden state, little endian, and the keywords around the link. With
// maxStates and maxKeywords it has 256 bytes, the most that a path may have.
const (
	maxStates   = 16
	maxKeywords = 1024
	// sumSlack is the largest rounding error of the sum of a belief.
	sumSlack = 1e-9
)

// remember encodes the state of a link.
func remember(b memm.Belief, anchor keywords) []byte {
	state := make([]byte, 0, 8*len(b)+len(anchor))
	for _, p := range b {
		state = binary.LittleEndian.AppendUint64(state, math.Float64bits(p))
	}
	return append(state, anchor...)
}

// recall decodes a state of a model with k hidden states and n keywords; an empty one is the beginning of a path.
func recall(state []byte, k, n int) (memm.Belief, keywords, error) {
	if len(state) == 0 {
		return nil, nil, nil
	}
	if want := 8*k + (n+7)/8; len(state) != want {
		return nil, nil, fmt.Errorf("the state of the path has %d bytes, the guide's have %d", len(state), want)
	}
	b := make(memm.Belief, k)
	var sum float64
	for i := range b {
		b[i] = math.Float64frombits(binary.LittleEndian.Uint64(state[8*i:]))
		if !(b[i] >= 0 && b[i] <= 1) { // also NaN
			return nil, nil, fmt.Errorf("the state of the path has the probability %v", b[i])
		}
		sum += b[i]
	}
	if math.Abs(sum-1) > sumSlack {
		return nil, nil, fmt.Errorf("the probabilities in the state of the path sum to %v", sum)
	}
	anchor := keywords(state[8*k:])
	if n%8 != 0 && anchor[len(anchor)-1]>>(n%8) != 0 {
		return nil, nil, fmt.Errorf("the state of the path has keywords behind the last of %d", n)
	}
	return b, anchor, nil
}

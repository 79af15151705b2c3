package tfidf

import (
	"math"

	"forager/internal/platform/modelfile"
)

// Encode writes the corpus into the body of a file.
func (c *Corpus) Encode(e *modelfile.Encoder) {
	e.Words(c.words)
	modelfile.PutArray(e, c.weight)
}

// Decode reads what Encode wrote; the Decoder has the error.
func Decode(d *modelfile.Decoder) *Corpus {
	c := corpusOf(d.Words("words of the corpus"), modelfile.Array[float64](d, "weights of words"))
	if len(c.weight) != len(c.words) {
		d.Fail("%d weights of %d words", len(c.weight), len(c.words))
	}
	for _, v := range c.weight {
		if !(v >= 0 && v <= math.MaxFloat32) {
			d.Fail("a word weighs %v", v)
		}
	}
	return c
}

// Encode writes a text into the body of a file.
func (v Vector) Encode(e *modelfile.Encoder) {
	modelfile.PutArray(e, v.words)
	modelfile.PutArray(e, v.weights)
}

// Decode reads what Vector.Encode wrote of a text of this corpus.
func (c *Corpus) Decode(d *modelfile.Decoder) Vector {
	v := Vector{modelfile.Array[uint32](d, "words of a text"), modelfile.Array[float64](d, "weights of a text")}
	if len(v.words) != len(v.weights) {
		d.Fail("a text of %d words with %d weights", len(v.words), len(v.weights))
		return Vector{}
	}
	var square float64
	for i, w := range v.words {
		if int(w) >= len(c.weight) || i > 0 && w <= v.words[i-1] {
			d.Fail("a text with word %d of %d", w, len(c.weight))
		}
		if !(v.weights[i] >= 0 && v.weights[i] <= 1+lengthSlack) {
			d.Fail("a word of a text weighs %v", v.weights[i])
		}
		square += v.weights[i] * v.weights[i]
	}
	if len(v.words) > 0 && !(math.Abs(square-1) <= lengthSlack) {
		d.Fail("a text of length %v", math.Sqrt(square))
	}
	return v
}

// lengthSlack is the tolerance for rounding in the square of a text's length.
const lengthSlack = 1e-6

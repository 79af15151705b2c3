package apprentice

import (
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

const (
	// normalLength is the sum of the features of a link where counts are normalised: about what a link has within five
	// leaves.
	normalLength = 32
	// steps are the parts of 1 in which Counts keeps normalised counts, so that they are integers.
	steps = linkfeature.Parts
	// mostSmooth is the largest Settings.Smooth; counts then spread over four leaves on each side.
	mostSmooth = 4
)

// unitOf returns what Counts stores for a feature of a term that counts 1.
func unitOf[T string | []byte](s Settings, term T) uint64 {
	if s.Count == schemas.Counting_COUNTING_NORMALISED {
		return steps
	}
	return uint64(linkfeature.Unit(term))
}

// amounts returns, in buf, the count of each feature of a link in parts of its unit. Normalised counts are rounded, and are
// at least 1 for a feature that occurs.
func (s Settings) amounts(features []*schemas.Feature, buf []uint64) []uint64 {
	buf = buf[:0]
	length := lengthOf(features)
	for _, f := range features {
		n := uint64(f.GetCount())
		switch {
		case s.Count == schemas.Counting_COUNTING_BINARY:
			n = min(n, uint64(linkfeature.Unit(f.GetTerm())))
		case s.Count == schemas.Counting_COUNTING_NORMALISED && n > 0:
			n = max(1, (normalLength*steps*inParts(f)+length/2)/length)
		}
		buf = append(buf, n)
	}
	return buf
}

// values is amounts as fractions; binary counts must have been reduced before (counted).
func (s Settings) values(features []*schemas.Feature, buf []float64) []float64 {
	buf = buf[:0]
	length := float64(lengthOf(features)) / linkfeature.Parts
	for _, f := range features {
		x := float64(f.GetCount()) / float64(linkfeature.Unit(f.GetTerm()))
		if s.Count == schemas.Counting_COUNTING_NORMALISED && x > 0 {
			x *= normalLength / length
		}
		buf = append(buf, x)
	}
	return buf
}

// inParts is the count of a feature in parts of 1, whatever its unit.
func inParts(f *schemas.Feature) uint64 {
	return uint64(f.GetCount()) * uint64(linkfeature.Parts/linkfeature.Unit(f.GetTerm()))
}

// lengthOf is the number of occurrences of all features, in parts of 1.
func lengthOf(features []*schemas.Feature) (n uint64) {
	for _, f := range features {
		n += inParts(f)
	}
	return n
}

// counted returns the features in the form that logistic regression takes: each once for binary counts, and R(w) of
// siblings as low or high.
func (s Settings) counted(features []*schemas.Feature, cut int) []*schemas.Feature {
	if s.Count == schemas.Counting_COUNTING_BINARY {
		block := make([]schemas.Feature, len(features))
		once := make([]*schemas.Feature, len(features))
		for i, f := range features {
			once[i] = &block[i]
			once[i].Term, once[i].Offset, once[i].Count = f.GetTerm(), f.GetOffset(), min(f.GetCount(), linkfeature.Unit(f.GetTerm()))
		}
		features = once
	}
	if s.Families.Cocitation() {
		features = linkfeature.Judged(features, cut)
	}
	return features
}

// pair is the counts of a feature in leaps to low and to high targets.
type pair struct{ low, high uint64 }

// spread smooths the counts of neighbouring offsets in place: in each of so many steps half of a count stays and a quarter
// goes to either neighbour. The results are scaled by 4^times. At either end so many elements must be 0.
func spread(at []pair, times uint32) {
	for range times {
		var before pair
		for i, p := range at {
			var after pair
			if i+1 < len(at) {
				after = at[i+1]
			}
			at[i] = pair{before.low + 2*p.low + after.low, before.high + 2*p.high + after.high}
			before = p
		}
	}
}

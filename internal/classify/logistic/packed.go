package logistic

import (
	"fmt"
	"math"
	"math/bits"
)

// Packed is a model of two bytes a weight, as in files: the weight of feature f for class c is Scale[f] ·
// Weights[f·classes + c], with an error of at most 1/65,534 of the feature's largest weight. It is safe for
// concurrent use.
type Packed struct {
	Bias    []float64 // by class
	Scale   []float32 // by feature
	Weights []int16   // feature-major
}

// Pack rounds the weights.
func (m *Model) Pack() *Packed {
	features := len(m.weights) / m.classes
	p := &Packed{Bias: m.bias, Scale: make([]float32, features), Weights: make([]int16, len(m.weights))}
	for f := range features {
		row := m.weights[f*m.classes : (f+1)*m.classes]
		var most float64
		for _, w := range row {
			most = max(most, math.Abs(float64(w)))
		}
		if most == 0 {
			continue
		}
		// Rounded up, so that no weight exceeds the largest int16.
		p.Scale[f] = math.Nextafter32(float32(most/math.MaxInt16), math.MaxFloat32)
		for k, w := range row {
			p.Weights[f*m.classes+k] = int16(math.Round(float64(w) / float64(p.Scale[f])))
		}
	}
	return p
}

// Check returns an error if a model that was read from a file is invalid.
func (p *Packed) Check() error {
	if len(p.Bias) == 0 || len(p.Weights) != len(p.Bias)*len(p.Scale) {
		return fmt.Errorf("%d weights of %d features and %d classes", len(p.Weights), len(p.Scale), len(p.Bias))
	}
	for k, b := range p.Bias {
		if math.IsNaN(b) || math.IsInf(b, 0) {
			return fmt.Errorf("the intercept of class %d is %g", k, b)
		}
	}
	for f, s := range p.Scale {
		if !(s >= 0 && s <= math.MaxFloat32) {
			return fmt.Errorf("the weights of feature %d are multiples of %g", f, s)
		}
	}
	return nil
}

// Weight returns W(f,c).
func (p *Packed) Weight(feature uint32, class int) float64 {
	return float64(p.Scale[feature]) * float64(p.Weights[int(feature)*len(p.Bias)+class])
}

// scoresAtOnce is the number of classes whose sums fit the nearest cache together.
const scoresAtOnce = 512

// Scores sets dst, one number a class, to the log odds of a document up to a constant. Features that are not in
// the model are ignored.
//
// Weights are integers, so the factor of a feature is made one, too, in units so small that the sums just fit 63
// bits: that is twice as fast as converting each weight to floating point, and the sums are the same in any order,
// on any machine. For a document of a thousand features the rounding error is below 2⁻³⁷ of the largest addend
// each.
func (p *Packed) Scores(dst []float64, r *Row) {
	dst = dst[:copy(dst, p.Bias)]
	var top float64
	for i, f := range r.Features {
		if int(f) < len(p.Scale) {
			top = max(top, math.Abs(float64(r.Values[i])*float64(p.Scale[f])))
		}
	}
	if top == 0 {
		return
	}
	const weightBits = 15
	unit := math.Ldexp(top, bits.Len(uint(len(r.Features)))+weightBits-62)
	for from := 0; from < len(dst); from += scoresAtOnce {
		p.scores(dst[from:min(from+scoresAtOnce, len(dst))], from, r, unit)
	}
}

// scores adds the scores of the classes that begin at from.
func (p *Packed) scores(dst []float64, from int, r *Row, unit float64) {
	// Four features at a time, so that each sum is read and written once for four of them.
	var (
		all   [scoresAtOnce]int64
		sums  = all[:len(dst)]
		rows  [4][]int16
		times [4]int64
		n     int
	)
	for i, f := range r.Features {
		if int(f) >= len(p.Scale) {
			continue
		}
		at := int(f)*len(p.Bias) + from
		rows[n], times[n] = p.Weights[at:at+len(dst)], int64(math.Round(float64(r.Values[i])*float64(p.Scale[f])/unit))
		if n++; n < len(rows) {
			continue
		}
		n = 0
		a, b, c, d := rows[0][:len(sums)], rows[1][:len(sums)], rows[2][:len(sums)], rows[3][:len(sums)]
		ta, tb, tc, td := times[0], times[1], times[2], times[3]
		for k := range sums {
			sums[k] += ta*int64(a[k]) + tb*int64(b[k]) + tc*int64(c[k]) + td*int64(d[k])
		}
	}
	for i := range n {
		for k, w := range rows[i][:len(sums)] {
			sums[k] += times[i] * int64(w)
		}
	}
	for k, sum := range sums {
		dst[k] += float64(float64(sum) * unit)
	}
}

package logistic

import (
	"fmt"
	"math"
)

// Packed is a model of two bytes a weight, as files keep it: the weight of feature f for class c is
// Scale[f] · Weights[f·classes + c], off by 1/65,534 of the feature's largest weight at most. It is
// safe for concurrent use.
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
		// Rounded up, so that no weight is beyond the largest int16.
		p.Scale[f] = math.Nextafter32(float32(most/math.MaxInt16), math.MaxFloat32)
		for k, w := range row {
			p.Weights[f*m.classes+k] = int16(math.Round(float64(w) / float64(p.Scale[f])))
		}
	}
	return p
}

// Check says what is wrong with a model that was read from a file.
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

// Scores is that of Model.
func (p *Packed) Scores(dst []float64, r *Row) {
	dst = dst[:copy(dst, p.Bias)]
	classes := len(dst)
	// Four features at a time, so that each sum is read and written once for four of them.
	var (
		rows  [4][]int16
		times [4]float64
		n     int
	)
	for i, f := range r.Features {
		if int(f) >= len(p.Scale) {
			continue
		}
		at := int(f) * classes
		rows[n], times[n] = p.Weights[at:at+classes], float64(float64(r.Values[i])*float64(p.Scale[f]))
		if n++; n < len(rows) {
			continue
		}
		n = 0
		a, b, c, d := rows[0][:classes], rows[1][:classes], rows[2][:classes], rows[3][:classes]
		ta, tb, tc, td := times[0], times[1], times[2], times[3]
		for k := range dst { // the conversions forbid fusing: same bits on every machine
			dst[k] = dst[k] + float64(ta*float64(a[k])) + float64(tb*float64(b[k])) + float64(tc*float64(c[k])) + float64(td*float64(d[k]))
		}
	}
	for i := range n {
		for k, w := range rows[i][:classes] {
			dst[k] += float64(times[i] * float64(w))
		}
	}
}

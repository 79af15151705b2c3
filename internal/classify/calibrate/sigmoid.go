package calibrate

import "math"

// sigmoid is the maximum-likelihood sigmoid of smoothed targets by Newton's method with backtracking (Lin, Lin and
// Weng 2007, Algorithm 1). Its slope is at least 0: scores of the wrong sign carry no information.
func sigmoid(points []point) *Curve {
	all := total(points)
	// The targets are not 1 and 0 but the estimates under a uniform prior (Platt 1999).
	high, low := (all.right+1)/(all.right+2), 1/(all.n-all.right+2)
	f := fit{points: points, high: high, low: low}
	f.scale()
	a, b := 0., math.Log((all.right+1)/(all.n-all.right+1))
	value := f.loss(a, b)
	for range 100 {
		ga, gb, haa, hab, hbb := f.slopes(a, b)
		if math.Abs(ga) < 1e-9*all.n && math.Abs(gb) < 1e-9*all.n {
			break
		}
		det := haa*hbb - hab*hab
		da, db := -(hbb*ga-hab*gb)/det, -(haa*gb-hab*ga)/det
		step := 1.
		for ; step > 1e-10; step /= 2 {
			next := f.loss(a+step*da, b+step*db)
			if next < value+1e-4*step*(ga*da+gb*db) {
				a, b, value = a+step*da, b+step*db, next
				break
			}
		}
		if step <= 1e-10 {
			break
		}
	}
	if a < 0 {
		return &Curve{B: math.Log((all.right + 1) / (all.n - all.right + 1))}
	}
	return &Curve{A: a / f.unit, B: b}
}

type fit struct {
	points    []point
	high, low float64
	unit      float64 // scores are divided by it, so that Newton's steps are well scaled
}

func (f *fit) scale() {
	for _, p := range f.points {
		f.unit = max(f.unit, math.Abs(p.score))
	}
	if f.unit == 0 {
		f.unit = 1
	}
}

// target returns the sum of a point's targets.
func (f *fit) target(p point) float64 { return p.right*f.high + (p.n-p.right)*f.low }

// loss is the cross entropy, in a form that does not overflow.
func (f *fit) loss(a, b float64) (sum float64) {
	for _, p := range f.points {
		z := a*p.score/f.unit + b
		sum += p.n*(max(z, 0)+math.Log1p(math.Exp(-math.Abs(z)))) - f.target(p)*z
	}
	return sum
}

// slopes returns the first and second derivatives; the second ones are slightly increased, so that they can be
// inverted.
func (f *fit) slopes(a, b float64) (ga, gb, haa, hab, hbb float64) {
	const ridge = 1e-12
	haa, hbb = ridge, ridge
	for _, p := range f.points {
		x := p.score / f.unit
		q := 1 / (1 + math.Exp(-(a*x + b)))
		d, w := p.n*q-f.target(p), p.n*q*(1-q)
		ga, gb = ga+d*x, gb+d
		haa, hab, hbb = haa+w*x*x, hab+w*x, hbb+w
	}
	return ga, gb, haa, hab, hbb
}

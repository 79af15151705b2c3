package logistic

// Model gives the classes of a document their probabilities. It is safe for concurrent use.
type Model struct {
	classes int
	weights []float32 // feature-major
	bias    []float64
}

// Scores sets dst, one number a class, to the log odds of a document up to a constant.
// Features that the model does not have are passed over.
func (m *Model) Scores(dst []float64, r *Row) {
	copy(dst, m.bias)
	dst = dst[:m.classes]
	for i, f := range r.Features {
		at := int(f) * m.classes
		if at >= len(m.weights) {
			continue
		}
		v := float64(r.Values[i])
		for k, w := range m.weights[at : at+m.classes] {
			dst[k] += float64(v * float64(w))
		}
	}
}

// Posterior sets dst to Pr(c|u), which sums to 1.
func (m *Model) Posterior(dst []float64, r *Row) {
	m.Scores(dst, r)
	softmax(dst[:m.classes])
}

package logistic

// Model is what Fit has found; Pack makes of it what documents are scored by.
type Model struct {
	classes int
	weights []float32 // feature-major
	bias    []float64
}

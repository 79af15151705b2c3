package logistic

// Model is the result of Fit; Pack converts it to the form that scores documents.
type Model struct {
	classes int
	weights []float32 // feature-major
	bias    []float64
}

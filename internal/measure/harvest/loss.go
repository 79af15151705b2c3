package harvest

// LossCut returns the share of a baseline's loss that a crawl avoided in as many pages,
// 1 − loss/base; negative where it lost more. ok is false if the baseline lost nothing.
func LossCut(loss, base float64) (cut float64, ok bool) {
	if base <= 0 {
		return 0, false
	}
	return 1 - loss/base, true
}

// MovingAverage returns for each value the mean of it and the values before it, window in all (100, 200 as in Fig.
// 5 of 2000, or 1,000); of fewer at the beginning. Window is at least 1.
func MovingAverage(values []float64, window int) []float64 {
	averages := make([]float64, len(values))
	sum := 0.0
	for i, v := range values {
		sum += v
		if i >= window {
			sum -= values[i-window]
		}
		averages[i] = sum / float64(min(i+1, window))
	}
	return averages
}

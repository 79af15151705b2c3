package critic

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Measures are the quality of posteriors on pages that the judge has not seen.
type Measures struct {
	// Accuracy is the share of pages whose best class is one of their own.
	Accuracy float64
	// LogLoss is the mean of −log Pr(c|u) over the pages, in nats; for several own classes their mean.
	// Probabilities below 2⁻⁵² count as 2⁻⁵².
	LogLoss float64
	// ECE is the expected calibration error of the best class: pages are put into 15 bins of equal
	// width by its probability, and |share that is right − mean probability| is averaged over the
	// pages (Guo et al., "On Calibration of Modern Neural Networks", 2017, §2).
	ECE float64
}

// Measured are the measures of a model's posteriors.
type Measured struct{ Raw, Tempered, Calibrated Measures }

const (
	leastLikely = 0x1p-52
	bins        = 15
)

// verdict is the result of a classifier for a page whose classes are known.
type verdict struct {
	// best class, its probability, and whether it is one of the page's own.
	best       int
	confidence float64
	right      bool
	// loss is −log of the probability of the page's classes, their mean.
	loss float64
}

func verdictOn(posteriors []float64, classes []int) verdict {
	v := verdict{best: floats.MaxIdx(posteriors)}
	v.confidence, v.right = posteriors[v.best], slices.Contains(classes, v.best)
	for _, k := range classes {
		v.loss -= math.Log(max(posteriors[k], leastLikely)) / float64(len(classes))
	}
	return v
}

// measure averages verdicts, in their order.
func measure(verdicts []verdict) Measures {
	var (
		m        Measures
		sum, hit [bins]float64 // sums of confidence and of right ones
	)
	for _, v := range verdicts {
		bin := min(bins-1, int(v.confidence*bins))
		sum[bin] += v.confidence
		m.LogLoss += v.loss
		if v.right {
			hit[bin]++
			m.Accuracy++
		}
	}
	for bin := range sum {
		m.ECE += math.Abs(hit[bin] - sum[bin])
	}
	n := max(1, float64(len(verdicts)))
	return Measures{Accuracy: m.Accuracy / n, LogLoss: m.LogLoss / n, ECE: m.ECE / n}
}

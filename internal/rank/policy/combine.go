package policy

import (
	"math"

	"forager/schemas"
)

// clip bounds a probability away from 0 and 1 before its log-odds are computed, so that one saturated posterior does not
// outvote every other.
const clip = 5e-4

// combine adds one link's score to a place; the place has at least one link already unless first is true.
func combine(how schemas.Combine, at Place, score float64, first bool) Place {
	switch how {
	case schemas.Combine_COMBINE_FROZEN:
		if first {
			at.Score = score
		}
	case schemas.Combine_COMBINE_MEAN_LOG_ODDS:
		if first {
			at.Links, at.Sum = 0, 0
		}
		at.Links++
		at.Sum += logOdds(score)
		at.Score = probability(at.Sum / float64(at.Links))
	case schemas.Combine_COMBINE_MEAN_AND_MAXIMUM:
		if first {
			at.Links, at.Sum, at.Best = 0, 0, score
		}
		at.Links++
		at.Sum += logOdds(score)
		at.Score = probability(at.Sum/float64(at.Links)/2 + logOdds(max(score, at.Best))/2)
	case schemas.Combine_COMBINE_NOISY_OR:
		if first {
			at.Sum = 1
		}
		at.Sum *= 1 - score
		at.Score = 1 - at.Sum
	case schemas.Combine_COMBINE_COUNT:
		if first {
			at.Links = 0
		}
		at.Links++
		at.Score = float64(at.Links) / float64(at.Links+1)
	default: // COMBINE_MAXIMUM
		if first || score > at.Score {
			at.Score = score
		}
	}
	return at
}

// logOdds of a probability, clipped.
func logOdds(p float64) float64 {
	p = min(max(p, clip), 1-clip)
	return math.Log(p) - math.Log1p(-p)
}

// probability with these log odds.
func probability(odds float64) float64 { return 1 / (1 + math.Exp(-odds)) }

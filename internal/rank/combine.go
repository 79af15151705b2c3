package rank

import (
	"math"

	"forager/schemas"
)

// clip bounds a probability away from 0 and 1 before its log-odds are taken, so that one
// saturated posterior does not outvote every other.
const clip = 5e-4

// combine folds one more link's score into a place; the place holds at least one link already
// unless first is true.
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
		p := min(max(score, clip), 1-clip)
		at.Links++
		at.Sum += math.Log(p) - math.Log1p(-p)
		at.Score = 1 / (1 + math.Exp(-at.Sum/float64(at.Links)))
	case schemas.Combine_COMBINE_NOISY_OR:
		if first {
			at.Sum = 1
		}
		at.Sum *= 1 - score
		at.Score = 1 - at.Sum
	default: // COMBINE_MAXIMUM
		if first || score > at.Score {
			at.Score = score
		}
	}
	return at
}

package linkvalue

import "forager/schemas"

// behind is what became of the URLs that were first found on a page.
type behind struct {
	Found, Fetched int
	Sum            float64 // R of those fetched
	Yield          float64 // of the page when models were fitted last
}

// end takes the verdict on one of these URLs. Those that are no pages count no more.
func (b *behind) end(rec *schemas.LinkFound) {
	if rec.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED {
		b.Found--
		return
	}
	b.Fetched++
	b.Sum += rec.GetJudgement().GetCalibrated()
}

// gain is by how much R of these pages is more than that of as many average ones.
func (b *behind) gain(mean float64) float64 {
	left := float64(b.Found - b.Fetched)
	return max(0, b.Sum-mean*float64(b.Fetched)) + left*max(0, b.Yield-mean)
}

// rewards are R of the pages that were fetched and have sources.
type rewards struct{ pages, sum float64 }

// mean counts .1 as a page.
func (w *rewards) mean() float64 { return (.1 + w.sum) / (1 + w.pages) }

// mostGain bounds what one page has behind it, in pages.
const mostGain = 20

// gains returns those of the examples.
func (e *examples) gains(mean float64) []float64 {
	gains := make([]float64, len(e.behind))
	for i, b := range e.behind {
		gains[i] = min(b.gain(mean), mostGain)
	}
	return gains
}

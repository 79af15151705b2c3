package harvest

import "math"

// z95 is the normal quantile of a two-sided 95 % interval.
const z95 = 1.959963984540054

// Share is an estimated share of pages with its 95 % interval.
type Share struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Stratum is a part of the pages of a crawl. Of its Pages some were Drawn at random, and On of these are on topic.
type Stratum struct{ Pages, Drawn, On int }

// wilson returns the share of a stratum by Wilson's score interval; a stratum that was drawn whole is known exactly.
func (s Stratum) wilson() Share {
	all, n := float64(s.Pages), float64(s.Drawn)
	if n == 0 {
		return Share{.5, 0, 1}
	}
	p := float64(s.On) / n
	if s.Drawn >= s.Pages {
		return Share{p, p, p}
	}
	n *= (all - 1) / (all - n) // the number of draws with replacement that give as much information
	centre := (p + z95*z95/(2*n)) / (1 + z95*z95/n)
	half := z95 / (1 + z95*z95/n) * math.Sqrt(p*(1-p)/n+z95*z95/(4*n*n))
	return Share{p, max(0, centre-half), min(1, centre+half)}
}

// Sampled estimates the share of pages that are on topic from a sample of each stratum. The interval combines
// those of the strata by the squares of their arms (Zou and Donner, "Construction of confidence limits about
// effect measures", 2008).
func Sampled(strata ...Stratum) Share {
	pages := 0
	for _, s := range strata {
		pages += s.Pages
	}
	var sum Share
	var below, above float64
	for _, s := range strata {
		if s.Pages == 0 {
			continue
		}
		weight, x := float64(s.Pages)/float64(pages), s.wilson()
		sum.Share += weight * x.Share
		below += math.Pow(weight*(x.Share-x.Low), 2)
		above += math.Pow(weight*(x.High-x.Share), 2)
	}
	sum.Low, sum.High = max(0, sum.Share-math.Sqrt(below)), min(1, sum.Share+math.Sqrt(above))
	return sum
}

// Counted is a number of pages, and how many of these a critic judges to be on topic; these may be a share times a number.
type Counted struct{ Pages, Taken float64 }

// Corrected estimates the share of pages that are on topic from the judgements of a critic, given its judgements
// of pages on topic and of pages off topic, which it has not seen (Rogan and Gladen 1978; the interval of Lang and
// Reiczigel, "Confidence limits for prevalence of disease adjusted for estimated sensitivity and specificity",
// 2014). The pages must be as hard for it as those. For a critic that is no better than chance the interval is
// [0,1].
func Corrected(judged, on, off Counted) Share {
	const z = z95
	n := judged.Pages + z*z
	taken := (judged.Taken + z*z/2) / n
	ns, nf := on.Pages+2, off.Pages+2
	hit, miss := (on.Taken+1)/ns, (off.Taken+1)/nf // of pages on topic, and off topic, that are judged to be on topic
	apart := hit - miss
	if apart <= 0 {
		return Share{.5, 0, 1}
	}
	p := (taken - miss) / apart
	vs, vf := hit*(1-hit)/ns, miss*(1-miss)/nf
	centre := p + 2*z*z*(p*vs-(1-p)*vf)
	half := z / apart * math.Sqrt(taken*(1-taken)/n+p*p*vs+(1-p)*(1-p)*vf)
	x := Share{Low: clamp(centre - half), High: clamp(centre + half)}
	if judged.Pages > 0 && on.Pages > 0 && off.Pages > 0 {
		p = (judged.Taken/judged.Pages - off.Taken/off.Pages) / (on.Taken/on.Pages - off.Taken/off.Pages)
	}
	x.Share = min(max(p, x.Low), x.High)
	if math.IsNaN(x.Share) || math.IsInf(p, 0) {
		x.Share = (x.Low + x.High) / 2
	}
	return x
}

func clamp(p float64) float64 { return min(max(p, 0), 1) }

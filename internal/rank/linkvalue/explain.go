package linkvalue

// Explanation is the value of a URL and what it is made of.
type Explanation struct {
	// Relevance is the R that the URL is expected to have, in (0,1), and Behind the gain of the pages that are expected to be first
	// found on it, in relevant pages, in (0,21).
	Relevance, Behind float64
	// Parts of the log odds of Relevance and of the logarithm of Behind, one for each feature.
	Parts []Part
}

// Part is the share of a feature.
type Part struct {
	// Feature is one of Names.
	Feature string
	// From is HashOf the page whose link has given it; 0: it is not from one link.
	From uint64
	// Value of the feature; Relevance and Behind are what it adds, nats. Those of all features add up.
	Value, Relevance, Behind float64
}

// Explain returns the value that a URL that waits has now. Its score is the value that was published last; of URLs that are not among
// the best it may be older.
func (r *Ranker) Explain(url string) (x Explanation, ok bool) {
	t := r.waiting[url]
	if t == nil {
		return x, false
	}
	features := r.features(t)
	x.Relevance, x.Behind = r.value.of(&features), r.behind.of(&features)
	for k, value := range features {
		p := Part{Feature: Names[k], Value: value, Relevance: r.value.weights[k] * value, Behind: r.behind.weights[k] * value}
		for i := range t.edges {
			if e := &t.edges[i]; k < meanYield && e.ofLink()[k] == value {
				p.From = e.from.url
				break
			}
		}
		x.Parts = append(x.Parts, p)
	}
	return x, true
}

package evaluate

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Posterior is one of the three kinds of probability of a class.
type Posterior int

const (
	Raw Posterior = iota
	Tempered
	Calibrated
	// Kinds is the number of kinds.
	Kinds
)

// String returns "raw", "tempered" or "calibrated".
func (p Posterior) String() string { return [...]string{"raw", "tempered", "calibrated"}[p] }

// Page is a page whose classes are known, with the posteriors of judges that have not seen it.
type Page struct {
	URL string
	// Own are its classes, by number, ascending; at least one.
	Own []int
	// Posteriors are Pr(c|u) by class, by kind.
	Posteriors [Kinds][]float64
}

// Scores are the measures of one kind of posterior over pages.
type Scores struct {
	// Accuracy is the share of pages whose best class (the first of equals) is one of their own.
	Accuracy float64 `json:"accuracy"`
	// LogLoss is the mean over the pages of −ln Pr(c|u), c the page's class, or the mean over its classes.
	// Probabilities below 2⁻⁵² count as 2⁻⁵².
	LogLoss float64 `json:"log_loss"`
	// Brier is the mean over the pages of Σ_c (Pr(c|u) − y(c))², in [0,2]; y shares 1 among the
	// page's classes (Brier, "Verification of forecasts expressed in terms of probability", 1950).
	Brier float64 `json:"brier"`
	// ECE is the expected calibration error of the best class: Σ_bins pages/all · |share that is
	// right − mean probability| (Guo et al., "On Calibration of Modern Neural Networks", 2017, §2).
	ECE float64 `json:"ece"`
	// Reliability are the bins of ECE.
	Reliability [Bins]Bin `json:"reliability"`
}

// Bins is the number of bins of equal width of a reliability diagram.
const Bins = 15

// Bin is a bin of a reliability diagram: pages whose best class has a probability in [i/Bins, (i+1)/Bins), for the
// last bin including 1.
type Bin struct {
	Pages int `json:"pages"`
	// Confidence is the mean probability of the best class, Accuracy the share of pages that are of this class;
	// both 0 without pages.
	Confidence float64 `json:"confidence"`
	Accuracy   float64 `json:"accuracy"`
}

// leastLikely bounds the contribution of one page to the log loss.
const leastLikely = 0x1p-52

// Measure measures one kind of posterior. Without pages all measures are 0.
func Measure(pages []Page, kind Posterior) Scores {
	var s Scores
	for i := range pages {
		p, own := pages[i].Posteriors[kind], pages[i].Own
		best := floats.MaxIdx(p)
		bin := &s.Reliability[min(Bins-1, int(p[best]*Bins))]
		bin.Pages++
		bin.Confidence += p[best]
		if slices.Contains(own, best) {
			bin.Accuracy++
			s.Accuracy++
		}
		share := 1 / float64(len(own))
		for _, k := range own {
			s.LogLoss -= share * math.Log(max(p[k], leastLikely))
		}
		for k, x := range p {
			if slices.Contains(own, k) {
				x -= share
			}
			s.Brier += x * x // not by terms, which could round to less than 0
		}
	}
	n := float64(max(1, len(pages)))
	for i := range s.Reliability {
		bin := &s.Reliability[i]
		s.ECE += math.Abs(bin.Accuracy-bin.Confidence) / n
		if bin.Pages > 0 {
			bin.Accuracy /= float64(bin.Pages)
			bin.Confidence /= float64(bin.Pages)
		}
	}
	s.Accuracy, s.LogLoss, s.Brier = s.Accuracy/n, s.LogLoss/n, s.Brier/n
	return s
}

// Topic is the recall and precision of one class.
type Topic struct {
	Name string `json:"name"`
	// Pages of the class, pages judged to be of it, and pages that are both.
	Pages  int `json:"pages"`
	Judged int `json:"judged"`
	Right  int `json:"right"`
	// Recall is Right/Pages, Precision Right/Judged, F1 their harmonic mean; 0 for 0/0.
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
}

// topics measures each class, in the order of names.
func topics(names []string, pages []Page, kind Posterior) []Topic {
	topics := make([]Topic, len(names))
	for i := range pages {
		best := floats.MaxIdx(pages[i].Posteriors[kind])
		topics[best].Judged++
		for _, k := range pages[i].Own {
			topics[k].Pages++
			if k == best {
				topics[k].Right++
			}
		}
	}
	for k := range topics {
		t := &topics[k]
		t.Name = names[k]
		right := float64(t.Right)
		t.Precision, t.Recall = right/float64(max(1, t.Judged)), right/float64(max(1, t.Pages))
		t.F1 = 2 * right / float64(max(1, t.Judged+t.Pages))
	}
	return topics
}

// Confusion counts the pages of one class that are judged to be of another.
type Confusion struct {
	Of    string `json:"of"`
	As    string `json:"as"`
	Pages int    `json:"pages"`
	// Share of the pages of Of.
	Share float64 `json:"share"`
	// Examples are the pages whose wrong class is likeliest, at most three.
	Examples []string `json:"examples"`
}

// confusedExamples is the number of pages shown of a confusion.
const confusedExamples = 3

// confusions returns at most `most` pairs of classes that are confused most often. A page of several classes that
// is judged to be of none of them counts for each.
func confusions(names []string, pages []Page, kind Posterior, most int) []Confusion {
	wrong := make(map[[2]int][]*Page)
	size := make([]int, len(names))
	for i := range pages {
		page := &pages[i]
		best := floats.MaxIdx(page.Posteriors[kind])
		for _, k := range page.Own {
			size[k]++
			if !slices.Contains(page.Own, best) {
				wrong[[2]int{k, best}] = append(wrong[[2]int{k, best}], page)
			}
		}
	}
	var all []Confusion
	for pair, of := range wrong {
		slices.SortFunc(of, func(a, b *Page) int {
			return cmp.Or(cmp.Compare(b.Posteriors[kind][pair[1]], a.Posteriors[kind][pair[1]]), cmp.Compare(a.URL, b.URL))
		})
		c := Confusion{Of: names[pair[0]], As: names[pair[1]], Pages: len(of), Share: float64(len(of)) / float64(size[pair[0]])}
		for _, page := range of[:min(len(of), confusedExamples)] {
			c.Examples = append(c.Examples, page.URL)
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Confusion) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Of, b.Of), cmp.Compare(a.As, b.As))
	})
	return all[:min(len(all), most)]
}

// Tenths is the number of bins of a Histogram.
const Tenths = 10

// Histogram is the distribution of the relevance of pages to one topic (2002, Fig. 5): the number of pages with
// Pr(c|u) in each tenth of [0,1], the last including 1.
type Histogram struct {
	Topic string `json:"topic"`
	// On are the pages of the topic, Off the others.
	On  [Tenths]int `json:"on"`
	Off [Tenths]int `json:"off"`
}

// histograms returns the distributions of relevance to each class.
func histograms(names []string, pages []Page, kind Posterior) []Histogram {
	all := make([]Histogram, len(names))
	for k := range all {
		all[k].Topic = names[k]
	}
	for i := range pages {
		for k, p := range pages[i].Posteriors[kind] {
			tenth := min(Tenths-1, int(p*Tenths))
			if slices.Contains(pages[i].Own, k) {
				all[k].On[tenth]++
			} else {
				all[k].Off[tenth]++
			}
		}
	}
	return all
}

package linkfeature

import (
	"cmp"
	"slices"
	"strings"

	"forager/schemas"
)

// Sibling is a link (u,w) on the same page as (u,v), to a page w whose R(w) is known.
type Sibling struct {
	// First and Last are the leaves below its <a>.
	First, Last uint32
	// Relevance is R(w), [0,1].
	Relevance float64
}

// citedPrefix begins the terms of co-citation features; the learner maps them to CitedLow and CitedHigh.
const (
	citedPrefix = "w"
	CitedLow    = citedPrefix + ":low"
	CitedHigh   = citedPrefix + ":high"
)

// citedDigits is the number of digits of ⌊256 R(w)⌋ in a term.
const citedDigits = 3

// LeafOffset returns the offset of leaves from..to relative to a link, that of the nearest one; ok reports whether it is at
// most dMax. Leaves that the link shares have the offset 0.
func LeafOffset(l *schemas.Link, from, to uint32, dMax int) (offset int32, ok bool) {
	d := int64(0)
	switch {
	case to < l.GetFirstLeaf():
		d = int64(to) - int64(l.GetFirstLeaf())
	case from > l.GetLastLeaf():
		d = int64(from) - int64(l.GetLastLeaf())
	}
	return int32(d), max(d, -d) <= int64(dMax)
}

// Cocited returns the co-citation features of a link, sorted by term, then offset (2002 §3.8): R(w) of every
// sibling at most dMax leaves away, at its offset. The siblings are those known when v was requested.
func Cocited(l *schemas.Link, siblings []Sibling, dMax int) []*schemas.Feature {
	var features []*schemas.Feature
	for _, w := range siblings {
		if d, ok := LeafOffset(l, w.First, w.Last, dMax); ok {
			features = append(features, &schemas.Feature{Term: citedTerm(w.Relevance), Offset: d, Count: 1})
		}
	}
	return compact(features)
}

// Merge returns the features of two sorted lists, sorted; the lists are not changed.
func Merge(a, b []*schemas.Feature) []*schemas.Feature {
	if len(b) == 0 {
		return a
	}
	all := make([]*schemas.Feature, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if inOrder(a[0], b[0]) < 0 {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// OnlyCocited returns the co-citation features among others.
func OnlyCocited(features []*schemas.Feature) []*schemas.Feature {
	from, to := citedRange(features)
	return features[from:to]
}

// Judged returns the features with each R(w) mapped to low or high: high ⇔ ⌊256 R(w)⌋ ≥ cut. Input and output are sorted;
// the input is not changed.
func Judged(features []*schemas.Feature, cut int) []*schemas.Feature {
	from, to := citedRange(features)
	if from == to {
		return features
	}
	var judged []*schemas.Feature
	for _, f := range features[from:to] {
		judged = append(judged, &schemas.Feature{Term: JudgedTerm(f.GetTerm(), cut), Offset: f.GetOffset(), Count: f.GetCount()})
	}
	return slices.Concat(features[:from], compact(judged), features[to:])
}

// JudgedTerm returns CitedLow or CitedHigh for a term of an R(w), and any other term unchanged.
func JudgedTerm(term string, cut int) string {
	bin, ok := citedBin(term)
	switch {
	case !ok:
		return term
	case bin < cut:
		return CitedLow
	}
	return CitedHigh
}

// citedTerm returns "w:NNN", in the same bins as R(v) in the learner.
func citedTerm(relevance float64) string {
	bin := int(relevance * 256)
	return citedPrefix + ":" + string([]byte{byte('0' + bin/100), byte('0' + bin/10%10), byte('0' + bin%10)})
}

func citedBin(term string) (bin int, ok bool) {
	if len(term) != len(citedPrefix)+1+citedDigits || !strings.HasPrefix(term, citedPrefix+":") {
		return 0, false
	}
	for _, c := range []byte(term[len(citedPrefix)+1:]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		bin = 10*bin + int(c-'0')
	}
	return bin, true
}

// citedRange returns the range of co-citation features in a sorted list.
func citedRange(features []*schemas.Feature) (from, to int) {
	find := func(term string) int {
		i, _ := slices.BinarySearchFunc(features, term, func(f *schemas.Feature, term string) int { return strings.Compare(f.GetTerm(), term) })
		return i
	}
	return find(citedPrefix + ":"), find(citedPrefix + ";") // the character after the colon
}

// inOrder compares features by term, then offset.
func inOrder(a, b *schemas.Feature) int {
	return cmp.Or(strings.Compare(a.GetTerm(), b.GetTerm()), cmp.Compare(a.GetOffset(), b.GetOffset()))
}

// compact sorts features and adds up equal ones.
func compact(features []*schemas.Feature) []*schemas.Feature {
	slices.SortFunc(features, inOrder)
	n := 0
	for i, f := range features {
		if i > 0 && inOrder(f, features[n-1]) == 0 {
			features[n-1].Count += f.GetCount()
			continue
		}
		features[n] = f
		n++
	}
	return features[:n]
}

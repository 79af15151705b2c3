package critic

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"forager/internal/classify/calibrate"
)

// Held-out pages are judged by every class, and all posteriors would be the product of pages and classes. Up to
// manyClasses classes all are kept; beyond that, the log odds of mostOdds classes for fitting curves, and
// mostPosterior posteriors in the model's file. The other classes share the rest evenly.
const (
	manyClasses   = 64
	mostOdds      = 64
	mostPosterior = 16
)

// share is the posterior of one class.
type share struct {
	class uint16
	p     float64
}

// shares lists the posteriors that are at least least, by class.
func shares(p []float64, least float64) []share {
	var s []share
	put := func(k int) {
		if p[k] >= least {
			s = append(s, share{uint16(k), p[k]})
		}
	}
	if len(p) > manyClasses {
		for _, k := range highest(p, mostPosterior) {
			put(k)
		}
	} else {
		for k := range p {
			put(k)
		}
	}
	return slices.Clip(s)
}

// highest returns the classes of the highest `most` numbers, ascending.
func highest(of []float64, most int) []int {
	classes := top(of, most)
	slices.Sort(classes)
	return classes
}

// unlisted returns the posterior of each class that shares left out, given those that it listed.
func unlisted(classes int, listed []float64) float64 {
	if classes <= manyClasses || len(listed) < mostPosterior {
		return 0
	}
	return max(0, 1-floats.Sum(listed)) / float64(classes-len(listed))
}

// oddsList is the log odds of the classes of a page, in steps of 1/oddsSteps.
type oddsList struct {
	classes []uint16 // ascending; nil = all
	odds    []float32
	others  float32 // of each class that is not listed: those of the mean of their probabilities
}

func listOdds(odds []float64) oddsList {
	if len(odds) <= manyClasses {
		l := oddsList{odds: make([]float32, len(odds))}
		for k, x := range odds {
			l.odds[k] = inSteps(x)
		}
		return l
	}
	l := oddsList{classes: make([]uint16, mostOdds), odds: make([]float32, mostOdds)}
	others := slices.Clone(odds)
	for i, k := range highest(odds, mostOdds) {
		l.classes[i], l.odds[i], others[k] = uint16(k), inSteps(odds[k]), math.Inf(-1)
	}
	// No class that is left out has a probability above 1/mostOdds: its log odds are approximately the logarithm
	// of its probability.
	l.others = inSteps(logSum(others) - math.Log(float64(len(odds)-mostOdds)))
	return l
}

func inSteps(odds float64) float32 { return float32(math.Round(odds*oddsSteps) / oddsSteps) }

// of returns the log odds of a class.
func (l *oddsList) of(class int) float32 {
	if l.classes == nil {
		return l.odds[class]
	}
	if i, ok := slices.BinarySearch(l.classes, uint16(class)); ok {
		return l.odds[i]
	}
	return l.others
}

// all returns the log odds of all classes.
func (l *oddsList) all(classes int) []float64 {
	odds := make([]float64, classes)
	if l.classes == nil {
		for k, x := range l.odds {
			odds[k] = float64(x)
		}
		return odds
	}
	for k := range odds {
		odds[k] = float64(l.others)
	}
	for i, k := range l.classes {
		odds[k] = float64(l.odds[i])
	}
	return odds
}

// columns are the held-out pages from the view of each class; pages that are equal in this view are counted together.
type columns struct {
	pages []heldPage
	// others are the pages that do not list a class; by[k] are the pages that list class k or are of it. Where all
	// pages list all classes both are empty.
	others map[calibrate.Page]int
	by     [][]uint32
}

func columnsOf(classes int, pages []heldPage) *columns {
	c := &columns{pages: pages}
	if classes <= manyClasses {
		return c
	}
	c.others, c.by = make(map[calibrate.Page]int), make([][]uint32, classes)
	for i := range pages {
		p := &pages[i]
		c.others[calibrate.Page{Score: float64(p.odds.others), Fold: p.fold}]++
		for _, k := range p.odds.classes {
			c.by[k] = append(c.by[k], uint32(i))
		}
		for _, k := range p.classes {
			if !slices.Contains(p.odds.classes, uint16(k)) {
				c.by[k] = append(c.by[k], uint32(i))
			}
		}
	}
	return c
}

// of returns the pages of the view of a class, in the order of its log odds.
func (c *columns) of(class int) []calibrate.Page {
	count := make(map[calibrate.Page]int)
	see := func(p *heldPage) {
		count[calibrate.Page{Score: float64(p.odds.of(class)), Right: slices.Contains(p.classes, class), Fold: p.fold}]++
	}
	if c.by == nil {
		for i := range c.pages {
			see(&c.pages[i])
		}
	} else {
		maps.Copy(count, c.others)
		for _, i := range c.by[class] {
			p := &c.pages[i]
			count[calibrate.Page{Score: float64(p.odds.others), Fold: p.fold}]--
			see(p)
		}
	}
	all := make([]calibrate.Page, 0, len(count))
	for p, n := range count {
		if p.Count = n; n > 0 {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b calibrate.Page) int {
		right := 0
		if a.Right != b.Right {
			if right = 1; b.Right {
				right = -1
			}
		}
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Fold, b.Fold), right)
	})
	return all
}

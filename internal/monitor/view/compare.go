package view

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"forager/internal/crawl/crawlfile"
	"forager/internal/measure/chart"
	"forager/schemas"
)

// ofDraw are the settings in which draws of one crawl differ; seeds are no setting of a control record.
var ofDraw = []string{"name", "random_seed"}

// Draws groups crawls that differ in nothing but names, seeds and random_seed: by the numbers of the crawls, in their order.
func Draws(crawls []*schemas.CrawlControl) (groups [][]int) {
	for i, ctl := range crawls {
		g := slices.IndexFunc(groups, func(group []int) bool { return len(differences(crawls[group[0]], ctl, ofDraw)) == 0 })
		if g < 0 {
			g, groups = len(groups), append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// Differing returns the settings in which some crawls differ, and their values for each crawl.
func Differing(crawls []*schemas.CrawlControl) (settings []string, values [][]string) {
	before := make(map[string]string)
	after := make([]map[string]string, len(crawls))
	for i, ctl := range crawls {
		after[i] = make(map[string]string)
		for _, d := range differences(crawls[0], ctl, ofDraw[:1]) {
			if _, known := before[d.Setting]; !known {
				settings = append(settings, d.Setting)
			}
			before[d.Setting], after[i][d.Setting] = d.Before, d.After
		}
	}
	for i := range crawls {
		row := make([]string, len(settings))
		for k, setting := range settings {
			value, differs := after[i][setting]
			if !differs {
				value = before[setting]
			}
			row[k] = short(value)
		}
		values = append(values, row)
	}
	return settings, values
}

func differences(a, b *schemas.CrawlControl, without []string) []crawlfile.Difference {
	return slices.DeleteFunc(crawlfile.Between(a, b), func(d crawlfile.Difference) bool { return slices.Contains(without, d.Setting) })
}

// meanPoints is the number of points of a mean.
const meanPoints = 100

// Mean is the mean of lines at values of x that all of them reach, with its 95 % interval by Student's t.
func Mean(name string, lines []chart.Line) chart.Line {
	mean := chart.Line{Name: name}
	first, last := 0.0, math.Inf(1)
	for _, l := range lines {
		first, last = math.Max(first, l.X[0]), math.Min(last, l.X[len(l.X)-1])
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(lines) - 1)}.Quantile(.975)
	for i := 0; i <= meanPoints && first <= last; i++ {
		x := first + (last-first)*float64(i)/meanPoints
		var at []float64
		for _, l := range lines {
			at = append(at, l.Y[min(sort.SearchFloat64s(l.X, x), len(l.Y)-1)])
		}
		m, deviation := stat.MeanStdDev(at, nil)
		half := t * deviation / math.Sqrt(float64(len(at)))
		mean.X, mean.Y = append(mean.X, x), append(mean.Y, m)
		mean.Low, mean.High = append(mean.Low, m-half), append(mean.High, m+half)
	}
	return mean
}

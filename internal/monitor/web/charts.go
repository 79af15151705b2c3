package web

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"forager/internal/measure/chart"
	"forager/internal/monitor/view"
	"forager/internal/platform/analytics"
	"forager/schemas"
)

// axis is what curves are drawn against.
type axis struct {
	title string
	of    func(pages, requests uint64, at time.Time) float64
}

// axisOf returns the axis of a name: pages, requests or time, of a crawl that has run from start to end.
func axisOf(name string, start, end time.Time) axis {
	unit, units := time.Minute, "minutes"
	switch span := end.Sub(start); {
	case span > 96*time.Hour:
		unit, units = 24*time.Hour, "days"
	case span > 2*time.Hour:
		unit, units = time.Hour, "hours"
	}
	return map[string]axis{
		"pages":    {"pages", func(pages, _ uint64, _ time.Time) float64 { return float64(pages) }},
		"requests": {"requests", func(_, requests uint64, _ time.Time) float64 { return float64(requests) }},
		"time":     {units + " since the start", func(_, _ uint64, at time.Time) float64 { return float64(at.Sub(start)) / float64(unit) }},
	}[name]
}

// armCharts draws what share of the requests each arm of a mixture chose, and what its pages brought.
func armCharts(points []analytics.ArmPoint) []template.HTML {
	all := make(map[uint64]uint64)
	for _, p := range points {
		all[p.Dispatched] += p.Chosen
	}
	chosen := chart.Chart{Title: "Choices of the mixture", XTitle: "requests", YTitle: "share of the requests", Least: 0, Most: 1}
	reward := chart.Chart{Title: "Rewards of the mixture", XTitle: "requests", YTitle: "mean R, calibrated", Least: 0, Most: 1}
	line := func(c *chart.Chart, name string, x uint64, y float64) {
		i := slices.IndexFunc(c.Lines, func(l chart.Line) bool { return l.Name == name })
		if i < 0 {
			i, c.Lines = len(c.Lines), append(c.Lines, chart.Line{Name: name})
		}
		c.Lines[i].X, c.Lines[i].Y = append(c.Lines[i].X, float64(x)), append(c.Lines[i].Y, y)
	}
	for _, p := range points { // no share, and no mean, of nothing: the chart leaves such points out
		line(&chosen, p.Policy, p.Dispatched, float64(p.Chosen)/float64(all[p.Dispatched]))
		line(&reward, p.Policy, p.Dispatched, p.Reward/float64(p.Credited))
	}
	return []template.HTML{chosen.SVG(), reward.SVG()}
}

// curves draws the harvest and the queue of a crawl, with marks for its turns. The harvest by other critics is known against pages only.
func curves(points []view.Point, turns []view.Turn, rejudged []analytics.Rejudged, over axis) []template.HTML {
	lines := []chart.Line{{Name: "harvest so far"}, {Name: "last 100 pages"}, {Name: "last 1,000 pages"}, {Name: "loss so far", Dashed: true}}
	queue := chart.Line{Name: "URLs queued"}
	for _, p := range points {
		n := over.of(p.Pages, p.Requests, p.At)
		for i, y := range []float64{p.Harvest, p.Last100, p.Last1K, 1 - p.Harvest} {
			lines[i].X, lines[i].Y = append(lines[i].X, n), append(lines[i].Y, y)
		}
		queue.X, queue.Y = append(queue.X, n), append(queue.Y, float64(p.Queued))
	}
	if over.title == "pages" {
		lines = append(lines, view.RejudgedLines(rejudged)...)
	}
	var marks []chart.Mark
	for i, t := range turns {
		marks = append(marks, chart.Mark{X: over.of(t.Pages, t.Requests, t.At), Name: fmt.Sprintf("%d: %s", i+1, t.Text)})
	}
	harvest := chart.Chart{Title: "Harvest and loss", XTitle: over.title, YTitle: "mean R", Lines: lines, Least: 0, Most: 1, Marks: marks}
	queued := chart.Chart{Title: "Queue", XTitle: over.title, YTitle: "URLs", Lines: []chart.Line{queue}, Marks: marks}
	return []template.HTML{harvest.SVG(), queued.SVG()}
}

// harvestSpark draws the harvest of the last 100 and the last 1,000 pages.
func harvestSpark(points []view.Point) template.HTML {
	if len(points) == 0 {
		return "–"
	}
	lines := make([]chart.Line, 2)
	for _, p := range points {
		for i, y := range []float64{p.Last100, p.Last1K} {
			lines[i].X, lines[i].Y = append(lines[i].X, float64(p.Pages)), append(lines[i].Y, y)
		}
	}
	last := points[len(points)-1]
	return spark(fmt.Sprintf("Harvest of the last 100 pages %.3f, of the last 1,000 %.3f", last.Last100, last.Last1K), lines...)
}

// topicSpark draws what came of a topic over the time: the mean R, and the pages as shares of their largest number.
func topicSpark(parts []view.TopicPart) template.HTML {
	if len(parts) == 0 {
		return "–"
	}
	most := uint64(1)
	for _, p := range parts {
		most = max(most, p.Pages)
	}
	lines, pages := make([]chart.Line, 2), make([]string, len(parts))
	for i, p := range parts {
		harvest := p.Harvest
		if p.Pages == 0 {
			harvest = math.NaN()
		}
		for k, y := range []float64{harvest, float64(p.Pages) / float64(most)} {
			lines[k].X, lines[k].Y = append(lines[k].X, float64(i+1)), append(lines[k].Y, y)
		}
		pages[i] = fmt.Sprint(p.Pages)
	}
	return spark("Pages by twelfths of the time: "+strings.Join(pages, ", "), lines...)
}

// spark draws lines, whose values are in [0,1], in the size of a word: the first one solid, the second one dashed. label is no text of the web.
func spark(label string, lines ...chart.Line) template.HTML {
	const wide, high = 120.0, 24.0
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="spark" viewBox="0 0 %g %g" role="img" aria-label="%s">`, wide, high, label)
	for i, l := range lines {
		b.WriteString(`<path d="`)
		pen := 'M'
		for k, x := range l.X {
			if math.IsNaN(l.Y[k]) {
				pen = 'M'
				continue
			}
			fmt.Fprintf(&b, "%c%.1f %.1f", pen, wide*x/l.X[len(l.X)-1], high-1-(high-2)*min(max(l.Y[k], 0), 1))
			pen = 'L'
		}
		b.WriteString(`" fill="none" ` + []string{`stroke="#0072b2" stroke-width="1.5"/>`, `stroke="#d55e00" stroke-dasharray="3 2"/>`}[i])
	}
	return template.HTML(b.String() + "</svg>") // numbers only
}

// drawn replaces the lines of crawls that are draws of one by their mean.
func drawn(controls []*schemas.CrawlControl, lines []chart.Line) (all []chart.Line) {
	for _, group := range view.Draws(controls) {
		var of []chart.Line
		for _, i := range group {
			if len(lines[i].X) > 0 {
				of = append(of, lines[i])
			}
		}
		if len(of) > 1 {
			of = []chart.Line{view.Mean(fmt.Sprintf("%s and %d more", of[0].Name, len(of)-1), of)}
		}
		all = append(all, of...)
	}
	return all
}

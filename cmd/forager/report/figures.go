package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"html/template"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"forager/internal/measure/chart"
	"forager/internal/monitor/view"
)

// figure is one drawing with its numbers.
type figure struct {
	// Name is that of its files.
	Name, Caption string
	Drawing       template.HTML
	// rows of numbers, the first with the names of columns.
	rows [][]string
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 10, 64) }

func lineFigure(name, caption string, c chart.Chart) figure {
	rows := [][]string{{"series", c.XTitle, c.YTitle}}
	for _, l := range c.Lines {
		for i := range l.X {
			rows = append(rows, []string{l.Name, number(l.X[i]), number(l.Y[i])})
		}
	}
	return figure{name, caption, c.SVG(), rows}
}

func barFigure(name, caption string, c chart.Bars) figure {
	rows := [][]string{{"series", "name", c.XTitle}}
	for _, s := range c.Series {
		for i, v := range s.Values {
			if !math.IsNaN(v) {
				rows = append(rows, []string{s.Name, c.Names[i], number(v)})
			}
		}
	}
	return figure{name, caption, c.SVG(), rows}
}

// figures draws crawls, each as a line or series of its own.
func figures(reports []*CrawlReport) []figure {
	return []figure{
		harvestFigure(reports),
		lineFigure("loss", "Loss: the sum of 1 − R over the pages so far.", chart.Chart{Title: "Loss", XTitle: "pages", YTitle: "loss", Lines: curves(reports,
			func(p CurvePoint) (x, y float64) { return float64(p.Pages), p.Loss * float64(p.Pages) })}),
		lineFigure("targets", "Targets: pages with R of one half or more, by the requests that they took.", chart.Chart{Title: "Targets", XTitle: "requests with a result", YTitle: "pages with R ≥ 0.5",
			Lines: curves(reports, func(p CurvePoint) (x, y float64) { return float64(p.Requests), float64(p.Targets) })}),
		calibrationFigure(reports),
		sharesFigure("outcomes", "Outcomes of requests.", "Outcomes", "% of the requests", reports, func(r *CrawlReport) map[string]float64 { return inPercent(numbers(r.Outcomes)) }),
		sharesFigure("topics", "Pages by the topic that the critic finds most likely.", "Topics", "% of the pages", reports, func(r *CrawlReport) map[string]float64 {
			shares := make(map[string]float64)
			for _, t := range r.more.topics {
				shares[t.Topic] = float64(t.Pages)
			}
			return inPercent(shares)
		}),
		sharesFigure("hosts", "Hosts that gave most: the sum of R over their pages.", "Hosts", "sum of R", reports, func(r *CrawlReport) map[string]float64 {
			sums := make(map[string]float64)
			for _, h := range r.more.best {
				sums[h.Host] = h.Relevance
			}
			return sums
		}),
	}
}

// harvestFigure has the moving averages of one crawl with its models and its harvest by other critics, or the harvest so far of several.
func harvestFigure(reports []*CrawlReport) figure {
	c := chart.Chart{Title: "Harvest rate", XTitle: "pages", YTitle: "mean R", Least: 0, Most: 1}
	if len(reports) > 1 {
		c.Lines = curves(reports, func(p CurvePoint) (x, y float64) { return float64(p.Pages), p.Harvest })
		return lineFigure("harvest", "Harvest rate: the mean R of the pages so far.", c)
	}
	for _, l := range []struct {
		name string
		of   func(CurvePoint) float64
	}{
		{"so far", func(p CurvePoint) float64 { return p.Harvest }},
		{"last 1,000 pages", func(p CurvePoint) float64 { return p.Recent1000 }},
		{"last 100 pages", func(p CurvePoint) float64 { return p.Recent }},
	} {
		line := curves(reports, func(p CurvePoint) (x, y float64) { return float64(p.Pages), l.of(p) })[0]
		line.Name = l.name
		c.Lines = append(c.Lines, line)
	}
	c.Lines = append(c.Lines, view.RejudgedLines(reports[0].Rejudged)...)
	models := reports[0].Models
	for i, m := range models {
		if i%max(1, len(models)/40) == 0 {
			c.Marks = append(c.Marks, chart.Mark{X: float64(m.Pages), Name: view.Plain(m.Version)})
		}
	}
	return lineFigure("harvest", "Harvest rate: the mean R of the pages. Dotted vertical lines: models published.", c)
}

func curves(reports []*CrawlReport, of func(CurvePoint) (x, y float64)) (lines []chart.Line) {
	for _, r := range reports {
		l := chart.Line{Name: view.Plain(r.Crawl)}
		for _, p := range r.fine {
			x, y := of(p)
			l.X, l.Y = append(l.X, x), append(l.Y, y)
		}
		lines = append(lines, l)
	}
	return lines
}

// calibrationFigure has a line for each policy whose scores are probabilities.
func calibrationFigure(reports []*CrawlReport) figure {
	c := chart.Chart{Title: "Calibration", XTitle: "mean score at dispatch", YTitle: "mean R", Least: 0, Most: 1}
	for _, r := range reports {
		prefix := ""
		if len(reports) > 1 {
			prefix = view.Plain(r.Crawl) + ": "
		}
		view.Calibration(&c, prefix, r.more.tenths)
	}
	if len(c.Lines) > 0 {
		c.Lines = append(c.Lines, chart.Line{Name: "score = R", X: []float64{0, 1}, Y: []float64{0, 1}, Dashed: true})
	}
	return lineFigure("calibration", "Calibration of rankers: mean R of pages by tenths of the score for which they were requested. On the dashed line scores are what they promise.", c)
}

const mostBars = 14

// sharesFigure has the largest values of each crawl.
func sharesFigure(name, caption, title, axis string, reports []*CrawlReport, of func(*CrawlReport) map[string]float64) figure {
	c := chart.Bars{Title: title, XTitle: axis}
	var all []map[string]float64
	sums := make(map[string]float64)
	for _, r := range reports {
		values := of(r)
		all = append(all, values)
		for k, v := range values {
			sums[k] += v
		}
	}
	names := slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	names = names[:min(len(names), mostBars)]
	for _, n := range names {
		c.Names = append(c.Names, view.Plain(n))
	}
	for i, r := range reports {
		s := chart.Series{Name: view.Plain(r.Crawl)}
		for _, n := range names {
			v, ok := all[i][n]
			if !ok {
				v = math.NaN()
			}
			s.Values = append(s.Values, v)
		}
		c.Series = append(c.Series, s)
	}
	return barFigure(name, caption, c)
}

func numbers(counts map[string]uint64) map[string]float64 {
	values := make(map[string]float64)
	for name, n := range counts {
		values[name] = float64(n)
	}
	return values
}

func inPercent(values map[string]float64) map[string]float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	for k, v := range values {
		values[k] = 100 * v / total
	}
	return values
}

// writeFigures writes each figure as an SVG and a CSV file into a folder, which is created.
func writeFigures(dir string, all []figure) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("folder of figures: %w", err)
	}
	for _, f := range all {
		path := filepath.Join(dir, f.Name)
		if err := os.WriteFile(path+".svg", []byte(f.Drawing), 0o644); err != nil {
			return err
		}
		out, err := os.Create(path + ".csv")
		if err != nil {
			return err
		}
		err = cmp.Or(csv.NewWriter(out).WriteAll(f.rows), out.Close())
		if err != nil {
			return fmt.Errorf("write %s.csv: %w", path, err)
		}
	}
	return nil
}

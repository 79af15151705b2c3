package study

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"forager/internal/lab/experiment"
	"forager/internal/lab/tables"
	"forager/internal/measure/chart"
)

//go:embed report.html.tmpl
var reportTemplate string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"share": shareText, "p": tables.PText, "access": accessText, "short": func(digest string) string { return digest[:min(12, len(digest))] },
	"recall": func(g Group) template.HTML {
		return g.chart("Targets found", "share of all targets", func(c Curve) []float64 { return c.Recall })
	},
	"loss": func(g Group) template.HTML {
		return g.chart("Loss rate, by the critic", "share of pages off topic", func(c Curve) []float64 { return c.Loss })
	},
	"signed": func(v float64) string { return fmt.Sprintf("%+.3f", v) },
}).Parse(reportTemplate))

// WriteHTML writes the report as one self-contained page.
func (r *Report) WriteHTML(w io.Writer) error {
	return page.Execute(w, map[string]any{"Report": r, "Columns": tables.Columns})
}

func (g Group) chart(title, yTitle string, of func(Curve) []float64) template.HTML {
	c := chart.Chart{Title: title, XTitle: "share of the budget, %", YTitle: yTitle, Least: 0, Most: 1}
	for _, curve := range g.Curves {
		y := of(curve)
		l := chart.Line{Name: curve.Variant, Y: y, Dashed: strings.HasPrefix(curve.Variant, "oracle") || curve.Variant == "random"}
		for k := range y {
			l.X = append(l.X, float64(k))
		}
		l.X, l.Y = l.X[1:], l.Y[1:] // before the first page there is no rate
		c.Lines = append(c.Lines, l)
	}
	return c.SVG()
}

// Best reports whether a variant has the largest mean of a column, without oracles.
func (g Group) Best(variant, column string) bool {
	if strings.HasPrefix(variant, "oracle") {
		return false
	}
	i := slices.IndexFunc(g.Rankers, func(r tables.RankerSummary) bool { return r.Ranker == variant })
	mine, ok := g.Rankers[i].Measures[column]
	return ok && !slices.ContainsFunc(g.Rankers, func(r tables.RankerSummary) bool {
		other, ok := r.Measures[column]
		return ok && !strings.HasPrefix(r.Ranker, "oracle") && other.Mean > mine.Mean
	})
}

func shareText(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100**v)
}

// accessText describes an access.
func accessText(a experiment.Access) string {
	return map[experiment.Access]string{
		experiment.AccessSeeds:     "Rankers that read nothing but the verdicts on the pages of their crawl",
		experiment.AccessExamples:  "Rankers that read the texts of the critic's examples",
		experiment.AccessForeign:   "Rankers that read labels and links of other sites",
		experiment.AccessSite:      "Rankers that read labels and links of the same site, or an earlier crawl of it",
		experiment.AccessBacklinks: "Rankers that query backlinks",
	}[a]
}

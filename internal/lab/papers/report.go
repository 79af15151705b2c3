package papers

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"strings"
	"text/template"

	"forager/internal/lab/tables"
	"forager/internal/measure/chart"
)

// Report is the result of all measurements.
type Report struct {
	// Origins are those of the worlds, in order.
	Origins []string
	Figures []Figure
	// Tables of all rankers: those of package experiment, preformatted; nil = none.
	Rankers []tables.Group
	// Compared are the comparisons of these rankers.
	Compared []tables.Comparison
	// About describes the tables of all rankers.
	About string
}

// Figure is a figure of a paper.
type Figure struct {
	// Paper by its year, and the figures of it ("Figs 6 and 7").
	Paper, Name, Title string
	// Finding is the paper's finding, Claims what of it is tested; they do not depend on what is measured.
	Finding string
	Claims  []Claim
	// Parts, one for each world.
	Parts []Part
	// Missing is what is not shown, and why.
	Missing []string
}

// Part is a figure on one world.
type Part struct {
	World     string
	Synthetic bool
	Tables    []Table
	Charts    []chart.Chart
	// Found is the finding here; Why has measurements that explain one that is not the paper's.
	Found, Why string
}

// Table of a part; the first column is text.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]string
}

func (t *Table) row(cells ...string) { t.Rows = append(t.Rows, cells) }

// markdown returns the table, "" if it has no rows.
func (t Table) markdown() string {
	if len(t.Rows) == 0 {
		return ""
	}
	b := new(strings.Builder)
	if t.Title != "" {
		fmt.Fprintf(b, "%s\n\n", t.Title)
	}
	fmt.Fprintf(b, "| %s |\n|---|%s\n", strings.Join(t.Columns, " | "), strings.Repeat("--:|", len(t.Columns)-1))
	for _, r := range t.Rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(r, " | "))
	}
	b.WriteByte('\n')
	return b.String()
}

// num formats a number with three places.
func num(x float64) string { return format("%.3f", x) }

// percent formats a share.
func percent(x float64) string { return format("%.0f %%", 100*x) }

// format formats a number, NaN as a dash and what is rounded to 0 without a sign.
func format(as string, x float64) string {
	s := fmt.Sprintf(as, x)
	switch {
	case math.IsNaN(x):
		return "–"
	case s == "-"+fmt.Sprintf(as, 0.):
		return s[1:]
	}
	return s
}

var papersByYear = map[string]string{
	"1999": "Focused crawling (Chakrabarti, van den Berg & Dom 1999)",
	"2000": "Focused crawling using context graphs (Diligenti et al. 2000)",
	"2002": "Accelerated focused crawling through online relevance feedback (Chakrabarti, Punera & Subramanyam 2002)",
	"2008": "Focused crawling with maximum entropy Markov models (Liu, Milios & Korba 2008)",
}

// head of the page; tests read the sentence on synthetic webs.
//
//go:embed head.md
var head string

//go:embed page.md.tmpl
var pageTemplate string

// WriteMarkdown writes the page; figure stores the SVG of a chart under its file name in folder, next to the page.
func (r *Report) WriteMarkdown(to io.Writer, folder string, figure func(name, svg string) error) error {
	t := template.Must(template.New("page").Funcs(template.FuncMap{
		"head": func() string { return head }, "paper": func(year string) string { return papersByYear[year] },
		"summary": r.summary, "verdicts": (*Figure).verdicts, "agrees": (*Figure).agrees, "table": Table.markdown, "compared": tables.Compared,
		"chart": func(f *Figure, p *Part, i int) (string, error) {
			name := fileName(f.Paper, f.Name, p.World, fmt.Sprint(i+1)) + ".svg"
			return folder + "/" + name, figure(name, string(p.Charts[i].SVG()))
		},
	}).Parse(pageTemplate))
	return t.Execute(to, r)
}

// fileName joins words into a valid file name.
func fileName(words ...string) string {
	other := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	var parts []string
	for _, w := range words {
		parts = append(parts, strings.FieldsFunc(strings.ToLower(w), other)...)
	}
	return strings.Join(parts, "-")
}

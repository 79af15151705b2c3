package papers

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"math"
	"strings"

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
	// Says is the paper's finding, Claims what of it is tested; they do not depend on what is measured.
	Says   string
	Claims []Claim
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

func (t *Table) write(b *bytes.Buffer) {
	if t.Title != "" {
		fmt.Fprintf(b, "%s\n\n", t.Title)
	}
	fmt.Fprintf(b, "| %s |\n|---|%s\n", strings.Join(t.Columns, " | "), strings.Repeat("--:|", len(t.Columns)-1))
	for _, r := range t.Rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(r, " | "))
	}
	b.WriteByte('\n')
}

// num formats a number with three places.
func num(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	if s := fmt.Sprintf("%.3f", x); s != "-0.000" {
		return s
	}
	return "0.000"
}

// percent formats a share.
func percent(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	if s := fmt.Sprintf("%.0f %%", 100*x); s != "-0 %" {
		return s
	}
	return "0 %"
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

// WriteMarkdown writes the page; figure stores the SVG of a chart under its file name in folder, next to the page.
func (r *Report) WriteMarkdown(to io.Writer, folder string, figure func(name, svg string) error) error {
	b := new(bytes.Buffer)
	b.WriteString(head)
	r.summary(b)
	year := ""
	for _, f := range r.Figures {
		if f.Paper != year {
			year = f.Paper
			fmt.Fprintf(b, "\n## %s\n", papersByYear[year])
		}
		fmt.Fprintf(b, "\n### %s, %s: %s\n\n**The paper:** %s\n", f.Paper, f.Name, f.Title, f.Says)
		f.verdicts(b)
		for i := range f.Parts {
			if err := f.part(b, i, folder, figure); err != nil {
				return err
			}
		}
		for _, m := range f.Missing {
			fmt.Fprintf(b, "\nNot shown: %s\n", m)
		}
	}
	r.rankers(b)
	b.WriteString("\n## Where the numbers come from\n\n")
	for _, o := range r.Origins {
		fmt.Fprintf(b, "- %s\n", o)
	}
	_, err := to.Write(b.Bytes())
	return err
}

func (f *Figure) part(b *bytes.Buffer, i int, folder string, figure func(name, svg string) error) error {
	p := &f.Parts[i]
	mark := ""
	if p.Synthetic {
		mark = " (synthetic: proves code, no headline)"
	}
	fmt.Fprintf(b, "\n**%s%s:** %s", p.World, mark, p.Found)
	if p.Why != "" && !f.agrees() {
		fmt.Fprintf(b, " %s", p.Why)
	}
	b.WriteString("\n\n")
	for k := range p.Tables {
		p.Tables[k].write(b)
	}
	for k := range p.Charts {
		name := fileName(f.Paper, f.Name, p.World, fmt.Sprint(k+1)) + ".svg"
		if err := figure(name, string(p.Charts[k].SVG())); err != nil {
			return err
		}
		fmt.Fprintf(b, "![%s](%s/%s)\n", p.Charts[k].Title, folder, name)
	}
	return nil
}

// fileName joins words into a valid file name.
func fileName(words ...string) string {
	plain := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}
	var parts []string
	for _, w := range words {
		parts = append(parts, strings.FieldsFunc(strings.Map(plain, w), func(r rune) bool { return r == '-' })...)
	}
	return strings.Join(parts, "-")
}

// rankers writes the tables of all rankers.
func (r *Report) rankers(b *bytes.Buffer) {
	if len(r.Rankers) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## All rankers\n\n%s\n", r.About)
	for _, g := range r.Rankers {
		fmt.Fprintf(b, "\n```\n%s```\n", g.Table())
	}
	fmt.Fprintf(b, "\n```\n%s```\n", tables.Compared(r.Compared))
}

package evaluate

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"forager/internal/measure/chart"
)

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) },
	"three":   func(x float64) string { return fmt.Sprintf("%.3f", x) },
	"two":     func(x float64) string { return fmt.Sprintf("%+.2f", x) },
	"name":    func(p Posterior) string { return p.String() },
}).Parse(pageHTML))

// WriteHTML writes the report as one self-contained page.
func (r *Report) WriteHTML(w io.Writer) error {
	type kind struct {
		Name    Posterior
		Scores  *Scores
		Diagram template.HTML
	}
	data := struct {
		*Report
		Kinds    []kind
		Learning []template.HTML
		Curves   []template.HTML
	}{Report: r}
	for p := range Kinds {
		data.Kinds = append(data.Kinds, kind{p, r.Kind(p), reliabilityDiagram(r.Kind(p))})
	}
	for i := range r.Relevance {
		data.Curves = append(data.Curves, histogramOf(&r.Relevance[i], &r.RawRelevance[i]))
	}
	if len(r.Learning) > 1 {
		for _, f := range []struct {
			title string
			of    func(Summary) float64
		}{
			{"accuracy", func(b Summary) float64 { return b.Accuracy }},
			{"log loss (nats)", func(b Summary) float64 { return b.LogLoss }},
			{"expected calibration error", func(b Summary) float64 { return b.ECE }},
		} {
			data.Learning = append(data.Learning, learningCurve(f.title, r.Learning, f.of))
		}
	}
	return pageTemplate.Execute(w, data)
}

// drawing is an SVG drawing under construction, of numbers and escaped text.
type drawing struct{ strings.Builder }

func begin(width, height float64, label string) *drawing {
	d := new(drawing)
	fmt.Fprintf(d, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, width, height, template.HTMLEscapeString(label))
	return d
}

func (d *drawing) end() template.HTML {
	d.WriteString("</svg>")
	return template.HTML(d.String())
}

func (d *drawing) text(x, y float64, anchor, s string) {
	fmt.Fprintf(d, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, template.HTMLEscapeString(s))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func (d *drawing) bar(class string, x, y, width, height float64, title string) {
	fmt.Fprintf(d, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`,
		class, x, y, max(0, width), max(0, height), template.HTMLEscapeString(title))
}

func (d *drawing) dot(class string, x, y, r float64, title string) {
	fmt.Fprintf(d, `<circle class="%s" cx="%.1f" cy="%.1f" r="%.1f"><title>%s</title></circle>`, class, x, y, r, template.HTMLEscapeString(title))
}

// reliabilityDiagram draws accuracy over confidence: observed against predicted frequencies. The area of a dot is
// the share of the pages in its bin.
func reliabilityDiagram(s *Scores) template.HTML {
	const size, left, bottom = 200., 34., 30.
	d := begin(left+size+18, size+bottom+10, "reliability diagram")
	x := func(v float64) float64 { return left + v*size }
	y := func(v float64) float64 { return 8 + (1-v)*size }
	for _, v := range []float64{0, .5, 1} {
		d.line("grid", x(0), y(v), x(1), y(v))
		d.line("grid", x(v), y(0), x(v), y(1))
		d.text(x(0)-5, y(v)+4, "end", fmt.Sprint(v))
		d.text(x(v), y(0)+14, "middle", fmt.Sprint(v))
	}
	d.line("ideal", x(0), y(0), x(1), y(1))
	d.text(x(.5), y(0)+27, "middle", "probability of the best class")
	all := 0
	for _, b := range s.Reliability {
		all += b.Pages
	}
	for _, b := range s.Reliability {
		if b.Pages > 0 {
			d.line("gap", x(b.Confidence), y(b.Confidence), x(b.Confidence), y(b.Accuracy))
			d.dot("dot", x(b.Confidence), y(b.Accuracy), max(2, 14*math.Sqrt(float64(b.Pages)/float64(all))),
				fmt.Sprintf("%d pages: probability %.3f, right %.3f", b.Pages, b.Confidence, b.Accuracy))
		}
	}
	return d.end()
}

// histogramOf draws the distribution of relevance to a topic, on a logarithmic scale.
func histogramOf(h, raw *Histogram) template.HTML {
	const width, height, left, bottom = 240., 110., 34., 28.
	most := 1
	for i := range Tenths {
		most = max(most, h.On[i]+h.Off[i], raw.On[i]+raw.Off[i])
	}
	scale := height / (math.Log10(float64(most)) + .3)
	up := func(n int) float64 {
		if n == 0 {
			return 0
		}
		return (math.Log10(float64(n)) + .3) * scale // so that one page is visible
	}
	d := begin(left+width+8, height+bottom+8, "relevance to "+h.Topic)
	base := 6 + height
	for n := 1; n <= most; n *= 10 {
		d.line("grid", left, base-up(n), left+width, base-up(n))
		d.text(left-4, base-up(n)+4, "end", fmt.Sprint(n))
	}
	const tenth = width / Tenths
	for i := range Tenths {
		at := left + float64(i)*tenth
		title := fmt.Sprintf("%.1f–%.1f: %d pages of the topic, %d others (raw: %d, %d)", float64(i)/Tenths, float64(i+1)/Tenths,
			h.On[i], h.Off[i], raw.On[i], raw.Off[i])
		d.bar("off", at+2, base-up(h.Off[i]), tenth/2-2, up(h.Off[i]), title)
		d.bar("on", at+tenth/2, base-up(h.On[i]), tenth/2-2, up(h.On[i]), title)
		if raw.Off[i] > 0 {
			d.line("raw", at+2, base-up(raw.Off[i]), at+tenth/2, base-up(raw.Off[i]))
		}
		if raw.On[i] > 0 {
			d.line("raw", at+tenth/2, base-up(raw.On[i]), at+tenth-2, base-up(raw.On[i]))
		}
	}
	for _, v := range []float64{0, .5, 1} {
		d.text(left+v*width, base+13, "middle", fmt.Sprint(v))
	}
	d.line("axis", left, base, left+width, base)
	return d.end()
}

// learningCurve draws a measure over the number of examples.
func learningCurve(title string, points []CurvePoint, of func(Summary) float64) template.HTML {
	c := chart.Chart{Title: title, XTitle: "pages", YTitle: title}
	for kind := range Kinds {
		l := chart.Line{Name: kind.String()}
		for i := range points {
			l.X, l.Y = append(l.X, float64(points[i].Pages)), append(l.Y, of(points[i].Kind(kind)))
		}
		c.Lines = append(c.Lines, l)
	}
	return c.SVG()
}

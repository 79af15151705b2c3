package chart

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Line is one curve: Y over X, of equal lengths, X ascending.
type Line struct {
	Name string
	X, Y []float64
	// Low and High bound Y, in an interval that is drawn as a band; nil = there is none. All are numbers.
	Low, High []float64
	// Dashed lines are references.
	Dashed bool
}

// Chart is a set of lines over common axes.
type Chart struct {
	// Title of the chart and of its axes.
	Title, XTitle, YTitle string
	Lines                 []Line
	// Least and Most bound the y axis if they differ; otherwise it goes from 0 to the largest value.
	Least, Most float64
	// Marks are events at values of the x axis; those outside of it are left out.
	Marks []Mark
}

// Mark is an event, whose name is shown under the pointer.
type Mark struct {
	X    float64
	Name string
}

// Size of a chart and of its margins, in units of the SVG.
const (
	width, height = 760.0, 380.0
	left, right   = 56.0, 190.0
	top, bottom   = 34.0, 46.0
	keyLine       = 18.0
)

// colours can be distinguished also by people who do not distinguish red and green (Okabe & Ito 2008).
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9", "#8c6d31", "#7b4173", "#636363"}

// dashes distinguish lines of one colour, and lines that are printed without colours. Their number has no factor in common with that
// of the colours.
var dashes = []string{"", "7 3", "2 3"}

// SVG draws the chart. Points that are not numbers are left out. A chart without points contains a note.
func (c *Chart) SVG() template.HTML {
	box := c.box()
	tall := math.Max(height, top+bottom+keyLine*float64(len(c.Lines)))
	p := &pen{box: box, x0: left, x1: width - right, y0: tall - bottom, y1: top}
	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="%s" font-family="sans-serif" font-size="12">`,
		width, tall, html.EscapeString(c.Title))
	p.text(left, 18, "start", c.Title, ` font-size="14" font-weight="bold"`)
	if box == nil {
		p.text(width/2, tall/2, "middle", "no values", "")
	} else {
		p.axes(c)
		for _, m := range c.Marks {
			if m.X >= box.x0 && m.X <= box.x1 {
				fmt.Fprintf(&p.b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#999" stroke-dasharray="1 3"><title>%s</title></line>`,
					p.x(m.X), p.x(m.X), p.y0, p.y1, html.EscapeString(m.Name))
			}
		}
		for i := range c.Lines {
			p.line(i, &c.Lines[i])
		}
	}
	p.b.WriteString("</svg>")
	return template.HTML(p.b.String()) // all texts are escaped above
}

// box is the range of the values, nil where there are none.
type box struct{ x0, x1, y0, y1 float64 }

func (c *Chart) box() *box {
	b := &box{math.Inf(1), math.Inf(-1), 0, 0}
	for _, l := range c.Lines {
		for i, x := range l.X {
			if number(x) && number(l.Y[i]) {
				b.x0, b.x1 = math.Min(b.x0, x), math.Max(b.x1, x)
				b.y0, b.y1 = math.Min(b.y0, l.Y[i]), math.Max(b.y1, l.Y[i])
			}
		}
	}
	if b.x0 > b.x1 {
		return nil
	}
	if c.Least != c.Most {
		b.y0, b.y1 = c.Least, c.Most
	}
	if b.x0 == b.x1 {
		b.x1++
	}
	if b.y0 == b.y1 {
		b.y1++
	}
	return b
}

func number(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// pen writes SVG; x0, y0 is the lower left corner of the lines' area, x1, y1 its upper right one.
type pen struct {
	b              strings.Builder
	box            *box
	x0, x1, y0, y1 float64
}

func (p *pen) x(v float64) float64 {
	return p.x0 + (v-p.box.x0)/(p.box.x1-p.box.x0)*(p.x1-p.x0)
}

func (p *pen) y(v float64) float64 {
	v = math.Max(p.box.y0, math.Min(p.box.y1, v))
	return p.y0 + (v-p.box.y0)/(p.box.y1-p.box.y0)*(p.y1-p.y0)
}

func (p *pen) text(x, y float64, anchor, s, more string) {
	fmt.Fprintf(&p.b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`, x, y, anchor, more, html.EscapeString(s))
}

func (p *pen) axes(c *Chart) {
	for _, v := range ticks(p.box.y0, p.box.y1) {
		fmt.Fprintf(&p.b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#ddd"/>`, p.x0, p.x1, p.y(v), p.y(v))
		p.text(p.x0-6, p.y(v)+4, "end", label(v), "")
	}
	for _, v := range ticks(p.box.x0, p.box.x1) {
		fmt.Fprintf(&p.b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#999"/>`, p.x(v), p.x(v), p.y0, p.y0+4)
		p.text(p.x(v), p.y0+17, "middle", label(v), "")
	}
	fmt.Fprintf(&p.b, `<path d="M%.1f %.1fV%.1fH%.1f" fill="none" stroke="#333"/>`, p.x0, p.y1, p.y0, p.x1)
	p.text((p.x0+p.x1)/2, p.y0+36, "middle", c.XTitle, "")
	p.text(0, 0, "middle", c.YTitle, fmt.Sprintf(` transform="translate(13 %.1f) rotate(-90)"`, (p.y0+p.y1)/2))
}

// fewPoints is up to how many points of a line have dots: a line of one point has nothing else.
const fewPoints = 12

func (p *pen) line(i int, l *Line) {
	stroke := fmt.Sprintf(`stroke="%s" stroke-width="%g"`, colours[i%len(colours)], 1.8)
	dash := dashes[i%len(dashes)]
	if l.Dashed {
		dash = "4 4"
	}
	if dash != "" {
		stroke += fmt.Sprintf(` stroke-dasharray="%s"`, dash)
	}
	p.band(colours[i%len(colours)], l)
	var path strings.Builder
	pen := "M"
	for k, x := range l.X {
		if !number(x) || !number(l.Y[k]) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", pen, p.x(x), p.y(l.Y[k]))
		pen = "L"
		if len(l.X) <= fewPoints && !l.Dashed {
			fmt.Fprintf(&p.b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`, p.x(x), p.y(l.Y[k]), colours[i%len(colours)])
		}
	}
	last := ""
	if n := len(l.Y); n > 0 && number(l.Y[n-1]) {
		last = ": " + label(l.Y[n-1])
	}
	fmt.Fprintf(&p.b, `<path d="%s" fill="none" %s><title>%s</title></path>`, path.String(), stroke, html.EscapeString(l.Name+last))
	y := p.y1 + keyLine*float64(i) + 6
	fmt.Fprintf(&p.b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" %s/>`, p.x1+12, p.x1+36, y, y, stroke)
	p.text(p.x1+42, y+4, "start", l.Name, "")
}

// band draws the interval of a line.
func (p *pen) band(colour string, l *Line) {
	if len(l.Low) == 0 {
		return
	}
	p.b.WriteString(`<polygon points="`)
	for i, x := range l.X {
		fmt.Fprintf(&p.b, "%.1f,%.1f ", p.x(x), p.y(l.High[i]))
	}
	for i := len(l.X) - 1; i >= 0; i-- {
		fmt.Fprintf(&p.b, "%.1f,%.1f ", p.x(l.X[i]), p.y(l.Low[i]))
	}
	fmt.Fprintf(&p.b, `" fill="%s" fill-opacity="0.18"/>`, colour)
}

// ticks returns about five round numbers within [low, high].
func ticks(low, high float64) []float64 {
	rough := (high - low) / 5
	unit := math.Pow(10, math.Floor(math.Log10(rough)))
	step := unit
	for _, m := range []float64{1, 2, 5, 10} {
		if step = m * unit; step >= rough*.99 {
			break
		}
	}
	var all []float64
	for k := math.Ceil(low/step - 1e-9); k*step <= high+step*1e-9; k++ {
		all = append(all, k*step+0) // −0 + 0 is 0
	}
	return all
}

// label formats a number of an axis.
func label(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

package chart

import (
	"fmt"
	"html"
	"html/template"
	"math"
)

// Series is one value for each name of Bars; not a number = none.
type Series struct {
	Name   string
	Values []float64
}

// Bars are values by name, as horizontal bars from 0, of each series one below the other. Values are at least 0.
type Bars struct {
	// Title of the chart and of its values.
	Title, XTitle string
	Names         []string
	Series        []Series
}

// Sizes of bars, in units of the SVG. Names have at most nameRunes characters.
const (
	barLeft, barRight = 230.0, 150.0
	barThick, barGap  = 13.0, 7.0
	nameRunes         = 34
)

// SVG draws the bars. Without names the chart contains a note.
func (c *Bars) SVG() template.HTML {
	group := barThick*float64(len(c.Series)) + barGap
	tall := top + group*float64(len(c.Names)) + bottom
	most := 0.0
	for _, s := range c.Series {
		for _, v := range s.Values {
			if number(v) {
				most = math.Max(most, v)
			}
		}
	}
	if most == 0 {
		most = 1
	}
	p := &pen{box: &box{0, most, 0, 1}, x0: barLeft, x1: width - barRight, y0: tall - bottom, y1: top}
	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="%s" font-family="sans-serif" font-size="12">`,
		width, tall, html.EscapeString(c.Title))
	p.text(8, 18, "start", c.Title, ` font-size="14" font-weight="bold"`)
	if len(c.Names) == 0 || len(c.Series) == 0 {
		p.text(width/2, tall/2+8, "middle", "no values", "")
		p.b.WriteString("</svg>")
		return template.HTML(p.b.String()) // all texts are escaped above
	}
	for _, v := range ticks(0, most) {
		fmt.Fprintf(&p.b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="#ddd"/>`, p.x(v), p.x(v), p.y0, p.y1)
		p.text(p.x(v), p.y0+17, "middle", label(v), "")
	}
	p.text((p.x0+p.x1)/2, p.y0+36, "middle", c.XTitle, "")
	for i, name := range c.Names {
		y := p.y1 + barGap/2 + group*float64(i)
		fmt.Fprintf(&p.b, `<text x="%.1f" y="%.1f" text-anchor="end">%s<title>%s</title></text>`, p.x0-8, y+(group-barGap)/2+4,
			html.EscapeString(shortened(name)), html.EscapeString(name))
		for k, s := range c.Series {
			if i < len(s.Values) && number(s.Values[i]) {
				p.bar(y+barThick*float64(k), s.Values[i], colours[k%len(colours)], s.Name)
			}
		}
	}
	if len(c.Series) > 1 {
		for k, s := range c.Series {
			y := p.y1 + keyLine*float64(k)
			fmt.Fprintf(&p.b, `<rect x="%.1f" y="%.1f" width="12" height="12" fill="%s"/>`, p.x1+56, y, colours[k%len(colours)])
			p.text(p.x1+74, y+10, "start", s.Name, "")
		}
	}
	p.b.WriteString("</svg>")
	return template.HTML(p.b.String()) // all texts are escaped above
}

func (p *pen) bar(y, value float64, colour, series string) {
	fmt.Fprintf(&p.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%g" fill="%s"><title>%s</title></rect>`, p.x0, y, p.x(value)-p.x0, barThick-1, colour,
		html.EscapeString(series+": "+amount(value)))
	p.text(p.x(value)+4, y+barThick-3, "start", amount(value), ` font-size="10"`)
}

// amount formats a value: a small one next to larger ones is 0.
func amount(v float64) string { return label(math.Round(v*1000) / 1000) }

// shortened returns the end of a name that is too long: topics differ there.
func shortened(name string) string {
	if runes := []rune(name); len(runes) > nameRunes {
		return "…" + string(runes[len(runes)-nameRunes+1:])
	}
	return name
}

package chart

import (
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// parts reads an SVG by an XML parser: texts, and the number of elements by name.
func parts(t interface{ Fatalf(string, ...any) }, svg string) (texts []string, elements map[string]int) {
	elements = make(map[string]int)
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return texts, elements
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			elements[token.Name.Local]++
			for _, a := range token.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Fatalf("%s=%q", a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			texts = append(texts, string(token))
		}
	}
}

func TestChart(t *testing.T) {
	c := Chart{Title: "Recall <of> targets", XTitle: "budget, %", YTitle: "share", Lines: []Line{
		{Name: "a & b", X: []float64{0, 50, 100}, Y: []float64{0, .4, .9}},
		{Name: "oracle", X: []float64{0, 50, 100}, Y: []float64{0, 1, 1}, Dashed: true},
	}}
	svg := string(c.SVG())
	texts, elements := parts(t, svg)
	all := strings.Join(texts, "|")
	for _, want := range []string{"Recall <of> targets", "budget, %", "share", "a & b", "a & b: 0.9", "oracle: 1", "|0.2|", "|100|"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in %s", want, all)
		}
	}
	if elements["path"] != 3 || elements["circle"] != 3 {
		t.Errorf("%d paths: two lines and the axes; %d dots", elements["path"], elements["circle"])
	}
	// The highest value of the range is at the upper edge, the last one at the right edge.
	if !strings.Contains(svg, "L570.0 34.0") || !strings.Contains(svg, "M56.0 334.0L") {
		t.Error(svg)
	}
}

func TestChartOfNothing(t *testing.T) {
	for _, c := range []Chart{{}, {Lines: []Line{{Name: "x"}}}, {Lines: []Line{{X: []float64{1}, Y: []float64{math.NaN()}}}}} {
		if texts, _ := parts(t, string(c.SVG())); !strings.Contains(strings.Join(texts, "|"), "no values") {
			t.Errorf("%+v: %q", c, texts)
		}
	}
}

func TestChartOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Chart
		c.Title = rapid.String().Filter(func(s string) bool {
			return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > 0xd7ff })
		}).Draw(t, "title")
		value := rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.SampledFrom([]float64{0, 1, math.NaN(), math.Inf(1), math.Inf(-1)}))
		for range rapid.IntRange(0, 40).Draw(t, "lines") {
			n := rapid.IntRange(0, 5).Draw(t, "points")
			c.Lines = append(c.Lines, Line{
				Name: "l", X: rapid.SliceOfN(value, n, n).Draw(t, "x"), Y: rapid.SliceOfN(value, n, n).Draw(t, "y"),
			})
		}
		_, elements := parts(t, string(c.SVG()))
		if elements["svg"] != 1 || elements["text"] > 80 {
			t.Fatalf("%v", elements)
		}
	})
}

func TestBars(t *testing.T) {
	c := Bars{Title: "Outcomes", XTitle: "requests", Names: []string{"delivered & kept", "Top/" + strings.Repeat("long/", 9) + "end"}, Series: []Series{
		{"<one>", []float64{40, 0}}, {"two", []float64{math.NaN(), 20}}, {"none", nil},
	}}
	svg := string(c.SVG())
	texts, elements := parts(t, svg)
	all := strings.Join(texts, "|")
	for _, want := range []string{"Outcomes", "requests", "delivered & kept", "<one>: 40", "two: 20", "long/end"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in %s", want, all)
		}
	}
	// Three bars and three entries of the key; the largest value ends at the right edge of the area.
	if elements["rect"] != 6 || !strings.Contains(svg, `x="230.0" y="37.5" width="380.0"`) {
		t.Errorf("%v in %s", elements, svg)
	}
	if texts, _ := parts(t, string((&Bars{}).SVG())); !strings.Contains(strings.Join(texts, "|"), "no values") {
		t.Errorf("without values: %q", texts)
	}
}

func TestMarks(t *testing.T) {
	c := Chart{Lines: []Line{{Name: "l", X: []float64{10, 20}, Y: []float64{0, 1}}}, Marks: []Mark{{15, "model <2>"}, {21, "later"}, {9, "earlier"}}}
	texts, _ := parts(t, string(c.SVG()))
	if all := strings.Join(texts, "|"); !strings.Contains(all, "model <2>") || strings.Contains(all, "later") || strings.Contains(all, "earlier") {
		t.Errorf("marks in %s", all)
	}
}

func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e6, 1e6).Draw(t, "low")
		high := low + rapid.Float64Range(1e-3, 1e6).Draw(t, "range")
		all := ticks(low, high)
		if len(all) < 2 || len(all) > 11 {
			t.Fatalf("%d ticks: %v", len(all), all)
		}
		for _, v := range all {
			if math.Signbit(v) && v == 0 {
				t.Fatal("a tick at −0")
			}
			if slack := (high - low) * 1e-6; v < low-slack || v > high+slack {
				t.Fatalf("%v lies outside %v to %v", v, low, high)
			}
		}
	})
}

// TestBand: the interval of a line is one area, from the upper values to the lower ones and back.
func TestBand(t *testing.T) {
	c := Chart{Least: 0, Most: 1, Lines: []Line{{Name: "mean", X: []float64{0, 10}, Y: []float64{.5, .5}, Low: []float64{.25, 0}, High: []float64{.75, 2}}}}
	svg := string(c.SVG())
	if _, elements := parts(t, svg); elements["polygon"] != 1 || !strings.Contains(svg, `points="56.0,109.0 570.0,34.0 570.0,334.0 56.0,259.0 "`) {
		t.Error(svg)
	}
}

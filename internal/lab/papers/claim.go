package papers

import (
	"cmp"
	"fmt"

	"forager/internal/lab/measure"
)

// Claim is a part of a paper's finding that is tested: that an effect lies above a bound, the smallest that counts, or below it.
type Claim struct {
	// What is measured for each task and draw.
	What  string
	Bound float64
	Below bool

	sample measure.Nested
	effect measure.Effect
	exact  Verdict // of a claim that is no sample
}

// Verdict on a claim.
type Verdict string

const (
	// None: nothing was measured.
	None         Verdict = ""
	Agrees       Verdict = "agrees"
	Disagrees    Verdict = "disagrees"
	Inconclusive Verdict = "inconclusive"
)

// level of significance, after Holm's correction.
const level = .05

// Verdict is None before Report.judge.
func (c *Claim) Verdict() Verdict {
	switch e := &c.effect; {
	case c.exact != None || len(c.sample) == 0:
		return c.exact
	case e.Corrected == nil || *e.Corrected > level:
		return Inconclusive
	case (e.Mean < c.Bound) == c.Below:
		return Agrees
	}
	return Disagrees
}

// judge tests all claims: one family of tests.
func (r *Report) judge() {
	var family []*measure.Effect
	for i := range r.Figures {
		for k := range r.Figures[i].Claims {
			if c := &r.Figures[i].Claims[k]; len(c.sample) > 0 {
				c.effect = c.sample.Effect(c.Bound)
				family = append(family, &c.effect)
			}
		}
	}
	measure.Correct(family)
}

// observe records the values of the claims of a figure in their order, by task, one for each draw. A synthetic web is no witness.
func (s *session) observe(paper, name string, claims ...map[string][]float64) {
	if s.w.Synthetic {
		return
	}
	f := s.figure(paper, name)
	for i, values := range claims {
		c := &f.Claims[i]
		for _, t := range s.w.Tasks {
			if len(values[t.Name]) == 0 {
				continue
			}
			if c.sample == nil {
				c.sample = make(measure.Nested)
			}
			if c.sample[t.Site()] == nil {
				c.sample[t.Site()] = make(map[string][]float64)
			}
			c.sample[t.Site()][t.Name] = values[t.Name]
		}
	}
}

// agrees reports whether all claims of the figure agree.
func (f *Figure) agrees() bool {
	for i := range f.Claims {
		if f.Claims[i].Verdict() != Agrees {
			return false
		}
	}
	return true
}

var claimColumns = []string{"claim", "it counts if", "effect", "95 % interval", "sites", "p", "p, Holm", "verdict"}

// rows returns the claims that were tested as cells of claimColumns.
func (f *Figure) rows() (rows [][]string) {
	for i := range f.Claims {
		c := &f.Claims[i]
		sign := cmp.Or(map[bool]string{true: "<"}[c.Below], ">")
		row := []string{c.What, sign + " " + num(c.Bound)}
		switch e := &c.effect; c.Verdict() {
		case None:
			continue
		case c.exact:
			row = []string{c.What, "it is so", "–", "–", "–", "–", "–"}
		default:
			row = append(row, num(e.Mean), fmt.Sprintf("%s to %s", num(e.Low), num(e.High)), fmt.Sprint(e.Sites), pText(e.P), pText(e.Corrected))
		}
		rows = append(rows, append(row, string(c.Verdict())))
	}
	return rows
}

func pText(p *float64) string {
	if p == nil {
		return "–"
	}
	return num(*p)
}

// verdicts returns the table of a figure's claims.
func (f *Figure) verdicts() Table { return Table{Columns: claimColumns, Rows: f.rows()} }

// summary lists the verdicts.
func (r *Report) summary() Table {
	t := Table{Columns: append([]string{"paper"}, claimColumns...)}
	for i := range r.Figures {
		f := &r.Figures[i]
		for _, row := range f.rows() {
			t.row(append([]string{f.Paper + ", " + f.Name}, row...)...)
		}
	}
	return t
}

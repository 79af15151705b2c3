package papers

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"forager/internal/lab/experiment"
	"forager/internal/measure/chart"
	"forager/internal/page/dom"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

func (s *session) of2002() error {
	m, err := s.w.measure(s.ctx)
	if err != nil {
		return err
	}
	if m.instances == 0 {
		return errors.New("its soft-focus crawls settled no leap")
	}
	s.observeEvidence(m)
	s.figure5()
	s.figure6(m)
	s.figure7(m)
	s.figure8(m)
	s.figure9(m)
	s.perceptron(m)
	s.further2002(m)
	return s.crawls2002()
}

// figure3 is the paper's own page, and its offsets of A B C D E F G.
const figure3 = `<ul><li><tt>A</tt></li><li>B</li><li><a href=v>C<font>D</font></a>E<em>F</em></li><li>G</li></ul>`

var figure3Offsets = []int32{-2, -1, 0, 0, 1, 2, 3}

func offsetsOfFigure3() (*Figure, error) {
	page, err := dom.Parse([]byte(figure3), "text/html; charset=utf-8", "http://figure.test/u", dom.Settings{})
	if err != nil {
		return nil, err
	}
	table, links, _, err := linkfeature.Extract(page, nil, linkfeature.Settings{DMax: Reach})
	if err != nil {
		return nil, err
	}
	if len(links) != 1 {
		return nil, fmt.Errorf("the page of Fig. 3 has %d links", len(links))
	}
	features := linkfeature.Features(table, links[0], Reach)
	slices.SortFunc(features, func(a, b *schemas.Feature) int { return int(a.GetTerm()[0]) - int(b.GetTerm()[0]) })
	t := Table{Columns: []string{"leaf", "offset"}}
	var have []int32
	for _, f := range features {
		t.row(f.GetTerm(), fmt.Sprintf("%+d", f.GetOffset()))
		have = append(have, f.GetOffset())
	}
	exact := Agrees
	if !slices.Equal(have, figure3Offsets) {
		exact = Disagrees
	}
	return &Figure{
		Paper: "2002", Name: "Fig. 3", Claims: []Claim{{What: "offsets of the figure's page are the paper's", exact: exact}}, Title: "DOM offsets", Finding: "the leaves A to G of the figure's page are at −2, −1, 0, 0, 1, 2 and 3 from the link around C and D.",
		Parts: []Part{{World: "the figure's page", Tables: []Table{t}, Found: fmt.Sprintf("the parser and the features give %v.", have)}},
	}, nil
}

func (s *session) figure5() {
	const bins = 10
	var counts [bins]float64
	var sum, n float64
	for _, k := range s.w.every(asItIs, soft) {
		for _, step := range s.w.made[k].Steps {
			if step.Counted {
				counts[min(bins-1, int(step.Raw*bins))]++
				sum, n = sum+step.Raw, n+1
			}
		}
	}
	t := Table{Columns: []string{"R from", "to", "share of pages"}}
	for i, c := range counts {
		t.row(fmt.Sprintf("%.1f", float64(i)/bins), fmt.Sprintf("%.1f", float64(i+1)/bins), num(c/n))
	}
	ends, rate := (counts[0]+counts[bins-1])/n, sum/n
	extremes, rates := s.w.byTask(asItIs, soft, func(_ crawlKey, c *experiment.Crawl) float64 {
		return shareOf(c, func(r float64) bool { return r < .1 || r >= .9 })
	}), s.w.byTask(asItIs, soft, func(k crawlKey, c *experiment.Crawl) float64 {
		return s.w.Environments[k.task].Curve(c).Rate(len(c.Steps))
	})
	s.observe("2002", "Fig. 5", extremes, rates, rates)
	p := Part{Tables: []Table{t}}
	p.Found = fmt.Sprintf("%s of the pages of soft-focus crawls have R below .1 or from .9 on; the harvest rate is %s.", percent(ends), num(rate))
	p.Why = fmt.Sprintf("Targets are %s of the pages that may be fetched here, which bounds the rate of crawls that fetch a quarter of them.", percent(s.targetShare()))
	s.add("2002", "Fig. 5", p)
}

// shareOf returns the share of a crawl's counted pages whose R is in a range.
func shareOf(c *experiment.Crawl, in func(r float64) bool) float64 {
	var has, n float64
	for _, step := range c.Steps {
		if step.Counted {
			n++
			if in(step.Raw) {
				has++
			}
		}
	}
	return has / n
}

// targetShare returns the share of targets among the pages in scope, tasks averaged.
func (s *session) targetShare() float64 {
	var shares []float64
	for _, t := range s.w.Tasks {
		g := s.w.Environments[t]
		shares = append(shares, float64(g.Targets())/float64(g.Pages()))
	}
	return mean(shares)
}

func (s *session) figure6(m *measured) {
	t := Table{Columns: []string{"d_max", "negative", "positive", "average", "average, folds by u's host", "average, random folds"}}
	by := m.accuracies[0]
	best := 0
	var x, negative, positive, average []float64
	for d, a := range by {
		hosts := "–"
		if m.hosts > 1 {
			hosts = num(m.accuracies[1][d].average)
		}
		t.row(fmt.Sprint(d), num(a.negative), num(a.positive), num(a.average), hosts, num(m.accuracies[2][d].average))
		if a.average > by[best].average {
			best = d
		}
		x, negative, positive, average = append(x, float64(d)), append(negative, a.negative), append(positive, a.positive), append(average, a.average)
	}
	late := by[Reach].average - by[5].average
	gainNegative, gainPositive := by[best].negative-by[0].negative, by[best].positive-by[0].positive
	p := Part{
		Tables: []Table{t},
		Charts: []chart.Chart{{Title: "Accuracy against d_max, folds by v", XTitle: "d_max", YTitle: "share judged right", Least: .4, Most: 1, Lines: []chart.Line{
			{Name: "negative", X: x, Y: negative}, {Name: "positive", X: x, Y: positive}, {Name: "average", X: x, Y: average}}}},
	}
	p.Found = fmt.Sprintf("with folds by v accuracy goes from %s at 0 to %s at 5 and %s at %d, and is best at %d (%d instances); negative instances gain %+.3f there, positive ones %+.3f.",
		num(by[0].average), num(by[5].average), num(by[Reach].average), Reach, best, m.instances, gainNegative, gainPositive)
	perCrawl := m.instances / len(s.w.Tasks)
	switch {
	case by[5].average <= by[0].average:
		p.Why = fmt.Sprintf("A crawl's evidence is %d instances with %.0f features up to 5; the paper had that of 20,000 pages a topic. So few teach the words at 0, and words farther away add noise. "+
			"Where another link to the same page may teach (random folds), accuracy at 0 is %s: it is the target that is known, not its kind.", perCrawl, m.pairs, num(m.accuracies[2][0].average))
	case best > 7 && late > .01:
		p.Why = fmt.Sprintf("It rises farther than in the paper: the pages are made by templates, where several leaves away there is the same menu again (%s of links have text 8 leaves away).", percent((m.text[0]+m.text[2*Reach])/2))
	}
	if gainNegative <= gainPositive {
		p.Why += fmt.Sprintf(" Positive instances are %+.3f better at the best d_max and negative ones %+.3f: no class gains at the other's cost as in the paper.", gainPositive, gainNegative)
	}
	s.add("2002", "Fig. 6", p)
}

func (s *session) figure7(m *measured) {
	t := Table{Columns: []string{"d_max", "words", "words with offsets"}}
	var x, plain, offset []float64
	for d := range dMaxes {
		t.row(fmt.Sprint(d), num(m.plain[d].average), num(m.accuracies[0][d].average))
		x, plain, offset = append(x, float64(d)), append(plain, m.plain[d].average), append(offset, m.accuracies[0][d].average)
	}
	fall, rise, ahead := plain[Reach]-plain[0], offset[Reach]-offset[0], offset[5]-plain[5]
	p := Part{
		Tables: []Table{t},
		Charts: []chart.Chart{{Title: "Words with and without offsets, folds by v", XTitle: "d_max", YTitle: "share judged right", Least: .4, Most: 1, Lines: []chart.Line{
			{Name: "words", X: x, Y: plain}, {Name: "with offsets", X: x, Y: offset}}}},
	}
	p.Found = fmt.Sprintf("from d_max 0 to %d accuracy changes by %+.3f with words alone and by %+.3f with offsets; at 5 offsets are %+.3f ahead.", Reach, fall, rise, ahead)
	p.Why = fmt.Sprintf("Offsets make %.0f features of %.0f words, to be learnt from %d instances a crawl: their information is paid for by what is too rare to learn.",
		m.pairs, m.words, m.instances/len(s.w.Tasks))
	s.add("2002", "Fig. 7", p)
}

// sawtooth returns the number of odd distances, on both sides, with a value below that of the next even one.
func sawtooth(values []float64) (teeth int) {
	for d := 1; d < Reach; d += 2 {
		for _, side := range []int{-1, 1} {
			if values[Reach+side*d] < values[Reach+side*(d+1)] {
				teeth++
			}
		}
	}
	return teeth
}

// toothPairs is the number of odd distances that sawtooth considers.
const toothPairs = Reach

func offsetTable(column string, values []float64) Table {
	t := Table{Columns: []string{"d", column}}
	for i, d := range offsets() {
		t.row(fmt.Sprintf("%+d", d), num(values[i]))
	}
	return t
}

// add adds a column.
func (t *Table) add(column string, values []float64) {
	t.Columns = append(t.Columns, column)
	for i := range t.Rows {
		t.Rows[i] = append(t.Rows[i], num(values[i]))
	}
}

func offsetLine(name string, values []float64) chart.Line {
	l := chart.Line{Name: name, Y: values}
	for _, d := range offsets() {
		l.X = append(l.X, float64(d))
	}
	return l
}

func offsetChart(title, y string, l ...chart.Line) chart.Chart {
	return chart.Chart{Title: title, XTitle: "d, leaves from the link", YTitle: y, Lines: l}
}

// gain8 summarises the information gain.
type gain8 struct {
	millibits       []float64
	near, five, far float64
	teeth           int
	falls           bool
}

func gainOf(r *around) gain8 {
	var g gain8
	for _, bits := range r.gains {
		g.millibits = append(g.millibits, 1000*bits)
	}
	side := func(d int) float64 { return (g.millibits[Reach-d] + g.millibits[Reach+d]) / 2 }
	g.near, g.five, g.far, g.teeth = side(1), side(5), (side(6)+side(7)+side(8))/3, sawtooth(g.millibits)
	g.falls = g.millibits[Reach] > g.near && g.near > g.far
	return g
}

// observeEvidence records the claims about evidence: one value for each task.
func (s *session) observeEvidence(m *measured) {
	claims := make(map[string][]map[string][]float64)
	for task, one := range m.byTask {
		note := func(figure string, values ...float64) {
			for i, v := range values {
				if len(claims[figure]) <= i {
					claims[figure] = append(claims[figure], make(map[string][]float64))
				}
				claims[figure][i][task] = []float64{v}
			}
		}
		by, text := one.accuracies[0], &one.around
		if one.paper != nil {
			text = one.paper
		}
		g, w := gainOf(text), text.tokens
		r, at := one.perceptrons.best()
		last := 0.
		for rate := range rates {
			last = max(last, one.perceptrons[rate][len(passes)-1]-one.perceptrons[rate][0])
		}
		note("Fig. 6", by[5].average-by[0].average, by[Reach].average-by[5].average, by[5].negative-by[0].negative-by[5].positive+by[0].positive)
		note("Fig. 7", one.plain[Reach].average-one.plain[0].average, by[Reach].average-by[0].average, by[5].average-one.plain[5].average)
		note("Fig. 8", g.millibits[Reach]-g.near, g.near-g.far, float64(g.teeth)/toothPairs, math.Abs(g.five-g.far)/math.Max(1e-9, g.millibits[Reach]))
		note("Fig. 9", w[Reach]-w[Reach+1], w[Reach+1]+w[Reach-1]-w[2*Reach]-w[0], float64(sawtooth(w))/toothPairs, float64(sawtooth(text.text))/toothPairs)
		note("§2.3", by[5].average-one.perceptrons[r][at], last, one.perceptrons.spread())
		f := one.further
		note("§3.8", f[1]-f[0], f[2]-f[1], f[3]-f[0])
	}
	for figure, values := range claims {
		s.observe("2002", figure, values...)
	}
}

func (s *session) figure8(m *measured) {
	g := gainOf(&m.around)
	t, l := offsetTable("gain, thousandths of a bit a term", g.millibits), []chart.Line{offsetLine("leaves: compact", g.millibits)}
	var p Part
	p.Found = fmt.Sprintf("a term gives %s thousandths of a bit at 0, %s next to it, %s at 5 and %s beyond; %d of %d odd distances lie below the even one beyond them. An offset's gain is computed from the words there, so it is the same for every d_max.",
		num(g.millibits[Reach]), num(g.near), num(g.five), num(g.far), g.teeth, toothPairs)
	if m.paper != nil {
		as := gainOf(m.paper)
		t.add("leaves as in the paper", as.millibits)
		l = append(l, offsetLine("leaves: paper", as.millibits))
		p.Found += fmt.Sprintf(" With leaves as the paper numbered them (comments and white space count) it is %s, %s, %s and %s, and %d of %d odd distances; the verdicts are on these.",
			num(as.millibits[Reach]), num(as.near), num(as.five), num(as.far), as.teeth, toothPairs)
		p.Why = fmt.Sprintf("At ±1 %s of links have text then, at ±2 %s.", percent((m.paper.text[Reach-1]+m.paper.text[Reach+1])/2), percent((m.paper.text[Reach-2]+m.paper.text[Reach+2])/2))
		if !as.falls {
			p.Why += " The gain does not fall with the distance where the words around all links of a page are those of one menu."
		}
	}
	if m.paper == nil {
		p.Why = "Comments and white space are no leaves here as they were in the paper."
	}
	p.Tables, p.Charts = []Table{t}, []chart.Chart{offsetChart("Information gain against d", "thousandths of a bit", l...)}
	s.add("2002", "Fig. 8", p)
}

func (s *session) figure9(m *measured) {
	t := Table{Columns: []string{"d", "share of all words within " + fmt.Sprint(Reach), "links with text there"}}
	for i, d := range offsets() {
		t.row(fmt.Sprintf("%+d", d), num(m.tokens[i]), num(m.text[i]))
	}
	describe := func(r *around) string {
		return fmt.Sprintf("%s of the words within %d leaves stand at 0, %s at ±1, %s at ±%d; %d of %d odd distances have fewer words than the even one beyond them, and %d fewer links with text",
			percent(r.tokens[Reach]), Reach, percent(r.tokens[Reach-1]+r.tokens[Reach+1]), percent(r.tokens[0]+r.tokens[2*Reach]), Reach, sawtooth(r.tokens), toothPairs, sawtooth(r.text))
	}
	l := []chart.Line{offsetLine("leaves: compact", m.tokens)}
	p := Part{Found: describe(&m.around) + "."}
	if m.paper != nil {
		t.add("words, leaves as in the paper", m.paper.tokens)
		t.add("text, leaves as in the paper", m.paper.text)
		l = append(l, offsetLine("leaves: paper", m.paper.tokens))
		p.Found += " With leaves as the paper numbered them " + describe(m.paper) + "; the verdicts are on these."
		p.Why = fmt.Sprintf("The anchors are short (%s of the words stand in them), and the pages were written otherwise than those of 2002: %s of links have text at 0, %s at ±1.",
			percent(m.paper.tokens[Reach]), percent(m.paper.text[Reach]), percent((m.paper.text[Reach-1]+m.paper.text[Reach+1])/2))
	}
	if m.paper == nil {
		p.Why = "Comments and white space are no leaves here as they were in the paper."
	}
	p.Tables, p.Charts = []Table{t}, []chart.Chart{offsetChart("Words around links", "share of all words", l...)}
	s.add("2002", "Fig. 9", p)
}

func (s *session) further2002(m *measured) {
	if s.w.Synthetic {
		return
	}
	t := Table{Columns: []string{"features", "accuracy, folds by v", "gain"}}
	before := [len(further2002)]int{1: 0, 2: 1, 3: 0}
	var gain [len(further2002)]float64
	for i, f := range further2002 {
		gain[i] = m.further[i] - m.further[before[i]]
		t.row(f.name, num(m.further[i]), fmt.Sprintf("%+.3f", gain[i]))
	}
	names, prefixes, cited := gain[1], gain[2], gain[3]
	const none = .005 // our reading of "no appreciable extent" in the paper
	p := Part{Tables: []Table{t}}
	p.Found = fmt.Sprintf("names of the top two classes of u change accuracy by %+.3f, their prefixes by %+.3f more, and co-citation features by %+.3f; %s of the links had a neighbour whose page was known.", names, prefixes, cited, percent(m.cited))
	if names <= 0 {
		p.Why += fmt.Sprintf("Of %s of the links' words the name is one more, and a page's class is what soft focus ranks by already. ", percent(m.tokens[Reach]))
	}
	if prefixes <= 0 {
		p.Why += "The critic's classes are flat here: the root is the only prefix, and is the same for every link. "
	}
	if math.Abs(cited) >= none {
		p.Why += fmt.Sprintf("A closed web is crawled to a quarter, so that for %s of the links the page of a neighbouring link is known; the paper does not report how many that were on the open Web. ", percent(m.cited))
	}
	p.Why = strings.TrimSpace(p.Why)
	s.add("2002", "§3.8", p)
}

package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/floats"

	"forager/internal/classify/calibrate"
	"forager/internal/classify/critic"
	"forager/internal/classify/logistic"
	"forager/internal/page/text"
	"forager/schemas"
)

// criticsDump is the results of the critics' methods for the same numbers that another program uses.
type criticsDump struct {
	Trees    []treeCase     `json:"trees"`
	Curves   []curveCase    `json:"curves"`
	Logistic []logisticCase `json:"logistic"`
	Articles []articleFold  `json:"articles"`
}

// treeCase is a critic of a tree: its training documents, others, and its results for these.
type treeCase struct {
	Features  int         `json:"features"`
	Words     []string    `json:"words"`
	Classes   []string    `json:"classes"`
	Train     bayesRows   `json:"train"`
	Labels    []int       `json:"labels"` // class of each training row
	Test      bayesRows   `json:"test"`
	Nodes     []treeNode  `json:"nodes"`
	Posterior [][]float64 `json:"posterior"` // raw, of each test row
}

type treeNode struct {
	Branches [][]int     `json:"branches"`
	Words    []string    `json:"words"`
	Joint    [][]float64 `json:"joint"`
}

// curveCase is held-out pages of a class and the curve fitted to them.
type curveCase struct {
	Scores []float64 `json:"scores"`
	Right  []bool    `json:"right"`
	Folds  []int     `json:"folds"`
	Shape  string    `json:"shape"`
	A      float64   `json:"a"`
	B      float64   `json:"b"`
	X      []float64 `json:"x"`
	Y      []float64 `json:"y"`
}

// logisticCase is documents of unit length, their classes, and the weights that were fitted.
type logisticCase struct {
	L2       float64     `json:"l2"`
	Starts   []int       `json:"starts"`
	Columns  []uint32    `json:"columns"`
	Values   []float32   `json:"values"`
	Labels   []int       `json:"labels"`
	Features int         `json:"features"`
	Weights  [][]float64 `json:"weights"` // by class
	Bias     []float64   `json:"bias"`
}

// articleFold is an article of the taxonomy, its fold, and the class assigned by a flat critic of the other folds.
type articleFold struct {
	Fold  int    `json:"fold"`
	Found string `json:"found"`
}

func dumpCritics(args []string) error {
	flags := flag.NewFlagSet("critics", flag.ExitOnError)
	taxonomy := flags.String("taxonomy", "", "examples, JSON Lines, gzipped")
	n := flags.Int("generate", 40, "number of generated cases of each kind")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var out criticsDump
	random := rand.New(rand.NewPCG(1999, 2))
	for i := range *n {
		t, err := generateTree(random)
		if err != nil {
			return err
		}
		c, err := generateCurve(random, i)
		if err != nil {
			return err
		}
		out.Trees, out.Curves = append(out.Trees, t), append(out.Curves, c)
		if i%8 == 0 {
			l, err := generateLogistic(random)
			if err != nil {
				return err
			}
			out.Logistic = append(out.Logistic, l)
		}
	}
	if *taxonomy != "" {
		var err error
		if out.Articles, err = foundForArticles(*taxonomy); err != nil {
			return err
		}
	}
	return writeJSON(out)
}

// generateTree draws a taxonomy of up to three levels and pages whose words tend to be those of their topic,
// and trains a tree on them.
func generateTree(random *rand.Rand) (treeCase, error) {
	c := treeCase{Features: []int{0, 5, 20}[random.IntN(3)]}
	var topics []string
	for i := range 2 + random.IntN(3) {
		for j := range 1 + random.IntN(4) {
			topics = append(topics, fmt.Sprintf("t%d/s%d", i, j))
			if random.IntN(3) == 0 {
				topics = append(topics, fmt.Sprintf("t%d/s%d/u%d", i, j, i), fmt.Sprintf("t%d/s%d/v", i, j))
			}
		}
	}
	page := func(topic int) []string {
		var words []string
		for range 5 + random.IntN(60) {
			w := random.IntN(60)
			if random.IntN(3) == 0 {
				w = (topic*7 + random.IntN(6)) % 80
			}
			words = append(words, fmt.Sprintf("w%02d", w))
		}
		return words
	}
	var (
		examples critic.Examples
		counted  bags
		of       []string
	)
	for t, topic := range topics {
		for i := range 2 + random.IntN(8) {
			words := page(t)
			if err := examples.AddText(fmt.Sprintf("http://h/%d/%d", t, i), []string{topic}, strings.Join(words, " ")); err != nil {
				return c, err
			}
			c.Train.add(counted.of(words))
			of = append(of, topic)
		}
	}
	m, _, err := critic.Train(context.Background(), &examples, critic.Settings{Method: critic.BayesTree, Features: c.Features})
	if err != nil {
		return c, err
	}
	c.Classes = m.Classes()
	for _, topic := range of {
		for k, class := range c.Classes {
			if class == topic || class == topic+"/Other" {
				c.Labels = append(c.Labels, k)
			}
		}
	}
	nodes := m.Nodes()
	for _, n := range nodes {
		c.Nodes = append(c.Nodes, treeNode{Branches: n.Branches, Words: n.Words})
	}
	for i := range 10 {
		words := page(random.IntN(len(topics)))
		c.Test.add(counted.of(words))
		times := make(map[string]uint32)
		parsed := &schemas.Page{Url: fmt.Sprint("http://new/", i), LeafLengths: []uint32{uint32(len(words))}}
		at := make(map[string]uint32)
		for _, w := range words {
			times[w]++
			if _, ok := at[w]; !ok {
				at[w] = uint32(len(parsed.Terms))
				parsed.Terms = append(parsed.Terms, w)
			}
			parsed.Tokens = append(parsed.Tokens, at[w])
		}
		for j := range nodes {
			c.Nodes[j].Joint = append(c.Nodes[j].Joint, nodes[j].Joint(times))
		}
		raw, _, err := m.Posteriors(parsed)
		if err != nil {
			return c, err
		}
		c.Posterior = append(c.Posterior, append([]float64(nil), raw...))
	}
	c.Words = counted.words
	return c, nil
}

// generateCurve draws pages of a class from one of several distributions.
func generateCurve(random *rand.Rand, i int) (curveCase, error) {
	var c curveCase
	truth := []func(x float64) float64{
		func(x float64) float64 { return 1 / (1 + math.Exp(1-x/3)) },
		func(x float64) float64 { return map[bool]float64{false: .1, true: .8}[x > 1] },
		func(x float64) float64 { return min(.95, max(.05, x/10+.3)) },
	}[i%3]
	var pages []calibrate.Page
	for j := range 30 + random.IntN(800) {
		p := calibrate.Page{Score: math.Round(random.NormFloat64()*64) / 16, Fold: j % calibrate.Folds}
		p.Right = random.Float64() < truth(p.Score)
		pages = append(pages, p)
		c.Scores, c.Right, c.Folds = append(c.Scores, p.Score), append(c.Right, p.Right), append(c.Folds, p.Fold)
	}
	f, err := calibrate.Fit(pages)
	if err != nil {
		return c, err
	}
	c.Shape = map[calibrate.Shape]string{calibrate.Sigmoid: "sigmoid", calibrate.Isotonic: "isotonic"}[f.Curve.Shape]
	c.A, c.B, c.X, c.Y = f.Curve.A, f.Curve.B, f.Curve.X, f.Curve.Y
	return c, nil
}

func generateLogistic(random *rand.Rand) (logisticCase, error) {
	c := logisticCase{L2: 1e-3, Features: 30 + random.IntN(50), Starts: []int{0}}
	classes := 2 + random.IntN(6)
	var examples []logistic.Example
	for i := range 300 {
		class := i % classes
		var x logistic.Example
		var length float64
		for f := range c.Features {
			if random.IntN(6) > 0 && (f%classes != class || random.IntN(3) > 0) {
				continue
			}
			v := 1 + random.Float64()
			length += v * v
			x.Features, x.Values = append(x.Features, uint32(f)), append(x.Values, float32(v))
		}
		for j := range x.Values {
			x.Values[j] /= float32(math.Sqrt(length))
		}
		x.Classes = []int{class}
		examples = append(examples, x)
		c.Columns, c.Values, c.Labels = append(c.Columns, x.Features...), append(c.Values, x.Values...), append(c.Labels, class)
		c.Starts = append(c.Starts, len(c.Columns))
	}
	m, err := logistic.Fit(context.Background(), examples, logistic.Settings{Classes: classes, Features: c.Features, L2: c.L2, Epochs: 100})
	if err != nil {
		return c, err
	}
	p := m.Pack()
	for k := range classes {
		row := make([]float64, c.Features)
		for f := range row {
			row[f] = p.Weight(uint32(f), k)
		}
		c.Weights = append(c.Weights, row)
	}
	c.Bias = p.Bias
	return c, nil
}

// foundForArticles classifies every article of the taxonomy, tokenized here, by its main subject.
func foundForArticles(path string) ([]articleFold, error) {
	articles, err := readArticles(path)
	if err != nil {
		return nil, err
	}
	m, _, folds, err := trainOn(articles, critic.NewExamples(text.Settings{}))
	if err != nil {
		return nil, err
	}
	var found []articleFold
	for i, x := range articles {
		raw, _, err := m.Posteriors(&schemas.Page{Url: x.url})
		if err != nil {
			return nil, err
		}
		found = append(found, articleFold{folds[i], m.Classes()[floats.MaxIdx(raw)]})
	}
	return found, nil
}

package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"

	"forager/internal/classify/bayes"
	"forager/internal/classify/critic"
	"forager/internal/page/text"
	"forager/internal/rank/apprentice"
	"forager/schemas"
)

// bayesDump is count matrices and the results of naive Bayes for them.
type bayesDump struct {
	Generated  []bayesCase       `json:"generated"`
	Articles   *bayesArticles    `json:"articles,omitempty"`
	Apprentice []apprenticeLeaps `json:"apprentice"`
	Repeated   []repeatedLeaps   `json:"repeated"`
}

// bayesRows is a count matrix: row i has Columns[Starts[i]:Starts[i+1]] with the same range of Counts.
type bayesRows struct {
	Starts  []int    `json:"starts"`
	Columns []uint32 `json:"columns"`
	Counts  []uint32 `json:"counts"`
}

func (m *bayesRows) add(b *bayes.Bag) {
	if m.Starts == nil {
		m.Starts = []int{0}
	}
	m.Columns, m.Counts = append(m.Columns, b.Features...), append(m.Counts, b.Counts...)
	m.Starts = append(m.Starts, len(m.Columns))
}

// bayesCase is training, test, and log Pr(c) + log Pr(u|c) of each test row.
type bayesCase struct {
	Train  bayesRows   `json:"train"`
	Labels []int       `json:"labels"`
	Test   bayesRows   `json:"test"`
	Joint  [][]float64 `json:"joint"`
}

// bayesArticles is the taxonomy by main subject: every article classified by a model of the other folds, and
// the raw posterior of a critic trained on all of them.
type bayesArticles struct {
	Rows      bayesRows   `json:"rows"`
	Labels    []int       `json:"labels"`
	Folds     []int       `json:"folds"`
	Joint     [][]float64 `json:"joint"`
	Posterior [][]float64 `json:"posterior"`
}

// apprenticeLeaps is a training set of leaps, the cut, and Pr(high) of test links.
type apprenticeLeaps struct {
	Train bayesRows `json:"train"`
	R     []float64 `json:"r"`
	Cut   float64   `json:"cut"`
	Test  bayesRows `json:"test"`
	High  []float64 `json:"high"`
	// Proximal is the result of logistic regression for the same leaps in their order.
	Proximal proximalLeaps `json:"proximal"`
}

// proximalLeaps are settings, Pr(high) of no feature, the weights of columns, and Pr(high) of each
// test row.
type proximalLeaps struct {
	Rate    float64   `json:"rate"`
	L1      float64   `json:"l1"`
	L2      float64   `json:"l2"`
	Bias    float64   `json:"bias"`
	Columns []int     `json:"columns"`
	Weights []float64 `json:"weights"`
	High    []float64 `json:"high"`
}

func dumpBayes(args []string) error {
	flags := flag.NewFlagSet("bayes", flag.ExitOnError)
	taxonomy := flags.String("taxonomy", "", "examples, JSON Lines, gzipped")
	n := flags.Int("generate", 100, "number of generated matrices")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var out bayesDump
	random := rand.New(rand.NewPCG(2002, 1))
	for range *n {
		c, err := generateBayes(random)
		if err != nil {
			return err
		}
		out.Generated = append(out.Generated, c)
		leaps, err := generateLeaps(random)
		if err != nil {
			return err
		}
		out.Apprentice = append(out.Apprentice, leaps)
	}
	for range 10 {
		leaps, err := repeatLeaps(random)
		if err != nil {
			return err
		}
		out.Repeated = append(out.Repeated, leaps)
	}
	if *taxonomy != "" {
		var err error
		if out.Articles, err = judgeArticles(*taxonomy); err != nil {
			return err
		}
	}
	return writeJSON(out)
}

// generateBag draws at most that many features, low numbers more often.
func generateBag(random *rand.Rand, features, most int) *bayes.Bag {
	b := new(bayes.Bag)
	for f := range features {
		if random.IntN(features) < most && random.IntN(f+1) <= most {
			b.Features, b.Counts = append(b.Features, uint32(f)), append(b.Counts, 1+uint32(random.ExpFloat64()*float64(1+random.IntN(50))))
		}
	}
	return b
}

func generateBayes(random *rand.Rand) (bayesCase, error) {
	var c bayesCase
	features := 1 + random.IntN(200)
	classes := make([][]*bayes.Bag, 2+random.IntN(20))
	for k := range classes {
		for range 1 + random.IntN(8) {
			b := generateBag(random, features, 1+random.IntN(features))
			classes[k] = append(classes[k], b)
			c.Train.add(b)
			c.Labels = append(c.Labels, k)
		}
	}
	counts, err := bayes.Count(features, classes)
	if err != nil {
		return c, err
	}
	model := counts.Model()
	for range 10 {
		b := generateBag(random, features+3, 1+random.IntN(features)) // three features do not occur in training
		c.Test.add(b)
		c.Joint = append(c.Joint, joint(model, b))
	}
	return c, nil
}

func joint(m *bayes.Model, b *bayes.Bag) []float64 {
	sum := make([]float64, m.Classes())
	m.LogLikelihood(sum, b)
	for k := range sum {
		sum[k] += m.LogPrior(k)
	}
	return sum
}

func generateLeaps(random *rand.Rand) (apprenticeLeaps, error) {
	var l apprenticeLeaps
	features := 5 + random.IntN(100)
	counts := apprentice.NewCounts()
	draw := func() (*bayes.Bag, []*schemas.Feature) {
		b := generateBag(random, features, 1+random.IntN(features))
		var list []*schemas.Feature
		for i, f := range b.Features {
			list = append(list, &schemas.Feature{Term: fmt.Sprint("term", f/7), Offset: int32(f%7) - 3, Count: b.Counts[i]})
		}
		return b, list
	}
	var lists [][]*schemas.Feature
	for range 2 + random.IntN(40) {
		b, list := draw()
		r := random.Float64()
		if random.IntN(2) == 0 {
			r = float64(random.IntN(2))
		}
		if err := counts.Add(list, r); err != nil {
			return l, err
		}
		l.Train.add(b)
		l.R, lists = append(l.R, r), append(lists, list)
	}
	m := counts.Model()
	l.Cut = m.Facts().Cut
	proximal, err := l.proximal(random, lists)
	if err != nil {
		return l, err
	}
	for range 10 {
		b, list := draw()
		l.Test.add(b)
		l.High = append(l.High, m.Score(list))
		l.Proximal.High = append(l.Proximal.High, proximal.Score(list))
	}
	return l, nil
}

// proximal trains on the leaps by FTRL-proximal.
func (l *apprenticeLeaps) proximal(random *rand.Rand, lists [][]*schemas.Feature) (*apprentice.Model, error) {
	p := &l.Proximal
	p.Rate, p.L1, p.L2 = .01+random.Float64(), random.Float64(), 2*random.Float64()
	settings, err := apprentice.SettingsOf(&schemas.Learning{
		Learner: schemas.Learner_LEARNER_LOGISTIC, Logistic: &schemas.Logistic{Rate: p.Rate, L1: p.L1, L2: p.L2},
	})
	if err != nil {
		return nil, err
	}
	learner := apprentice.New(settings)
	for i, list := range lists {
		if err := learner.Add(list, l.R[i]); err != nil {
			return nil, err
		}
	}
	m := learner.Model()
	p.Bias = m.Score(nil)
	for _, f := range learner.Strongest(0, 0) {
		var term int
		if _, err := fmt.Sscanf(f.Term, "term%d", &term); err != nil {
			return nil, err
		}
		p.Columns, p.Weights = append(p.Columns, 7*term+int(f.Offset)+3), append(p.Weights, f.Weight)
	}
	return m, nil
}

// repeatedLeaps are leaps on which logistic regression without penalties is trained repeatedly, and Pr(high) of each in the end.
type repeatedLeaps struct {
	Train  bayesRows `json:"train"`
	Labels []int     `json:"labels"`
	High   []float64 `json:"high"`
}

// repeatLeaps draws leaps whose classes overlap, so that there are optimal weights, and trains on them 300 times.
func repeatLeaps(random *rand.Rand) (repeatedLeaps, error) {
	const leaps, features, times = 150, 6, 300
	var l repeatedLeaps
	settings, err := apprentice.SettingsOf(&schemas.Learning{Learner: schemas.Learner_LEARNER_LOGISTIC, Logistic: &schemas.Logistic{Rate: .3}})
	if err != nil {
		return l, err
	}
	learner := apprentice.New(settings)
	if err := learner.SetCut(.5); err != nil {
		return l, err
	}
	var weights [features]float64
	for i := range weights {
		weights[i] = random.NormFloat64() / 2
	}
	lists := make([][]*schemas.Feature, leaps)
	for i := range lists {
		b, sum := new(bayes.Bag), 0.
		for f := range uint32(features) {
			if n := uint32(random.ExpFloat64()); n > 0 {
				b.Features, b.Counts = append(b.Features, f), append(b.Counts, n)
				lists[i] = append(lists[i], &schemas.Feature{Term: fmt.Sprint("term", f), Count: n})
				sum += weights[f] * float64(n)
			}
		}
		l.Train.add(b)
		label := 0
		if random.Float64() < 1/(1+math.Exp(-sum)) {
			label = 1
		}
		l.Labels = append(l.Labels, label)
	}
	for range times {
		for i, list := range lists {
			if err := learner.Add(list, float64(l.Labels[i])); err != nil {
				return l, err
			}
		}
	}
	m := learner.Model()
	for _, list := range lists {
		l.High = append(l.High, m.Score(list))
	}
	return l, nil
}

// judgeArticles classifies every article of the taxonomy by its main subject.
func judgeArticles(path string) (*bayesArticles, error) {
	articles, err := readArticles(path)
	if err != nil {
		return nil, err
	}
	a := new(bayesArticles)
	var m *critic.Model
	if m, a.Labels, a.Folds, err = trainOn(articles, new(critic.Examples)); err != nil {
		return nil, err
	}
	var words bags
	var counted []*bayes.Bag
	for _, x := range articles {
		bag := words.of(text.Tokens(nil, x.text))
		counted = append(counted, bag)
		a.Rows.add(bag)
		raw, _, err := m.Posteriors(&schemas.Page{Url: x.url})
		if err != nil {
			return nil, err
		}
		a.Posterior = append(a.Posterior, raw)
	}
	a.Joint = make([][]float64, len(counted))
	for fold := range critic.Folds {
		classes := make([][]*bayes.Bag, len(m.Classes()))
		for i, b := range counted {
			if a.Folds[i] != fold {
				classes[a.Labels[i]] = append(classes[a.Labels[i]], b)
			}
		}
		counts, err := bayes.Count(len(words.words), classes)
		if err != nil {
			return nil, err
		}
		model := counts.Model()
		for i, b := range counted {
			if a.Folds[i] == fold {
				a.Joint[i] = joint(model, b)
			}
		}
	}
	return a, nil
}

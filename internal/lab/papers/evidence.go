package papers

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"forager/internal/lab/experiment"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// instance is a settled leap as evidence: the features of the link (u,v) and R(v).
type instance struct {
	u, v      string
	features  []*schemas.Feature
	relevance float64
	high      bool
	// cut between low and high, over all instances of the crawl.
	cut float64
}

// leastCut and mostCut bound the cut, as in the apprentice.
const leastCut, mostCut = .1, .9

// evidence returns the instances of one crawl, classed by the median of R(v), clipped.
func evidence(c *experiment.Crawl) []instance {
	var all []instance
	var relevances []float64
	for _, l := range c.Settled() {
		if l.GetTrains() && !l.GetBoundary() {
			all = append(all, instance{u: l.GetU(), v: l.GetV(), features: l.GetFeatures(), relevance: l.GetTargetRaw()})
			relevances = append(relevances, l.GetTargetRaw())
		}
	}
	slices.Sort(relevances)
	if len(all) == 0 {
		return nil
	}
	cut := math.Min(mostCut, math.Max(leastCut, relevances[len(relevances)/2]))
	for i := range all {
		all[i].high, all[i].cut = all[i].relevance >= cut, cut
	}
	return all
}

// folding assigns an instance to a fold of a cross-validation.
type folding struct {
	name string
	of   func(x *instance) uint64
}

var foldings = []folding{
	{"by v", func(x *instance) uint64 { return xxhash.Sum64String(x.v) }},
	{"by u's host", func(x *instance) uint64 { return xxhash.Sum64String(weburl.Host(x.u)) }},
	{"random", func(x *instance) uint64 { return xxhash.Sum64String(x.u + " " + x.v) }},
}

const folds = 5

// accuracy of a cross-validation: shares of the negative (low), positive and all instances classified correctly.
type accuracy struct{ negative, positive, average float64 }

// validate trains on four folds and tests the fifth, in turn. see selects the features that are used.
func validate(all []instance, f folding, see func([]*schemas.Feature) []*schemas.Feature) (accuracy, error) {
	seen, fold := make([][]*schemas.Feature, len(all)), make([]int, len(all))
	for i := range all {
		seen[i], fold[i] = see(all[i].features), int(f.of(&all[i])%folds)
	}
	var right, n [2]float64
	for test := range folds {
		counts := apprentice.NewCounts()
		for i := range all {
			if fold[i] == test {
				continue
			}
			// R is that of the class: the cut is at a half.
			r := 0.
			if all[i].high {
				r = 1
			}
			if err := counts.Add(seen[i], r); err != nil {
				return accuracy{}, err
			}
		}
		if counts.Leaps() == 0 {
			continue // all instances are in one fold
		}
		if err := counts.SetCut(.5); err != nil {
			return accuracy{}, err
		}
		m := counts.Model()
		for i := range all {
			if fold[i] != test {
				continue
			}
			class := 0
			if all[i].high {
				class = 1
			}
			n[class]++
			if (m.Score(seen[i]) >= .5) == all[i].high {
				right[class]++
			}
		}
	}
	share := func(a, b float64) float64 { return a / math.Max(1, b) }
	return accuracy{share(right[0], n[0]), share(right[1], n[1]), share(right[0]+right[1], n[0]+n[1])}, nil
}

// within selects offsets up to dMax.
func within(dMax int) func([]*schemas.Feature) []*schemas.Feature {
	return func(all []*schemas.Feature) []*schemas.Feature {
		var out []*schemas.Feature
		for _, f := range all {
			if d := int(f.GetOffset()); d == schemas.NoOffset || -dMax <= d && d <= dMax {
				out = append(out, f)
			}
		}
		return out
	}
}

// textOnly selects the same words without their offsets.
func textOnly(dMax int) func([]*schemas.Feature) []*schemas.Feature {
	near := within(dMax)
	return func(all []*schemas.Feature) []*schemas.Feature {
		var out []*schemas.Feature
		for _, f := range near(all) {
			if n := len(out); n > 0 && out[n-1].Term == f.GetTerm() { // features are sorted by term
				out[n-1].Count += f.GetCount()
				continue
			}
			out = append(out, &schemas.Feature{Term: f.GetTerm(), Count: f.GetCount()})
		}
		return out
	}
}

// offsets returns those from −Reach to Reach.
func offsets() []int {
	var all []int
	for d := -Reach; d <= Reach; d++ {
		all = append(all, d)
	}
	return all
}

// rarest is the least number of links that must have a term at an offset for it to be used.
const rarest = 5

// informationGain returns, for each offset, the mean over its terms of the information, in bits, that the presence of a
// term there gives about the class of the target, less that about the same classes in random order.
func informationGain(all []instance) []float64 {
	random := make([]bool, len(all))
	for i, j := range rand.New(rand.NewPCG(8, 2002)).Perm(len(all)) {
		random[i] = all[j].high
	}
	var high float64
	for _, x := range all {
		if x.high {
			high++
		}
	}
	type presence struct{ n, high, random float64 }
	counts := make([]map[string]*presence, 2*Reach+1)
	for i := range counts {
		counts[i] = make(map[string]*presence)
	}
	for i := range all {
		for _, f := range all[i].features {
			d := int(f.GetOffset()) + Reach
			if d < 0 || d >= len(counts) {
				continue
			}
			p := counts[d][f.GetTerm()]
			if p == nil {
				p = new(presence)
				counts[d][f.GetTerm()] = p
			}
			p.n++
			if all[i].high {
				p.high++
			}
			if random[i] {
				p.random++
			}
		}
	}
	gains, n := make([]float64, len(counts)), float64(len(all))
	for d, terms := range counts {
		var found []*presence
		for _, p := range terms {
			if p.n >= rarest {
				found = append(found, p)
			}
		}
		// Sums of floats depend on their order.
		slices.SortFunc(found, func(a, b *presence) int {
			return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.high, b.high), cmp.Compare(a.random, b.random))
		})
		for _, p := range found {
			gains[d] += gain(n, high, p.n, p.high) - gain(n, high, p.n, p.random)
		}
		gains[d] /= float64(max(1, len(found)))
	}
	return gains
}

// gain returns the mutual information, in bits, of a class that k of n have and a mark that m have, both of them x.
func gain(n, k, m, x float64) float64 {
	conditional := m/n*entropy(x/m) + (n-m)/n*entropy((k-x)/math.Max(1, n-m))
	return entropy(k/n) - conditional
}

func entropy(p float64) float64 {
	if p <= 0 || p >= 1 {
		return 0
	}
	return -p*math.Log2(p) - (1-p)*math.Log2(1-p)
}

// densities returns, for each offset, its share of all tokens within Reach (2002, Fig. 9a: θ(t,d) summed over t), and the
// share of links that have text there.
func densities(all []instance) (tokens, text []float64) {
	tokens, text = make([]float64, 2*Reach+1), make([]float64, 2*Reach+1)
	var sum float64
	for i := range all {
		seen := [2*Reach + 1]bool{}
		for _, f := range all[i].features {
			d := int(f.GetOffset()) + Reach
			if d < 0 || d >= len(tokens) {
				continue
			}
			tokens[d] += float64(f.GetCount())
			sum += float64(f.GetCount())
			if !seen[d] {
				seen[d] = true
				text[d]++
			}
		}
	}
	for d := range tokens {
		tokens[d] /= math.Max(1, sum)
		text[d] /= math.Max(1, float64(len(all)))
	}
	return tokens, text
}

// measured is the results of the evidence of a world, averaged over tasks.
type measured struct {
	instances int
	// By folding and d_max; by d_max for words without offsets (folds by v).
	accuracies [][]accuracy
	plain      []accuracy
	// Of offsets up to 5 alone and with further features (folds by v), in the order of further2002.
	further     [len(further2002)]float64
	perceptrons perceptrons
	// cited is the share of links near another one whose R was known.
	cited float64
	around
	// paper is the text around links with leaves numbered as in the paper; nil = not measured.
	paper *around
	// Distinct words and ⟨word, offset⟩ pairs up to 5 in a crawl's evidence, the mean.
	words, pairs float64
	// hosts is the number of hosts of u, of the world's largest task.
	hosts int
	// byTask has the results of each task.
	byTask map[string]*measured
}

// around describes the text around links, by offset from −Reach.
type around struct {
	// gains in bits per term; shares of all tokens; shares of links that have text there.
	gains, tokens, text []float64
}

func newAround() around {
	return around{make([]float64, 2*Reach+1), make([]float64, 2*Reach+1), make([]float64, 2*Reach+1)}
}

func (r *around) add(all []instance) {
	tokens, text := densities(all)
	for d, g := range informationGain(all) {
		r.gains[d] += g
		r.tokens[d] += tokens[d]
		r.text[d] += text[d]
	}
}

// dMaxes are those compared.
const dMaxes = Reach + 1

func (w *World) newMeasured() *measured {
	m := &measured{plain: make([]accuracy, dMaxes), around: newAround()}
	if w.Leaves != nil {
		r := newAround()
		m.paper = &r
	}
	for range foldings {
		m.accuracies = append(m.accuracies, make([]accuracy, dMaxes))
	}
	return m
}

// measure measures the evidence of a soft-focus crawl of each task, from the seeds of the first draw.
func (w *World) measure(ctx context.Context) (*measured, error) {
	m := w.newMeasured()
	m.byTask = make(map[string]*measured)
	for _, t := range w.Tasks { // one task at a time: features are large
		one, err := w.measureTask(ctx, t)
		if err != nil {
			return nil, err
		}
		if one.instances == 0 {
			continue
		}
		m.byTask[t.Name] = one
		m.instances, m.hosts = m.instances+one.instances, max(m.hosts, one.hosts)
		of := one.numbers()
		for i, x := range m.numbers() {
			*x += *of[i]
		}
	}
	m.divide(float64(max(1, len(m.byTask))))
	return m, nil
}

func (w *World) measureTask(ctx context.Context, t *taskfile.Task) (*measured, error) {
	ways := []how{kept}
	if !w.Synthetic {
		ways = append(ways, topical)
	}
	if w.Leaves != nil {
		ways = append(ways, paperLeaves)
	}
	var keys []crawlKey
	for _, way := range ways {
		keys = append(keys, crawlKey{t, w.Draws[0], experiment.Baseline, way})
	}
	if err := w.crawls(ctx, keys); err != nil {
		return nil, err
	}
	m := w.newMeasured()
	for _, k := range keys {
		all := evidence(w.made[k])
		delete(w.made, k)
		if len(all) == 0 {
			continue
		}
		var err error
		switch k.how {
		case topical:
			err = m.addFurther(all)
		case paperLeaves:
			m.paper.add(all)
		default:
			err = m.add(all)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// further2002 are the features of 2002 §3.8 in addition to offsets.
var further2002 = [...]struct {
	name string
	// uses reports whether a feature without a word is used; name: it is the name of a class of u, and no prefix of one.
	uses func(term string, name bool) bool
}{
	{"offsets up to 5", func(string, bool) bool { return false }},
	{"and names of u's top two classes", func(_ string, name bool) bool { return name }},
	{"and all prefixes of these names", func(term string, _ bool) bool { return strings.HasPrefix(term, "c:/") }},
	{"offsets up to 5, and R of neighbouring links, where known", func(term string, _ bool) bool { return strings.HasPrefix(term, "w:") }},
}

// addFurther measures the gain of these.
func (m *measured) addFurther(all []instance) error {
	near, cited := within(5), 0.
	for i := range all {
		if len(linkfeature.OnlyCocited(near(all[i].features))) > 0 {
			cited++
		}
	}
	m.cited += cited / float64(len(all))
	for i, f := range further2002 {
		a, err := validate(all, foldings[0], func(fs []*schemas.Feature) []*schemas.Feature {
			fs = near(fs)
			seen := slices.DeleteFunc(slices.Clone(fs), func(x *schemas.Feature) bool {
				return strings.Contains(x.GetTerm(), ":") && !f.uses(x.GetTerm(), className(x.GetTerm(), fs))
			})
			return linkfeature.Judged(seen, int(all[0].cut*256))
		})
		if err != nil {
			return err
		}
		m.further[i] += a.average
	}
	return nil
}

// className reports whether a feature is the name of a class of u: of these and their prefixes, one that is no prefix of
// another.
func className(term string, all []*schemas.Feature) bool {
	return strings.HasPrefix(term, "c:/") && !slices.ContainsFunc(all, func(f *schemas.Feature) bool {
		return f.GetTerm() != term && strings.HasPrefix(f.GetTerm(), strings.TrimSuffix(term, "/")+"/")
	})
}

func (m *measured) add(all []instance) error {
	m.instances += len(all)
	hosts := make(map[string]bool)
	for i := range all {
		hosts[weburl.Host(all[i].u)] = true
	}
	m.hosts = max(m.hosts, len(hosts))
	m.around.add(all)
	m.perceptrons.add(all)
	words, pairs := make(map[string]bool), make(map[pair]bool)
	for i := range all {
		for _, f := range within(5)(all[i].features) {
			words[f.GetTerm()] = true
			pairs[pair{f.GetTerm(), f.GetOffset()}] = true
		}
	}
	m.words, m.pairs = m.words+float64(len(words)), m.pairs+float64(len(pairs))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for d := range dMaxes {
		for i, f := range foldings {
			g.Go(func() error { return m.accuracies[i][d].of(all, f, within(d)) })
		}
		g.Go(func() error { return m.plain[d].of(all, foldings[0], textOnly(d)) })
	}
	return g.Wait()
}

// pair is a feature without its count.
type pair struct {
	term   string
	offset int32
}

// of adds the accuracy of a cross-validation.
func (a *accuracy) of(all []instance, f folding, see func([]*schemas.Feature) []*schemas.Feature) error {
	b, err := validate(all, f, see)
	a.negative, a.positive, a.average = a.negative+b.negative, a.positive+b.positive, a.average+b.average
	return err
}

// numbers returns all means, in a fixed order.
func (m *measured) numbers() []*float64 {
	all := []*float64{&m.words, &m.pairs, &m.cited}
	for _, list := range append(m.accuracies, m.plain) {
		for d := range list {
			all = append(all, &list[d].negative, &list[d].positive, &list[d].average)
		}
	}
	lists := [][]float64{m.gains, m.tokens, m.text, m.further[:]}
	for r := range m.perceptrons {
		lists = append(lists, m.perceptrons[r][:])
	}
	if m.paper != nil {
		lists = append(lists, m.paper.gains, m.paper.tokens, m.paper.text)
	}
	for _, list := range lists {
		for d := range list {
			all = append(all, &list[d])
		}
	}
	return all
}

func (m *measured) divide(n float64) {
	for _, x := range m.numbers() {
		*x /= n
	}
}

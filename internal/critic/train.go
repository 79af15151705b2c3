package critic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"forager/internal/bayes"
	"forager/internal/taxonomy"
)

const (
	// Folds is the number of parts that held-out pages are judged in.
	Folds = 5
	// leastShare is the smallest out-of-fold posterior that is stored.
	leastShare = 1e-12
)

// Settings say how a critic is trained.
type Settings struct {
	// Minimum, Cap and Seed are those of taxonomy.Settings; the paper has 300 and 300.
	Minimum, Cap int
	Seed         uint64
	// Exact takes the topics of the examples for the classes themselves: no tree, no pruning,
	// no Other. Minimum is not used then.
	Exact bool
	// Provenance is where the examples come from, in the user's words ("examples":
	// "dmoz.jsonl"); it goes into the model.
	Provenance map[string]string
}

// Report says what became of the examples, and how well the critic tells its classes apart.
type Report struct {
	// Examples, and of them those with a URL that was there before.
	Examples, Repeated int
	// Pruned topics and where their examples went.
	Pruned []taxonomy.Pruned
	// Classes that were left.
	Classes []ClassReport
	// Words of the vocabulary, and tokens counted.
	Words  int
	Tokens uint64
	// Accuracy is the share of training pages whose best class, judged by a model that has not
	// seen them, is one of their own.
	Accuracy float64
}

// ClassReport is one class.
type ClassReport struct {
	Name string
	// Examples it was trained on, and those that the cap left out.
	Examples, Cut int
	// Recall is the share of its pages that are judged to be of it, Precision the share of
	// those judged to be of it that are; by models that have not seen the page. Precision is 0
	// where no page is judged so.
	Recall, Precision float64
}

// Train prunes the taxonomy of the examples and trains a critic on what is left.
func Train(e *Examples, s Settings) (*Model, *Report, error) {
	for name, v := range map[string]int{"minimum": s.Minimum, "cap": s.Cap} {
		if v < 0 || v > countLimit {
			return nil, nil, fmt.Errorf("train critic: %s is %d", name, v)
		}
	}
	tree, err := grow(e, s)
	if err != nil {
		return nil, nil, fmt.Errorf("train critic: %w", err)
	}
	m := &Model{settings: s, cut: e.settings, pruned: tree.Pruned, heldOut: make(map[string]*heldOut)}
	m.settings.Provenance = maps.Clone(s.Provenance)
	r := &Report{Examples: e.Len() + e.Repeated(), Repeated: e.Repeated(), Pruned: tree.Pruned}
	members := make([][]int, len(tree.Classes)) // of each class, in the order of URLs
	for k, c := range tree.Classes {
		m.classes = append(m.classes, c.Name)
		members[k] = slices.Clone(c.Examples)
		slices.SortFunc(members[k], func(a, b int) int { return strings.Compare(e.items[a].url, e.items[b].url) })
	}

	bags := m.vocabulary(e, members)
	if m.counts, err = bayes.Count(len(m.words), choose(bags, members, func(int) bool { return true })); err != nil {
		return nil, nil, fmt.Errorf("train critic: %w", err)
	}
	r.Words = len(m.words)
	for _, n := range m.counts.N {
		if n > countLimit {
			return nil, nil, fmt.Errorf("train critic: a word occurs %d times in one class", n)
		}
		r.Tokens += n
	}
	newModel(m)
	best := make(map[int]int) // example → class it is judged to be of
	for fold := range Folds {
		if err := m.holdOut(e, bags, members, fold, best); err != nil {
			return nil, nil, fmt.Errorf("train critic without fold %d: %w", fold, err)
		}
	}
	r.measure(tree, best)
	return m, r, nil
}

// grow makes the classes.
func grow(e *Examples, s Settings) (*taxonomy.Tree, error) {
	labelled := make([]taxonomy.Example, len(e.items))
	for i, x := range e.items {
		labelled[i] = taxonomy.Example{URL: x.url, Topics: x.topics}
		if s.Exact {
			continue
		}
		labelled[i].Topics = make([]string, len(x.topics))
		for j, name := range x.topics {
			topic, err := taxonomy.ParseTopic(name)
			if err != nil {
				return nil, fmt.Errorf("example %s: %w", x.url, err)
			}
			labelled[i].Topics[j] = topic
		}
	}
	settings := taxonomy.Settings{Minimum: s.Minimum, Cap: s.Cap, Seed: s.Seed}
	if s.Exact {
		return taxonomy.Flat(labelled, settings)
	}
	return taxonomy.Prune(labelled, settings)
}

// vocabulary sets the words of the examples that train, and returns their bags over it.
func (m *Model) vocabulary(e *Examples, members [][]int) map[int]*bayes.Bag {
	used := make([]bool, len(e.words))
	for _, class := range members {
		for _, i := range class {
			for _, f := range e.items[i].bag.Features {
				used[f] = true
			}
		}
	}
	for f, yes := range used {
		if yes {
			m.words = append(m.words, e.words[f])
		}
	}
	slices.Sort(m.words)
	renumber := make([]uint32, len(e.words))
	for i, w := range m.words {
		renumber[e.index[w]] = uint32(i)
	}
	bags := make(map[int]*bayes.Bag)
	for _, class := range members {
		for _, i := range class {
			if bags[i] != nil {
				continue
			}
			bag := e.items[i].bag
			b := &bayes.Bag{Features: make([]uint32, len(bag.Features)), Counts: bag.Counts}
			for j, f := range bag.Features {
				b.Features[j] = renumber[f]
			}
			bags[i] = b
		}
	}
	return bags
}

func choose(bags map[int]*bayes.Bag, members [][]int, want func(example int) bool) [][]*bayes.Bag {
	classes := make([][]*bayes.Bag, len(members))
	for k, class := range members {
		for _, i := range class {
			if want(i) {
				classes[k] = append(classes[k], bags[i])
			}
		}
	}
	return classes
}

// FoldOf returns the fold of a page, by its canonical URL: 0 to Folds − 1.
func FoldOf(url string) int { return int(xxhash.Sum64String(url) % Folds) }

// holdOut judges the pages of one fold by a model of the others.
func (m *Model) holdOut(e *Examples, bags map[int]*bayes.Bag, members [][]int, fold int, best map[int]int) error {
	counts, err := bayes.Count(len(m.words), choose(bags, members, func(i int) bool { return FoldOf(e.items[i].url) != fold }))
	if err != nil {
		return err
	}
	model := counts.Model()
	raw, tempered := make([]float64, len(members)), make([]float64, len(members))
	for i, bag := range bags {
		url := e.items[i].url
		if FoldOf(url) != fold {
			continue
		}
		// Words in the order of the vocabulary: the sums do not depend on how the page was given.
		known := model.LogLikelihood(raw, ascending(bag))
		model.Posterior(tempered, raw, bayes.Temper(known))
		model.Posterior(raw, raw, 1)
		m.heldOut[url] = &heldOut{raw: shares(raw), tempered: shares(tempered)}
		best[i] = top(raw)[0]
	}
	return nil
}

func ascending(b *bayes.Bag) *bayes.Bag {
	if slices.IsSorted(b.Features) {
		return b
	}
	order := make([]int, len(b.Features))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return int(b.Features[x]) - int(b.Features[y]) })
	a := &bayes.Bag{Features: make([]uint32, len(order)), Counts: make([]uint32, len(order))}
	for i, o := range order {
		a.Features[i], a.Counts[i] = b.Features[o], b.Counts[o]
	}
	return a
}

func shares(p []float64) []share {
	var s []share
	for k, x := range p {
		if x >= leastShare {
			s = append(s, share{uint16(k), x})
		}
	}
	return s
}

func (r *Report) measure(tree *taxonomy.Tree, best map[int]int) {
	right, judged := make([]int, len(tree.Classes)), make([]int, len(tree.Classes))
	for _, k := range best {
		judged[k]++
	}
	correct := 0
	for k, c := range tree.Classes {
		for _, i := range c.Examples {
			if best[i] == k {
				right[k]++
			}
		}
		correct += right[k]
		report := ClassReport{Name: c.Name, Examples: len(c.Examples), Cut: c.Cut}
		report.Recall = float64(right[k]) / float64(len(c.Examples))
		if judged[k] > 0 {
			report.Precision = float64(right[k]) / float64(judged[k])
		}
		r.Classes = append(r.Classes, report)
	}
	r.Accuracy = float64(correct) / float64(len(best))
}

package critic

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forager/internal/classify/bayes"
	"forager/internal/classify/logistic"
	"forager/internal/classify/taxonomy"
	"forager/internal/platform/progress"
	"forager/schemas"
)

// Settings of training.
type Settings struct {
	// Minimum, Cap and Seed are those of taxonomy.Settings; the paper has 300 and 300.
	Minimum, Cap int
	Seed         uint64
	// Exact takes the topics of the examples as the classes: no tree, no pruning, no Other. Minimum is ignored
	// then.
	Exact bool
	// Method of learning; "" = Bayes.
	Method Method
	// Features is the number of words that BayesTree chooses at a node; 0 = all.
	Features int
	// Unmeasured holds no page out: the model has no measures, its calibrated posterior is the raw one, and pages
	// it was trained on are judged like any other. Training takes a sixth of the time.
	Unmeasured bool
	// Provenance is the origin of the examples, as given by the user ("examples": "dmoz.jsonl"); it is stored in
	// the model.
	Provenance map[string]string
}

// Report is the result of training: what became of the examples, and how well the classes are distinguished.
type Report struct {
	// Examples, and of them those with a URL that was present already.
	Examples, Repeated int
	// Pruned topics and the topics that took their examples.
	Pruned []taxonomy.Pruned
	// Classes that remain.
	Classes []ClassReport
	// Words of the vocabulary, and tokens counted.
	Words  int
	Tokens uint64
	// Measured are the posteriors on these pages, held out, calibration included.
	Measured
}

// ClassReport is one class.
type ClassReport struct {
	Name string
	// Examples it was trained on, and those that the cap excluded.
	Examples, Cut int
	// Recall is the share of its pages that are judged to be of it, Precision the share of those judged to be of
	// it that are; by the calibrated posteriors of models that have not seen the page. Precision is 0 where no
	// page is judged to be of it.
	Recall, Precision float64
}

// Train prunes the taxonomy of the examples and trains a critic on what is left.
func Train(ctx context.Context, e *Examples, s Settings) (*Model, *Report, error) {
	m, r, _, err := fit(ctx, e, s, false)
	return m, r, err
}

// Validate is Train, and also returns the out-of-fold posteriors of every training example, in the order of URLs:
// 3 numbers for each class and example. Where these would be more than 100 million, it returns every n-th example.
func Validate(ctx context.Context, e *Examples, s Settings) (*Model, *Report, []Held, error) {
	return fit(ctx, e, s, true)
}

func fit(ctx context.Context, e *Examples, s Settings, keep bool) (*Model, *Report, []Held, error) {
	for name, v := range map[string]int{"minimum": s.Minimum, "cap": s.Cap} {
		if v < 0 || v > countLimit {
			return nil, nil, nil, fmt.Errorf("train critic: %s is %d", name, v)
		}
	}
	tree, err := grow(e, s)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("train critic: %w", err)
	}
	t := newTraining(e, tree, s)
	t.keep = keep
	m := &Model{settings: s, cut: e.settings, classes: t.classes, pruned: tree.Pruned}
	m.settings.Provenance = maps.Clone(s.Provenance)
	if m.settings.Method == "" {
		m.settings.Method = Bayes
	}
	if m.words, err = newVocabulary(t.vocabulary()); err != nil {
		return nil, nil, nil, fmt.Errorf("train critic: %w", err)
	}
	ctx, end := progress.Start(ctx, "training", t.units())
	defer end()
	r := &Report{Examples: e.Len() + e.Repeated(), Repeated: e.Repeated(), Pruned: tree.Pruned, Words: m.Words()}
	for _, i := range t.used {
		r.Tokens += total(t.bags[i]) * uint64(len(t.of[i]))
	}
	if m.judge, err = t.learn(ctx, func(int) bool { return true }); err != nil {
		return nil, nil, nil, fmt.Errorf("train critic: %w", err)
	}
	held := new(heldVerdicts)
	if s.Unmeasured {
		m.calibration, m.unseen = &calibration{takes: schemas.Posterior_POSTERIOR_RAW}, new(unseen)
	} else if held, err = m.holdOut(ctx, t); err != nil {
		return nil, nil, nil, fmt.Errorf("train critic on held-out folds: %w", err)
	}
	r.measure(tree, t, held)
	m.measures = r.Measured
	return newModel(m), r, t.held, nil
}

// units returns the units of progress, steps over examples: only Logistic has many.
func (t *training) units() int64 {
	if t.settings.Method != Logistic {
		return 0
	}
	n := len(t.used)
	units := n * logistic.Epochs(n)
	if !t.settings.Unmeasured {
		others := n - n/Folds // each fold's model is trained on the others
		units += Folds * others * logistic.Epochs(others)
	}
	return int64(units)
}

// Products returns the number of products of a weight and a value that Logistic computes for the examples,
// held-out folds included: its time is proportional to it.
func Products(e *Examples, s Settings) (float64, error) {
	tree, err := grow(e, s)
	if err != nil {
		return 0, fmt.Errorf("train critic: %w", err)
	}
	used, words := make([]bool, len(e.items)), 0
	n := 0
	for _, c := range tree.Classes {
		for _, i := range c.Examples {
			if !used[i] {
				used[i] = true
				n++
				words += len(e.items[i].bag.Features)
			}
		}
	}
	others := n - n/Folds
	steps := float64(n*logistic.Epochs(n) + Folds*others*logistic.Epochs(others))
	return steps * float64(words) / float64(max(n, 1)) * float64(len(tree.Classes)), nil
}

// grow returns the classes.
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

// training is what a model is trained on.
type training struct {
	settings Settings
	examples *Examples
	classes  []string
	members  [][]int // examples of each class, in the order of URLs
	used     []int   // examples of any class, in the order of URLs
	of       [][]int // classes of each example, ascending
	folds    []int   // of each training example, by its first class
	bags     []*bayes.Bag
	words    int
	// features by word, and their number, for Logistic.
	features     []uint32
	featureCount int
	// held are the training examples as judged by held-out models, if keep is set.
	held []Held
	keep bool
}

func newTraining(e *Examples, tree *taxonomy.Tree, s Settings) *training {
	t := &training{settings: s, examples: e, members: make([][]int, len(tree.Classes)), of: make([][]int, len(e.items))}
	byURL := func(a, b int) int { return strings.Compare(e.items[a].url, e.items[b].url) }
	for k, c := range tree.Classes {
		t.classes = append(t.classes, c.Name)
		t.members[k] = slices.Clone(c.Examples)
		slices.SortFunc(t.members[k], byURL)
		for _, i := range c.Examples {
			if t.of[i] == nil {
				t.used = append(t.used, i)
			}
			t.of[i] = append(t.of[i], k)
		}
	}
	slices.SortFunc(t.used, byURL)
	urls, first := make([]string, len(t.used)), make([]int, len(t.used))
	for at, i := range t.used {
		urls[at], first[at] = e.items[i].url, t.of[i][0]
	}
	t.folds = make([]int, len(e.items))
	for at, fold := range FoldsOf(urls, first) {
		t.folds[t.used[at]] = fold
	}
	return t
}

// vocabulary returns the words of the training examples, sorted, and sets their bags over it.
func (t *training) vocabulary() []string {
	e := t.examples
	seen := make([]bool, len(e.words.words))
	for _, i := range t.used {
		for _, f := range e.items[i].bag.Features {
			seen[f] = true
		}
	}
	// Most words differ in their first eight bytes, which are compared as one number.
	type ordered struct {
		begin uint64
		word  uint32
	}
	var order []ordered
	for f, yes := range seen {
		if yes {
			var begin [8]byte
			copy(begin[:], e.words.words[f])
			order = append(order, ordered{binary.BigEndian.Uint64(begin[:]), uint32(f)})
		}
	}
	slices.SortFunc(order, func(a, b ordered) int {
		if a.begin != b.begin {
			return cmp.Compare(a.begin, b.begin)
		}
		return strings.Compare(e.words.words[a.word], e.words.words[b.word])
	})
	words, renumber := make([]string, len(order)), make([]uint32, len(seen))
	for i, o := range order {
		words[i], renumber[o.word] = e.words.words[o.word], uint32(i)
	}
	t.words, t.bags = len(words), make([]*bayes.Bag, len(e.items))
	for _, i := range t.used {
		bag := e.items[i].bag
		b := &bayes.Bag{Features: make([]uint32, len(bag.Features)), Counts: bag.Counts}
		for j, f := range bag.Features {
			b.Features[j] = renumber[f]
		}
		t.bags[i] = b
	}
	if t.settings.Method == Logistic {
		t.features, t.featureCount = hashWords(words, len(t.classes))
	}
	return words
}

// bagsOf returns the bags of the examples that want accepts, by class.
func (t *training) bagsOf(want func(example int) bool) [][]*bayes.Bag {
	classes := make([][]*bayes.Bag, len(t.members))
	for k, class := range t.members {
		for _, i := range class {
			if want(i) {
				classes[k] = append(classes[k], t.bags[i])
			}
		}
	}
	return classes
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

func (r *Report) measure(tree *taxonomy.Tree, t *training, held *heldVerdicts) {
	r.Measured = Measured{measure(held.raw), measure(held.tempered), measure(held.calibrated)}
	right, judged := make([]int, len(tree.Classes)), make([]int, len(tree.Classes))
	for at, v := range held.calibrated {
		judged[v.best]++
		for _, k := range t.of[t.used[at]] {
			if k == v.best {
				right[k]++
			}
		}
	}
	for k, c := range tree.Classes {
		report := ClassReport{Name: c.Name, Examples: len(c.Examples), Cut: c.Cut}
		report.Recall = float64(right[k]) / float64(len(c.Examples))
		if judged[k] > 0 {
			report.Precision = float64(right[k]) / float64(judged[k])
		}
		r.Classes = append(r.Classes, report)
	}
}

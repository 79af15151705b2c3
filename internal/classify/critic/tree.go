package critic

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"forager/internal/classify/bayes"
	"forager/internal/platform/modelfile"
)

// tree is hierarchical naive Bayes (1999): at each node of the taxonomy the children compete, by the words that
// separate them best, and Pr(c|u) = Pr(parent|u) · Pr(c|parent, u).
type tree struct {
	nodes []*node // parents before their children
	// Word w is a feature of the nodes at[start[w]:start[w+1]], ascending; as has the number of the feature in each.
	start, at, as []uint32
}

// node is an inner topic with at least two children.
type node struct {
	branches []branch
	model    *bayes.Model
}

// branch is a child: the classes at and below it, and the node that separates them.
type branch struct {
	classes []int
	node    int // −1: there is only one class
}

// treeOf builds the nodes over sorted classes. An inner topic with one child is no node: nothing competes there.
func treeOf(classes []string) []*node {
	var nodes []*node
	parts := make([][]string, len(classes))
	for k, name := range classes {
		parts[k] = strings.Split(name, "/")
	}
	// same reports whether two classes are below the same child of a topic at a depth. A class that is the topic
	// itself is a child of its own.
	same := func(a, b []string, depth int) bool {
		return depth < len(a) && depth < len(b) && a[depth] == b[depth]
	}
	var grow func(of []int, depth int) int
	grow = func(of []int, depth int) int {
		if len(of) == 1 {
			return -1
		}
		for same(parts[of[0]], parts[of[len(of)-1]], depth) { // and all between them, as they are sorted
			depth++
		}
		var branches []branch
		for at, k := range of {
			if at == 0 || !same(parts[k], parts[of[at-1]], depth) {
				branches = append(branches, branch{})
			}
			b := &branches[len(branches)-1]
			b.classes = append(b.classes, k)
		}
		n := len(nodes)
		nodes = append(nodes, &node{branches: branches})
		for i := range branches {
			branches[i].node = grow(branches[i].classes, depth+1)
		}
		return n
	}
	all := make([]int, len(classes))
	for k := range all {
		all[k] = k
	}
	// Sorted by name, "A B" is between "A" and "A/B": bring siblings together.
	slices.SortStableFunc(all, func(a, b int) int {
		return slices.Compare(parts[a], parts[b])
	})
	grow(all, 0)
	return nodes
}

func learnTree(ctx context.Context, t *training, want func(example int) bool) (learned, error) {
	x := &tree{nodes: treeOf(t.classes), start: make([]uint32, t.words+1)}
	chosen := make([][]uint32, len(x.nodes))
	for at, n := range x.nodes {
		err := ctx.Err()
		if err != nil {
			return nil, err
		}
		if chosen[at], err = n.learn(t, want); err != nil {
			return nil, err
		}
		for _, w := range chosen[at] {
			x.start[w+1]++
		}
	}
	for w := range t.words {
		x.start[w+1] += x.start[w]
	}
	x.at, x.as = make([]uint32, x.start[t.words]), make([]uint32, x.start[t.words])
	next := slices.Clone(x.start)
	for at := range x.nodes {
		for feature, w := range chosen[at] {
			x.at[next[w]], x.as[next[w]] = uint32(at), uint32(feature)
			next[w]++
		}
	}
	return x, nil
}

// learn chooses the words of a node among those of the examples below it, counts them and returns them, ascending.
func (n *node) learn(t *training, want func(example int) bool) ([]uint32, error) {
	documents := make([][]*bayes.Bag, len(n.branches))
	for i, b := range n.branches {
		seen := make(map[int]bool)
		for _, k := range b.classes {
			for _, example := range t.members[k] {
				if want(example) && !seen[example] {
					seen[example] = true
					documents[i] = append(documents[i], t.bags[example])
				}
			}
		}
	}
	words := fisher(t.words, documents)
	if most := t.settings.Features; most > 0 && len(words) > most {
		words = words[:most]
	}
	slices.Sort(words)
	feature := make(map[uint32]uint32, len(words))
	for f, w := range words {
		feature[w] = uint32(f)
	}
	for _, of := range documents {
		for i, d := range of {
			of[i] = project(d, feature)
		}
	}
	counts, err := bayes.Count(len(words), documents)
	if err != nil {
		return nil, err
	}
	n.model = counts.Model()
	return words, nil
}

func project(d *bayes.Bag, feature map[uint32]uint32) *bayes.Bag {
	p := new(bayes.Bag)
	for i, w := range d.Features {
		if f, ok := feature[w]; ok {
			p.Features, p.Counts = append(p.Features, f), append(p.Counts, d.Counts[i])
		}
	}
	return p
}

// fisher returns the words of documents by their Fisher index (1999), highest first, ties by number: with x =
// n(d,t)/n(d) and μ its mean over the documents of a class,
//
//	Σ_{c<c'} (μ_c − μ_c')² / Σ_c |D_c|⁻¹ Σ_d (x_d − μ_c)²
func fisher(words int, classes [][]*bayes.Bag) []uint32 {
	type sums struct{ mean, squares, spread float64 } // Σ μ, Σ μ², and the denominator
	var (
		all     = make([]sums, words)
		x, xx   = make([]float64, words), make([]float64, words)
		found   []uint32
		touched []uint32
		is      = make([]bool, words)
	)
	for _, documents := range classes {
		touched = touched[:0]
		for _, d := range documents {
			length := float64(total(d))
			for i, w := range d.Features {
				if x[w] == 0 {
					touched = append(touched, w)
				}
				share := float64(d.Counts[i]) / length
				x[w] += share
				xx[w] += share * share
			}
		}
		n := float64(len(documents))
		for _, w := range touched {
			mean := x[w] / n
			s := &all[w]
			s.mean += mean
			s.squares += mean * mean
			s.spread += max(0, xx[w]/n-mean*mean)
			x[w], xx[w] = 0, 0
			if !is[w] {
				is[w] = true
				found = append(found, w)
			}
		}
	}
	index := func(w uint32) float64 {
		s := all[w]
		between := max(0, float64(len(classes))*s.squares-s.mean*s.mean)
		if between == 0 {
			return 0
		}
		return between / s.spread // +∞ for a word that has one value in each class
	}
	slices.SortFunc(found, func(a, b uint32) int { return cmp.Or(cmp.Compare(index(b), index(a)), cmp.Compare(a, b)) })
	return found
}

// project returns the features of a bag at each node.
func (x *tree) project(bag *bayes.Bag) []bayes.Bag {
	bags := make([]bayes.Bag, len(x.nodes))
	for i, w := range bag.Features {
		for j := x.start[w]; j < x.start[w+1]; j++ {
			b := &bags[x.at[j]]
			b.Features, b.Counts = append(b.Features, x.as[j]), append(b.Counts, bag.Counts[i])
		}
	}
	return bags
}

func (x *tree) predict(o *Prediction, bag *bayes.Bag) {
	bags := x.project(bag)
	clear(o.Raw)
	clear(o.scores)
	var raw, tempered []float64
	for at, n := range x.nodes {
		raw = slices.Grow(raw[:0], len(n.branches))[:len(n.branches)]
		tempered = slices.Grow(tempered[:0], len(n.branches))[:len(n.branches)]
		known := n.model.LogLikelihood(raw, &bags[at])
		n.model.Joint(tempered, raw, bayes.Temper(known))
		n.model.Joint(raw, raw, 1)
		rawSum, temperedSum := logSum(raw), logSum(tempered)
		for i, b := range n.branches {
			for _, k := range b.classes {
				o.Raw[k] += raw[i] - rawSum
				o.scores[k] += tempered[i] - temperedSum
			}
		}
	}
	o.exact = copy(o.logs, o.Raw) > 0
	bayes.Normalise(o.Raw, o.Raw)
	o.temper()
	o.Known = total(bag)
}

// logSum is log Σ eˣ.
func logSum(logs []float64) float64 {
	top := slices.Max(logs)
	var sum float64
	for _, x := range logs {
		sum += math.Exp(x - top)
	}
	return top + math.Log(sum)
}

func (x *tree) encode(e *modelfile.Encoder) {
	modelfile.PutArray(e, x.start)
	modelfile.PutArray(e, x.at)
	modelfile.PutArray(e, x.as)
	for _, n := range x.nodes {
		e.Uint(uint64(n.model.Table().Features()))
		encodeTable(e, n.model.Table())
	}
}

func decodeTree(d *modelfile.Decoder, m *Model) learned {
	x := &tree{nodes: treeOf(m.classes)}
	x.start, x.at, x.as = modelfile.Array[uint32](d, "nodes of words"), modelfile.Array[uint32](d, "nodes"), modelfile.Array[uint32](d, "features of nodes")
	for _, n := range x.nodes {
		features := int(d.Uint("words of a node", uint64(m.words.len())))
		n.model = decodeTable(d, features, len(n.branches))
		if d.Err() != nil {
			return nil
		}
	}
	if err := x.check(m.words.len()); err != nil {
		d.Fail("%v", err)
	}
	return x
}

func (x *tree) check(words int) error {
	if len(x.start) != words+1 || len(x.at) != len(x.as) || x.start[0] != 0 || int(x.start[words]) != len(x.at) {
		return fmt.Errorf("%d words are %d features of nodes", words, len(x.at))
	}
	for w := range words {
		if x.start[w] > x.start[w+1] {
			return fmt.Errorf("word %d is the features from %d to %d", w, x.start[w], x.start[w+1])
		}
	}
	for i, at := range x.at {
		if int(at) >= len(x.nodes) || int(x.as[i]) >= x.nodes[at].model.Table().Features() {
			return fmt.Errorf("feature %d of node %d", x.as[i], at)
		}
	}
	return nil
}

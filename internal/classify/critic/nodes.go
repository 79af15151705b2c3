package critic

import (
	"forager/internal/classify/bayes"
)

// Node is a place where branches of the taxonomy compete by naive Bayes: the only one for Bayes, each inner topic
// for BayesTree.
type Node struct {
	// Branches are the numbers of the classes at and below each child.
	Branches [][]int
	// Words are those counted at the node, sorted.
	Words []string
	model *bayes.Model
}

// Joint returns log Pr(branch) + log Pr(u|branch) of a page with the given words and counts. Words that the node
// does not count are ignored.
func (n *Node) Joint(words map[string]uint32) []float64 {
	var bag bayes.Bag
	for f, w := range n.Words {
		if times := words[w]; times > 0 {
			bag.Features, bag.Counts = append(bag.Features, uint32(f)), append(bag.Counts, times)
		}
	}
	joint := make([]float64, len(n.Branches))
	n.model.LogLikelihood(joint, &bag)
	n.model.Joint(joint, joint, 1)
	return joint
}

// Nodes returns the nodes of the model, parents before children; none for Logistic.
func (m *Model) Nodes() []Node {
	var nodes []Node
	switch judge := m.judge.(type) {
	case *flat:
		n := Node{model: judge.model}
		for k := range m.classes {
			n.Branches = append(n.Branches, []int{k})
		}
		for w := range uint32(m.words.len()) {
			n.Words = append(n.Words, m.words.word(w))
		}
		nodes = append(nodes, n)
	case *tree:
		for _, inner := range judge.nodes {
			n := Node{model: inner.model, Words: make([]string, inner.model.Table().Features())}
			for _, b := range inner.branches {
				n.Branches = append(n.Branches, b.classes)
			}
			nodes = append(nodes, n)
		}
		for w := range uint32(m.words.len()) {
			for i := judge.start[w]; i < judge.start[w+1]; i++ {
				nodes[judge.at[i]].Words[judge.as[i]] = m.words.word(w)
			}
		}
	}
	return nodes
}

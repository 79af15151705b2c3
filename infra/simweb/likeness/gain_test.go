package likeness

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cespare/xxhash/v2"
)

const (
	// reach is the largest offset measured.
	reach = 8
	// mostLinks is the approximate number of links sampled from a web.
	mostLinks = 60_000
	// rarest is the share of links at whose offset a term must occur to count by itself.
	rarest = 1.0 / 4000
)

// Gain returns the name of the figure of an offset.
func Gain(d int) string { return fmt.Sprintf("information gain at %+d, %%", d) }

// instance is a link with its class and a random one.
type instance struct {
	page, class, random int
	edge                edge
}

// informationGain sets the figures of Fig. 8.
func (g *graph) informationGain(f Figures) {
	instances, classes := g.instances()
	if classes < 2 {
		return
	}
	starts := make([][]uint32, len(g.pages)) // of the leaves of pages that have instances
	for _, x := range instances {
		if starts[x.page] == nil {
			starts[x.page] = leafStarts(g.pages[x.page].GetLeafLengths())
		}
	}
	least := int32(rarest*float64(len(instances))) + 1
	seen := make(map[uint32]bool)
	for d := -reach; d <= reach; d++ {
		found, random := newTable(classes), newTable(classes)
		for _, x := range instances {
			clear(seen)
			g.termsAt(x, d, starts[x.page], func(number uint32, term string) {
				if !seen[number] {
					seen[number] = true
					found.add(term, x.class)
					random.add(term, x.random)
				}
			})
		}
		f[Gain(d)] = 100 * (found.information(least) - random.information(least))
	}
}

// termsAt calls f with the terms of the tokens at offset d of a link, by their numbers in its page.
func (g *graph) termsAt(x instance, d int, starts []uint32, f func(number uint32, term string)) {
	p := g.pages[x.page]
	for leaf := range leavesAt(x.edge, d, len(starts)-1) {
		for _, t := range p.GetTokens()[starts[leaf]:starts[leaf+1]] {
			f(t, p.GetTerms()[t])
		}
	}
}

// instances returns links sampled by a hash of both ends, with their classes, and the same classes in random order.
func (g *graph) instances() (list []instance, classes int) {
	names := make(map[string]bool)
	for _, l := range g.labels {
		names[l] = true
	}
	delete(names, "")
	numbers := make(map[string]int)
	for _, l := range slices.Sorted(maps.Keys(names)) {
		numbers[l] = len(numbers)
	}
	every := uint64(1 + g.count/mostLinks)
	for u, links := range g.links {
		for _, e := range links {
			class, ok := numbers[g.labels[e.to]]
			if ok && xxhash.Sum64String(g.pages[u].GetUrl()+" "+g.pages[e.to].GetUrl())%every == 0 {
				list = append(list, instance{page: u, class: class, edge: e})
			}
		}
	}
	for i, j := range rand.New(rand.NewPCG(1, 2)).Perm(len(list)) {
		list[i].random = list[j].class
	}
	return list, len(numbers)
}

// table counts terms by class.
type table struct {
	classes int
	terms   map[string][]int32
}

func newTable(classes int) *table { return &table{classes, make(map[string][]int32)} }

func (t *table) add(term string, class int) {
	if t.terms[term] == nil {
		t.terms[term] = make([]int32, t.classes)
	}
	t.terms[term][class]++
}

// information is I(T; C) / H(C), with terms of less than the given frequency counted as one.
func (t *table) information(least int32) float64 {
	rare, all := make([]int32, t.classes), make([]int32, t.classes)
	given, n := 0.0, 0.0 // Σ n(t)·H(C|t)
	for _, term := range slices.Sorted(maps.Keys(t.terms)) {
		counts := t.terms[term]
		sum := add(all, counts)
		if sum < least {
			add(rare, counts)
			continue
		}
		given += float64(sum) * entropy(counts)
	}
	for _, c := range all {
		n += float64(c)
	}
	given += float64(add(make([]int32, t.classes), rare)) * entropy(rare)
	h := entropy(all)
	if h == 0 {
		return 0
	}
	return 1 - given/n/h
}

// add adds b to a and returns the sum of b.
func add(a, b []int32) (sum int32) {
	for c, n := range b {
		a[c] += n
		sum += n
	}
	return sum
}

// entropy of the classes, nats.
func entropy(counts []int32) float64 {
	h, n := 0.0, 0.0
	for _, c := range counts {
		n += float64(c)
	}
	for _, c := range counts {
		if c > 0 {
			p := float64(c) / n
			h -= p * math.Log(p)
		}
	}
	return h
}

// leavesAt iterates over the leaves at an offset of a link.
func leavesAt(e edge, d, leaves int) func(yield func(int) bool) {
	first, last := int(e.first), int(e.last)
	switch {
	case d < 0:
		first, last = first+d, first+d
	case d > 0:
		first, last = last+d, last+d
	}
	return func(yield func(int) bool) {
		for l := max(0, first); l <= min(last, leaves-1); l++ {
			if !yield(l) {
				return
			}
		}
	}
}

func leafStarts(lengths []uint32) []uint32 {
	start := make([]uint32, len(lengths)+1)
	for i, n := range lengths {
		start[i+1] = start[i] + n
	}
	return start
}

package linkfeature

import (
	"math"
	"strconv"

	"forager/schemas"
)

// tree is the positions of a page's tokens in its tree, for the families that read it.
type tree struct {
	page *schemas.Page
	ends []uint32 // of the tokens of its leaves
	dMax int
}

// treeOf returns nil for a page without a tree (Page.leaf_depths), or if no family reads it.
func treeOf(p *schemas.Page, s Settings) *tree {
	if s.Families&ofTree == 0 || len(p.GetLeafDepths()) == 0 {
		return nil
	}
	return &tree{page: p, ends: sums(p.LeafLengths), dMax: s.DMax}
}

// terms returns those of a link: of the tokens at most dMax leaves away, with the path between their leaves and the <a>.
func (t *tree) terms(l *schemas.Link, f Families) (terms []string) {
	leaves := len(t.page.LeafDepths)
	first, last := int(l.GetFirstLeaf()), int(l.GetLastLeaf())
	if first >= leaves {
		return nil
	}
	for leaf := first; leaf <= min(last, leaves-1); leaf++ {
		terms = t.leaf(terms, l, f, leaf, 0, int(l.GetDepth()))
	}
	// Outside of the <a> the least join on the way is the depth of the lowest common ancestor with it.
	join := math.MaxUint8
	for leaf := first - 1; leaf >= max(0, first-t.dMax); leaf-- {
		join = min(join, int(t.page.LeafJoins[leaf+1]))
		terms = t.leaf(terms, l, f, leaf, leaf-first, join)
	}
	join = math.MaxUint8
	for leaf := last + 1; leaf <= min(leaves-1, last+t.dMax); leaf++ {
		join = min(join, int(t.page.LeafJoins[leaf]))
		terms = t.leaf(terms, l, f, leaf, leaf-last, join)
	}
	return terms
}

// leaf appends the terms of the tokens of a leaf at offset d, whose lowest common ancestor with the link has the given
// depth.
func (t *tree) leaf(terms []string, l *schemas.Link, f Families, leaf, d, depth int) []string {
	for _, token := range t.page.Tokens[begin(t.ends, leaf):t.ends[leaf]] {
		behind := ":" + strconv.Itoa(d) + ":" + t.page.Terms[token]
		if f&pathLength != 0 {
			length := int(t.page.LeafDepths[leaf]) + int(l.GetDepth()) - 2*depth
			terms = append(terms, pathPrefix+":"+strconv.Itoa(length)+behind)
		}
		if f&ancestor != 0 {
			terms = append(terms, ancestorPrefix+":"+strconv.Itoa(depth)+behind)
		}
	}
	return terms
}

// Prefixes of the terms of the families.
const pathPrefix, ancestorPrefix = "path", "lca"

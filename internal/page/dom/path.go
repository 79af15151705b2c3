package dom

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/net/html"
)

// maxPathElements bounds a path, so that the paths of all links of a deeply nested page take linear time.
const maxPathElements = 64

// tagPath returns the elements from the root of the repaired tree to n, each with its id and its classes as
// written ("html", "body", "div#main.wide", "a"); for a deep one the maxPathElements nearest.
func tagPath(n *html.Node) []string {
	var elements []string
	for ; n != nil && n.Type == html.ElementNode && len(elements) < maxPathElements; n = n.Parent {
		e := n.Data
		if id, ok := (*node)(n).attribute("id"); ok && id != "" {
			e += "#" + strings.Join(strings.Fields(id), "_")
		}
		if classes, ok := (*node)(n).attribute("class"); ok {
			for class := range strings.FieldsSeq(classes) {
				e += "." + class
			}
		}
		elements = append(elements, e)
	}
	slices.Reverse(elements)
	return elements
}

// hashedPairs returns the hashes of the pairs of consecutive elements, the first of them with no predecessor.
func hashedPairs(path []string) []uint32 {
	last, pairs := "", make([]uint32, len(path))
	for i, element := range path {
		pairs[i] = uint32(xxhash.Sum64String(last + " " + element))
		last = element
	}
	return pairs
}

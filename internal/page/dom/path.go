package dom

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/net/html"
)

// maxPathElements bounds a path, so that paths of all links of a page nested deep take linear time.
const maxPathElements = 64

// tagPath are the elements from the root of the repaired tree down to one, each with its id and its classes as the page
// writes them ("html", "body", "div#main.wide", "a"); of a deep one the maxPathElements nearest.
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

// hashedPairs are the pairs of elements that follow each other, the first of them behind nothing.
func hashedPairs(path []string) []uint32 {
	last, pairs := "", make([]uint32, len(path))
	for i, element := range path {
		pairs[i] = uint32(xxhash.Sum64String(last + " " + element))
		last = element
	}
	return pairs
}

package dom

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/net/html"
)

// maxPathElements bounds a path, so that the paths of all links of a deeply nested page take linear time.
const maxPathElements = 64

// tagPath returns the hashes of the pairs of consecutive elements on the way from the root of the repaired tree to n, the first of them with no
// predecessor. An element has its id and its classes as written ("html", "div#main.wide"). Of a deep path the maxPathElements nearest count.
func tagPath(n *html.Node) []uint32 {
	var path []*html.Node
	for ; n != nil && n.Type == html.ElementNode && len(path) < maxPathElements; n = n.Parent {
		path = append(path, n)
	}
	slices.Reverse(path)
	pairs := make([]uint32, len(path))
	var pair []byte // the last two elements
	last := 0       // where the second one begins
	for i, n := range path {
		pair = append(append(pair[:0], pair[last:]...), ' ')
		last = len(pair)
		pair = appendElement(pair, n)
		pairs[i] = uint32(xxhash.Sum64(pair))
	}
	return pairs
}

func appendElement(b []byte, n *html.Node) []byte {
	b = append(b, n.Data...)
	if id, ok := (*node)(n).attribute("id"); ok && id != "" {
		b = append(b, '#')
		before := ""
		for part := range strings.FieldsSeq(id) {
			b = append(append(b, before...), part...)
			before = "_"
		}
	}
	if classes, ok := (*node)(n).attribute("class"); ok {
		for class := range strings.FieldsSeq(classes) {
			b = append(append(b, '.'), class...)
		}
	}
	return b
}

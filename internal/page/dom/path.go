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
	hash := xxhash.New()
	for i, n := range path {
		hash.Reset()
		if i > 0 {
			writeElement(hash, path[i-1])
		}
		hash.WriteString(" ")
		writeElement(hash, n)
		pairs[i] = uint32(hash.Sum64())
	}
	return pairs
}

func writeElement(hash *xxhash.Digest, n *html.Node) {
	hash.WriteString(n.Data)
	if id, ok := (*node)(n).attribute("id"); ok && id != "" {
		hash.WriteString("#")
		before := ""
		for part := range strings.FieldsSeq(id) {
			hash.WriteString(before)
			hash.WriteString(part)
			before = "_"
		}
	}
	if classes, ok := (*node)(n).attribute("class"); ok {
		for class := range strings.FieldsSeq(classes) {
			hash.WriteString(".")
			hash.WriteString(class)
		}
	}
}

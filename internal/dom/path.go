package dom

import (
	"strings"

	"golang.org/x/net/html"

	"forager/internal/weburl"
)

// TagPaths returns, for each link of the page that Parse makes of the same body, the elements from the root of the
// repaired tree down to its <a>, each with its id and its classes as the page writes them:
//
//	html body div#main.wide ul.menu li a
//
// A path has the maxPathElements nearest elements at most, and of a page of which only the tokenizer read the paths are empty. The
// error is a URL that is none.
func TagPaths(body []byte, contentType, url string, s Settings) ([]string, error) {
	u, err := weburl.Parse(url)
	if err != nil {
		return nil, err
	}
	r, _ := decodeAndRead(body, contentType, s.withDefaults(), func(s Settings, size int) *reading {
		r := newReading(s, size)
		r.paths = new(paths)
		return r
	})
	r.finish(u)
	return r.paths.links, nil
}

// paths are the tag paths of a page's links.
type paths struct{ links []string }

// maxPathElements bounds a path, so that paths of all links of a page nested deep take linear time.
const maxPathElements = 64

// tagPath is the path of an element.
func tagPath(n *html.Node) string {
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
	var b strings.Builder
	for i := len(elements) - 1; i >= 0; i-- {
		b.WriteString(elements[i])
		if i > 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

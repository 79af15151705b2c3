package dom

import (
	"math"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/schemas"
)

// chains are, of the leaves of a page and of its links, all nodes from the root down to them.
type chains struct {
	paper  bool
	leaves [][]*html.Node
	links  map[*html.Node][]*html.Node
}

// walk follows the definition of leaves; above are the nodes down to n, with n.
func (c *chains) walk(n *html.Node, above []*html.Node) {
	switch {
	case n.Type == html.DoctypeNode, n.Type == html.CommentNode && !c.paper, n.Type == html.TextNode && !c.paper && strings.TrimSpace(n.Data) == "":
		return
	case n.Type == html.ElementNode && n.Namespace == "" && (n.Data == "a" || n.Data == "area"):
		if _, ok := (*node)(n).attribute("href"); ok {
			c.links[n] = above
		}
	}
	before := len(c.leaves)
	if opaque := slices.Contains([]string{"script", "style", "svg"}, n.Data) || n.Data == "template" && n.Namespace == ""; !opaque {
		for child := range n.ChildNodes() {
			c.walk(child, append(slices.Clone(above), child))
		}
	}
	if len(c.leaves) == before {
		c.leaves = append(c.leaves, above)
	}
}

// common is the depth of the lowest common ancestor of two nodes.
func common(a, b []*html.Node) (depth int) {
	for depth < min(len(a), len(b)) && a[depth] == b[depth] {
		depth++
	}
	return depth
}

// TestTreesFollowTheirDefinition: any two leaves have the common ancestor, and every leaf and link the depth, of
// the tree.
func TestTreesFollowTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Repeat("<div>", rapid.SampledFrom([]int{0, 0, 0, 250}).Draw(t, "deep")) + markup().Draw(t, "body")
		mode := rapid.SampledFrom([]schemas.LeafMode{schemas.LeafMode_LEAF_MODE_COMPACT, schemas.LeafMode_LEAF_MODE_PAPER}).Draw(t, "mode")
		p, err := Parse([]byte(body), "text/html; charset=utf-8", "http://h.test/", Settings{Leaves: mode, Tree: true})
		if err != nil {
			t.Fatal(err)
		}
		doc, err := repair(detect([]byte(body), "text/html; charset=utf-8").decode([]byte(body)))
		if p.TokenizerOnly || err != nil {
			if len(p.LeafDepths) > 0 || len(p.LeafJoins) > 0 {
				t.Fatalf("a page without a tree has %d depths", len(p.LeafDepths))
			}
			return
		}
		want := &chains{paper: mode == schemas.LeafMode_LEAF_MODE_PAPER, links: make(map[*html.Node][]*html.Node)}
		for n := range doc.ChildNodes() {
			want.walk(n, []*html.Node{n})
		}
		if n := len(want.leaves); len(p.LeafDepths) != n || len(p.LeafJoins) != n {
			t.Fatalf("%d depths and %d common ancestors of %d leaves", len(p.LeafDepths), len(p.LeafJoins), n)
		}
		for j, b := range want.leaves {
			if p.LeafDepths[j] != capped(len(b)) {
				t.Fatalf("leaf %d has depth %d, want %d", j, p.LeafDepths[j], len(b))
			}
			join := math.MaxInt
			for i := j - 1; i >= 0; i-- {
				if join = min(join, int(p.LeafJoins[i+1])); join != int(capped(common(want.leaves[i], b))) {
					t.Fatalf("the common ancestor of leaves %d and %d has depth %d, want %d", i, j, join, common(want.leaves[i], b))
				}
			}
		}
		depths := make(map[uint32]int)
		for _, above := range want.links {
			depths[uint32(capped(len(above)))]++
		}
		for _, l := range p.Links {
			if depths[l.Depth]--; depths[l.Depth] < 0 {
				t.Fatalf("link to %s has depth %d; what is left of links by depth: %v", l.Url, l.Depth, depths)
			}
		}
		checkNoTree(t, p, body, mode)
	})
}

// checkNoTree checks that the page is the same, except its tree, without Settings.Tree.
func checkNoTree(t *rapid.T, p *schemas.Page, body string, mode schemas.LeafMode) {
	without, err := Parse([]byte(body), "text/html; charset=utf-8", "http://h.test/", Settings{Leaves: mode})
	if err != nil {
		t.Fatal(err)
	}
	p.LeafDepths, p.LeafJoins = nil, nil
	for _, l := range p.Links {
		l.Depth = 0
	}
	if !proto.Equal(p, without) {
		t.Fatalf("without its tree the page is another:\n%v\n%v", p, without)
	}
}

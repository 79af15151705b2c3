package linkfeature

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/page/dom"
	"forager/schemas"
)

// branch is a node of a page that is made for a test.
type branch struct {
	tag, word string // an element's name, or a text's one word
	above     *branch
	below     []*branch
}

// grow draws an element's children; no two texts side by side, which would be one text of the page.
func grow(t *rapid.T, above *branch, depth int, linked bool) {
	for range rapid.IntRange(0, 4).Draw(t, "children") {
		b := &branch{above: above, tag: rapid.SampledFrom([]string{"", "", "div", "span", "a", "img"}).Draw(t, "tag")}
		n := len(above.below)
		switch {
		case b.tag == "" && n > 0 && above.below[n-1].tag == "", b.tag == "a" && linked, b.tag == "div" && linked:
			continue
		case b.tag == "":
			b.word = rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "word")
		case b.tag != "img" && depth > 0:
			grow(t, b, depth-1, linked || b.tag == "a")
		}
		above.below = append(above.below, b)
	}
}

func (b *branch) write(to *strings.Builder, links *[]*branch) {
	switch b.tag {
	case "":
		to.WriteString(b.word)
		return
	case "img":
		to.WriteString("<img>")
		return
	case "a":
		fmt.Fprintf(to, "<a href=%d>", len(*links))
		*links = append(*links, b)
	default:
		fmt.Fprintf(to, "<%s>", b.tag)
	}
	for _, child := range b.below {
		child.write(to, links)
	}
	fmt.Fprintf(to, "</%s>", b.tag)
}

func (b *branch) leaves() (all []*branch) {
	for _, child := range b.below {
		all = append(all, child.leaves()...)
	}
	if len(b.below) == 0 {
		return []*branch{b}
	}
	return all
}

// way returns the number of steps to another branch, and the depth of the node where it turns downwards.
func (b *branch) way(to *branch) (steps, turn int) {
	for up := 0; b != nil; up++ {
		down := 0
		for x := to; x != nil; x = x.above {
			if x == b {
				depth := 0
				for ; b.above != nil; b = b.above {
					depth++
				}
				return up + down, depth
			}
			down++
		}
		b = b.above
	}
	panic("two pages")
}

// TestFeaturesOfTreesFollowTheWay goes from each leaf to each link of a page, step by step.
func TestFeaturesOfTreesFollowTheWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := &branch{tag: "body", above: &branch{tag: "html", above: new(branch)}}
		grow(t, body, 5, false)
		var text strings.Builder
		var links []*branch
		body.write(&text, &links)
		p, err := dom.Parse([]byte("<!doctype html><html><head></head>"+text.String()+"</html>"), "", "http://h/", dom.Settings{Tree: true})
		if err != nil || len(p.Links) != len(links) {
			t.Fatalf("%d links, want %d (%v): %s", len(p.GetLinks()), len(links), err, text.String())
		}
		leaves := append([]*branch{nil}, body.leaves()...) // <head> is the first
		dMax, f := rapid.IntRange(0, 6).Draw(t, "d_max"), rapid.SampledFrom([]Families{pathLength, ancestor, pathLength | ancestor}).Draw(t, "families")
		record, found, _, err := Extract(p, nil, Settings{DMax: dMax, Families: f})
		if err != nil {
			t.Fatal(err)
		}
		table, err := Open(record)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range found {
			want := make(map[string]int)
			for leaf, b := range leaves {
				if d, near := LeafOffset(l, uint32(leaf), uint32(leaf), dMax); near && b != nil && b.word != "" {
					steps, turn := b.way(links[i])
					if f&pathLength != 0 {
						want[fmt.Sprintf("path:%d:%d:%s", steps, d, b.word)]++
					}
					if f&ancestor != 0 {
						want[fmt.Sprintf("lca:%d:%d:%s", turn, d, b.word)]++
					}
				}
			}
			for _, x := range table.FeaturesOf(l, dMax, f) {
				if want[x.GetTerm()] != int(x.GetCount()) || x.GetOffset() != schemas.NoOffset || !f.Keep(x) {
					t.Fatalf("link %d of %s has %v, want it %d times", i, text.String(), x, want[x.GetTerm()])
				}
				delete(want, x.GetTerm())
			}
			if len(want) > 0 {
				t.Fatalf("link %d of %s lacks %v", i, text.String(), want)
			}
		}
	})
}

func TestPagesWithHalfATreeAreRefused(t *testing.T) {
	for name, change := range map[string]func(*schemas.Page){
		"no common ancestors": func(p *schemas.Page) { p.LeafDepths = []byte{3, 3} },
		"too few":             func(p *schemas.Page) { p.LeafDepths, p.LeafJoins = []byte{3}, []byte{0} },
	} {
		p := page([]string{"a", "b"}, link(0, 0))
		change(p)
		if _, _, _, err := Extract(p, nil, Settings{}); err == nil || !strings.Contains(err.Error(), "depths") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

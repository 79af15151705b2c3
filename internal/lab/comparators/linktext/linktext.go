package linktext

import (
	"fmt"

	"forager/internal/page/text"
	"forager/schemas"
)

// Page gives access to the words of parts of a page. Not for concurrent use.
type Page struct {
	page  *schemas.Page
	words *text.Words // cuts parts, in the language of the page
	ends  []int       // end of the tokens of each leaf
	piece text.Surface
}

// Open prepares a page. The error is that of an inconsistent page.
func Open(p *schemas.Page, s text.Settings) (*Page, error) {
	t := &Page{page: p, ends: make([]int, 0, len(p.GetLeafLengths()))}
	end := 0
	for _, n := range p.GetLeafLengths() {
		if end += int(n); end > len(p.GetTokens()) {
			return nil, fmt.Errorf("words of %s: its leaves have more than its %d tokens", p.GetUrl(), len(p.GetTokens()))
		}
		t.ends = append(t.ends, end)
	}
	whole := text.NewWords(s)
	if err := whole.Surface(t.whole()); err != nil {
		return nil, fmt.Errorf("words of %s: %w", p.GetUrl(), err)
	}
	if s.Language == "" {
		s.Language = whole.Language()
	}
	t.words = text.NewWords(s)
	return t, nil
}

func (t *Page) whole() *text.Surface { return text.SurfaceOf(t.page) }

// Page adds the words of the whole page to counts.
func (t *Page) Page(counts map[string]uint32) {
	t.count(t.whole(), counts)
}

// Title adds the words of the page's title.
func (t *Page) Title(counts map[string]uint32) {
	t.words.Text(t.page.GetTitle(), t.page.GetLanguage())
	t.add(counts)
}

// Anchor adds the words of a link: those of the leaves below its <a>. A link may refer to leaves that the page does not have.
func (t *Page) Anchor(l *schemas.Link, counts map[string]uint32) {
	t.leaves(int(l.GetFirstLeaf()), int(l.GetLastLeaf()), counts)
}

// Around adds the words of the at most reach leaves before and after those of a link, the link's own excluded.
func (t *Page) Around(l *schemas.Link, reach int, counts map[string]uint32) {
	first, last := int(l.GetFirstLeaf()), int(l.GetLastLeaf())
	t.leaves(first-reach, first-1, counts)
	t.leaves(last+1, last+reach, counts)
}

// leaves adds the words of the leaves first to last that exist.
func (t *Page) leaves(first, last int, counts map[string]uint32) {
	first, last = max(first, 0), min(last, len(t.ends)-1)
	if first > last {
		return
	}
	from := 0
	if first > 0 {
		from = t.ends[first-1]
	}
	// Every token is a term of its own: the page's terms are many more than those of a few leaves.
	s := &t.piece
	s.Terms, s.Tokens, s.Shapes, s.Language = s.Terms[:0], s.Tokens[:0], s.Shapes[:0], t.page.GetLanguage()
	for i := from; i < t.ends[last]; i++ {
		s.Terms = append(s.Terms, t.page.GetTerms()[t.page.GetTokens()[i]])
		s.Tokens = append(s.Tokens, uint32(i-from))
		s.Shapes = text.AppendShape(s.Shapes, i-from, text.ShapeAt(t.page.GetShapes(), i))
	}
	t.count(s, counts)
}

func (t *Page) count(s *text.Surface, counts map[string]uint32) {
	if err := t.words.Surface(s); err != nil {
		panic(fmt.Sprintf("words of %s, which was opened: %v", t.page.GetUrl(), err))
	}
	t.add(counts)
}

func (t *Page) add(counts map[string]uint32) {
	for t.words.Next() {
		counts[string(t.words.Word())] += t.words.Count()
	}
}

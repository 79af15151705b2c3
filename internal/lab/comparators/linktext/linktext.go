package linktext

import (
	"fmt"

	"forager/internal/page/text"
	"forager/schemas"
)

// Page gives access to the words of parts of a page. Not for concurrent use.
type Page struct {
	page   *schemas.Page
	words  *text.Words // cuts parts, in the language of the page
	leaves text.Leaves
	piece  text.Surface
}

// Open prepares a page. The error is that of an inconsistent page.
func Open(p *schemas.Page, s text.Settings) (*Page, error) {
	leaves, err := text.LeavesOf(p)
	if err != nil {
		return nil, err
	}
	t := &Page{page: p, leaves: leaves}
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
	t.part(int(l.GetFirstLeaf()), int(l.GetLastLeaf()), counts)
}

// Around adds the words of the at most reach leaves before and after those of a link, the link's own excluded.
func (t *Page) Around(l *schemas.Link, reach int, counts map[string]uint32) {
	first, last := int(l.GetFirstLeaf()), int(l.GetLastLeaf())
	t.part(first-reach, first-1, counts)
	t.part(last+1, last+reach, counts)
}

// part adds the words of the leaves first to last that exist.
func (t *Page) part(first, last int, counts map[string]uint32) {
	from, to := t.leaves.Tokens(first, last)
	t.piece.Cut(t.whole(), from, to)
	t.count(&t.piece, counts)
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

package pageguide

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"forager/internal/page/text"
	"forager/internal/page/tfidf"
	"forager/schemas"
)

// reading is a page with counted words.
type reading struct {
	page   *schemas.Page
	whole  tfidf.Document
	words  text.Settings // of parts of the page: in the language of the whole page
	leaves text.Leaves
}

// readers are readers of words, which keep the stems of the pages that they have read.
var readers = sync.Pool{New: func() any { return text.NewWords(text.Settings{}) }}

// read counts the words of a page. The error is an inconsistent page.
func read(p *schemas.Page, s text.Settings) (*reading, error) {
	w := readers.Get().(*text.Words)
	defer readers.Put(w)
	w.Set(s)
	if err := w.Surface(text.SurfaceOf(p)); err != nil {
		return nil, fmt.Errorf("words of %s: %w", p.GetUrl(), err)
	}
	r := &reading{page: p, words: s}
	if language := w.Language(); language != "" {
		r.words.Language = language
	}
	r.whole = count(w)
	var err error
	r.leaves, err = text.LeavesOf(p)
	return r, err
}

// Document counts the words of a page as guides do, by settings of words. The error is an inconsistent page.
func Document(p *schemas.Page, s text.Settings) (tfidf.Document, error) {
	r, err := read(p, s)
	if err != nil {
		return tfidf.Document{}, err
	}
	return r.whole, nil
}

// Words calls add for each word of a page and its count, as Document counts them; a word may come again.
func Words(p *schemas.Page, s text.Settings, add func(word []byte, count uint32)) error {
	w := readers.Get().(*text.Words)
	defer readers.Put(w)
	w.Set(s)
	if err := w.Surface(text.SurfaceOf(p)); err != nil {
		return fmt.Errorf("words of %s: %w", p.GetUrl(), err)
	}
	for w.Next() {
		add(w.Word(), w.Count())
	}
	return nil
}

// count returns the words of a text, in their order.
func count(w *text.Words) tfidf.Document {
	counts := make(map[string]uint32)
	for w.Next() {
		counts[string(w.Word())] += w.Count()
	}
	return documentOf(counts)
}

func documentOf(counts map[string]uint32) tfidf.Document {
	d := tfidf.Document{Words: slices.Sorted(maps.Keys(counts))}
	for _, w := range d.Words {
		d.Counts = append(d.Counts, counts[w])
	}
	return d
}

// text counts the words of a text in the language of the page.
func (r *reading) text(s string) tfidf.Document {
	w := readers.Get().(*text.Words)
	defer readers.Put(w)
	w.Set(r.words)
	w.Text(s, r.page.GetLanguage())
	return count(w)
}

// part returns the words of tokens [from, to).
func (r *reading) part(from, to int) tfidf.Document {
	var s text.Surface
	s.Cut(text.SurfaceOf(r.page), from, to)
	w := readers.Get().(*text.Words)
	defer readers.Put(w)
	w.Set(r.words)
	if err := w.Surface(&s); err != nil {
		panic(fmt.Sprintf("words of a part of %s: %v", r.page.GetUrl(), err)) // its tokens are those of its terms
	}
	return count(w)
}

// anchorTokens is the least number of tokens of an anchor with the text around it (2008 §3.4).
const anchorTokens = 4

// anchor returns the words of a link with those of the leaves around it, one more on each side, until there are
// anchorTokens tokens. A link may have leaves that the page does not have.
func (r *reading) anchor(l *schemas.Link) tfidf.Document {
	first, last := int(l.GetFirstLeaf()), int(l.GetLastLeaf())
	if first >= len(r.leaves) || first > last {
		return tfidf.Document{}
	}
	from, to := r.leaves.Tokens(first, last)
	for to-from < anchorTokens && (first > 0 || last < len(r.leaves)-1) {
		first, last = first-1, last+1
		from, to = r.leaves.Tokens(first, last)
	}
	return r.part(from, to)
}

// firstTokens is the number of tokens that describe a page without a description (2008 §3.4).
const firstTokens = 50

// description returns the words of the page's description, or those of its title and its beginning.
func (r *reading) description() tfidf.Document {
	if d := r.page.GetDescription(); d != "" {
		return r.text(d)
	}
	words := []string{r.page.GetTitle()}
	for _, t := range r.page.GetTokens()[:min(firstTokens, len(r.page.GetTokens()))] {
		words = append(words, r.page.GetTerms()[t])
	}
	return r.text(strings.Join(words, " "))
}

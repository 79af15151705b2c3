package pagerules

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"forager/internal/page/text"
	"forager/schemas"
)

// Fields of a page that conditions read.
const (
	title = iota
	description
	url
	body
	language
	fields
)

var fieldNames = [fields]string{title: "title", description: "description", url: "url", body: "text", language: "language"}

// condition is a node of a rule's condition.
type condition interface{ holds(p *page) bool }

type (
	anyOf []condition
	allOf []condition
	not   struct{ condition }
	// phrase is words in sequence; most often a single word.
	phrase struct {
		field  int
		words  []int
		joined []byte // " covalent bond "; nil for a single word
	}
	expression struct {
		field int
		*regexp.Regexp
	}
)

func (c anyOf) holds(p *page) bool {
	return slices.ContainsFunc(c, func(x condition) bool { return x.holds(p) })
}

func (c allOf) holds(p *page) bool {
	return !slices.ContainsFunc(c, func(x condition) bool { return !x.holds(p) })
}

func (c not) holds(p *page) bool { return !c.condition.holds(p) }

func (c phrase) holds(p *page) bool {
	for _, w := range c.words {
		if !p.has[c.field][w] {
			return false
		}
	}
	return c.joined == nil || bytes.Contains(p.joined[c.field], c.joined)
}

func (c expression) holds(p *page) bool {
	if c.field == body {
		// Its words, without the spaces around them.
		return c.Match(bytes.TrimSpace(p.joined[body]))
	}
	return c.MatchString(p.whole[c.field])
}

// page is a page in the form that conditions read.
type page struct {
	whole [fields]string
	// has reports which of the words in rules a field has; joined is all of its words with a space before, between
	// and after them.
	has    [fields][]bool
	joined [fields][]byte
	used   []bool // by term
}

// read extracts what the rules need from a page.
func (s *page) read(r *Rules, p *schemas.Page) {
	s.whole = [fields]string{title: p.GetTitle(), description: p.GetDescription(), url: p.GetUrl(), language: p.GetLanguage()}
	for f, uses := range r.uses {
		clear(s.has[f])
		s.joined[f] = append(s.joined[f][:0], ' ')
		switch {
		case !uses.words && !uses.joined:
		case f == body:
			s.readBody(r, p, uses)
		default:
			for word := range wordsOf(f, s.whole[f]) {
				if w, ok := r.words[word]; ok {
					s.has[f][w] = true
				}
				s.joined[f] = append(append(s.joined[f], word...), ' ')
			}
		}
	}
}

func (s *page) readBody(r *Rules, p *schemas.Page, uses use) {
	s.used = slices.Grow(s.used[:0], len(p.GetTerms()))[:len(p.GetTerms())]
	clear(s.used)
	for _, t := range p.GetTokens() {
		s.used[t] = true
		if uses.joined {
			s.joined[body] = append(append(s.joined[body], p.Terms[t]...), ' ')
		}
	}
	for t, yes := range s.used {
		if w, ok := r.words[p.Terms[t]]; ok && yes {
			s.has[body][w] = true
		}
	}
}

// wordsOf yields the words of a field, or of a string that is searched in it.
func wordsOf(field int, s string) func(yield func(string) bool) {
	if field == url {
		return strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	return func(yield func(string) bool) {
		var z text.Scanner
		for z.Reset(s); z.Next(); {
			if !yield(string(z.Token())) {
				return
			}
		}
	}
}

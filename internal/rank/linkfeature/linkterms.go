package linkfeature

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"forager/internal/web/weburl"
	"forager/schemas"
)

// gram is the number of characters of FEATURE_FAMILY_URL_NGRAMS; mostTerms bounds the terms of a link in each family of
// URLs.
const (
	gram      = 4
	mostTerms = 64
)

// MaxLinkTerms bounds the terms of the links of a page, bytes of the record. Links beyond that have none.
const MaxLinkTerms = 1 << 19

// linkTerms lists the terms of the links themselves; cut reports whether some were left out.
func linkTerms(t *schemas.LeafTable, p *schemas.Page, s Settings) (cut bool) {
	if s.Families&ofLink == 0 {
		return false
	}
	byLeaf := slices.Clone(p.GetLinks())
	slices.SortStableFunc(byLeaf, func(a, b *schemas.Link) int { return int(int64(a.GetFirstLeaf()) - int64(b.GetFirstLeaf())) })
	source := sourceOf(p, s)
	number := make(map[string]uint32)
	size := 0
	for i, l := range byLeaf {
		if i > 0 && l.GetFirstLeaf() == byLeaf[i-1].GetFirstLeaf() {
			continue
		}
		terms := source.terms(l, s.Families)
		if len(terms) == 0 {
			continue
		}
		size += 8 + 3*len(terms)
		for _, term := range terms {
			if _, known := number[term]; !known {
				size += termSize(term)
			}
		}
		if size > MaxLinkTerms {
			return true
		}
		for _, term := range terms {
			n, known := number[term]
			if !known {
				n = uint32(len(t.LinkNames))
				number[term] = n
				t.LinkNames = append(t.LinkNames, term)
			}
			t.LinkTerms = append(t.LinkTerms, n)
		}
		t.LinkLeaves = append(t.LinkLeaves, l.GetFirstLeaf())
		t.LinkLengths = append(t.LinkLengths, uint32(len(terms)))
	}
	return false
}

// source is the page that has the links.
type source struct {
	host, directory string
	tree            *tree // nil if it is not selected, or the page has none
}

func sourceOf(p *schemas.Page, s Settings) source {
	return source{weburl.Host(p.GetUrl()), directory(p.GetUrl()), treeOf(p, s)}
}

// directory is a URL up to the last slash of its path.
func directory(url string) string {
	path, _, _ := strings.Cut(url, "?")
	return path[:strings.LastIndexByte(path, '/')+1]
}

// terms returns those of a link, in a deterministic order.
func (s source) terms(l *schemas.Link, f Families) []string {
	var terms []string
	if f&rel != 0 && l.GetNofollow() {
		terms = append(terms, "rel:nofollow")
	}
	if f&position != 0 {
		terms = append(terms, "pos:"+strconv.Itoa(bits.Len32(l.GetPosition())))
	}
	if f&sameSite != 0 {
		switch {
		case weburl.Host(l.GetUrl()) != s.host:
			terms = append(terms, "host:other")
		case directory(l.GetUrl()) != s.directory:
			terms = append(terms, "host:same", "dir:other")
		default:
			terms = append(terms, "host:same", "dir:same")
		}
	}
	if f&tagPath != 0 {
		for _, pair := range l.GetTagPath() {
			terms = append(terms, fmt.Sprintf("tag:%08x", pair))
		}
	}
	if s.tree != nil {
		terms = append(terms, s.tree.terms(l, f)...)
	}
	_, url, _ := strings.Cut(strings.ToLower(l.GetUrl()), "://")
	if f&urlTokens != 0 {
		words := strings.FieldsFunc(url, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		for _, w := range words[:min(len(words), mostTerms)] {
			terms = append(terms, "url:"+w)
		}
	}
	if f&urlGrams != 0 {
		letters := []rune(url)
		for i := 0; i+gram <= len(letters) && i < mostTerms; i++ {
			terms = append(terms, "gram:"+string(letters[i:i+gram]))
		}
	}
	return terms
}

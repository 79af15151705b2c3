package text

import (
	"fmt"

	"forager/schemas"
)

// Leaves are the ends of the tokens of a page's leaves, in their order.
type Leaves []int

// LeavesOf returns those of a parsed page. The error is that of leaves with more tokens than the page has.
func LeavesOf(p *schemas.Page) (Leaves, error) {
	ends, end := make(Leaves, 0, len(p.GetLeafLengths())), 0
	for _, n := range p.GetLeafLengths() {
		if end += int(n); end > len(p.GetTokens()) {
			return nil, fmt.Errorf("words of %s: its leaves have more than its %d tokens", p.GetUrl(), len(p.GetTokens()))
		}
		ends = append(ends, end)
	}
	return ends, nil
}

// Tokens returns the range of the tokens of leaves first to last, those that the page does not have excluded.
func (l Leaves) Tokens(first, last int) (from, to int) {
	first, last = max(first, 0), min(last, len(l)-1)
	if first > last {
		return 0, 0
	}
	if first > 0 {
		from = l[first-1]
	}
	return from, l[last]
}

// Cut sets s to tokens [from, to) of a text, in the memory that s has. Each is a term of its own: the text has many more terms than a few leaves.
func (s *Surface) Cut(of *Surface, from, to int) {
	s.Terms, s.Tokens, s.Shapes, s.Language = s.Terms[:0], s.Tokens[:0], s.Shapes[:0], of.Language
	for i := from; i < to; i++ {
		s.Terms = append(s.Terms, of.Terms[of.Tokens[i]])
		s.Tokens = append(s.Tokens, uint32(i-from))
		s.Shapes = AppendShape(s.Shapes, i-from, ShapeAt(of.Shapes, i))
	}
}

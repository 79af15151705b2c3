package critic

import (
	"context"
	"math"

	"forager/schemas"
)

// SayAnchors returns what a judge makes of the text below each link's <a>, as if it were a page:
// raw R by the weights of its classes (Weigh), in steps of 1/schemas.AnchorSteps, in the order of
// Page.links. An empty text has what the judge thinks of nothing. A judge that asks a service is
// not asked once a link, and a page that asks not to follow its links has none: the result is nil.
// An error is the judge's.
func SayAnchors(ctx context.Context, by Judge, p *schemas.Page, weights []float64) ([]uint32, error) {
	if s, ok := by.(interface{ Asks() bool }); p.GetNofollow() || ok && s.Asks() {
		return nil, nil
	}
	text, o := newSpan(p), NewOpinion(len(weights))
	anchors := make([]uint32, len(p.GetLinks()))
	for i, l := range p.GetLinks() {
		if err := by.Opine(ctx, o, text.of(l)); err != nil {
			return nil, err
		}
		var r float64
		for k, w := range weights {
			r += w * o.Raw[k]
		}
		anchors[i] = uint32(math.Round(min(max(r, 0), 1) * schemas.AnchorSteps))
	}
	return anchors, nil
}

// span cuts pieces out of a page.
type span struct {
	page  *schemas.Page
	ends  []uint32 // where the tokens of each leaf end
	piece schemas.Page
	// terms of the piece by their index in the page; number is where a term of the page stands in
	// the piece, plus 1.
	terms, number []uint32
}

func newSpan(p *schemas.Page) *span {
	s := &span{page: p, number: make([]uint32, len(p.GetTerms()))}
	var end uint32
	for _, n := range p.GetLeafLengths() {
		end += n
		s.ends = append(s.ends, end)
	}
	return s
}

// of returns the leaves of a link as a page of one leaf, without a URL, that is good until the next
// call. The page does not contradict itself; a judge has read it.
func (s *span) of(l *schemas.Link) *schemas.Page {
	for _, term := range s.terms {
		s.number[term] = 0
	}
	s.terms, s.piece.Terms, s.piece.Tokens = s.terms[:0], s.piece.Terms[:0], s.piece.Tokens[:0]
	for _, term := range s.tokens(l) {
		if s.number[term] == 0 {
			s.terms = append(s.terms, term)
			s.piece.Terms = append(s.piece.Terms, s.page.Terms[term])
			s.number[term] = uint32(len(s.terms))
		}
		s.piece.Tokens = append(s.piece.Tokens, s.number[term]-1)
	}
	s.piece.LeafLengths = append(s.piece.LeafLengths[:0], uint32(len(s.piece.Tokens)))
	return &s.piece
}

// tokens are those of a link's leaves; a link may end in leaves that the page does not have.
func (s *span) tokens(l *schemas.Link) []uint32 {
	first, last := int(l.GetFirstLeaf()), min(int(l.GetLastLeaf()), len(s.ends)-1)
	if first > last {
		return nil
	}
	var from uint32
	if first > 0 {
		from = s.ends[first-1]
	}
	return s.page.Tokens[from:s.ends[last]]
}

package critic

import (
	"context"
	"math"

	"forager/internal/classify/taxonomy"
	"forager/schemas"
)

// SayAnchors judges the text of each link as if it were a page. It returns raw R by the weights of the classes
// (Weigh), in units of 1/schemas.AnchorSteps, in the order of Page.links. An empty text is judged as a page
// without words. The result is nil for a classifier that calls a service, and for a page whose links must not be
// followed. The error is the classifier's.
func SayAnchors(ctx context.Context, by Classifier, p *schemas.Page, weights *taxonomy.Weights) ([]uint32, error) {
	if s, ok := by.(interface{ Asks() bool }); p.GetNofollow() || ok && s.Asks() {
		return nil, nil
	}
	text, o := newSpan(p), NewPrediction(len(weights.Focus))
	o.rawOnly = true
	anchors := make([]uint32, len(p.GetLinks()))
	for i, l := range p.GetLinks() {
		if err := by.Predict(ctx, o, text.of(l)); err != nil {
			return nil, err
		}
		var r float64
		for k, w := range weights.Focus {
			r += w * o.Raw[k]
		}
		anchors[i] = uint32(math.Round(min(max(r, 0), 1) * schemas.AnchorSteps))
	}
	return anchors, nil
}

// span extracts parts of a page.
type span struct {
	page  *schemas.Page
	ends  []uint32 // end of the tokens of each leaf
	piece schemas.Page
	// terms of the part by their index in the page; number is the position of a term of the page in the part, plus
	// 1.
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

// of returns the leaves of a link as a page of one leaf, without a URL, valid until the next call. The page must
// be consistent; a classifier has read it.
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

// tokens returns the tokens of a link's leaves; a link may refer to leaves that the page does not have.
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

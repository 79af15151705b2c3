package critic

import (
	"context"
	"math"

	"forager/internal/classify/taxonomy"
	"forager/internal/page/text"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// JudgeAnchors judges the text of each link as if it were a page; with urls, the text is followed by the words of the last segment of the link's URL
// (weburl.LastSegment). It returns raw R by the weights of the classes (Weigh), in units of 1/schemas.AnchorSteps, in the order of Page.links. An
// empty text is judged as a page without words. The result is nil for a classifier that calls a service, and for a page whose links must not be
// followed. The error is the classifier's, or that of an inconsistent page.
func JudgeAnchors(ctx context.Context, by Classifier, p *schemas.Page, weights *taxonomy.Weights, urls bool) ([]uint32, error) {
	if s, ok := by.(interface{ Asks() bool }); p.GetNofollow() || ok && s.Asks() {
		return nil, nil
	}
	words, err := newSpan(p)
	if err != nil {
		return nil, err
	}
	o := NewPrediction(len(weights.Focus))
	o.rawOnly = true
	anchors := make([]uint32, len(p.GetLinks()))
	for i, l := range p.GetLinks() {
		words.set(l)
		if urls {
			words.addURL(l.GetUrl())
		}
		if err := by.Predict(ctx, o, &words.piece); err != nil {
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

// span makes pages of the words of links, one after another.
type span struct {
	page   *schemas.Page
	leaves text.Leaves
	// piece has a leaf for the text of the link, and one for the words of its URL. It has no URL.
	piece schemas.Page
	// number is the index of a term of piece.
	number map[string]uint32
	url    text.Scanner
}

const (
	// mostURLWords of a URL are judged, the first ones.
	mostURLWords = 16
	// fewTerms is the number of terms above which a map is not cleared but replaced: the time that clearing takes is that of its capacity.
	fewTerms = 64
)

func newSpan(p *schemas.Page) (*span, error) {
	leaves, err := text.LeavesOf(p)
	return &span{page: p, leaves: leaves, piece: schemas.Page{Language: p.GetLanguage()}, number: make(map[string]uint32)}, err
}

// set begins the piece with the leaves of a link. The terms of the page must be consistent; a classifier has read it.
func (s *span) set(l *schemas.Link) {
	if len(s.number) > fewTerms {
		s.number = make(map[string]uint32)
	}
	clear(s.number)
	p := &s.piece
	p.Terms, p.Tokens, p.Shapes, p.LeafLengths = p.Terms[:0], p.Tokens[:0], p.Shapes[:0], p.LeafLengths[:0]
	from, to := s.leaves.Tokens(int(l.GetFirstLeaf()), int(l.GetLastLeaf()))
	for i := from; i < to; i++ {
		s.add(s.page.Terms[s.page.Tokens[i]], text.ShapeAt(s.page.Shapes, i))
	}
	p.LeafLengths = append(p.LeafLengths, uint32(to-from))
}

// addURL adds the words of a URL.
func (s *span) addURL(url string) {
	var n uint32
	for s.url.Reset(weburl.LastSegment(url)); n < mostURLWords && s.url.Next(); n++ {
		s.add(string(s.url.Token()), s.url.Shape())
	}
	s.piece.LeafLengths = append(s.piece.LeafLengths, n)
}

// add adds a token to the last leaf.
func (s *span) add(term string, shape text.Shape) {
	p := &s.piece
	n, known := s.number[term]
	if !known {
		n = uint32(len(p.Terms))
		s.number[term] = n
		p.Terms = append(p.Terms, term)
	}
	p.Shapes = text.AppendShape(p.Shapes, len(p.Tokens), shape)
	p.Tokens = append(p.Tokens, n)
}

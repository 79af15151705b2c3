package httpmodel

import (
	"fmt"

	"forager/internal/page/text"
	"forager/schemas"
)

// message is a request.
type message struct {
	Version int         `json:"version"`
	Topics  []string    `json:"topics"`
	Pages   []*pageSent `json:"pages"`
}

// pageSent is a page in a request.
type pageSent struct {
	URL         string `json:"url,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Language    string `json:"language,omitempty"`
	Text        string `json:"text,omitempty"`
}

// fieldsOf returns what is sent of a page.
func (s *Sent) fieldsOf(from *schemas.Page) (*pageSent, error) {
	p := new(pageSent)
	if s.sends("url") {
		p.URL = from.GetUrl()
	}
	if s.sends("title") {
		p.Title = from.GetTitle()
	}
	if s.sends("description") {
		p.Description = from.GetDescription()
	}
	if s.sends("language") {
		p.Language = from.GetLanguage()
	}
	if !s.sends("text") {
		return p, nil
	}
	var err error
	p.Text, err = textOf(from, 0, len(from.GetTokens()), from.GetLeafLengths(), s.TextBytes)
	return p, err
}

// textOf returns the words of tokens [from, to) of a page, a line a leaf, cut between two words; leaves are the lengths of theirs. Case is
// restored as far as parse-dom keeps it, and characters of unspaced scripts are joined.
func textOf(p *schemas.Page, from, to int, leaves []uint32, limit int) (string, error) {
	var b []byte
	inLeaf := uint32(0)
	for i, t := range p.GetTokens()[from:to] {
		if int(t) >= len(p.GetTerms()) {
			return "", fmt.Errorf("page %s: token of term %d, it has %d terms", p.GetUrl(), t, len(p.GetTerms()))
		}
		word, joined := text.Written(p.Terms[t], text.ShapeAt(p.GetShapes(), from+i))
		apart := " "
		if joined {
			apart = ""
		}
		for len(leaves) > 0 && inLeaf >= leaves[0] {
			leaves, inLeaf, apart = leaves[1:], 0, "\n"
		}
		inLeaf++
		if len(b) == 0 {
			apart = ""
		}
		if len(b)+len(apart)+len(word) > limit {
			break
		}
		b = append(append(b, apart...), word...)
	}
	return string(b), nil
}

// answer is the response about a page.
type answer struct {
	Probabilities map[string]float64 `json:"probabilities"`
	Error         string             `json:"error"`
}

// most is the excess over 1 that a sum of probabilities may have.
const most = 1e-6

// read decodes a response about a number of pages: for each, the probabilities of the classes, or the reason why
// there are none. The error is that of an invalid response.
func (p *Predicate) read(body []byte, pages int) (posteriors [][]float64, refused []string, err error) {
	answers, err := decodePages[answer](body, pages)
	if err != nil {
		return nil, nil, err
	}
	refused = make([]string, pages)
	for i, page := range answers {
		posteriors = append(posteriors, make([]float64, len(p.classes)))
		switch {
		case page.Error != "" && page.Probabilities != nil:
			return nil, nil, fmt.Errorf("page %d has both probabilities and an error", i)
		case page.Error != "":
			refused[i] = page.Error
		case page.Probabilities == nil:
			return nil, nil, fmt.Errorf("page %d has neither probabilities nor an error", i)
		default:
			if err := p.fill(posteriors[i], page.Probabilities); err != nil {
				return nil, nil, fmt.Errorf("page %d: %w", i, err)
			}
		}
	}
	return posteriors, refused, nil
}

// fill sets the posteriors of the classes.
func (p *Predicate) fill(posteriors []float64, from map[string]float64) error {
	for topic, x := range from {
		k, ok := p.class[topic]
		switch {
		case !ok || k == p.other:
			return fmt.Errorf("%.80q is not one of the topics", topic)
		case !(x >= 0 && x <= 1):
			return fmt.Errorf("the probability of %q is %v", topic, x)
		}
		posteriors[k] = x
	}
	sum := 0.0
	for _, x := range posteriors { // in the order of classes, so that the same response gives the same numbers
		sum += x
	}
	switch {
	case sum > 1+most:
		return fmt.Errorf("the probabilities sum to %v", sum)
	case sum > 1:
		for k := range posteriors {
			posteriors[k] /= sum
		}
	default:
		posteriors[p.other] = 1 - sum
	}
	return nil
}

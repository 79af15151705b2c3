package labelcritic

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"forager/internal/classify/critic"
	"forager/internal/classify/pulearning"
	"forager/schemas"
)

// PositivesOnly is the name of the critic of FromPositives.
const PositivesOnly, backgroundPages = "positives-only", 1000

// FromPositives trains a critic on half of the examples of the focus, chosen by their URLs. Up to 1,000 of the other pages, which may be
// examples themselves, are pages of unknown topic. parse returns the page of a URL.
func FromPositives(ctx context.Context, focus string, examples, others []string, parse func(url string) (*schemas.Page, error)) (critic.Classifier, error) {
	read := func(urls []string, most int) (all []pulearning.Document, _ error) {
		urls = slices.SortedFunc(slices.Values(urls), func(a, b string) int {
			return cmp.Or(cmp.Compare(xxhash.Sum64String(a), xxhash.Sum64String(b)), cmp.Compare(a, b))
		})
		for _, u := range urls[:min(most, len(urls))] {
			d, err := Document(parse(u))
			if err != nil {
				return nil, err
			}
			all = append(all, d)
		}
		return all, nil
	}
	e := new(pulearning.Examples)
	var err error
	if e.Liked, err = read(examples, (len(examples)+1)/2); err != nil {
		return nil, err
	}
	if e.Background, err = read(others, backgroundPages); err != nil {
		return nil, err
	}
	by, _, err := pulearning.Train(ctx, focus, e, nil)
	return by, err
}

// Document returns a parsed page as package pulearning counts it.
func Document(p *schemas.Page, err error) (pulearning.Document, error) {
	if err != nil {
		return pulearning.Document{}, err
	}
	words := make([]string, 0, len(p.GetTokens()))
	for _, t := range p.GetTokens() {
		words = append(words, p.GetTerms()[t])
	}
	return pulearning.Read(p.GetUrl(), strings.Join(words, " ")), nil
}

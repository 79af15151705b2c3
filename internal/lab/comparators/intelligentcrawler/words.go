package intelligentcrawler

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"forager/internal/lab/comparators/linktext"
	"forager/internal/page/text"
	"forager/schemas"
)

// maxWords bounds the words of a page. Those with the smallest hashes are a fair sample.
const maxWords = 4096

// Words returns the distinct words of a page as hashes, ascending, those with the smallest hashes. The error is an inconsistent
// page.
func Words(p *schemas.Page) ([]uint32, error) {
	page, err := linktext.Open(p, text.Settings{StopWords: true})
	if err != nil {
		return nil, err
	}
	counts := make(map[string]uint32)
	page.Page(counts)
	words := make([]uint32, 0, len(counts))
	for w := range counts {
		words = append(words, uint32(xxhash.Sum64String(w)))
	}
	slices.Sort(words)
	words = slices.Compact(words)
	return words[:min(len(words), maxWords)], nil
}

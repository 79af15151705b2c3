package critic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"forager/internal/bayes"
	"forager/internal/taxonomy"
	"forager/internal/text"
	"forager/internal/weburl"
	"forager/schemas"
)

// Examples are labelled pages, held as bags of words. The zero value is ready.
type Examples struct {
	words    []string
	index    map[string]uint32
	items    []example
	byURL    map[string]int
	repeated int
}

type example struct {
	url    string
	topics []string // without "/" at their ends, distinct
	bag    bayes.Bag
}

// Len returns the number of examples (distinct URLs).
func (e *Examples) Len() int { return len(e.items) }

// Repeated returns how many examples were added with a URL that was there already. Such an
// example adds its topics; the page is the first one's.
func (e *Examples) Repeated() int { return e.repeated }

// AddText adds an example given as plain text.
func (e *Examples) AddText(url string, topics []string, page string) error {
	x, err := e.place(url, topics)
	if err != nil || x == nil {
		return err
	}
	counts := make(map[uint32]uint32)
	var z text.Scanner
	for z.Reset(page); z.Next(); {
		counts[e.intern(z.Token())]++
	}
	for f := range counts {
		x.bag.Features = append(x.bag.Features, f)
	}
	slices.Sort(x.bag.Features)
	for _, f := range x.bag.Features {
		x.bag.Counts = append(x.bag.Counts, counts[f])
	}
	return nil
}

// AddPage adds an example given as a parsed page.
func (e *Examples) AddPage(url string, topics []string, p *schemas.Page) error {
	counts := make([]uint32, len(p.GetTerms()))
	if err := countTokens(counts, p); err != nil {
		return err
	}
	x, err := e.place(url, topics)
	if err != nil || x == nil {
		return err
	}
	for i, n := range counts {
		if n > 0 && p.Terms[i] != "" {
			x.bag.Features = append(x.bag.Features, e.intern([]byte(p.Terms[i])))
			x.bag.Counts = append(x.bag.Counts, n)
		}
	}
	return nil
}

// countTokens sets how often each term of the page occurs.
func countTokens(counts []uint32, p *schemas.Page) error {
	clear(counts)
	for _, t := range p.GetTokens() {
		if int(t) >= len(counts) {
			return fmt.Errorf("page %s: token of term %d, it has %d terms", p.GetUrl(), t, len(counts))
		}
		counts[t]++
	}
	return nil
}

// place checks url and topics and returns the new example to fill, nil for one that is there.
func (e *Examples) place(url string, topics []string) (*example, error) {
	url = strings.TrimSpace(url)
	if url == "" {
		return nil, errors.New("url is empty")
	}
	if u, err := weburl.Parse(url); err == nil {
		url = u.String()
	}
	if len(topics) == 0 {
		return nil, errors.New("topics is empty")
	}
	var clean []string
	for _, name := range topics {
		if _, err := taxonomy.ParseTopic(name); err != nil {
			return nil, err
		}
		clean = append(clean, strings.Trim(name, "/"))
	}
	if e.byURL == nil {
		e.byURL, e.index = make(map[string]int), make(map[string]uint32)
	}
	i, known := e.byURL[url]
	if !known {
		i = len(e.items)
		e.byURL[url] = i
		e.items = append(e.items, example{url: url})
	}
	x := &e.items[i]
	for _, topic := range clean {
		if !slices.Contains(x.topics, topic) {
			x.topics = append(x.topics, topic)
		}
	}
	if known {
		e.repeated++
		return nil, nil
	}
	return x, nil
}

func (e *Examples) intern(word []byte) uint32 {
	i, ok := e.index[string(word)]
	if !ok {
		i = uint32(len(e.words))
		e.words = append(e.words, string(word))
		e.index[e.words[i]] = i
	}
	return i
}

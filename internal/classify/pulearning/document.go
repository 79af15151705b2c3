package pulearning

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"forager/internal/page/text"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Document is a page as a bag of words (package text).
type Document struct {
	// URL is canonical where it is a URL that can be crawled.
	URL string
	// Drawn is the weight of a page that was drawn at random from judged pages and then labelled; 0 for others.
	Drawn float64
	words map[string]uint32
}

// Read makes a document of plain text.
func Read(url, page string) Document {
	d := Document{URL: canonical(url), words: make(map[string]uint32)}
	var z text.Scanner
	for z.Reset(page); z.Next(); {
		d.words[string(z.Token())]++
	}
	return d
}

// Words returns the number of distinct words.
func (d *Document) Words() int { return len(d.words) }

func canonical(url string) string {
	if u, err := weburl.Parse(url); err == nil {
		return u.String()
	}
	return url
}

// Examples are what a critic is trained on.
type Examples struct {
	// Liked are on topic, Background was fetched by a crawl, Wrong was marked as off topic.
	Liked, Background, Wrong []Document
}

// settle sorts the examples by URL and removes duplicates. A mark by the user outweighs the background.
func (e *Examples) settle() (*Examples, error) {
	marked := make(map[string]bool)
	for _, d := range e.Liked {
		marked[d.URL] = true
	}
	for _, d := range e.Wrong {
		if marked[d.URL] {
			return nil, fmt.Errorf("page %s is marked on topic and off topic", d.URL)
		}
	}
	for _, d := range e.Wrong {
		marked[d.URL] = true
	}
	background := slices.DeleteFunc(slices.Clone(e.Background), func(d Document) bool { return marked[d.URL] })
	return &Examples{inOrder(e.Liked), inOrder(background), inOrder(e.Wrong)}, nil
}

func inOrder(documents []Document) []Document {
	documents = slices.Clone(documents)
	slices.SortStableFunc(documents, func(a, b Document) int {
		return cmp.Or(cmp.Compare(xxhash.Sum64String(a.URL), xxhash.Sum64String(b.URL)), cmp.Compare(a.URL, b.URL))
	})
	return slices.CompactFunc(documents, func(a, b Document) bool { return a.URL == b.URL })
}

// vocabulary is words with their weights log(N/n), N documents of which n contain the word.
type vocabulary struct {
	words  []string // sorted
	weight []float64
	index  map[string]uint32
}

// rare is the largest number of documents of a word that is dropped.
const rare = 1

func newVocabulary(e *Examples) *vocabulary {
	in, all := make(map[string]int), 0
	for _, documents := range [][]Document{e.Liked, e.Background, e.Wrong} {
		for _, d := range documents {
			all++
			for w := range d.words {
				in[w]++
			}
		}
	}
	v := new(vocabulary)
	for w, n := range in {
		if n > rare && n < all {
			v.words = append(v.words, w)
		}
	}
	slices.Sort(v.words)
	for _, w := range v.words {
		v.weight = append(v.weight, math.Log(float64(all)/float64(in[w])))
	}
	v.complete()
	return v
}

// complete sets the fields that follow from the others.
func (v *vocabulary) complete() {
	v.index = make(map[string]uint32, len(v.words))
	for i, w := range v.words {
		v.index[w] = uint32(i)
	}
}

// row returns the unit vector of (1 + log n)·weight over the known words; known counts tokens.
func (v *vocabulary) row(words func(yield func(word string, n uint32) bool)) (r Row, known uint64) {
	type entry struct {
		word, n uint32
	}
	var entries []entry
	for w, n := range words {
		if f, ok := v.index[w]; ok && n > 0 {
			entries = append(entries, entry{f, n})
			known += uint64(n)
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.word, b.word) })
	square := 0.
	for _, x := range entries {
		value := (1 + math.Log(float64(x.n))) * v.weight[x.word]
		square += value * value
	}
	for _, x := range entries {
		r.Features = append(r.Features, x.word)
		r.Values = append(r.Values, float32((1+math.Log(float64(x.n)))*v.weight[x.word]/math.Sqrt(square)))
	}
	return r, known
}

func (v *vocabulary) rows(documents []Document) []Row {
	rows := make([]Row, len(documents))
	for i, d := range documents {
		rows[i], _ = v.row(func(yield func(string, uint32) bool) {
			for w, n := range d.words {
				if !yield(w, n) {
					return
				}
			}
		})
		rows[i].Drawn = d.Drawn
	}
	return rows
}

// wordsOf returns the distinct terms of a page with the number of occurrences of each.
func wordsOf(p *schemas.Page) (func(yield func(string, uint32) bool), error) {
	counts := make([]uint32, len(p.GetTerms()))
	for _, t := range p.GetTokens() {
		if int(t) >= len(counts) {
			return nil, fmt.Errorf("page %s: token of term %d, it has %d terms", p.GetUrl(), t, len(counts))
		}
		counts[t]++
	}
	return func(yield func(string, uint32) bool) {
		for i, n := range counts {
			if !yield(p.Terms[i], n) {
				return
			}
		}
	}, nil
}

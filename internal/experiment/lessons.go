package experiment

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forager/internal/text"
	"forager/internal/tfidf"
	"forager/schemas"
)

// lessons are the pages from which rankers learn before a crawl: those of the web that are left
// out of every measure, as the critic is trained on them. Pages are numbered in the order of their URLs.
type lessons struct {
	urls              []string
	children, parents [][]uint32 // by page, ascending
	targets           []uint32
	documents         []tfidf.Document
}

// words are those of the methods of 2000 and 2008: no stop words, and stems.
var words = text.Settings{StopWords: true, Stem: true}

// document is a parsed page as words with their counts, in the order of the words.
func document(p *schemas.Page) (tfidf.Document, error) {
	r := text.NewWords(words)
	err := r.Surface(&text.Surface{Terms: p.GetTerms(), Tokens: p.GetTokens(), Shapes: p.GetShapes(), Language: p.GetLanguage()})
	if err != nil {
		return tfidf.Document{}, err
	}
	counts := make(map[string]uint32)
	for r.Next() {
		counts[string(r.Word())] += r.Count()
	}
	d := tfidf.Document{Words: slices.Sorted(maps.Keys(counts))}
	for _, w := range d.Words {
		d.Counts = append(d.Counts, counts[w])
	}
	return d, nil
}

// learn reads the lessons of the ground's web.
func (g *Ground) learn() (*lessons, error) {
	l := new(lessons)
	for u, p := range g.web.pages {
		if p.outcome == schemas.Outcome_OUTCOME_DELIVERED && !g.counted(u) {
			l.urls = append(l.urls, u)
		}
	}
	slices.Sort(l.urls)
	number := make(map[string]uint32, len(l.urls))
	for i, u := range l.urls {
		number[u] = uint32(i)
		if class, _, _ := strings.Cut(g.web.labels[u], "/"); class == g.task.FocusClass { // "class/university"
			l.targets = append(l.targets, uint32(i))
		}
	}
	if len(l.targets) == 0 {
		return nil, errors.New("no page that it may learn from is a target")
	}
	anywhere := func(string) bool { return true }
	l.children, l.parents = make([][]uint32, len(l.urls)), make([][]uint32, len(l.urls))
	for i, u := range l.urls {
		p := g.web.pages[u]
		d, err := document(p.parsed)
		if err != nil {
			return nil, fmt.Errorf("words of %s: %w", u, err)
		}
		l.documents = append(l.documents, d)
		_, links, _, err := p.extract(g.settings)
		if err != nil {
			return nil, fmt.Errorf("links of %s: %w", u, err)
		}
		for _, link := range links {
			if to, ok := number[g.web.resolve(link.GetUrl(), anywhere)]; ok && int(to) != i {
				l.children[i] = append(l.children[i], to)
			}
		}
		slices.Sort(l.children[i])
		l.children[i] = slices.Compact(l.children[i])
		for _, to := range l.children[i] {
			l.parents[to] = append(l.parents[to], uint32(i))
		}
	}
	return l, nil
}

// judgeBy gives every page in scope a score; the pages of a crawl are among them.
func (g *Ground) judgeBy(score func(tfidf.Document) float64) (map[string]float64, error) {
	scores := make(map[string]float64)
	for _, u := range g.urls {
		p := g.web.pages[u]
		if p.outcome != schemas.Outcome_OUTCOME_DELIVERED {
			continue
		}
		d, err := document(p.parsed)
		if err != nil {
			return nil, fmt.Errorf("words of %s: %w", u, err)
		}
		scores[u] = score(d)
	}
	return scores, nil
}

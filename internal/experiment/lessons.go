package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"forager/internal/localgraph"
	"forager/internal/localguide"
	"forager/schemas"
)

// learn makes lessons for guides: the pages of the ground's web that are left out of every measure, as the critic
// is trained on them. Pages are numbered in the order of their URLs.
func (g *Ground) learn() (*localguide.Lessons, error) {
	var urls []string
	for u, p := range g.web.pages {
		if p.outcome == schemas.Outcome_OUTCOME_DELIVERED && !g.counted(u) {
			urls = append(urls, u)
		}
	}
	slices.Sort(urls)
	l := &localguide.Lessons{Page: func(p uint32) (*schemas.Page, error) { return g.web.pages[urls[p]].parsed, nil }}
	number := make(map[string]uint32, len(urls))
	for i, u := range urls {
		number[u] = uint32(i)
		l.Corpus = append(l.Corpus, uint32(i))
		if class, _, _ := strings.Cut(g.web.labels[u], "/"); class == g.task.FocusClass { // "class/university"
			l.Targets = append(l.Targets, uint32(i))
		}
	}
	if len(l.Targets) == 0 {
		return nil, errors.New("no page that it may learn from is a target")
	}
	anywhere := func(string) bool { return true }
	children, parents := make([][]uint32, len(urls)), make([][]uint32, len(urls))
	for i, u := range urls {
		_, links, _, err := g.web.pages[u].extract(g.settings)
		if err != nil {
			return nil, fmt.Errorf("links of %s: %w", u, err)
		}
		for _, link := range links {
			if to, ok := number[g.web.resolve(link.GetUrl(), anywhere)]; ok && int(to) != i {
				children[i] = append(children[i], to)
			}
		}
		slices.Sort(children[i])
		children[i] = slices.Compact(children[i])
		for _, to := range children[i] {
			parents[to] = append(parents[to], uint32(i))
		}
	}
	l.Parents = localgraph.Known(func(p uint32) []uint32 { return parents[p] })
	l.Children = func(*localgraph.Graph) (func(uint32) []uint32, error) {
		return func(p uint32) []uint32 { return children[p] }, nil
	}
	return l, nil
}

package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"forager/internal/rank/localgraph"
	"forager/internal/rank/pageguide"
	"forager/schemas"
)

// samples are the training pages of guides: those of the environment's web that are left out of every measure, as the critic is
// trained on them. Pages are numbered in the order of their URLs.
type samples struct {
	pages   []*page
	targets []uint32
	links   [][]int // by page: the targets of its links, -1 for one outside of the samples or the page itself
}

func (g *Environment) samples() (*samples, error) {
	pages := g.notCounted()
	target := func(url string) bool {
		rest, ok := strings.CutPrefix(g.web.labels[url], g.task.FocusClass) // "class" or "class/university"
		return ok && (rest == "" || rest[0] == '/')
	}
	l, known := &samples{pages: pages}, func(string) bool { return true }
	number := make(map[string]int, len(l.pages))
	for i, p := range l.pages {
		number[p.url] = i
		if target(p.url) {
			l.targets = append(l.targets, uint32(i))
		}
	}
	if len(l.targets) == 0 {
		return nil, errors.New("no page that it may learn from is a target")
	}
	for i, p := range l.pages {
		links, err := p.links()
		if err != nil {
			return nil, fmt.Errorf("links of %s: %w", p.url, err)
		}
		to := make([]int, len(links))
		for k, link := range links {
			n, ok := number[g.web.resolve(link.GetUrl(), known)]
			if to[k] = n; !ok || n == i {
				to[k] = -1
			}
		}
		l.links = append(l.links, to)
	}
	return l, nil
}

// notCounted returns the pages of the web that are left out of every measure, in the order of their URLs.
func (g *Environment) notCounted() (pages []*page) {
	for u, p := range g.web.pages {
		if p.outcome == schemas.Outcome_OUTCOME_DELIVERED && !g.counted(u) {
			pages = append(pages, p)
		}
	}
	slices.SortFunc(pages, func(a, b *page) int { return strings.Compare(a.url, b.url) })
	return pages
}

// children returns the pages that each page links to, each once, ascending.
func (l *samples) children() [][]uint32 {
	children := make([][]uint32, len(l.pages))
	for i, links := range l.links {
		for _, to := range links {
			if to >= 0 {
				children[i] = append(children[i], uint32(to))
			}
		}
		slices.Sort(children[i])
		children[i] = slices.Compact(children[i])
	}
	return children
}

// learn returns the training data of guides with a local graph.
func learn(g *Environment) (*pageguide.Samples, error) {
	l, err := g.samples()
	if err != nil {
		return nil, err
	}
	out := &pageguide.Samples{
		Page:    func(p uint32) (*schemas.Page, error) { return l.pages[p].parsed() },
		Targets: l.targets,
	}
	children, parents := l.children(), make([][]uint32, len(l.pages))
	for i := range l.pages {
		out.Corpus = append(out.Corpus, uint32(i))
		for _, to := range children[i] {
			parents[to] = append(parents[to], uint32(i))
		}
	}
	out.Parents = localgraph.Known(func(p uint32) []uint32 { return parents[p] })
	out.Children = func(*localgraph.Graph) (func(uint32) []uint32, error) {
		return func(p uint32) []uint32 { return children[p] }, nil
	}
	return out, nil
}

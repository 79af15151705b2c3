package distill

import (
	"cmp"
	"context"
	"slices"
)

// Crawled is the graph of the fetched pages, ascending by URL.
type Crawled struct {
	URLs []string
	R    []float64
	// Numbers under which they were noted.
	Numbers []uint64
	// Parents of each page, ascending: those that link to it, directly or through redirects.
	Parents [][]uint32
}

// Crawled reads the graph, or as much of its newest part as a ranking covers.
func (g *Graph) Crawled(ctx context.Context) (*Crawled, error) {
	var links []Link
	w, err := g.newest(ctx, Default, func(w *web) error {
		links = links[:0]
		for l, err := range w.links {
			if err != nil {
				return err
			}
			if links = append(links, l); len(links) > Default.MostEdges {
				return errTooMany
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	urls := make([]string, len(w.pages))
	for i, number := range w.first {
		n, err := w.noted(number)
		if err != nil {
			return nil, err
		}
		urls[i] = n.url
	}
	order, rank := make([]int, len(urls)), make([]uint32, len(urls))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(urls[a], urls[b]) })
	c := &Crawled{Parents: make([][]uint32, len(urls))}
	for at, i := range order {
		rank[i] = uint32(at)
		c.URLs, c.R, c.Numbers = append(c.URLs, urls[i]), append(c.R, w.pages[i].R), append(c.Numbers, w.first[i])
	}
	for _, l := range links {
		to := rank[l.To]
		c.Parents[to] = append(c.Parents[to], rank[l.From])
	}
	for i := range c.Parents {
		slices.Sort(c.Parents[i])
		c.Parents[i] = slices.Compact(c.Parents[i])
	}
	return c, nil
}

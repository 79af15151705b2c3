package distill

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"forager/internal/frontier/schedule"
	"forager/schemas"
)

// Settings of a distillation.
type Settings struct {
	// Relevance is ρ: the least R(v) of an authority, [0,1].
	Relevance float64
	// Change below which the iteration ends, and the largest number of rounds.
	Change float64
	Rounds int
	// Top is the largest number of hubs and authorities that are listed.
	Top int
	// Marked is the number of best hubs whose unvisited neighbours are raised.
	Marked int
	// ByHost: a site is a host instead of a registrable domain.
	ByHost bool
	// MostNoted and MostEdges bound the memory of a ranking: at most so many of the newest pages and redirects are ranked,
	// fewer if there are more edges between them. 0 = all.
	MostNoted uint64
	MostEdges int
}

// Default settings. The text of the paper has no numbers; ρ is that of later literature. The bounds are 200 MiB for pages
// and 240 MiB for edges.
var Default = Settings{Relevance: .15, Change: 1e-9, Rounds: 50, Top: 100, Marked: 20, MostNoted: 1 << 20, MostEdges: 8 << 20}

// errTooMany: there are more edges than Settings.MostEdges.
var errTooMany = errors.New("too many edges")

// SettingsOf returns those of a crawl's control record.
func SettingsOf(ctl *schemas.CrawlControl) (Settings, error) {
	s, d := Default, ctl.GetDistiller()
	s.ByHost = d.GetByHost()
	if r := d.GetRelevance(); !(r >= 0 && r <= 1) {
		return s, fmt.Errorf("distiller.relevance is %v; it must lie between 0 and 1", r)
	} else if r > 0 {
		s.Relevance = r
	}
	if n := int(d.GetHubs()); n > s.Top {
		return s, fmt.Errorf("distiller.hubs is %d; it must lie between 0 and %d", n, s.Top)
	} else if n > 0 {
		s.Marked = n
	}
	return s, nil
}

// mostPages is the largest number of pages between two rankings if the control record has none.
const mostPages = 500

// Every returns the number of pages between two rankings of a crawl while it is small (package schedule).
func Every(ctl *schemas.CrawlControl) uint64 {
	if every := ctl.GetDistiller().GetEvery(); every > 0 {
		return every
	}
	if budget := ctl.GetBudget().GetPages(); budget > 0 {
		return max(1, min(mostPages, budget/10))
	}
	return mostPages
}

// Boundary returns the last number of pages, up to pages, after which a ranking is due; 0 = none yet.
func Boundary(pages, every uint64) uint64 { return schedule.Last(pages, 0, every) }

// Page is a fetched page.
type Page struct {
	// Site identifies the site of the page; links within one site are not counted.
	Site uint32
	// R(u), [0,1].
	R float64
}

// Link is an edge between two pages, by their index.
type Link struct{ From, To uint32 }

// Ranked is one page with its score, (0,1].
type Ranked struct {
	Page  uint32
	Score float64
}

// Ranking is the outcome of a distillation.
type Ranking struct {
	// Hubs and Authorities, best first.
	Hubs, Authorities []Ranked
	// Edges that counted: between different sites, each pair once.
	Edges int
	// Rounds made, and the largest change of a component in the last one.
	Rounds int
	Change float64
}

// Rank distils pages and the links between them. A link may come several times and in any order. Links to or from pages out
// of range, and relevances outside [0,1], are errors.
func Rank(pages []Page, links iter.Seq2[Link, error], s Settings) (*Ranking, error) {
	for i, p := range pages {
		if !(p.R >= 0 && p.R <= 1) { // also NaN
			return nil, fmt.Errorf("page %d has the relevance %v, not one of [0,1]", i, p.R)
		}
	}
	g, err := collect(pages, links, s.MostEdges)
	if err != nil {
		return nil, err
	}
	r := &Ranking{Edges: len(g.to)}
	hubs, authorities := g.iterate(pages, s, r)
	r.Hubs, r.Authorities = top(hubs, s.Top), top(authorities, s.Top)
	return r, nil
}

// graph holds the edges by source: those of page u are to[first[u]:first[u+1]], ascending.
type graph struct {
	first []uint64
	to    []uint32
}

// collect reads the links, sorts them and drops those that do not count.
func collect(pages []Page, links iter.Seq2[Link, error], most int) (*graph, error) {
	var all []uint64 // source in the upper half, target in the lower
	for l, err := range links {
		if err != nil {
			return nil, err
		}
		if int(max(l.From, l.To)) >= len(pages) {
			return nil, fmt.Errorf("a link from page %d to page %d; there are %d pages", l.From, l.To, len(pages))
		}
		if pages[l.From].Site != pages[l.To].Site {
			all = append(all, uint64(l.From)<<32|uint64(l.To))
		}
		if most > 0 && len(all) > most {
			return nil, errTooMany
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	g := &graph{first: make([]uint64, len(pages)+1), to: make([]uint32, len(all))}
	for i, l := range all {
		g.first[l>>32+1]++
		g.to[i] = uint32(l)
	}
	for u := range pages {
		g.first[u+1] += g.first[u]
	}
	return g, nil
}

// iterate returns the scores of all pages as hubs and as authorities, and records rounds and change in r.
func (g *graph) iterate(pages []Page, s Settings, r *Ranking) (hubs, authorities []float64) {
	n := len(pages)
	hubs, authorities = make([]float64, n), make([]float64, n)
	nextHubs, nextAuthorities := make([]float64, n), make([]float64, n)
	for u := range hubs {
		hubs[u] = 1
	}
	for r.Rounds < s.Rounds {
		r.Rounds++
		clear(nextAuthorities)
		for u, h := range hubs {
			for _, v := range g.out(u) {
				nextAuthorities[v] += h
			}
		}
		for v, p := range pages {
			if p.R >= s.Relevance {
				nextAuthorities[v] *= p.R
			} else {
				nextAuthorities[v] = 0
			}
		}
		normalize(nextAuthorities)
		for u, p := range pages {
			var sum float64
			for _, v := range g.out(u) {
				sum += nextAuthorities[v]
			}
			nextHubs[u] = p.R * sum
		}
		normalize(nextHubs)
		r.Change = max(change(hubs, nextHubs), change(authorities, nextAuthorities))
		hubs, nextHubs = nextHubs, hubs
		authorities, nextAuthorities = nextAuthorities, authorities
		if r.Change < s.Change {
			break
		}
	}
	return hubs, authorities
}

func (g *graph) out(u int) []uint32 { return g.to[g.first[u]:g.first[u+1]] }

// normalize scales x to unit length; a zero vector is left as it is.
func normalize(x []float64) {
	var sum float64
	for _, v := range x {
		sum += v * v
	}
	if sum == 0 {
		return
	}
	length := math.Sqrt(sum)
	for i := range x {
		x[i] /= length
	}
}

// change returns the largest difference of two components.
func change(a, b []float64) float64 {
	var most float64
	for i := range a {
		most = max(most, math.Abs(a[i]-b[i]))
	}
	return most
}

// top lists the n best pages with a score above 0.
func top(scores []float64, n int) []Ranked {
	var all []Ranked
	for i, s := range scores {
		if s > 0 {
			all = append(all, Ranked{uint32(i), s})
		}
	}
	slices.SortFunc(all, func(a, b Ranked) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Page, b.Page)) })
	return slices.Clone(all[:min(n, len(all))])
}

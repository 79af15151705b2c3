package likeness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"forager/internal/classify/critic"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Page is a page of a web, as package dom reads it.
type Page struct {
	*schemas.Page
	// Label is its topic by the ground truth; "" if the web has none.
	Label string
}

// Web is a web to measure.
type Web struct {
	Pages []Page
	// Resolve follows redirects from a canonical URL; nil = there are none. The result need not be a page.
	Resolve func(url string) string
	// Texts: the pages are texts without markup, of which only the tokens are measured.
	Texts bool
}

// Figures by name. A figure for which the web has no data is missing.
type Figures map[string]float64

// minLabel is the number of pages below which a label counts as "other".
const minLabel = 100

const other = "other"

// Measure measures a web; links and labels need all of its pages, for texts any sample will do.
func Measure(w *Web) (Figures, error) {
	f := Figures{"pages": float64(len(w.Pages))}
	if len(w.Pages) == 0 {
		return nil, errors.New("a web without pages")
	}
	texts(f, w.Pages, !w.Texts)
	if w.Texts {
		return f, nil
	}
	hosts(f, w.Pages)
	g := newGraph(w)
	g.degrees(f)
	g.locality(f)
	g.informationGain(f)
	return f, right(f, w.Pages, g.labels)
}

// quantiles sets the figures of the quantiles of a sample.
func quantiles(f Figures, name string, values []float64, at ...int) {
	slices.Sort(values)
	for _, p := range at {
		f[fmt.Sprintf("%s, p%d", name, p)] = stat.Quantile(float64(p)/100, stat.Empirical, values, nil)
	}
	f[name+", mean"] = stat.Mean(values, nil)
}

func texts(f Figures, pages []Page, markup bool) {
	var bytes, tokens, leaves, links, distinct []float64
	for _, p := range pages {
		n := len(p.GetTokens())
		bytes = append(bytes, float64(p.GetSize()))
		tokens = append(tokens, float64(n))
		leaves = append(leaves, float64(len(p.GetLeafLengths())))
		links = append(links, float64(len(p.GetLinks())))
		if n >= 100 {
			seen := make(map[uint32]bool)
			for _, t := range p.GetTokens()[:100] {
				seen[t] = true
			}
			distinct = append(distinct, float64(len(seen))/100)
		}
	}
	quantiles(f, "tokens", tokens, 10, 50, 90)
	if len(distinct) > 0 {
		f["distinct tokens of the first 100, mean"] = stat.Mean(distinct, nil)
	}
	if !markup {
		return
	}
	quantiles(f, "bytes", bytes, 10, 50, 90)
	quantiles(f, "leaves", leaves, 10, 50, 90)
	quantiles(f, "links", links, 10, 50, 90)
}

func hosts(f Figures, pages []Page) {
	size := make(map[string]int)
	for _, p := range pages {
		size[weburl.Host(p.GetUrl())]++
	}
	var ofPage []float64
	largest := 0
	for _, p := range pages {
		n := size[weburl.Host(p.GetUrl())]
		ofPage = append(ofPage, float64(n))
		largest = max(largest, n)
	}
	slices.Sort(ofPage)
	f["hosts"] = float64(len(size))
	f["pages a host, mean"] = float64(len(pages)) / float64(len(size))
	f["pages a host, of the median page"] = stat.Quantile(.5, stat.Empirical, ofPage, nil)
	f["largest host, share of pages"] = float64(largest) / float64(len(pages))
}

// graph is the pages by number and the links among them.
type graph struct {
	pages  []Page
	hosts  []string
	labels []string // rare ones as "other"; all "" if the web has none
	links  [][]edge // by source
	count  int
}

type edge struct {
	to          int
	first, last uint32 // leaves below the <a>
}

func newGraph(w *Web) *graph {
	g := &graph{pages: w.Pages, links: make([][]edge, len(w.Pages))}
	number := make(map[string]int, len(w.Pages))
	labels := make(map[string]int)
	for i, p := range w.Pages {
		number[p.GetUrl()] = i
		labels[p.Label]++
		g.hosts = append(g.hosts, weburl.Host(p.GetUrl()))
	}
	for i, p := range w.Pages {
		label := p.Label
		if label != "" && labels[label] < minLabel {
			label = other
		}
		g.labels = append(g.labels, label)
		seen := map[int]bool{i: true}
		for _, l := range p.GetLinks() {
			target := l.GetUrl()
			if w.Resolve != nil {
				target = w.Resolve(target)
			}
			to, ok := number[target]
			if !ok || seen[to] {
				continue
			}
			seen[to] = true
			g.links[i] = append(g.links[i], edge{to, l.GetFirstLeaf(), l.GetLastLeaf()})
			g.count++
		}
	}
	return g
}

func (g *graph) degrees(f Figures) {
	out, in := make([]float64, len(g.pages)), make([]float64, len(g.pages))
	for u, links := range g.links {
		out[u] = float64(len(links))
		for _, e := range links {
			in[e.to]++
		}
	}
	quantiles(f, "out-degree", out, 10, 50, 90)
	quantiles(f, "in-degree", in, 50, 90, 99)
	var top, all float64
	for i, n := range in { // sorted by quantiles
		all += n
		if i >= len(in)-(len(in)+99)/100 {
			top += n
		}
	}
	f["in-degree, share of the top 1 %"] = top / all
	delete(f, "in-degree, mean") // equal to that of the out-degree
}

// locality counts links that stay on their host, and on their topic.
func (g *graph) locality(f Figures) {
	share := make(map[string]float64)
	for _, l := range g.labels {
		share[l] += 1 / float64(len(g.labels))
	}
	chance := 0.0
	for _, s := range share {
		chance += s * s
	}
	var same [2]float64 // across hosts, within
	var all [2]float64
	for u, links := range g.links {
		for _, e := range links {
			k := 0
			if g.hosts[u] == g.hosts[e.to] {
				k = 1
			}
			all[k]++
			if g.labels[u] == g.labels[e.to] {
				same[k]++
			}
		}
	}
	f["links, same host"] = all[1] / float64(g.count)
	if len(share) < 2 {
		return
	}
	f["links, same topic"] = (same[0] + same[1]) / float64(g.count)
	f["links, same topic, lift"] = f["links, same topic"] / chance
	f["links within hosts, same topic"] = same[1] / all[1]
	if all[0] > 0 {
		f["links across hosts, same topic"] = same[0] / all[0]
	}
}

// right sets the share of pages whose label a critic trained on others finds.
func right(f Figures, pages []Page, labels []string) error {
	// As many as can be trained on quickly, selected by the hash of their URLs.
	const most = 4000
	at := make([]int, 0, len(pages))
	for i := range pages {
		if labels[i] != "" {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return nil
	}
	slices.SortFunc(at, func(a, b int) int {
		x, y := schemas.URLID(pages[a].GetUrl()), schemas.URLID(pages[b].GetUrl())
		return cmp.Or(slices.Compare(x[:], y[:]), cmp.Compare(a, b))
	})
	at = at[:min(len(at), most)]
	var set critic.Examples
	for _, i := range at {
		if err := set.AddPage(pages[i].GetUrl(), []string{labels[i]}, pages[i].Page); err != nil {
			return err
		}
	}
	m, _, err := critic.Train(context.Background(), &set, critic.Settings{Exact: true})
	if err != nil {
		return fmt.Errorf("critic of the labels: %w", err)
	}
	n := 0.0
	for _, i := range at {
		raw, _, err := m.Posteriors(pages[i].Page)
		if err != nil {
			return err
		}
		best := 0
		for k := range raw {
			if raw[k] > raw[best] {
				best = k
			}
		}
		if m.Classes()[best] == labels[i] {
			n++
		}
	}
	f["critic, pages judged right"] = n / float64(len(at))
	return nil
}

// String returns one figure a line, in the order of their names.
func (f Figures) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, "%-45s %10.4g\n", name, f[name])
	}
	return b.String()
}

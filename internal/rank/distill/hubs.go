package distill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"forager/internal/web/weburl"
	"forager/schemas"
)

// mostHops is the number of redirects followed in a row, as in the frontier.
const mostHops = 10

// Hubs ranks the graph; it ends early with ctx. The record is the same for the same records in the same order.
func (g *Graph) Hubs(ctx context.Context, crawl string, shard uint32, s Settings) (*schemas.HubRanked, error) {
	var r *Ranking
	w, err := g.newest(ctx, s, func(w *web) (err error) {
		r, err = Rank(w.pages, w.links, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &schemas.HubRanked{
		Id: schemas.HubsID(crawl, shard, g.pages).Bytes(), Crawl: crawl, Shard: shard, Pages: g.pages, Through: g.through,
		Nodes: uint64(len(w.pages)), Edges: uint64(r.Edges), Rounds: uint32(r.Rounds), Change: r.Change,
	}
	if out.Hubs, err = w.listed(r.Hubs); err != nil {
		return nil, err
	}
	if out.Authorities, err = w.listed(r.Authorities); err != nil {
		return nil, err
	}
	marked := r.Hubs[:min(s.Marked, len(r.Hubs))]
	for i := range marked {
		out.Hubs[i].Marked = true
	}
	out.Raised, err = w.unvisited(marked)
	return out, err
}

// newest calls f with the newest pages, as many as the settings allow, then half as many while these have too many edges.
func (g *Graph) newest(ctx context.Context, s Settings, f func(*web) error) (*web, error) {
	from := uint64(0)
	if s.MostNoted > 0 {
		from = g.noted - min(g.noted, s.MostNoted)
	}
	for {
		w, err := g.web(ctx, s, from)
		if err == nil {
			err = f(w)
		}
		if !errors.Is(err, errTooMany) {
			return w, err
		}
		from += (g.noted - from + 1) / 2
	}
}

// web is a graph being ranked.
type web struct {
	ctx   context.Context // of the ranking
	graph *Graph
	// from is the first noted number that is ranked.
	from uint64
	// pages are the distinct ones, in the order in which they were first noted, at numbers first.
	pages []Page
	first []uint64
	// page of each noted number from from on; none for redirects.
	page []uint32
	// node of a page's URL, and the target of a URL that redirects.
	node  map[schemas.ID]uint32
	alias map[schemas.ID]schemas.ID
}

// none is the number of no page.
const none = ^uint32(0)

// web numbers the pages and their sites.
func (g *Graph) web(ctx context.Context, s Settings, from uint64) (*web, error) {
	w := &web{ctx: ctx, graph: g, from: from, node: make(map[schemas.ID]uint32), alias: make(map[schemas.ID]schemas.ID)}
	sites := make(map[string]uint32)
	err := g.each(ctx, from, func(n *noted) (bool, error) {
		id, number := schemas.URLID(n.url), from+uint64(len(w.page))
		if n.redirect {
			w.alias[id] = n.links.at(0)
			w.page = append(w.page, none)
			return true, nil
		}
		node, known := w.node[id]
		if !known {
			name := site(n.url, s.ByHost)
			at, ok := sites[name]
			if !ok {
				at = uint32(len(sites))
				sites[name] = at
			}
			node = uint32(len(w.pages))
			w.node[id] = node
			w.pages, w.first = append(w.pages, Page{Site: at, R: n.r}), append(w.first, number)
		}
		w.page = append(w.page, node)
		return true, nil
	})
	return w, err
}

// site returns the registrable domain of a URL, or its host if it has none or byHost is set.
func site(url string, byHost bool) string {
	host := weburl.Host(url)
	if byHost {
		return host
	}
	name, _, _ := strings.Cut(host, ":")
	if _, err := netip.ParseAddr(name); err == nil || strings.HasPrefix(host, "[") {
		return host // an IP address
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(name); err == nil {
		return domain
	}
	return host
}

// resolve returns the page of a URL, through redirects.
func (w *web) resolve(id schemas.ID) (node uint32, ok bool) {
	for range mostHops + 1 {
		if node, ok = w.node[id]; ok {
			return node, true
		}
		if id, ok = w.alias[id]; !ok {
			return none, false
		}
	}
	return none, false
}

// links yields those between pages.
func (w *web) links(yield func(Link, error) bool) {
	number := 0
	err := w.graph.each(w.ctx, w.from, func(n *noted) (bool, error) {
		from := w.page[number]
		number++
		if from == none {
			return true, nil
		}
		for i := range n.links.len() {
			if to, ok := w.resolve(n.links.at(i)); ok && to != from && !yield(Link{from, to}, nil) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		yield(Link{}, err)
	}
}

// listed converts pages to the form of a record.
func (w *web) listed(ranked []Ranked) ([]*schemas.RankedPage, error) {
	var out []*schemas.RankedPage
	for _, r := range ranked {
		n, err := w.noted(w.first[r.Page])
		if err != nil {
			return nil, err
		}
		out = append(out, &schemas.RankedPage{Url: n.url, Score: r.Score, Relevance: n.r})
	}
	return out, nil
}

func (w *web) noted(number uint64) (*noted, error) {
	b, ok, err := w.graph.store.Get(w.graph.number(number))
	if err != nil {
		return nil, err
	}
	n := new(noted)
	if !ok {
		return nil, fmt.Errorf("page %d is missing", number)
	}
	return n, n.read(b)
}

// unvisited returns the ids of URLs that hubs link to and that are not fetched.
func (w *web) unvisited(hubs []Ranked) ([]byte, error) {
	marked := make(map[uint32]bool, len(hubs))
	for _, h := range hubs {
		marked[h.Page] = true
	}
	var found []schemas.ID
	for number, node := range w.page {
		if node == none || !marked[node] {
			continue
		}
		n, err := w.noted(w.from + uint64(number))
		if err != nil {
			return nil, err
		}
		n.links.each(func(id schemas.ID) {
			if _, visited := w.resolve(id); !visited {
				found = append(found, id)
			}
		})
	}
	slices.SortFunc(found, func(a, b schemas.ID) int { return bytes.Compare(a[:], b[:]) })
	var out ids
	for _, id := range slices.Compact(found) {
		out = out.with(id)
	}
	return out, nil
}

// Raised returns the ids of the URLs that a record raises.
func Raised(rec *schemas.HubRanked) ([]schemas.ID, error) {
	b := ids(rec.GetRaised())
	if len(b)%idSize != 0 {
		return nil, fmt.Errorf("hubs of %s behind %d pages: raised has %d bytes, which are no ids of %d",
			schemas.ShardKey(rec.GetCrawl(), rec.GetShard()), rec.GetPages(), len(b), idSize)
	}
	out := make([]schemas.ID, 0, b.len())
	b.each(func(id schemas.ID) { out = append(out, id) })
	return out, nil
}

package guidetraining

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"forager/internal/classify/examples"
	"forager/internal/rank/edgefile"
	"forager/internal/rank/localgraph"
)

// EdgeFile is a file of links, or a directory of its parts; see package edgefile.
type EdgeFile struct {
	Path string
	// Vertices is the file or directory of the names of the numbers; empty if the links are URLs.
	Vertices string
	// Broken is the share of lines that may be broken, [0,1].
	Broken float64
}

// edges are the links of a file.
type edges struct {
	EdgeFile
	counts edgefile.Counts
	// pages of vertices, known or found as parents; nil until the file of vertices was read.
	pages    map[uint64]uint32
	unnamed  map[uint64]bool // pages whose URL is not known yet
	vertices edgefile.Counts
}

// Use replaces the links of the pages by those of a file.
func (w *Web) Use(f EdgeFile) { w.edges = &edges{EdgeFile: f} }

// Counts returns those of the files of edges and vertices, once they were read.
func (w *Web) Counts() (edges, vertices edgefile.Counts) {
	if w.edges == nil {
		return edges, vertices
	}
	return w.edges.counts, w.edges.vertices
}

// read reads one of the files.
func read(ctx context.Context, path string, f func(io.Reader) (edgefile.Counts, error)) (edgefile.Counts, error) {
	file, err := examples.OpenParts(ctx, path)
	if err != nil {
		return edgefile.Counts{}, err
	}
	defer file.Close()
	c, err := f(file)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return c, err
}

// links calls f with every link to a wanted page; pages that link are numbered when they are first seen.
func (e *edges) links(ctx context.Context, w *Web, wanted func(page uint32) bool, f func(from, to uint32)) error {
	if e.Vertices != "" && e.pages == nil {
		return fmt.Errorf("the vertices of %s were not read", e.Path) // Targets must be called first
	}
	var err error
	e.counts, err = read(ctx, e.Path, func(r io.Reader) (edgefile.Counts, error) {
		if e.Vertices != "" {
			return edgefile.Numbers(ctx, r, e.Broken, func(from, to uint64) {
				if page, ok := e.pages[to]; ok && wanted(page) {
					f(e.vertex(w, from), page)
				}
			})
		}
		page := func(url string) (uint32, bool) { n, ok := w.number[w.resolve(url)]; return n, ok }
		want := func(url string) bool { n, ok := page(url); return ok && wanted(n) }
		return edgefile.Links(ctx, r, e.Broken, want, func(from, to string) {
			n, _ := page(to)
			f(w.add(w.resolve(from)), n)
		})
	})
	return err
}

// vertex returns the page of a vertex.
func (e *edges) vertex(w *Web, n uint64) uint32 {
	page, ok := e.pages[n]
	if !ok {
		page = uint32(len(w.urls))
		w.urls = append(w.urls, "")
		e.pages[n], e.unnamed[n] = page, true
	}
	return page
}

// find returns which URLs are vertices, or have links to them.
func (e *edges) find(ctx context.Context, w *Web, urls []string) (known map[string]bool, err error) {
	asked, roots := make(map[string]bool), make(map[string]string)
	for _, u := range urls {
		u = w.resolve(u)
		asked[u] = true
		if v := edgefile.Vertex(u); v != "" {
			roots[v] = u
		}
	}
	known = make(map[string]bool)
	if e.Vertices != "" {
		e.pages, e.unnamed = make(map[uint64]uint32), make(map[uint64]bool)
		e.vertices, err = read(ctx, e.Vertices, func(r io.Reader) (edgefile.Counts, error) {
			return edgefile.Vertices(ctx, r, e.Broken, func(n uint64, url string) {
				url = w.resolve(url)
				if root := roots[url]; root != "" && !asked[url] {
					url = root
				}
				if asked[url] {
					known[url] = true
					e.pages[n] = w.add(url)
				} else if page, ok := w.number[url]; ok {
					e.pages[n] = page
				}
			})
		})
	} else {
		e.counts, err = read(ctx, e.Path, func(r io.Reader) (edgefile.Counts, error) {
			return edgefile.Links(ctx, r, e.Broken, func(to string) bool { return asked[w.resolve(to)] }, func(_, to string) { known[w.resolve(to)] = true })
		})
	}
	return known, err
}

// parents returns those of the pages of a layer, by one pass over the file.
func (e *edges) parents(ctx context.Context, w *Web, pages []uint32) (func(uint32) []uint32, error) {
	layer := make(map[uint32][]uint32, len(pages))
	for _, p := range pages {
		layer[p] = nil
	}
	err := e.links(ctx, w, func(to uint32) bool { _, ok := layer[to]; return ok }, func(from, to uint32) {
		if from != to {
			layer[to] = append(layer[to], from)
		}
	})
	return distinct(layer), err
}

// among returns the links among the pages of a graph.
func (e *edges) among(ctx context.Context, w *Web, g *localgraph.Graph) (func(uint32) []uint32, error) {
	in := g.Lowest()
	children := make(map[uint32][]uint32, len(in))
	err := e.links(ctx, w, func(to uint32) bool { _, ok := in[to]; return ok }, func(from, to uint32) {
		if _, ok := in[from]; ok && from != to {
			children[from] = append(children[from], to)
		}
	})
	return distinct(children), err
}

// distinct sorts lists of pages and removes duplicates.
func distinct(lists map[uint32][]uint32) func(uint32) []uint32 {
	for p, list := range lists {
		slices.Sort(list)
		lists[p] = slices.Compact(list)
	}
	return func(p uint32) []uint32 { return lists[p] }
}

// Name looks up the URLs of pages that are known by their vertices only.
func (w *Web) Name(ctx context.Context, pages []uint32) error {
	if w.edges == nil || len(w.edges.unnamed) == 0 {
		return nil
	}
	wanted := make(map[uint32]bool)
	for _, p := range pages {
		wanted[p] = true
	}
	e := w.edges
	left := maps.Clone(e.unnamed)
	maps.DeleteFunc(left, func(n uint64, _ bool) bool { return !wanted[e.pages[n]] })
	_, err := read(ctx, e.Vertices, func(r io.Reader) (edgefile.Counts, error) {
		return edgefile.Vertices(ctx, r, e.Broken, func(n uint64, url string) {
			if left[n] {
				w.urls[e.pages[n]] = url
				delete(e.unnamed, n)
			}
		})
	})
	return err
}

package backlink

import (
	"context"
	"fmt"
	"io"
	"slices"

	"forager/internal/rank/edgefile"
)

// maxLinks bounds the links of numbered vertices that are kept until their names are known: about 2 GB.
const maxLinks = 1 << 25

// Numbered is a file of edges between numbers of vertices and the file of their names, as those of Common Crawl. Both are
// streamed: memory holds the first Most parents of each wanted page, and their names.
type Numbered struct {
	// Edges and Vertices open the files from the beginning.
	Edges, Vertices func() (io.ReadCloser, error)
	// Broken is the share of the lines of each file that may be broken, [0,1].
	Broken float64
	// Named are the counts of the file of vertices, and Nameless the number of vertices with links but without a name, once
	// the files were read.
	Named    edgefile.Counts
	Nameless int
}

// Links returns the Edges of the files that lead to wanted pages.
func (n *Numbered) Links(ctx context.Context, wanted func(to string) bool) Edges {
	return func(f func(from, to string)) (edgefile.Counts, error) {
		among, err := n.choose(ctx, wanted)
		if err != nil {
			return edgefile.Counts{}, err
		}
		links, counts, err := n.links(ctx, among)
		if err != nil {
			return counts, err
		}
		names, err := n.names(ctx, links)
		if err != nil {
			return counts, err
		}
		for _, l := range links {
			if from, to := names[l[0]], names[l[1]]; from != "" && to != "" {
				f(from, to)
			}
		}
		return counts, nil
	}
}

// choose returns the vertices of wanted pages.
func (n *Numbered) choose(ctx context.Context, wanted func(to string) bool) (map[uint64]bool, error) {
	among := make(map[uint64]bool)
	return among, n.vertices(ctx, func(v uint64, url string) {
		if wanted(url) {
			among[v] = true
		}
	})
}

// links returns the first Most links, from and to, of each wanted vertex.
func (n *Numbered) links(ctx context.Context, among map[uint64]bool) (links [][2]uint64, counts edgefile.Counts, err error) {
	file, err := n.Edges()
	if err != nil {
		return nil, counts, err
	}
	defer file.Close()
	of, full := make(map[uint64][]uint64), false
	counts, err = edgefile.Numbers(ctx, file, n.Broken, func(from, to uint64) {
		known := of[to]
		if !among[to] || from == to || len(known) == Most || slices.Contains(known, from) {
			return
		}
		if full = len(links) == maxLinks; !full {
			of[to] = append(known, from)
			links = append(links, [2]uint64{from, to})
		}
	})
	if err == nil && full {
		err = fmt.Errorf("%w: more than %d links to the pages that are wanted", errTooMany, maxLinks)
	}
	return links, counts, err
}

// names returns the URLs of the ends of links.
func (n *Numbered) names(ctx context.Context, links [][2]uint64) (map[uint64]string, error) {
	names := make(map[uint64]string)
	for _, l := range links {
		names[l[0]], names[l[1]] = "", ""
	}
	err := n.vertices(ctx, func(v uint64, url string) {
		if _, met := names[v]; met {
			names[v] = url
		}
	})
	for _, url := range names {
		if url == "" {
			n.Nameless++
		}
	}
	return names, err
}

func (n *Numbered) vertices(ctx context.Context, f func(v uint64, url string)) error {
	file, err := n.Vertices()
	if err != nil {
		return err
	}
	defer file.Close()
	if n.Named, err = edgefile.Vertices(ctx, file, n.Broken, f); err != nil {
		return fmt.Errorf("vertices: %w", err)
	}
	return nil
}

package guidetraining

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"forager/internal/page/dom"
	"forager/internal/platform/progress"
	"forager/internal/rank/localgraph"
	"forager/internal/rank/pageguide"
	"forager/internal/web/httpresponse"
	"forager/internal/web/webarchive"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// maxHops is the number of redirects followed in a row, as in package frontier.
const maxHops = 10

// Web is pages with the links among them. It is not safe for concurrent use.
type Web struct {
	archive   *webarchive.Archive // nil = no texts are known
	urls      []string            // by page; empty if only the number of a vertex is known
	number    map[string]uint32   // by URL
	redirects map[string]string
	texts     uint32 // pages below are in the archive
	// Links among these, ascending, unless they come from a file.
	children, parents [][]uint32
	edges             *edges
}

// Open reads a WARC file; an empty path is a web without texts.
func Open(ctx context.Context, path string) (*Web, error) {
	w := &Web{number: make(map[string]uint32), redirects: make(map[string]string)}
	if path == "" {
		return w, nil
	}
	var err error
	if w.archive, err = webarchive.Open(ctx, path); err != nil {
		return nil, err
	}
	if err := w.readAll(ctx); err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("pages of %s: %w", path, err)
	}
	return w, nil
}

// Close closes the WARC file.
func (w *Web) Close() error {
	if w.archive == nil {
		return nil
	}
	return w.archive.Close()
}

// stored is a response of the archive: a redirect, a page with links, or neither.
type stored struct {
	redirect string
	page     bool
	links    []string
}

// readAll reads the pages at all URLs, concurrently.
func (w *Web) readAll(ctx context.Context) error {
	urls := w.archive.URLs()
	found := make([]stored, len(urls))
	ctx, end := progress.Start(ctx, "reading pages", int64(len(urls)))
	defer end()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, u := range urls {
		group.Go(func() (err error) {
			if err = progress.Add(ctx, 1); err == nil {
				found[i], err = w.read(u)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, u := range urls {
		if found[i].page {
			w.add(u)
		} else if to := found[i].redirect; to != "" {
			w.redirects[u] = to
		}
	}
	w.texts = uint32(len(w.urls))
	w.children, w.parents = make([][]uint32, w.texts), make([][]uint32, w.texts)
	for i, u := range urls {
		if found[i].page {
			w.link(w.number[u], found[i].links)
		}
	}
	return nil
}

// link records the links of a page to others of the archive.
func (w *Web) link(from uint32, links []string) {
	var children []uint32
	for _, l := range links {
		if to, ok := w.number[w.resolve(l)]; ok && to != from {
			children = append(children, to)
		}
	}
	slices.Sort(children)
	w.children[from] = slices.Compact(children)
	for _, to := range w.children[from] {
		w.parents[to] = append(w.parents[to], from)
	}
}

func (w *Web) read(url string) (s stored, err error) {
	p, _, err := w.archive.Lookup(url)
	if err != nil || p == nil {
		return s, err
	}
	u, err := weburl.Parse(url)
	if err != nil {
		return s, err
	}
	kind := p.Header.Get("Content-Type")
	m := httpresponse.Of(u, p.Status, p.Location, kind, p.Body)
	s.redirect, s.page = m.Redirect, m.Outcome == schemas.Outcome_OUTCOME_DELIVERED
	if s.page {
		page, err := dom.Parse(p.Body, kind, url, dom.Settings{})
		if err != nil {
			return s, err
		}
		for _, l := range page.GetLinks() {
			s.links = append(s.links, l.GetUrl())
		}
	}
	return s, nil
}

// add returns the number of a URL, which it adds if it is new.
func (w *Web) add(url string) uint32 {
	n, ok := w.number[url]
	if !ok {
		n = uint32(len(w.urls))
		w.urls, w.number[url] = append(w.urls, url), n
	}
	return n
}

// resolve follows redirects of the archive.
func (w *Web) resolve(url string) string {
	for range maxHops {
		to, ok := w.redirects[url]
		if !ok {
			break
		}
		url = to
	}
	return url
}

// Pages returns the number of pages whose text is known.
func (w *Web) Pages() int { return int(w.texts) }

// URL of a page; empty if only the number of a vertex is known.
func (w *Web) URL(page uint32) string { return w.urls[page] }

// Page parses a page; nil if its text is not known.
func (w *Web) Page(page uint32) (*schemas.Page, error) {
	if page >= w.texts {
		return nil, nil
	}
	url := w.urls[page]
	p, _, err := w.archive.Lookup(url)
	if err != nil {
		return nil, fmt.Errorf("page %s: %w", url, err)
	}
	return dom.Parse(p.Body, p.Header.Get("Content-Type"), url, dom.Settings{})
}

// Targets returns the pages of URLs, each once, and the URLs that are unknown: no page and no link.
func (w *Web) Targets(ctx context.Context, urls []string) (pages []uint32, unknown []string, err error) {
	linked := make(map[string]bool)
	if w.edges != nil {
		if linked, err = w.edges.find(ctx, w, urls); err != nil {
			return nil, nil, err
		}
	}
	for _, u := range urls {
		u = w.resolve(u)
		if n, ok := w.number[u]; ok && n < w.texts || linked[u] {
			pages = append(pages, w.add(u))
		} else {
			unknown = append(unknown, u)
		}
	}
	slices.Sort(pages)
	return slices.Compact(pages), unknown, nil
}

// Parents returns the parents in the form of localgraph.Build.
func (w *Web) Parents(ctx context.Context) localgraph.Parents {
	if w.edges != nil {
		return func(pages []uint32) (func(uint32) []uint32, error) { return w.edges.parents(ctx, w, pages) }
	}
	return localgraph.Known(func(p uint32) []uint32 { return w.parents[p] })
}

// Samples returns the training data of a guide about targets.
func (w *Web) Samples(ctx context.Context, targets []uint32) *pageguide.Samples {
	l := &pageguide.Samples{Targets: targets, Parents: w.Parents(ctx), Page: w.Page}
	l.Children = func(g *localgraph.Graph) (func(uint32) []uint32, error) {
		if w.edges != nil {
			return w.edges.among(ctx, w, g)
		}
		return func(p uint32) []uint32 { return w.children[p] }, nil
	}
	for p := range w.texts {
		l.Corpus = append(l.Corpus, p)
	}
	return l
}

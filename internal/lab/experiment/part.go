package experiment

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"forager/internal/lab/taskfile"
	"forager/internal/page/tfidf"
	"forager/internal/rank/pageguide"
	"forager/internal/web/scope"
	"forager/schemas"
)

// part is the pages of a web that a task may fetch, and what follows from them alone; all tasks with the same pages share
// it. It is safe for concurrent use.
type part struct {
	web     *Web
	list    *scope.List
	urls    []string // in scope, sorted
	inScope map[string]bool
	// number is the index of a URL in urls.
	number map[string]uint32

	linked func() (*graph, error)
	texts  resultCache[struct{}, *texts]
}

// part returns the part of the web that a task may fetch. A redirect belongs to it if it leads to a page that does.
func (w *Web) part(pages taskfile.PageSet) *part {
	if held, ok := w.parts.Load(pages); ok {
		return held.(*part)
	}
	p := &part{web: w, inScope: make(map[string]bool), number: make(map[string]uint32)}
	for u, x := range w.pages {
		p.inScope[u] = x.outcome == schemas.Outcome_OUTCOME_REDIRECTED || pages.Has(w.labels[u])
	}
	maps.DeleteFunc(p.inScope, func(_ string, in bool) bool { return !in })
	for u := range p.inScope {
		if w.pages[u].outcome == schemas.Outcome_OUTCOME_REDIRECTED && p.resolve(u) == "" {
			delete(p.inScope, u)
		}
	}
	p.urls = slices.Sorted(maps.Keys(p.inScope))
	for i, u := range p.urls {
		p.number[u] = uint32(i)
	}
	p.list = scope.NewList(p.urls)
	p.linked = sync.OnceValues(p.link)
	held, _ := w.parts.LoadOrStore(pages, p)
	return held.(*part)
}

// resolve follows redirects inside the web to a page in scope; "" if there is none.
func (p *part) resolve(url string) string {
	return p.web.resolve(url, func(url string) bool { return p.inScope[url] })
}

// URLs returns the canonical URLs in scope, sorted.
func (p *part) URLs() []string { return p.urls }

// Pages returns the number of pages in scope, without URLs that redirect or are not pages.
func (p *part) Pages() int { return len(p.delivered()) }

// delivered returns the URLs of pages in scope, sorted.
func (p *part) delivered() []string {
	return slices.DeleteFunc(slices.Clone(p.urls), func(u string) bool {
		return p.web.pages[u].outcome != schemas.Outcome_OUTCOME_DELIVERED
	})
}

// graph is the links between pages of a part, redirects resolved, by their numbers. No page links to itself, and each list
// is ascending.
type graph struct {
	parents, children [][]uint32
}

// link reads the links of all pages.
func (p *part) link() (*graph, error) {
	if p.web.compute != nil {
		return nil, errors.New("pages of webs that are computed are not stored")
	}
	g := &graph{parents: make([][]uint32, len(p.urls)), children: make([][]uint32, len(p.urls))}
	errs := make([]error, len(p.urls))
	each(len(p.urls), func(i int) {
		page := p.web.pages[p.urls[i]]
		if page.outcome != schemas.Outcome_OUTCOME_DELIVERED {
			return
		}
		links, err := page.links()
		errs[i] = err
		var to []uint32
		for _, l := range links {
			if v, ok := p.number[p.resolve(l.GetUrl())]; ok && v != uint32(i) {
				to = append(to, v)
			}
		}
		slices.Sort(to)
		g.children[i] = slices.Clone(slices.Compact(to))
	})
	for u, to := range g.children {
		for _, v := range to {
			g.parents[v] = append(g.parents[v], uint32(u))
		}
	}
	return g, errors.Join(errs...)
}

// texts are the pages of a part as TF-IDF texts.
type texts struct {
	corpus *tfidf.Corpus
	of     []tfidf.Text // by the numbers of the pages; nil = no page
}

// compared returns the texts of the part, which are kept until its crawls end.
func (p *part) compared() (*texts, error) { return p.texts.get(struct{}{}, p.count) }

// release drops the texts.
func (p *part) release() { p.texts.clear() }

// count counts the words of all pages.
func (p *part) count() (*texts, error) {
	if p.web.compute != nil {
		return nil, errors.New("pages of webs that are computed are not stored")
	}
	urls, words := p.delivered(), pageguide.Default().Words
	corpus, all, err := tfidf.Index(len(urls), func(i int, add func(word []byte, count uint32)) error {
		parsed, err := p.web.pages[urls[i]].parsed()
		if err != nil {
			return err
		}
		return pageguide.Words(parsed, words, add)
	})
	if err != nil {
		return nil, err
	}
	t := &texts{corpus, make([]tfidf.Text, len(p.urls))}
	for i, u := range urls {
		t.of[p.number[u]] = all[i]
	}
	return t, nil
}

package experiment

import (
	"fmt"
	"sync"

	"forager/internal/frontier/storage"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// extraction is the result of linkfeature.Extract for a page. It must not be changed.
type extraction struct {
	table *schemas.LeafTable
	links []*schemas.Link
	cut   bool
}

// extractionKey has all that an extraction depends on.
type extractionKey struct {
	page     *page
	settings linkfeature.Settings
	// judgement whose topics are features; nil if the settings have no topic features.
	judgement *schemas.Judgement
}

// extractedBytes bounds the extractions of a web that are kept, bytes as estimated by size.
const extractedBytes = 160 << 20

// extractions is a cache of recent extractions, which is safe for concurrent use.
type extractions struct {
	mu     sync.Mutex
	recent *storage.LRU[extractionKey, *extraction] // nil = none
}

// get returns a cached extraction, or nil.
func (e *extractions) get(key extractionKey) *extraction {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.recent == nil {
		return nil
	}
	x, _ := e.recent.Get(key)
	return x
}

func (e *extractions) put(key extractionKey, x *extraction) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.recent == nil {
		e.recent = storage.NewLRU[extractionKey, *extraction](extractedBytes)
	}
	e.recent.Put(key, x, x.size())
}

// release drops the extractions of the web.
func (w *Web) release() {
	w.extracted.mu.Lock()
	defer w.extracted.mu.Unlock()
	w.extracted.recent = nil
}

// size estimates the memory of an extraction, bytes. Its terms are those of the web.
func (x *extraction) size() int {
	const perLink = 160 // of the message and the pointer to it
	t := x.table
	n := 400 + 16*(len(t.GetTerms())+len(t.GetPageTerms())+len(t.GetLinkNames()))
	n += 4 * (len(t.GetLeaves()) + len(t.GetLeafLengths()) + len(t.GetTokens()) + len(t.GetLinkLeaves()) + len(t.GetLinkLengths()) + len(t.GetLinkTerms()))
	for _, l := range x.links {
		n += perLink + len(l.GetUrl()) + 4*len(l.GetTagPath())
	}
	return n
}

// extract extracts the features of a page's links. judgement is that of the page if the settings have topic features, else
// nil.
func (w *Web) extract(p *page, judgement *schemas.Judgement, s linkfeature.Settings) (*extraction, error) {
	key := extractionKey{p, s, judgement}
	if x := w.extracted.get(key); x != nil {
		return x, nil
	}
	parsed, err := p.parsed()
	if err != nil {
		return nil, err
	}
	x, err := extract(parsed, judgement, s)
	if err != nil {
		return nil, fmt.Errorf("links of %s: %w", p.url, err)
	}
	w.extracted.put(key, x)
	return x, nil
}

func extract(parsed *schemas.Page, judgement *schemas.Judgement, s linkfeature.Settings) (*extraction, error) {
	var x extraction
	var err error
	if x.table, x.links, x.cut, err = linkfeature.Extract(parsed, judgement, s); err != nil {
		return nil, err
	}
	if t := x.table; t != nil {
		t.Terms, t.Leaves, t.Tokens, t.LeafLengths = exact(t.Terms), exact(t.Leaves), exact(t.Tokens), exact(t.LeafLengths)
	}
	return &x, nil
}

// exact returns a copy of a slice without spare capacity.
func exact[E any](s []E) []E {
	if cap(s) == len(s) {
		return s
	}
	return append(make([]E, 0, len(s)), s...)
}

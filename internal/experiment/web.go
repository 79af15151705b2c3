package experiment

import (
	"errors"
	"fmt"
	"html"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"forager/internal/answer"
	"forager/internal/critic"
	"forager/internal/dom"
	"forager/internal/interest"
	"forager/internal/linkfeature"
	"forager/internal/warc"
	"forager/internal/webarchive"
	"forager/internal/weburl"
	"forager/schemas"

	"golang.org/x/sync/errgroup"
)

// maxBody bounds the body of a page that is no URL's, bytes.
const maxBody = 64 << 20

// Web is a frozen web in memory: every page parsed once, with its label. It is safe for
// concurrent use.
type Web struct {
	pages  map[string]*page  // by canonical URL
	labels map[string]string // of pages and strays
	// unescaped are the pages whose URLs have escapes, by the URL without them.
	unescaped map[string]*page
	// strays are pages that no crawler can ask for, by what stands in the place of their URL.
	strays map[string]*page
	// compute makes the body of a page where pages are not kept (Computed); nil = they are.
	compute func(url string) (body []byte, contentType string)

	taught sync.Map // of *taughtGuide by guideKey
}

// page is one answer of a web.
type page struct {
	url      string
	outcome  schemas.Outcome
	status   int
	redirect string
	detail   string
	size     int // of the body, bytes
	// parsed where outcome is DELIVERED; also of plain text, which can train a critic.
	parsed *schemas.Page

	// Its words, for rankers that read them; see interest.Words.
	wordsOnce sync.Once
	words     []uint32
	wordsErr  error

	// What extract keeps, for its first settings.
	once  sync.Once
	kept  linkfeature.Settings
	table *schemas.LeafTable
	links []*schemas.Link
	cut   bool
	err   error
}

// extract returns what linkfeature.Extract does without topic features; that is the same for all
// critics, and is made once.
func (p *page) extract(s linkfeature.Settings) (*schemas.LeafTable, []*schemas.Link, bool, error) {
	p.once.Do(func() {
		p.kept = s
		if p.table, p.links, p.cut, p.err = linkfeature.Extract(p.parsed, nil, s); p.table != nil {
			p.table.Terms, p.table.Leaves = exact(p.table.Terms), exact(p.table.Leaves)
			p.table.Tokens, p.table.LeafLengths = exact(p.table.Tokens), exact(p.table.LeafLengths)
		}
	})
	if p.kept != s {
		return linkfeature.Extract(p.parsed, nil, s)
	}
	return p.table, p.links, p.cut, p.err
}

// wordsOf are the words of the page, read once.
func (p *page) wordsOf(parsed func() (*schemas.Page, error)) ([]uint32, error) {
	p.wordsOnce.Do(func() {
		var read *schemas.Page
		if read, p.wordsErr = parsed(); p.wordsErr == nil {
			p.words, p.wordsErr = interest.Words(read)
		}
	})
	return p.words, p.wordsErr
}

// LoadWeb reads a WARC file and its labels (NAME.labels.tsv beside NAME.warc.gz) and parses
// the pages, several at once. What stands at which URL is decided by package webarchive, as for
// the proxy that serves the same file; damaged records are missing.
func LoadWeb(path string, leaves schemas.LeafMode) (*Web, error) {
	p, err := parseWeb(path, leaves)
	if err != nil {
		return nil, err
	}
	return p.web(path)
}

// parsedWeb is what a WARC file says of a web, parsed.
type parsedWeb struct {
	pages  []*page          // in the order of the archive
	strays map[string]*page // by what stands in the place of their URL
}

// parseWeb reads and parses a WARC file.
func parseWeb(path string, leaves schemas.LeafMode) (*parsedWeb, error) {
	p := new(parsedWeb)
	var err error
	if p.pages, err = parsePages(path, dom.Settings{Leaves: leaves, TagPaths: true, Tree: true}); err == nil {
		p.strays, err = readStrays(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the web %s: %w", path, err)
	}
	return p, nil
}

func parsePages(path string, settings dom.Settings) ([]*page, error) {
	archive, err := webarchive.Open(path)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	var terms shared
	urls := archive.URLs()
	pages, errs := make([]*page, len(urls)), make([]error, len(urls))
	each(len(urls), func(i int) {
		stored, _, err := archive.Lookup(urls[i])
		if err == nil {
			pages[i], err = newPage(stored, settings)
		}
		if err == nil {
			terms.share(pages[i].parsed)
		}
		errs[i] = err
	})
	return pages, errors.Join(errs...)
}

// web is the web of a WARC file, with the labels beside it.
func (p *parsedWeb) web(path string) (*Web, error) {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".warc")
	labels, err := readLabels(filepath.Join(filepath.Dir(path), name+".labels.tsv"))
	if err != nil {
		return nil, fmt.Errorf("read the web %s: %w", path, err)
	}
	w := &Web{pages: make(map[string]*page, len(p.pages)), labels: labels, unescaped: make(map[string]*page), strays: p.strays}
	for _, p := range p.pages {
		w.pages[p.url] = p
		if plain, err := url.PathUnescape(p.url); err == nil && plain != p.url && w.unescaped[plain] == nil {
			w.unescaped[plain] = p
		}
	}
	return w, nil
}

// resolve follows redirects to a page, all of it inside the web and among the URLs for which in holds; ""
// where there is none.
func (w *Web) resolve(url string, in func(url string) bool) string {
	for range maxHops + 1 {
		p := w.pages[url]
		if p == nil || !in(url) {
			return ""
		}
		if p.outcome != schemas.Outcome_OUTCOME_REDIRECTED {
			return url
		}
		url = p.redirect
	}
	return ""
}

// each calls f(0) … f(n−1), as many at once as there are processors.
func each(n int, f func(i int)) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error {
			f(i)
			return nil
		})
	}
	g.Wait() // f has no error
}

// newPage turns a stored answer into what fetch and parse-dom would make of it.
func newPage(stored *webarchive.Page, settings dom.Settings) (*page, error) {
	p := &page{url: stored.URL, status: stored.Status, size: len(stored.Body)}
	u, err := weburl.Parse(stored.URL)
	if err != nil {
		return nil, err
	}
	kind := stored.Header.Get("Content-Type")
	meaning := answer.Of(u, stored.Status, stored.Location, kind, stored.Body)
	p.outcome, p.redirect, p.detail = meaning.Outcome, meaning.Redirect, meaning.Detail
	switch {
	case p.outcome == schemas.Outcome_OUTCOME_DELIVERED:
		p.parsed, err = dom.Parse(stored.Body, kind, p.url, settings)
	case p.outcome == schemas.Outcome_OUTCOME_NOT_HTML && strings.HasPrefix(kind, "text/plain"):
		p.parsed, err = parseText(stored.Body, kind, p.url)
	}
	return p, err
}

// parseText parses a page of plain text.
func parseText(body []byte, kind, at string) (*schemas.Page, error) {
	return dom.Parse([]byte(html.EscapeString(string(body))), kind, at, dom.Settings{})
}

// readStrays reads the pages whose target URI is no URL ("ftp_//host/path"): no link leads to
// them, but they may train critics.
func readStrays(path string) (map[string]*page, error) {
	strays := make(map[string]*page)
	for record, err := range warc.Responses(path) {
		var damaged *warc.DamagedError
		switch {
		case errors.As(err, &damaged):
			continue
		case err != nil:
			return nil, err
		}
		if _, err := weburl.Parse(record.TargetURI); err == nil || strays[record.TargetURI] != nil {
			continue
		}
		stored, err := record.Response()
		if err != nil || stored.Status != 200 {
			continue
		}
		body, err := stored.Payload(maxBody)
		if err != nil {
			return nil, fmt.Errorf("body of %s: %w", record.TargetURI, err)
		}
		p := &page{url: record.TargetURI}
		const nowhere = "http://stray.invalid/" // its links are not followed
		if p.parsed, err = dom.Parse(body, stored.Header.Get("Content-Type"), nowhere, dom.Settings{}); err != nil {
			return nil, err
		}
		strays[p.url] = p
	}
	return strays, nil
}

// example finds a page that trains a critic. Lists of examples may name a page by an alias, or
// have the escapes of its URL undone ("a%2fb" as "a/b").
func (w *Web) example(raw string) *page {
	name := raw
	if u, err := weburl.Parse(raw); err == nil {
		name = u.String()
	}
	p := w.pages[name]
	if p == nil {
		p = w.unescaped[name]
	}
	for range maxHops {
		if p == nil || p.outcome != schemas.Outcome_OUTCOME_REDIRECTED {
			break
		}
		p = w.pages[p.redirect]
	}
	if p == nil {
		p = w.strays[raw]
	}
	if p == nil || p.parsed == nil {
		return nil
	}
	return p
}

// trainCritic trains a critic on pages of a web, its classes as they stand.
func (w *Web) trainCritic(set *CriticSet) (*critic.Model, error) {
	var examples critic.Examples
	var missing []string
	for _, class := range set.classes() {
		for _, raw := range set.Examples[class] {
			p := w.example(raw)
			if p == nil {
				missing = append(missing, raw)
				continue
			}
			if err := examples.AddPage(p.url, []string{class}, p.parsed); err != nil {
				return nil, err
			}
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%d of its examples are no pages of the web, such as %s", len(missing), missing[0])
	}
	model, _, err := critic.Train(&examples, critic.Settings{Exact: true, Method: set.Method})
	return model, err
}

package experiment

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"forager/internal/classify/critic"
	"forager/internal/classify/examples"
	"forager/internal/lab/storedpage"
	"forager/internal/lab/taskfile"
	"forager/internal/page/dom"
	"forager/internal/web/httpresponse"
	"forager/internal/web/warc"
	"forager/internal/web/webarchive"
	"forager/internal/web/weburl"
	"forager/schemas"

	"golang.org/x/sync/errgroup"
)

// maxBody bounds the body of a page without a URL, bytes.
const maxBody = 64 << 20

// Web is a frozen web: the metadata of each page, and where its parsed form is stored. It is safe for concurrent use.
type Web struct {
	pages  map[string]*page  // by canonical URL
	labels map[string]string // of pages and strays
	// unescaped are the pages whose URLs have escapes, by the URL without them.
	unescaped map[string]*page
	// strays are pages that no crawler can request, by what is in place of their URL.
	strays map[string]*page
	// compute makes the body of a page if pages are not stored (Computed); nil = they are.
	compute func(url string) (body []byte, contentType string)

	extracted extractions
	parts     sync.Map // of *part by PageSet
	taught    sync.Map // of *taughtGuide by guideKey
	critics   resultCache[learntCritic, *critic.Model]
}

// page is one response of a web.
type page struct {
	url      string
	outcome  schemas.Outcome
	status   int
	redirect string
	detail   string
	size     int // of the body, bytes
	// stored is the parsed page if outcome is DELIVERED; also of plain text, which can train a critic.
	stored storedpage.Section
	// recent is the parsed page while it is in use: it is read for its judgement, its links and their texts in turn.
	recent atomic.Pointer[weak.Pointer[schemas.Page]]
}

// hasText reports whether there is a parsed page.
func (p *page) hasText() bool { return p.stored.File != nil }

// parsed returns the parsed page, which must not be changed; nil if there is none.
func (p *page) parsed() (*schemas.Page, error) {
	if !p.hasText() {
		return nil, nil
	}
	if recent := p.recent.Load(); recent != nil {
		if parsed := recent.Value(); parsed != nil {
			return parsed, nil
		}
	}
	parsed, err := p.stored.Page()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.url, err)
	}
	recent := weak.Make(parsed)
	p.recent.Store(&recent)
	return parsed, nil
}

// links returns the links of a delivered page that may be followed.
func (p *page) links() ([]*schemas.Link, error) {
	parsed, err := p.parsed()
	if err != nil || parsed.GetNofollow() {
		return nil, err
	}
	return parsed.GetLinks(), nil
}

// LoadWeb reads a WARC file and its labels (NAME.labels.tsv next to NAME.warc.gz) and parses the pages concurrently into an
// unlinked file. Package webarchive resolves which record is at which URL, as for the proxy that serves the same file;
// damaged records are missing.
func LoadWeb(ctx context.Context, path string, by Parsing) (*Web, error) {
	p, err := parseAside(ctx, path, by)
	if err != nil {
		return nil, fmt.Errorf("read the web %s: %w", path, err)
	}
	return p.web(path)
}

// LabelsOf returns the file of the labels of a WARC file.
func LabelsOf(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".warc") + ".labels.tsv"
}

// web returns the web of a WARC file, with its labels.
func (p *pageFile) web(path string) (*Web, error) {
	labels, err := readLabels(LabelsOf(path))
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

// resolve follows redirects to a page, all of it inside the web and among the URLs for which in returns true; "" if there
// is none.
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

// readLabels reads NAME.labels.tsv: canonical URL, or what is in its place, → label.
func readLabels(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the labels: %w", err)
	}
	labels := make(map[string]string)
	for n, line := range strings.Split(strings.TrimRight(string(b), "\n"), "\n") {
		raw, label, ok := strings.Cut(strings.TrimRight(line, "\r"), "\t")
		if !ok {
			return nil, fmt.Errorf("%s line %d: want URL, tab, label", path, n+1)
		}
		if u, err := weburl.Parse(raw); err == nil { // otherwise a page that no crawler can request (ftp)
			raw = u.String()
		}
		// As with responses, the first of several spellings of a URL wins.
		if _, known := labels[raw]; !known {
			labels[raw] = label
		}
	}
	return labels, nil
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
	_ = g.Wait() // f has no error
}

// newPage converts a stored response as fetch and parse-dom would; the parsed page is encoded, nil if there is none.
func newPage(stored *webarchive.Page, settings dom.Settings) (*page, *storedpage.Encoded, error) {
	p := &page{url: stored.URL, status: stored.Status, size: len(stored.Body)}
	u, err := weburl.Parse(stored.URL)
	if err != nil {
		return nil, nil, err
	}
	kind := stored.Header.Get("Content-Type")
	meaning := httpresponse.Of(u, stored.Status, stored.Location, kind, stored.Body)
	p.outcome, p.redirect, p.detail = meaning.Outcome, meaning.Redirect, meaning.Detail
	var parsed *schemas.Page
	switch {
	case p.outcome == schemas.Outcome_OUTCOME_DELIVERED:
		parsed, err = dom.Parse(stored.Body, kind, p.url, settings)
	case p.outcome == schemas.Outcome_OUTCOME_NOT_HTML && strings.HasPrefix(kind, "text/plain"):
		parsed, err = dom.Parse([]byte(html.EscapeString(string(stored.Body))), kind, p.url, dom.Settings{})
	}
	if parsed == nil || err != nil {
		return p, nil, err
	}
	body, err := storedpage.Encode(parsed)
	return p, body, err
}

// stray is a page without a URL, and its parsed form encoded.
type stray struct {
	page *page
	body *storedpage.Encoded
}

// readStrays reads the pages whose target URI is no URL ("ftp_//host/path"). No link leads to them, but they may train
// critics.
func readStrays(path string) (map[string]stray, error) {
	strays := make(map[string]stray)
	for record, err := range warc.Responses(path) {
		var damaged *warc.DamagedError
		switch {
		case errors.As(err, &damaged):
			continue
		case err != nil:
			return nil, err
		}
		if _, err := weburl.Parse(record.TargetURI); err == nil || strays[record.TargetURI].page != nil {
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
		const nowhere = "http://stray.invalid/" // its links are not followed
		parsed, err := dom.Parse(body, stored.Header.Get("Content-Type"), nowhere, dom.Settings{})
		if err != nil {
			return nil, err
		}
		text, err := storedpage.Encode(parsed)
		if err != nil {
			return nil, err
		}
		strays[record.TargetURI] = stray{&page{url: record.TargetURI}, text}
	}
	return strays, nil
}

// example returns a page that trains a critic. Lists of examples may name a page by an alias, or with the escapes of its
// URL decoded ("a%2fb" as "a/b").
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
	if p == nil || !p.hasText() {
		return nil
	}
	return p
}

// trainCritic trains a critic on pages of a web and on the files of examples in a directory, with the classes as given.
func (w *Web) trainCritic(ctx context.Context, set *taskfile.CriticSet, dir string) (*critic.Model, error) {
	var all critic.Examples
	var missing []string
	for _, class := range set.Classes() {
		for _, raw := range set.Examples[class] {
			p := w.example(raw)
			if p == nil {
				missing = append(missing, raw)
				continue
			}
			parsed, err := p.parsed()
			if err == nil {
				err = all.AddPage(p.url, []string{class}, parsed)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%d of its examples are not pages of the web, such as %s", len(missing), missing[0])
	}
	if err := addFiles(ctx, &all, set.Files, dir); err != nil {
		return nil, err
	}
	model, _, err := critic.Train(ctx, &all, critic.Settings{Exact: true, Method: set.Method})
	return model, err
}

// addFiles adds the examples of files, whose topics are classes.
func addFiles(ctx context.Context, all *critic.Examples, files []string, dir string) error {
	if len(files) == 0 {
		return nil
	}
	in, err := examples.NewIntake(examples.Settings{})
	if err != nil {
		return err
	}
	defer in.Close()
	for _, name := range files {
		path := filepath.Join(dir, name)
		if err := examples.Read(ctx, path, examples.Lines, in, examples.Open); err != nil {
			return fmt.Errorf("read the examples %s: %w", path, err)
		}
	}
	if refused := in.Refused(); len(refused) > 0 {
		return fmt.Errorf("files %s: %d lines were refused: %s", strings.Join(files, ", "), refused[0].Count, refused[0].Reason)
	}
	_, err = in.Finish(func(x *examples.Example) error { return all.AddText(x.URL, x.Topics, x.Text) })
	return err
}

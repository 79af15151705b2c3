package experiment

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"forager/internal/answer"
	"forager/internal/dom"
	"forager/internal/warc"
	"forager/internal/weburl"
	"forager/schemas"
)

// Web is a frozen web in memory: every page parsed once, with its label.
type Web struct {
	pages  map[string]*page // by canonical URL, or the target URI where that is no URL
	labels map[string]string
	// unescaped are the pages whose URLs have escapes, by the URL without them.
	unescaped map[string]*page
	// Damaged are the records of the file that could not be read.
	Damaged []error
}

// page is one record of a web.
type page struct {
	url      string
	outcome  schemas.Outcome
	status   int
	redirect string
	detail   string
	parsed   *schemas.Page // where outcome is DELIVERED
}

// LoadWeb reads a WARC file and its labels (NAME.labels.tsv beside NAME.warc.gz) and parses
// the pages, several at once.
func LoadWeb(path string) (*Web, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the web: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	w := &Web{pages: make(map[string]*page), unescaped: make(map[string]*page)}
	labels := filepath.Join(filepath.Dir(path), strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".warc")+".labels.tsv")
	if w.labels, err = readLabels(labels); err != nil {
		return nil, err
	}
	type job struct {
		url    string
		answer *warc.Response
	}
	jobs := make(chan job)
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for j := range jobs {
				p, err := newPage(j.url, j.answer)
				mu.Lock()
				if err != nil {
					failed = errors.Join(failed, err)
				} else if w.pages[p.url] == nil {
					w.pages[p.url] = p
					if plain, err := url.PathUnescape(p.url); err == nil && plain != p.url {
						w.unescaped[plain] = p
					}
				}
				mu.Unlock()
			}
		})
	}
	reader := warc.NewReader(file, info.Size(), warc.Limits{})
	for {
		record, err := reader.Next()
		if err == io.EOF {
			break
		}
		var damaged *warc.DamagedError
		if errors.As(err, &damaged) {
			w.Damaged = append(w.Damaged, err)
			continue
		}
		if err != nil {
			failed = err
			break
		}
		if record.Type != "response" {
			continue
		}
		answer, err := record.Response()
		if err != nil {
			w.Damaged = append(w.Damaged, err)
			continue
		}
		jobs <- job{record.TargetURI, answer}
	}
	close(jobs)
	wg.Wait()
	if failed != nil {
		return nil, fmt.Errorf("%s: %w", path, failed)
	}
	return w, nil
}

// newPage turns a stored answer into what fetch and parse-dom would make of it.
func newPage(target string, stored *warc.Response) (*page, error) {
	p := &page{url: target, status: stored.Status}
	body, err := stored.Payload(64 << 20)
	if err != nil {
		return nil, fmt.Errorf("body of %s: %w", target, err)
	}
	u, err := weburl.Parse(target)
	if err == nil {
		p.url = u.String()
	}
	kind := stored.Header.Get("Content-Type")
	meaning := answer.Of(u, stored.Status, stored.Header.Get("Location"), kind, body)
	p.outcome, p.redirect, p.detail = meaning.Outcome, meaning.Redirect, meaning.Detail
	if p.outcome != schemas.Outcome_OUTCOME_DELIVERED {
		return p, nil
	}
	at := p.url
	if err != nil { // a page that only trains critics (ftp): its links lead nowhere
		at = "http://not-a-url.invalid/"
	}
	if p.parsed, err = dom.Parse(body, kind, at, dom.Settings{}); err != nil {
		return nil, fmt.Errorf("parse %s: %w", target, err)
	}
	return p, nil
}

// example finds a page that trains a critic; lists of examples may have escapes of their URLs
// undone ("a%2fb" as "a/b").
func (w *Web) example(url string) *page {
	if p := w.pages[url]; p != nil {
		return p
	}
	return w.unescaped[url]
}

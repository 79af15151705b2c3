package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"

	"forager/internal/platform/analytics"
	"forager/internal/web/warc"
)

// form writes pages in one format.
type form interface {
	page(*page) error
	// end writes what follows the last page.
	end() error
}

func newForm(w io.Writer, sel *analytics.Selection, o *Options) (form, error) {
	if o.Format == WARC {
		return newWARC(w, sel, o)
	}
	return newLines(w, o)
}

func newLines(w io.Writer, o *Options) (*lines, error) {
	l := &lines{to: w, urls: o.Format == URLs}
	if o.Gzip {
		l.gz = gzip.NewWriter(w)
		l.to = l.gz
	}
	if o.Format != URLs && o.Format != JSONL {
		return nil, fmt.Errorf("unknown format %q", o.Format)
	}
	return l, nil
}

// warcFile is a sequence of records, each a gzip member or uncompressed.
type warcFile struct {
	to   io.Writer
	bare bool
}

func newWARC(w io.Writer, sel *analytics.Selection, o *Options) (*warcFile, error) {
	f := &warcFile{to: w, bare: !o.Gzip}
	what := fmt.Sprintf("pages of crawl %s with a relevance of %g or more", sel.Crawl, sel.Above)
	if sel.Topic != "" {
		what += ", about " + sel.Topic
	}
	sum := sha256.Sum256([]byte(what))
	var info bytes.Buffer
	_, err := warc.NewWriter(&info).Info([16]byte(sum[:16]), o.Name, o.Date, warc.Header{
		{Name: "software", Value: "Forager"}, {Name: "isPartOf", Value: sel.Crawl}, {Name: "description", Value: what},
	})
	if err != nil {
		return nil, err
	}
	return f, f.member(info.Bytes())
}

func (f *warcFile) page(p *page) error { return f.member(p.record) }

func (f *warcFile) end() error { return nil }

// member writes a gzip member, or its contents, in one call.
func (f *warcFile) member(b []byte) error {
	if f.bare {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return err
		}
		if b, err = io.ReadAll(z); err != nil {
			return err
		}
	}
	_, err := f.to.Write(b)
	return err
}

// lines is a list of URLs, or of JSON documents.
type lines struct {
	to   io.Writer
	gz   *gzip.Writer
	urls bool
}

// line is a page in JSON Lines.
type line struct {
	URL     string `json:"url"`
	Outcome string `json:"outcome"`
	Status  uint32 `json:"status"`
	// Topics is the best one, Posteriors are those of the best ones, tempered.
	Topics     []string           `json:"topics"`
	Posteriors map[string]float64 `json:"posteriors,omitempty"`
	// Relevance is R(u), raw.
	Relevance float64   `json:"relevance"`
	Tempered  float64   `json:"relevance_tempered"`
	Title     string    `json:"title,omitempty"`
	Language  string    `json:"language,omitempty"`
	Depth     uint32    `json:"depth"`
	Via       string    `json:"via,omitempty"`
	FetchedAt time.Time `json:"fetched_at"`
	Digest    string    `json:"digest,omitempty"`
	Text      string    `json:"text"`
}

func (l *lines) page(p *page) error {
	x := line{
		URL: p.URL, Outcome: p.Outcome, Status: p.Status, Topics: append([]string{}, p.Topics[:min(1, len(p.Topics))]...), Relevance: p.Relevance, Tempered: p.Tempered,
		Title: p.Title, Language: p.Language, Depth: p.Depth, Via: p.Via, FetchedAt: p.Fetched.UTC(),
	}
	for i, t := range p.Topics {
		if x.Posteriors == nil {
			x.Posteriors = make(map[string]float64)
		}
		x.Posteriors[t] = p.Posteriors[i]
	}
	x.Text, x.Digest = p.text, p.digest
	return l.row(p.URL, x)
}

// row writes what is known of a URL.
func (l *lines) row(url string, x any) error {
	b := []byte(url)
	if !l.urls {
		var err error
		if b, err = json.Marshal(x); err != nil {
			return fmt.Errorf("page %s: %w", url, err)
		}
	}
	_, err := l.to.Write(append(b, '\n'))
	return err
}

func (l *lines) end() error {
	if l.gz == nil {
		return nil
	}
	return l.gz.Close()
}

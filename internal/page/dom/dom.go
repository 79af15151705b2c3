package dom

import (
	"fmt"

	"golang.org/x/net/html"

	"forager/internal/web/weburl"
	"forager/schemas"
)

// Default and largest values of Settings.
const (
	MaxLeaves = 100_000
	MaxTokens = 300_000
	MaxTerms  = 50_000
	MaxLinks  = 2_000
)

// Bounds in bytes, which with those above keep a Page below 3.5 MiB.
const (
	maxTermBytes   = 1 << 20
	maxLinkBytes   = 1 << 20
	maxTitle       = 512
	maxDescription = 1024
)

// Settings of Parse. A bound of 0, or above its largest value, is that value.
type Settings struct {
	// Leaves defines which nodes are numbered; not set = LEAF_MODE_COMPACT.
	Leaves schemas.LeafMode
	// MaxLeaves, MaxTokens (of all leaves), MaxTerms (distinct tokens) and MaxLinks (distinct
	// targets) of a page.
	MaxLeaves, MaxTokens, MaxTerms, MaxLinks int
	// TagPaths requests Link.tag_path. Pages nested too deep for a tree, which only the tokenizer reads, have none.
	TagPaths bool
	// Tree requests Page.leaf_depths, Page.leaf_joins and Link.depth, if there is a tree.
	Tree bool
}

func (s Settings) withDefaults() Settings {
	bound := func(v *int, most int) {
		if *v <= 0 || *v > most {
			*v = most
		}
	}
	bound(&s.MaxLeaves, MaxLeaves)
	bound(&s.MaxTokens, MaxTokens)
	bound(&s.MaxTerms, MaxTerms)
	bound(&s.MaxLinks, MaxLinks)
	return s
}

// Parse reads the body of an HTML page. contentType is the Content-Type header as sent, or empty; url is the
// page's own, absolute. Every body is accepted; the error is that of an invalid URL or leaf mode.
func Parse(body []byte, contentType, url string, s Settings) (*schemas.Page, error) {
	u, err := weburl.Parse(url)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	switch s.Leaves {
	case schemas.LeafMode_LEAF_MODE_UNSPECIFIED, schemas.LeafMode_LEAF_MODE_COMPACT, schemas.LeafMode_LEAF_MODE_PAPER:
	default:
		return nil, fmt.Errorf("page %s: leaf mode %d is not known", url, s.Leaves)
	}
	r, charset := decodeAndRead(body, contentType, s.withDefaults(), newReading)
	r.page.Url = u.String()
	r.page.Charset = charset
	r.finish(u)
	return r.page, nil
}

// decodeAndRead reads a body, again if a <meta> corrects its encoding.
func decodeAndRead(body []byte, contentType string, s Settings, begin func(Settings, int) *reading) (r *reading, charset string) {
	enc := detect(body, contentType)
	text := enc.decode(body)
	r = read(text, begin(s, len(text)))
	if declared, ok := enc.corrected(r.charset); ok {
		enc = declared
		text = enc.decode(body)
		r = read(text, begin(s, len(text)))
	}
	return r, enc.name
}

// read reads a decoded body.
func read(text []byte, r *reading) *reading {
	if !heavy(text) {
		// It fails for pages that are nested too deep.
		if doc, err := repair(text); err == nil {
			r.tree(doc)
			return r
		}
	}
	r.page.TokenizerOnly = true
	r.flat(text)
	return r
}

// repair returns the tree of a page.
func repair(text []byte) (*html.Node, error) {
	return html.ParseWithOptions(withDoctype(text), html.ParseOptionEnableScripting(false))
}

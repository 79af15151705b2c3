package dom

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"forager/internal/page/text"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// reading is a page while it is read, from a tree or from tokens.
type reading struct {
	settings Settings
	page     *schemas.Page

	words     text.Scanner
	index     map[string]uint32 // of terms
	counts    []uint32          // occurrences of each term
	termBytes int
	// full: a bound on leaves, tokens or terms was reached; nothing more is read.
	full bool

	anchors     []anchor
	base        string // href of the first <base> that has one
	hasBase     bool
	canonical   string // href of the first <link rel=canonical>
	charset     string // the first that a <meta> names
	titled      bool
	textBuilder *textBuilder // nil where the text is not needed
	// depth is that of the current node, join the least since the last leaf: that of the lowest common ancestor
	// with it. 0 without a tree.
	depth, join int
}

// anchor is a link as written in the page.
type anchor struct {
	href        string
	first, last uint32 // leaves
	nofollow    bool
	path        []uint32 // Link.tag_path
	depth       uint32   // Link.depth
}

func newReading(s Settings, size int) *reading {
	return &reading{
		settings: s,
		page:     &schemas.Page{Size: uint64(size)},
		index:    make(map[string]uint32, min(size/64, 1024)),
	}
}

// leaves returns the number of leaves so far, which is the number of the next one.
func (r *reading) leaves() uint32 { return uint32(len(r.page.LeafLengths)) }

// leaf numbers a leaf without tokens.
func (r *reading) leaf() {
	if len(r.page.LeafLengths) == r.settings.MaxLeaves {
		r.full, r.page.Cut = true, true
		return
	}
	r.page.LeafLengths = append(r.page.LeafLengths, 0)
	if r.settings.Tree && r.depth > 0 {
		r.page.LeafDepths = append(r.page.LeafDepths, capped(r.depth))
		r.page.LeafJoins = append(r.page.LeafJoins, capped(r.join))
		r.join = r.depth
	}
}

// capped returns a depth as stored in pages.
func capped(depth int) uint8 { return uint8(min(depth, math.MaxUint8)) }

// text numbers a leaf with the tokens of s, or none if s is white space and such leaves are not numbered.
func (r *reading) text(s string) {
	if r.settings.Leaves != schemas.LeafMode_LEAF_MODE_PAPER && isBlank(s) {
		return
	}
	if r.leaf(); r.full {
		return
	}
	if r.textBuilder != nil {
		r.textBuilder.add(s)
	}
	p := r.page
	before := len(p.Tokens)
	for r.words.Reset(s); r.words.Next(); {
		term, ok := r.term(r.words.Token())
		if !ok || len(p.Tokens) == r.settings.MaxTokens {
			r.full, p.Cut = true, true
			break
		}
		p.Shapes = text.AppendShape(p.Shapes, len(p.Tokens), r.words.Shape())
		p.Tokens = append(p.Tokens, term)
		r.counts[term]++
	}
	p.LeafLengths[len(p.LeafLengths)-1] = uint32(len(p.Tokens) - before)
}

// term returns the index of a term; false if the bound does not permit a new one.
func (r *reading) term(token []byte) (uint32, bool) {
	if i, ok := r.index[string(token)]; ok {
		return i, true
	}
	p := r.page
	if len(p.Terms) == r.settings.MaxTerms || r.termBytes+len(token) > maxTermBytes || len(p.Tokens) == r.settings.MaxTokens {
		return 0, false
	}
	i, s := uint32(len(p.Terms)), string(token)
	p.Terms = append(p.Terms, s)
	r.counts = append(r.counts, 0)
	r.index[s] = i
	r.termBytes += len(s) + 2
	return i, true
}

func isBlank(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c > ' ' && c < utf8.RuneSelf {
			return false // like nearly every text
		}
	}
	return strings.TrimFunc(s, unicode.IsSpace) == ""
}

// finish sets Links and the fields that need the whole page. u is the page's URL.
func (r *reading) finish(u weburl.URL) {
	p := r.page
	p.Fingerprint = fingerprint(p.Terms, r.counts)
	base := weburl.NewBase(u)
	if r.hasBase {
		if b, err := base.Resolve(r.base); err == nil {
			base = weburl.NewBase(b)
		}
	}
	if r.canonical != "" {
		if c, err := base.Resolve(r.canonical); err == nil {
			p.Canonical = c.String()
		}
	}
	r.links(base)
}

func (r *reading) links(base *weburl.Base) {
	p := r.page
	seen := make(map[string]struct{}, min(len(r.anchors), r.settings.MaxLinks))
	size := 0
	position := uint32(0)
	for _, a := range r.anchors {
		target, err := base.Resolve(a.href)
		if err != nil {
			continue // another scheme, or no URL
		}
		position++
		url := target.String()
		if _, ok := seen[url]; ok {
			continue
		}
		const overhead = 32 // of a Link in protobuf
		if size += len(url) + 4*len(a.path) + overhead; len(p.Links) == r.settings.MaxLinks || size > maxLinkBytes {
			p.Cut = true
			return
		}
		seen[url] = struct{}{}
		p.Links = append(p.Links, &schemas.Link{
			Url: url, FirstLeaf: a.first, LastLeaf: a.last, Position: position - 1, Nofollow: a.nofollow, TagPath: a.path, Depth: a.depth,
		})
	}
}

// element is a tag with its attributes.
type element interface {
	// attribute returns the value of an attribute, by its name in lower case.
	attribute(name string) (string, bool)
}

// meta handles a <meta>.
func (r *reading) meta(e element) {
	content, hasContent := e.attribute("content")
	if label, ok := e.attribute("charset"); ok {
		r.declare(label)
	} else if pragma, _ := e.attribute("http-equiv"); hasContent && strings.EqualFold(pragma, "content-type") {
		r.declare(metaCharset(content))
	} else if hasContent && strings.EqualFold(pragma, "content-language") && r.page.Language == "" {
		r.setLanguage(content)
	}
	name, ok := e.attribute("name")
	if !ok || !hasContent {
		return
	}
	switch name = strings.TrimSpace(name); {
	case strings.EqualFold(name, "description"):
		if r.page.Description == "" {
			r.page.Description = collapse(content, maxDescription)
		}
	case strings.EqualFold(name, "robots"):
		for rule := range strings.FieldsFuncSeq(content, func(c rune) bool { return c == ',' || unicode.IsSpace(c) }) {
			switch strings.ToLower(rule) {
			case "none":
				r.page.Nofollow, r.page.Noindex = true, true
			case "nofollow":
				r.page.Nofollow = true
			case "noindex":
				r.page.Noindex = true
			}
		}
	}
}

func (r *reading) declare(charset string) {
	if r.charset == "" {
		r.charset = strings.TrimSpace(charset)
	}
}

// link handles a <link>.
func (r *reading) link(e element) {
	href, ok := e.attribute("href")
	if !ok || r.canonical != "" {
		return
	}
	rel, _ := e.attribute("rel")
	if hasWord(rel, "canonical") {
		r.canonical = strings.TrimSpace(href)
	}
}

// baseElement handles a <base>.
func (r *reading) baseElement(e element) {
	if href, ok := e.attribute("href"); ok && !r.hasBase {
		r.base, r.hasBase = href, true
	}
}

// anchor handles the start of an <a> or <area>, before its leaves are numbered; false if it is no link.
func (r *reading) anchor(e element) bool {
	href, ok := e.attribute("href")
	if !ok {
		return false
	}
	rel, _ := e.attribute("rel")
	r.anchors = append(r.anchors, anchor{
		href: href, first: r.leaves(),
		nofollow: rel != "" && (hasWord(rel, "nofollow") || hasWord(rel, "ugc") || hasWord(rel, "sponsored")),
	})
	return true
}

// title handles the text of the first <title>.
func (r *reading) title(s string) {
	if !r.titled {
		r.titled = true
		r.page.Title = collapse(s, maxTitle)
	}
}

// language handles the lang of <html>.
func (r *reading) language(e element) {
	lang, _ := e.attribute("lang")
	r.setLanguage(lang)
}

// setLanguage sets the language by a language tag: "en-GB" is en.
func (r *reading) setLanguage(lang string) {
	lang = strings.ToLower(strings.TrimSpace(lang))
	if i := strings.IndexAny(lang, "-_"); i >= 0 {
		lang = lang[:i]
	}
	if len(lang) < 2 || len(lang) > 8 || strings.Trim(lang, "abcdefghijklmnopqrstuvwxyz") != "" {
		return // BCP 47: a language is 2 to 8 letters
	}
	r.page.Language = lang
}

// hasWord reports whether a list of words separated by white space contains one, in any case.
func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// collapse replaces each run of white space by one space, trims, and cuts to most bytes at a character boundary.
func collapse(s string, most int) string {
	var b strings.Builder
	for w := range strings.FieldsSeq(s) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w[:min(len(w), most+utf8.UTFMax)])
		if b.Len() >= most {
			break
		}
	}
	s = b.String()
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return strings.TrimRight(s[:most], " ")
}

package simweb

// writer writes one page.
type writer struct {
	w      *Web
	s      stream
	b      []byte
	page   *page
	source wordSource
	// neighbour is the source of words next to links, which are more topical than those of texts.
	neighbour wordSource
	// template of the host, and the vocabulary of its navigation.
	template int
	site     stream
}

var anchors = []string{"here", "more", "this page", "read on", "see also", "link", "details", "page", "next"}

// directoryNames are the anchors of navigation.
var directoryNames = []string{"home", "contents", "index", "overview", "archive", "list", "about", "projects", "people", "search", "news", "site map"}

// write appends the HTML of a page.
func (w *Web) write(b []byte, p *page) []byte {
	x := &writer{w: w, b: b, page: p, s: stream{state: w.hash(p.id, ofText)}, site: stream{state: w.hash(p.host.lo, ofNavigation)}}
	x.template = int(x.site.next() % 3)
	x.source = w.wordsOf(&x.s, p)
	x.neighbour = x.source
	x.neighbour.rest = w.language.titles
	x.neighbour.leaf = min(3*x.source.leaf+14_000, 32_000)
	x.head()
	x.navigation()
	x.str("<h1>")
	x.words(2 + x.s.intn(5))
	x.str("</h1>\n")
	if p.hub {
		x.hub()
	} else {
		x.content()
	}
	x.foot()
	return x.b
}

// wordsOf returns the source of words of a page: the share of topical words varies from page to page, and most pages have some of another
// topic; hubs and pages about nothing have some of one.
func (w *Web) wordsOf(s *stream, p *page) wordSource {
	v := wordSource{language: w.language, rest: w.language.background, topic: p.topic, aside: int(s.next() % uint64(len(w.topics)))}
	u := s.unit()
	if p.topic < 0 {
		v.asideLeaf = uint64(2500 * u * u)
		return v
	}
	v.leaf = uint64(100 + 2500*u*u)
	v.branch = uint64(200 + 2500*u*s.unit())
	v.cue = v.leaf / 12
	t := s.unit()
	v.asideLeaf = uint64(4500 * t * t)
	return v
}

func (x *writer) str(s string) { x.b = append(x.b, s...) }

// words writes n words of the page.
func (x *writer) words(n int) { x.draw(&x.source, n) }

func (x *writer) draw(v *wordSource, n int) {
	for i := range n {
		if i > 0 {
			x.b = append(x.b, ' ')
		}
		x.str(v.word(&x.s))
	}
}

// text writes n words in sentences.
func (x *writer) text(n int) {
	for n > 0 {
		k := min(n, 6+x.s.intn(18))
		at := len(x.b)
		x.words(k)
		x.b[at] -= 'a' - 'A'
		x.str(". ")
		n -= k
	}
}

func (x *writer) open(l *link) {
	x.str(`<a href="`)
	x.b = x.w.appendLink(x.b, l)
	x.str(`">`)
}

func (x *writer) head() {
	x.str("<!DOCTYPE html>\n<html lang=\"art\"><head><meta charset=\"utf-8\"><title>")
	x.words(3 + x.s.intn(4))
	x.str("</title>\n<link rel=\"stylesheet\" href=\"/site.css\"><script>var a=1;</script></head>\n<body>\n")
}

// navigation has the same words and the same links to heads of directories on every page of a host.
func (x *writer) navigation() {
	h := x.page.host
	directories := (h.size() + directory - 1) / directory
	x.str([]string{"<div id=\"nav\"><ul>", "<table class=\"bar\"><tr>", "<p class=\"nav\">"}[x.template])
	n := 1 + x.site.intn(5)
	for i := range n {
		d := uint64(0)
		if i > 0 {
			if directories == 1 {
				break
			}
			d = x.site.uintn(directories)
		}
		x.str([]string{"<li>", "<td>", " | "}[x.template])
		x.open(&link{page: x.w.head(h, d)})
		x.str(directoryNames[x.site.intn(len(directoryNames))])
		x.str("</a>")
		x.str([]string{"</li>", "</td>", ""}[x.template])
	}
	if k := x.w.trapKind(h); k != isPage {
		x.str("<b><a href=\"/")
		x.str(trapEntry[k])
		x.str("\">all</a></b>")
	}
	x.str([]string{"</ul></div>\n", "</tr></table>\n", "</p>\n"}[x.template])
}

func (x *writer) foot() {
	x.str("<hr><div class=\"foot\"><img alt=\"\" src=\"/x.gif\">")
	h := x.page.host
	near := func(i uint64, anchor string) {
		if i < h.size() && i != x.page.index() {
			x.str(" <a href=\"")
			p := x.w.page(h.lo + i)
			x.b = x.w.appendURL(x.b, &p)
			x.str("\">" + anchor + "</a>")
		}
	}
	i := x.page.index()
	near(i/directory*directory, "up")
	if i%2 == 0 && i%directory < directory-1 {
		near(i+1, "next")
	}
	x.str(" <i>")
	for range 3 + x.site.intn(6) {
		x.str(x.w.language.background.word(x.site.next()))
		x.b = append(x.b, ' ')
	}
	x.str("</i></div>\n</body></html>\n")
}

func (x *writer) content() {
	length := min(int(x.s.lognormal(textMedian, textSigma)), textMost)
	for length > 0 {
		n := min(length, 20+x.s.intn(100))
		x.str("<p>")
		x.text(n / 2)
		if x.s.unit() < 0.4 {
			x.inline()
		}
		x.text(n - n/2)
		x.str("</p>\n")
		length -= n
	}
	if n := min(int(x.s.lognormal(linksMedian, linksSigma)), linksMost); n > 0 {
		// Links of one aim are adjacent.
		aim := x.w.aims(&x.s, x.page)
		x.list(n, func() page {
			if x.s.unit() > sameAim {
				aim = x.w.aims(&x.s, x.page)
			}
			return x.w.aimed(&x.s, x.page, aim)
		})
	}
}

const (
	// For a content page: words of its text, links of its list.
	textMedian, textSigma   = 110, 1.25
	textMost                = 20_000
	linksMedian, linksSigma = 8, 0.9
	linksMost               = 200
	// sameAim is the probability that a link of a list has the aim of the one before it.
	sameAim = 0.85
)

// hub lists what is below it, or links to a few topics section by section.
func (x *writer) hub() {
	x.str("<p>")
	x.text(5 + int(x.s.lognormal(20, 1)))
	x.str("</p>\n")
	if x.page.heads() {
		x.listing()
		return
	}
	for range 2 + x.s.intn(2) {
		topic := x.s.intn(len(x.w.topics))
		x.str("<h2>")
		x.words(2)
		x.str("</h2>\n")
		x.list(4+x.s.intn(10), func() page {
			if x.s.unit() < 0.2 {
				return x.w.anywhere(&x.s)
			}
			return x.w.drawn(&x.s, topic)
		})
	}
}

// listing links to the pages of the directory and to the heads of those below it.
func (x *writer) listing() {
	h, first := x.page.host, x.page.index()
	at := first
	x.list(int(min(directory-1, h.size()-first-1)), func() page {
		at++
		return x.w.page(h.lo + at)
	})
	directories := (h.size() + directory - 1) / directory
	d := x.page.directory()*fanout + 1
	if d < directories {
		x.list(int(min(fanout, directories-d)), func() page {
			p := x.w.head(h, d)
			d++
			return p
		})
	}
	x.list(x.s.intn(4), func() page { return x.w.anywhere(&x.s) })
}

// list writes n links with the same markup.
func (x *writer) list(n int, target func() page) {
	if n == 0 {
		return
	}
	shape := &shapes[x.s.intn(len(shapes))]
	x.str(shape.begin)
	for range n {
		p := target()
		l := x.w.linkTo(&x.s, p)
		x.item(&l, shape)
	}
	x.str(shape.end)
}

// inline writes a link inside a paragraph.
func (x *writer) inline() {
	l := x.w.linkTo(&x.s, x.w.aimed(&x.s, x.page, x.w.aims(&x.s, x.page)))
	x.item(&l, &inlineShape)
}

// shape is the markup of a link and of the leaves at offsets −2 to +2: what is written before and after each
// leaf, and how many words it has, 0 = there is no such leaf.
type shape struct {
	begin, end    string
	before, after [5]string
	least, spread [5]int
}

var shapes = []shape{
	{"<ul>\n", "</ul>\n",
		[5]string{"<li><i>", "", "", "", "<em>"}, [5]string{"</i> ", " ", "</a> ", " ", "</em></li>\n"},
		[5]int{1, 1, 0, 1, 1}, [5]int{1, 3, 0, 3, 1}},
	{"<ul>\n", "</ul>\n",
		[5]string{"", "<li>", "", "", ""}, [5]string{"", " ", "</a></li>\n", "", ""},
		[5]int{0, 2, 0, 0, 0}, [5]int{0, 6, 0, 0, 0}},
	{"<table>\n", "</table>\n",
		[5]string{"<tr><td>", "<td>", "<td>", "<td>", ""}, [5]string{"</td>", "</td>", "</a></td>", "</td></tr>\n", ""},
		[5]int{1, 1, 0, 1, 0}, [5]int{0, 2, 0, 4, 0}},
	{"<dl>\n", "</dl>\n",
		[5]string{"", "", "<dt>", "<dd>", "<b>"}, [5]string{"", "", "</a></dt>", "", "</b></dd>\n"},
		[5]int{0, 0, 0, 3, 1}, [5]int{0, 0, 0, 8, 2}},
}

var inlineShape = shape{
	before: [5]string{"", "", " ", "", ""}, after: [5]string{"", "", "</a> ", "", ""},
}

// cues are the probabilities of a word about the target at offsets −2 … +2. Anchors have few words, so each has more information there.
var cues = [...][5]float64{
	CuesPeaked:  {0.8, 0.8, 0.9, 0.7, 0.75},
	CuesUniform: {0.8, 0.8, 0.2, 0.8, 0.8},
	CuesNone:    {},
}

// item writes a link with the leaves around it and the cues in them.
func (x *writer) item(l *link, sh *shape) {
	for i := range 5 {
		if i == 2 {
			x.anchor(l, sh)
			continue
		}
		x.str(sh.before[i])
		if sh.least[i] > 0 {
			n := sh.least[i] + x.s.intn(sh.spread[i]+1)
			if x.cue(l, i) {
				if n--; n > 0 {
					x.b = append(x.b, ' ')
				}
			}
			x.draw(&x.neighbour, n)
		}
		x.str(sh.after[i])
	}
}

func (x *writer) anchor(l *link, sh *shape) {
	x.str(sh.before[2])
	x.open(l)
	if !x.cue(l, 2) {
		if x.s.next()&1 == 0 {
			x.str(anchors[x.s.intn(len(anchors))])
		} else {
			x.draw(&x.neighbour, 1+x.s.intn(3))
		}
	} else if x.s.next()&1 == 0 {
		x.b = append(x.b, ' ')
		x.draw(&x.neighbour, 1+x.s.intn(2))
	}
	x.str(sh.after[2])
}

// cue writes a word about the target's topic, if there is one at the offset: half of them are words of the
// topic, half occur near links only.
func (x *writer) cue(l *link, at int) bool {
	chance := cues[x.w.c.Cues][at]
	if l.page.topic < 0 || chance == 0 || x.s.unit() >= chance {
		return false
	}
	v := x.w.language.cue[l.page.topic]
	bits := x.s.next()
	if bits>>61 == 0 {
		v = x.w.language.leaf[l.page.topic]
	}
	x.str(v.word(bits))
	return true
}

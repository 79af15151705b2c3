package dom

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// quickText returns the text of a page (see Text) without a tree, several times as fast; false where the text of
// the tree might differ. It keeps a stack of open elements as html.Parse does, and gives up where html.Parse would
// do more than open an element, close those whose end tags may be omitted, or ignore a tag: where it moves an
// element, opens a formatting element again, or meets foreign content.
func quickText(body []byte, guessed bool) (string, bool) {
	if bytes.IndexByte(body, 0) >= 0 || bytes.Count(body, []byte("<")) > MaxLeaves/2 {
		return "", false
	}
	q := &quick{body: body, guessed: guessed, quirks: true}
	if begin, end, ok := findDoctype(body); ok {
		d := plainDoctype(body[begin:end])
		q.standard, q.quirks = d == standardDoctype, d == quirksDoctype
	}
	if !q.run() {
		return "", false
	}
	s := q.prose.text.String()
	if len(s) > maxTermBytes/16 { // a shorter one has neither too many tokens nor too many terms
		r := newReading(Settings{}.withDefaults(), 0)
		if r.text(s); r.full {
			return "", false
		}
	}
	return s, true
}

// quick is a page while its text is read without a tree.
type quick struct {
	body  []byte
	prose prose
	open  []*kind // from the child of <body> on
	phase phase
	// standard, quirks: the mode of the doctype; neither = unknown. guessed: a <meta> may name another encoding.
	standard, quirks, guessed bool
	form                      bool // a <form> is open
	noscript                  bool // a <noscript> in <head> is open
	ended                     bool // </body> was the last tag: a comment is not put where a text is
	// glued: between the last text and here there were only ignored tags, so that a text continues it.
	glued bool
}

// phase is the progress of a page before its body.
type phase uint8

const (
	beforeHTML phase = iota
	beforeHead
	inHead
	afterHead
	inBody
)

// kind is a kind of element.
type kind struct {
	name       string
	role       role
	block      bool // isBlock
	special    bool // as in html.Parse
	formatting bool
	rank       int // of a part of a table: how deep below it
}

// role is the effect of a start tag.
type role uint8

const (
	ordinary role = iota
	refused
	void
	block   // ends a paragraph
	heading // as well
	item    // li, dd, dt
	raw     // contains text only
	tabular
	single // may not be within another of its kind
)

// maxQuickOpen bounds the stack, below the limit of html.Parse.
const maxQuickOpen = maxOpen - 100

var kinds = func() map[string]*kind {
	all := make(map[string]*kind)
	of := func(name string) *kind {
		if all[name] == nil {
			all[name] = &kind{name: name, block: isBlock(name)}
		}
		return all[name]
	}
	for names, r := range map[string]role{
		"applet frame frameset image keygen marquee math noembed noframes object plaintext rb rp rt rtc svg template xmp":                                                                 refused,
		"area base basefont bgsound br embed hr img input link meta param source track wbr":                                                                                               void,
		"address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header hgroup main menu nav ol p pre listing search section summary ul form": block,
		"h1 h2 h3 h4 h5 h6":                  heading,
		"li dd dt":                           item,
		"iframe script style textarea title": raw,
		"caption col colgroup table tbody td tfoot th thead tr": tabular,
		"a button nobr select":                                                 single,
		"b big code em font i s small strike strong tt u":                      ordinary,
		"noscript option optgroup html head body":                              ordinary,
		"abbr acronym cite del dfn ins kbd label mark q samp span sub sup var": ordinary,
	} {
		for name := range strings.FieldsSeq(names) {
			of(name).role = r
		}
	}
	for name := range strings.FieldsSeq("address applet area article aside base basefont bgsound blockquote body br button caption center col colgroup dd details dir div dl dt " +
		"embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe img input keygen li link listing main marquee menu meta nav " +
		"noembed noframes noscript object ol p param plaintext pre script section select source style summary table tbody td template textarea tfoot th thead title tr track ul wbr xmp") {
		of(name).special = true
	}
	for name := range strings.FieldsSeq("a b big code em font i nobr s small strike strong tt u") {
		of(name).formatting = true
	}
	for name, rank := range map[string]int{"table": 1, "caption": 2, "colgroup": 2, "tbody": 2, "thead": 2, "tfoot": 2, "tr": 3, "td": 4, "th": 4} {
		of(name).rank = rank
	}
	return all
}()

// The ranks of parts of a table, and the elements that are opened where they were omitted.
const (
	rankTable   = 1
	rankSection = 2
	rankCell    = 4
)

var omitted = map[int]string{rankSection: "tbody", 3: "tr"}

// kindOf returns the kind of element of a tag whose name is at b[i:]; at is the position after the name.
func kindOf(b []byte, i int) (e *kind, at int) {
	for at = i; at < len(b) && b[at] != '>' && b[at] != '/' && !isSpace(b[at]); at++ {
	}
	name := b[i:at]
	if e := kinds[string(name)]; e != nil {
		return e, at
	}
	low := slices.Clone(name)
	for i, c := range low {
		if c >= 'A' && c <= 'Z' {
			low[i] += 'a' - 'A'
		}
	}
	if e := kinds[string(low)]; e != nil {
		return e, at
	}
	return &kind{name: string(low), block: true}, at
}

func (q *quick) run() bool {
	b := q.body
	text := 0 // beginning of the text before the next tag
	for i := 0; i < len(b); {
		j := bytes.IndexByte(b[i:], '<')
		if j < 0 || i+j+1 == len(b) {
			break
		}
		at := i + j
		switch c := b[at+1]; {
		case isLetter(c), c == '!', c == '/':
		case c == '?':
			return false
		default:
			i = at + 1
			continue
		}
		if !q.text(b[text:at]) {
			return false
		}
		glued := at > text && !isSpace(b[at-1]) || at == text && q.glued
		q.glued = false
		var ok bool
		switch b[at+1] {
		case '!':
			i, ok = q.declaration(at)
		case '/':
			i, ok = q.endTag(at + 2)
		default:
			i, ok = q.startTag(at + 1)
		}
		q.glued = q.glued && glued // if the tag was ignored
		if !ok || len(q.open) > maxQuickOpen {
			return false
		}
		text = i
	}
	return q.text(b[text:])
}

// text handles the text between two tags.
func (q *quick) text(s []byte) bool {
	if len(bytes.TrimLeft(s, spaces)) == 0 {
		return true
	}
	if q.glued && !isSpace(s[0]) || q.noscript || q.top().rank > 0 && q.top().rank < rankCell && q.top().name != "caption" {
		return false
	}
	q.beginBody()
	q.ended = false
	q.add(s)
	return true
}

// add adds text with escaped characters.
func (q *quick) add(s []byte) { q.prose.add(html.UnescapeString(string(s))) }

// declaration handles a comment or the doctype.
func (q *quick) declaration(at int) (next int, ok bool) {
	b := q.body
	q.glued = q.ended
	if !bytes.HasPrefix(b[at:], []byte("<!--")) {
		if len(b)-at >= len(doctype) && strings.EqualFold(string(b[at:at+len(doctype)]), doctype) {
			begin, end, found := findDoctype(b)
			return end, found && begin == at && q.phase == beforeHTML
		}
		n := bytes.IndexByte(b[at:], '>') // also for a comment
		return at + n + 1, n > 0
	}
	rest := b[at+len("<!--"):]
	n := bytes.Index(rest, []byte("-->"))
	if n < 0 || rest[0] == '>' || bytes.HasPrefix(rest, []byte("->")) || bytes.Contains(rest[:n], []byte("--!>")) {
		return 0, false
	}
	return at + len("<!--") + n + len("-->"), true
}

var nothing = new(kind)

func (q *quick) top() *kind {
	if len(q.open) == 0 {
		return nothing
	}
	return q.open[len(q.open)-1]
}

func (q *quick) push(e *kind) {
	q.prose.line = q.prose.line || e.block
	q.open = append(q.open, e)
}

// popTo closes the elements from open[i] on; false if one would be opened again.
func (q *quick) popTo(i int) bool {
	for _, e := range q.open[i:] {
		if e.formatting || e.name == "form" {
			return false
		}
	}
	q.drop(i)
	return true
}

// drop closes the elements from open[i] on.
func (q *quick) drop(i int) {
	for _, e := range q.open[i:] {
		q.prose.line = q.prose.line || e.block
	}
	q.open = q.open[:i]
}

// find returns the index of the innermost element of that name; −1 if an element that bounds its scope is nearer,
// or one of bounds.
func (q *quick) find(name string, bounds ...string) int {
	for i, e := range slices.Backward(q.open) {
		switch {
		case e.name == name:
			return i
		case e.name == "table" || e.name == "td" || e.name == "th" || e.name == "caption" || e.name == "select", slices.Contains(bounds, e.name):
			return -1
		}
	}
	return -1
}

// endParagraph closes a <p> in whose scope a block begins.
func (q *quick) endParagraph() bool {
	i := q.find("p", "button")
	return i < 0 || q.popTo(i)
}

// beginBody opens <body> if its tag was omitted.
func (q *quick) beginBody() {
	if q.phase != inBody {
		q.phase, q.prose.line = inBody, true
	}
}

// startTag handles the start tag whose name begins at i.
func (q *quick) startTag(i int) (next int, ok bool) {
	e, at := kindOf(q.body, i)
	_, next, _ = attributes(q.body, at)
	if q.body[next-1] != '>' {
		return 0, false // the page ends within it
	}
	q.ended = false
	if e.name == "meta" && q.guessed && bytes.Contains(bytes.ToLower(q.body[at:next]), []byte("charset")) {
		return 0, false
	}
	if q.phase != inBody {
		if taken, ok := q.before(e); !ok {
			return 0, false
		} else if taken {
			return next, true
		}
	}
	if e.role == raw {
		return q.raw(e, next)
	}
	return next, q.start(e)
}

// before handles a start tag before the body; it is not taken if it begins the body.
func (q *quick) before(e *kind) (taken, ok bool) {
	switch e.name {
	case "html":
		q.phase = max(q.phase, beforeHead)
		return true, !q.noscript
	case "head":
		q.phase = max(q.phase, inHead)
		return true, !q.noscript
	case "base", "basefont", "bgsound", "link", "meta":
		q.phase, q.prose.line = max(q.phase, inHead), true
		return true, !q.noscript || e.name != "base"
	case "script", "style", "title":
		q.phase = max(q.phase, inHead)
		return false, !q.noscript || e.name == "style"
	case "noscript":
		if q.phase <= inHead {
			ok, q.phase, q.noscript, q.prose.line = !q.noscript, inHead, true, true
			return true, ok
		}
	}
	q.beginBody()
	return e.name == "body", !q.noscript
}

// raw handles an element that contains only text.
func (q *quick) raw(e *kind, i int) (next int, ok bool) {
	top := q.top()
	if top.rank > 0 && top.rank < rankCell && e.name != "script" && e.name != "style" && top.name != "caption" {
		return 0, false
	}
	for at := i; ; {
		j := bytes.Index(q.body[at:], []byte("</"))
		if j < 0 {
			return 0, false
		}
		at += j + len("</")
		end := at + len(e.name)
		if end >= len(q.body) {
			return 0, false
		}
		if c := q.body[end]; c != '>' && c != '/' && !isSpace(c) || !strings.EqualFold(string(q.body[at:end]), e.name) {
			continue
		}
		content := q.body[i : at-len("</")]
		if _, next, _ = attributes(q.body, end); q.body[next-1] != '>' {
			return 0, false
		}
		switch e.name {
		case "style":
		case "script": // which may contain </script>
			return next, !bytes.Contains(content, []byte("<!--")) || !bytes.Contains(bytes.ToLower(content), []byte("<script"))
		case "iframe":
			q.prose.line = true
			q.prose.add(string(content))
			q.prose.line = true
		default:
			q.prose.line = true
			q.add(content)
			q.prose.line = true
		}
		return next, true
	}
}

// start handles a start tag in the body.
func (q *quick) start(e *kind) bool {
	if top := q.top(); e.role != tabular && top.rank > 0 && top.rank < rankCell && top.name != "caption" {
		return false // it would be moved before the table
	}
	switch e.role {
	case refused:
		return false
	case void:
		if (e.name == "hr" && !q.endParagraph()) || (e.name == "hr" || e.name == "input") && q.find("select") >= 0 {
			return false
		}
		q.prose.line = q.prose.line || e.block
		return true
	case block:
		if e.name == "form" {
			if q.form {
				return q.ignore()
			}
			q.form = true
		}
		if !q.endParagraph() {
			return false
		}
	case heading:
		if !q.endParagraph() {
			return false
		}
		if q.top().role == heading {
			q.drop(len(q.open) - 1)
		}
	case item:
		if !q.endItem(e) || !q.endParagraph() {
			return false
		}
	case tabular:
		return q.tabular(e)
	case single:
		for _, x := range slices.Backward(q.open) {
			if x.rank == rankCell || x.name == "caption" {
				break
			}
			if x == e {
				return false
			}
		}
	default:
		switch e.name {
		case "html", "head", "body":
			return q.ignore()
		case "option", "optgroup":
			if q.find("select") >= 0 {
				q.endImplied(e.name == "option")
			} else if q.top().name == "option" {
				q.drop(len(q.open) - 1)
			}
		}
	}
	if e.formatting {
		same := 0
		for _, x := range q.open {
			if x == e {
				same++
			}
		}
		if same == sameKept {
			return false // of more html.Parse drops the first
		}
	}
	q.push(e)
	return true
}

// sameKept is the number of formatting elements of one name that html.Parse certainly keeps.
const sameKept = 3

// endImplied closes elements whose end tags may be omitted.
func (q *quick) endImplied(inGroup bool) {
	i := len(q.open)
	for ; i > 0; i-- {
		switch e := q.open[i-1]; {
		case e.name == "p", e.role == item, e.name == "option", e.name == "optgroup" && !inGroup:
			continue
		}
		break
	}
	q.drop(i)
}

// endItem closes the previous item.
func (q *quick) endItem(e *kind) bool {
	for i, x := range slices.Backward(q.open) {
		switch {
		case x == e, x.role == item && e.name != "li" && x.name != "li":
			return q.popTo(i)
		case x.name == "address", x.name == "div", x.name == "p", !x.special:
			continue
		}
		break
	}
	return true
}

// part returns the index of the innermost part of a table that is open; −1 = none.
func (q *quick) part() int {
	for i, e := range slices.Backward(q.open) {
		if e.rank > 0 {
			return i
		}
	}
	return -1
}

// endPart closes parts of a table down to those of a lower rank than rank; false if none is open, or a caption.
func (q *quick) endPart(rank int) bool {
	i := q.part()
	if i < 0 || q.open[i].name == "caption" {
		return false
	}
	for ; q.open[i].rank >= rank; i-- {
		if i == 0 {
			return false
		}
		if slices.ContainsFunc(q.open[i:], func(e *kind) bool { return e.name == "form" }) {
			return false
		}
		q.drop(i)
	}
	return true
}

// tabular handles the start of a table, or of a part of one.
func (q *quick) tabular(e *kind) bool {
	if e.name == "table" {
		if top := q.top(); top.rank > 0 && top.rank < rankCell && top.name != "caption" {
			return false
		}
		if i := q.find("p", "button"); i >= 0 && !q.quirks && !(q.standard && q.popTo(i)) {
			return false
		}
		q.push(e)
		return true
	}
	if q.part() < 0 {
		return q.ignore()
	}
	switch e.name {
	case "caption", "col", "colgroup":
		if q.top().name == "colgroup" && e.name == "col" {
			q.prose.line = true
			return true
		}
		if q.top().name != "table" {
			return false
		}
		if e.name == "col" {
			q.push(kinds["colgroup"])
			return true
		}
		q.push(e)
		return true
	}
	if top := q.top(); top.name == "colgroup" {
		q.drop(len(q.open) - 1)
	}
	if !q.endPart(e.rank) {
		return false
	}
	for q.top().rank < e.rank-1 {
		q.push(kinds[omitted[q.top().rank+1]])
	}
	q.push(e)
	return true
}

// endTag handles the end tag whose name begins at i.
func (q *quick) endTag(i int) (next int, ok bool) {
	if i >= len(q.body) || !isLetter(q.body[i]) {
		return 0, false
	}
	e, at := kindOf(q.body, i)
	if _, next, _ = attributes(q.body, at); q.body[next-1] != '>' {
		return 0, false
	}
	return next, q.end(e)
}

func (q *quick) end(e *kind) bool {
	switch {
	case q.noscript:
		q.noscript, q.prose.line = false, true
		return e.name == "noscript"
	case q.phase != inBody:
		ok := e.name == "head" && q.phase == inHead
		q.phase, q.prose.line = afterHead, true
		return ok
	case e.name == "body" || e.name == "html":
		q.ended = true
		return q.ignore() && !slices.ContainsFunc(q.open, func(e *kind) bool { return e.rank > 0 || e.name == "select" })
	case e.role == tabular:
		q.ended = false
		return q.endTabular(e)
	case e.name == "br": // as <br>
		q.ended = false
		return q.start(e)
	}
	q.ended = false
	if top := q.top(); top.rank > 0 && top.rank < rankCell && top.name != "caption" {
		return false
	}
	if q.top() == e {
		q.form = q.form && e.name != "form"
		q.drop(len(q.open) - 1)
		return true
	}
	switch {
	case e.role == block, e.role == heading, e.role == item, e.role == single && !e.formatting:
		if e.name == "p" {
			if i := q.find("p", "button"); i >= 0 {
				return q.popTo(i)
			}
			q.prose.line = true // an empty one
			return true
		}
		if e.role == block || e.role == single {
			if q.find(e.name) < 0 {
				return q.ignore()
			}
			if q.endImplied(false); q.top() != e {
				return e.name != "form" && q.popTo(q.find(e.name))
			}
			return q.end(e)
		}
		i := q.find(e.name)
		if e.name == "li" {
			i = q.find(e.name, "ol", "ul")
		}
		if e.role == heading {
			i = -1
			for _, x := range q.open {
				if x.role == heading {
					return false // it ends the innermost one, of any rank
				}
			}
		}
		if i < 0 {
			return q.ignore()
		}
		return q.popTo(i)
	}
	for i, x := range slices.Backward(q.open) {
		if x.name == e.name {
			if e.formatting && q.popTo(i+1) {
				q.drop(i)
				return true
			}
			return !e.formatting && q.popTo(i)
		}
		if x.special && e.formatting && slices.Contains(q.open, e) {
			return false // the content of x is moved
		}
		if x.special {
			break
		}
	}
	return q.ignore()
}

// ignore ignores the tag.
func (q *quick) ignore() bool {
	q.glued = true
	return true
}

// endTabular handles the end of a table, or of a part of one.
func (q *quick) endTabular(e *kind) bool {
	i := q.part()
	if i < 0 {
		return q.ignore()
	}
	switch innermost := q.open[i]; {
	case e.rank == rankCell, innermost.name == "caption" || e.name == "caption" || e.name == "colgroup":
		if innermost != e || slices.ContainsFunc(q.open[i:], func(x *kind) bool { return x.name == "form" }) {
			return false
		}
		q.drop(i)
		return true
	case e.rank == 0 || !q.endPart(e.rank+1) || q.top() != e:
		return false
	}
	q.drop(len(q.open) - 1)
	return true
}

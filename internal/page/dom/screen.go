package dom

import (
	"bytes"

	"github.com/cespare/xxhash/v2"
)

// Bounds of the screen. A step is about a nanosecond of html.Parse.
const (
	// maxTags is the number of tags for html.Parse. Some of its work at a tag grows with the number of open
	// elements, which is at most maxOpen.
	maxTags = 100_000
	maxOpen = 512
	// freeSteps and stepsPerByte are what a page may cost beyond the linear part.
	freeSteps    = 2_000_000
	stepsPerByte = 50
	// cloneSteps is for an element that html.Parse creates again, attrSteps for an attribute of it; memory weighs
	// more than time in both.
	cloneSteps = 200
	attrSteps  = 64
	// clearsAStep is the number of entries of a table that are cleared in a step.
	clearsAStep = 8
)

// heavy reports whether html.Parse may need more than a bounded share of time or memory a byte for a page. It is
// an upper bound: no heavy page is missed.
func heavy(body []byte) bool {
	s := screen{body: body, limit: freeSteps + stepsPerByte*len(body)}
	return s.heavy()
}

// screen bounds the work of html.Parse beyond work linear in the length of a page. Known ways to cause it:
//
//   - The attributes of every further <html> and <body> are compared with all those seen before
//     (copyAttributes).
//   - Formatting elements left open are opened again after every block: hundreds of elements
//     for a few bytes (reconstructActiveFormattingElements).
//   - <object>, <applet>, <marquee>, <caption> and <template>, when a table or a template closes
//     them, leave a marker in the list of active formatting elements, which some end tags
//     search to its bottom (nodeStack.index).
//   - The attributes of an <annotation-xml> are read at every token right below it
//     (htmlIntegrationPoint).
//   - The tokenizer's table of attribute names has the size of the largest tag seen and is
//     cleared at every tag with attributes (Tokenizer.readTag).
//
// It reads bytes, not tokens: every "<" before a letter counts as a start tag, also within comments, scripts and
// attribute values, so that no state of the tokenizer (CDATA in foreign content, raw text, noscript) hides a tag
// from it. Text that is no tag only makes it stricter. A formatting element whose end it has seen makes it more
// lenient; for the proof see close.
type screen struct {
	body  []byte
	steps int
	limit int
	tags  int

	// run contains the inline elements open in the current run of inline elements.
	run []open
	// left are the formatting elements, begun before the run, that may be in the list. Between two markers the
	// list has at most 3 of the same name and attributes (the Noah's Ark clause), and one <a>.
	left   map[family]int
	leftOf [tags]bool
	// leftN is their number, at most maxOpen, and clones the steps of opening them all again.
	leftN, clones int
	// ever is the number of elements that close left, marks that of markers that may remain.
	ever, marks int
	// templates: a <template> was seen, so that the marker of a cell may remain too.
	templates bool
	// rootAttrs is the number of attributes on <html> and <body>, maxAttrs that of the largest tag, perTag the
	// steps added to every tag.
	rootAttrs, maxAttrs, perTag int
	// dirty: an element was closed since formatting elements were last opened again.
	dirty bool
}

// open is an inline element that is open.
type open struct {
	tag   tag
	attrs int
	hash  uint64 // of the attributes as written
}

// family is what the Noah's Ark clause distinguishes, or finer.
type family struct {
	tag  tag
	hash uint64
}

func (o open) steps() int { return cloneSteps + o.attrs*attrSteps }

func (s *screen) heavy() bool {
	b := s.body
	for i := 0; i < len(b); {
		j := bytes.IndexByte(b[i:], '<')
		if j != 0 {
			s.reopen() // before text
		}
		if j < 0 || i+j+1 == len(b) {
			break
		}
		i += j + 1
		switch c := b[i]; {
		case isLetter(c):
			i = s.start(i)
		case c == '/' && i+1 < len(b) && isLetter(b[i+1]):
			i = s.end(i + 1)
		default: // a comment, or text
			s.count()
			s.close()
		}
		if s.steps > s.limit || s.tags > maxTags {
			return true
		}
	}
	return s.steps > s.limit
}

// start handles the start tag whose name begins at i and returns the next position.
func (s *screen) start(i int) (next int) {
	t, at, clean := lookup(s.body, i)
	attrs, next, cleanToo := attributes(s.body, at)
	written := s.body[at:next]
	if clean = clean && cleanToo; !clean {
		// Whether or not this is a tag, it may contain others.
		s.steps += next - i
		next = i
	}
	s.count()
	if attrs > 0 {
		s.maxAttrs = max(s.maxAttrs, attrs)
		s.steps += s.maxAttrs / clearsAStep
	}
	if !t.isInline() || !clean {
		s.close()
	}
	if !t.isBlock() {
		s.reopen()
		s.steps += s.listed() // the adoption agency looks for it there when it takes it off the stack
	}
	switch {
	case t.isFormatting():
		if t == tagA || t == tagNobr {
			s.endEarlier(t)
		}
		o := open{tag: t, attrs: attrs}
		if attrs > 0 {
			o.hash = xxhash.Sum64(written)
		}
		s.steps += attrs * (s.leftN + len(s.run)) // compared with each of the same name
		if s.run = append(s.run, o); !clean || len(s.run) > maxOpen {
			s.close()
		}
	case t > tagBr:
		if clean {
			s.run = append(s.run, open{tag: t})
		} else {
			s.dirty = true
		}
	case !t.isInline():
		s.dirty = true
		switch t {
		case tagRoot:
			if attrs > 0 {
				s.rootAttrs += attrs
				s.steps += s.rootAttrs * attrSteps
			}
		case tagAnnotation:
			s.perTag = max(s.perTag, 2*attrs) // of the tag and of the text after it
		case tagTemplate:
			s.templates = true
			s.marks++
		case tagCaption, tagObject:
			s.marks++
		case tagCell:
			if s.templates {
				s.marks++
			}
		}
	}
	return next
}

// end handles the end tag whose name begins at i and returns the next position.
func (s *screen) end(i int) (next int) {
	t, at, clean := lookup(s.body, i)
	if !clean {
		s.steps += at - i
		at = i
	}
	for at < len(s.body) && isSpace(s.body[at]) {
		at++
	}
	plain := at < len(s.body) && s.body[at] == '>'
	if plain {
		next = at + 1
	} else {
		next = at
	}
	s.count()
	if t == tagBr {
		s.reopen() // </br> is <br>
	}
	if t.isFormatting() {
		s.steps += s.listed()
	}
	if !plain || !t.isInline() || !s.endInRun(t) {
		s.dirty = true
		s.close()
	}
	return next
}

func (s *screen) count() {
	s.tags++
	s.steps += s.perTag
}

// listed bounds the length of the list of active formatting elements: between two markers there
// are at most leftN elements, and of the markers that belong to open cells at most 128, as each
// needs a table, a tbody and a tr of its own.
func (s *screen) listed() int {
	return min(s.ever, (s.marks+maxOpen/4+1)*s.leftN) + s.marks
}

// endInRun ends the innermost open element of the run with that tag; false where there is none.
func (s *screen) endInRun(t tag) bool {
	for j := len(s.run) - 1; j >= 0; j-- {
		if s.run[j].tag == t {
			if j < len(s.run)-1 {
				s.dirty = true
				s.steps += len(s.run) - j
				s.dropInline(j + 1)
			}
			s.run = append(s.run[:j], s.run[j+1:]...)
			return true
		}
	}
	return false
}

// endEarlier handles the effect of <a> and <nobr> on an open element of the same name.
func (s *screen) endEarlier(t tag) {
	if s.endInRun(t) {
		s.dirty = true
		return
	}
	if s.leftOf[t] {
		s.dirty = true
		s.dropInline(0)
	}
}

// dropInline removes from run[from:] the elements that are not formatting elements: closed along with an element
// around it, such an element is not opened again.
func (s *screen) dropInline(from int) {
	kept := s.run[:from]
	for _, o := range s.run[from:] {
		if o.tag.isFormatting() {
			kept = append(kept, o)
		}
	}
	s.run = kept
}

// reopen counts the formatting elements that are opened again before text, and before tags that are not those of
// blocks. There are some only after an element was closed.
func (s *screen) reopen() {
	if !s.dirty {
		return
	}
	s.dirty = false
	s.steps += s.clones
	for _, o := range s.run {
		if o.tag.isFormatting() {
			s.steps += o.steps()
		}
	}
}

// close ends the run: for all that the screen can determine, the formatting elements open in it may stay in the
// list for ever.
//
// A run is a sequence of start tags of inline elements, of their plain end tags ("</b>"), of <br>, <img>, <wbr>
// and text, nothing else. Within one, the end tag of a formatting element takes the newest element of its name off
// the list: no marker and no element that bounds a scope was begun above it, as none of those is inline, and no
// special element, so that one turn of the adoption agency is enough. So the elements that are in the list and
// were begun in the run are in run. This holds whether or not a tag really is one, rather than a part of a comment
// or a script: text that is no tag is not in the list; and after a real start tag in a run the tokenizer reads
// plain text and tags, because every transition to another of its states ("<!", "<?", "<" within a tag, the tag of
// an element with raw text) ends the run.
func (s *screen) close() {
	for _, o := range s.run {
		if !o.tag.isFormatting() {
			continue
		}
		s.ever++
		f, ark := family{o.tag, o.hash}, 3
		if f.tag == tagA {
			f.hash, ark = 0, 1
		}
		if s.left[f] == ark {
			continue
		}
		if s.left == nil {
			s.left = make(map[family]int)
		}
		s.left[f]++
		s.leftOf[f.tag] = true
		s.leftN = min(s.leftN+1, maxOpen)
		s.clones += o.steps()
	}
	s.run = s.run[:0]
}

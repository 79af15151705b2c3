package frontier

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"forager/schemas"
)

// link is one leap (u,v) that is known and not settled: v's entry has it until v is final. The
// first few are stored in the entry's value, as most entries have no more; the others have keys of their own,
// so that a target with a thousand links is not written again at each.
type link struct {
	// page u and the link's index among u's links: the order of discovery.
	page  uint64
	index uint32
	// first and last leaf below the <a>.
	first, last uint32
	// anchor is the critic's score of the link's text, in steps of 1/schemas.AnchorSteps, plus 1;
	// 0 = there is none.
	anchor uint32
	// alias is the entry that the link names, if that redirected to this one; 0 = none.
	alias uint64
	// apart: it has a key of its own.
	apart bool

	// high is its score under the model in use, if it was scored in advance (ahead.go).
	high   float64
	scored bool
	// from is its page, if that was read in advance for place, which clears it: only fields of
	// a page that never change may be read from it.
	from *page
}

const linkVersion = 2

// inlineLinks is the largest number of links in an entry's value.
const inlineLinks = 8

// inline is the number of links in the entry's value.
func (e *entry) inline() (n int) {
	for i := range e.links {
		if !e.links[i].apart {
			n++
		}
	}
	return n
}

// appendLinks encodes the links in the entry's value.
func (e *entry) appendLinks(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(e.inline()))
	b = appendBool(b, e.more)
	page := uint64(0)
	for i := range e.links {
		l := &e.links[i]
		if l.apart {
			continue
		}
		b = binary.AppendUvarint(b, l.page-page)
		b = binary.AppendUvarint(b, uint64(l.index))
		b = binary.AppendUvarint(b, uint64(l.first))
		b = binary.AppendUvarint(b, uint64(l.last))
		b = binary.AppendUvarint(b, l.alias)
		b = binary.AppendUvarint(b, uint64(l.anchor))
		page = l.page
	}
	return b
}

func (e *entry) readLinks(r *reader) {
	n := r.u64()
	e.more = r.bool()
	e.loaded = !e.more
	if n > inlineLinks {
		r.fail(errNumber)
		return
	}
	e.links = sized(e.links, n)
	page := uint64(0)
	for i := range e.links {
		page += r.u64()
		e.links[i] = link{page: page, index: r.u32(), first: r.u32(), last: r.u32(), alias: r.u64(), anchor: r.anchor()}
	}
}

// anchor reads link.anchor.
func (r *reader) anchor() uint32 {
	a := r.u32()
	if a > schemas.AnchorSteps+1 {
		r.fail(errNumber)
	}
	return a
}

func (l *link) append(b []byte) []byte {
	b = append(b, linkVersion)
	b = binary.AppendUvarint(b, uint64(l.first))
	b = binary.AppendUvarint(b, uint64(l.last))
	b = binary.AppendUvarint(b, l.alias)
	return binary.AppendUvarint(b, uint64(l.anchor))
}

func (l *link) read(b []byte) error {
	r := reader{b: b}
	r.version(linkVersion)
	l.first, l.last, l.alias, l.anchor = r.u32(), r.u32(), r.u64(), r.anchor()
	return r.end()
}

// anchorsFit reports whether a judgement has a score of the text of each link of its record, or of none.
func anchorsFit(rec *schemas.LinkFound) bool {
	anchors := rec.GetJudgement().GetAnchors()
	return (len(anchors) == 0 || len(anchors) == len(rec.GetLinks())) &&
		!slices.ContainsFunc(anchors, func(a uint32) bool { return a > schemas.AnchorSteps })
}

// anchorOf is link.anchor of a record's link; anchorsFit holds.
func anchorOf(rec *schemas.LinkFound, index int) uint32 {
	if anchors := rec.GetJudgement().GetAnchors(); len(anchors) > 0 {
		return anchors[index] + 1
	}
	return 0
}

// saveLink adds a link to entry v, and reports whether v's value has changed and must be saved.
func (s *Shard) saveLink(v *entry, l *link) (changed bool, err error) {
	l.apart = v.more || len(v.links) >= inlineLinks
	changed = !l.apart || !v.more
	v.more = l.apart
	if v.loaded {
		kept := *l
		kept.scored = false // only under the model in use now
		// Nearly always it comes last; only a redirect brings older links.
		at, _ := slices.BinarySearchFunc(v.links, l, func(a link, b *link) int { return a.compare(b) })
		v.links = slices.Insert(v.links, at, kept)
	}
	if !l.apart {
		return true, nil
	}
	s.value = l.append(s.value[:0])
	return changed, s.store.Set(s.keys.link(v.ordinal, l.page, l.index), s.value)
}

// backlink reports whether the link is a backlink: a link of its target to the page.
func (l *link) backlink() bool { return l.first == schemas.NoLeaf }

// compare compares by the order of discovery.
func (l *link) compare(other *link) int {
	return cmp.Or(cmp.Compare(l.page, other.page), cmp.Compare(l.index, other.index))
}

// links returns the pending leaps into entry v in the order of their discovery; they are v's
// own, not a copy.
func (s *Shard) links(v *entry) ([]link, error) {
	if v.loaded {
		return v.links, nil
	}
	s.from = append(s.from[:0], s.keys.u64(kindLink, v.ordinal)...)
	err := s.store.Scan(s.from, after(s.from), func(key, value []byte) (bool, error) {
		_, l, err := s.readLink(key, value)
		v.links = append(v.links, l)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	v.complete()
	s.keep(v)
	return v.links, nil
}

// complete sorts the links of the entry when all are read, and notes that.
func (e *entry) complete() {
	slices.SortFunc(e.links, func(a, b link) int { return a.compare(&b) })
	e.loaded = true
}

// readLink reads a link and the ordinal of its target.
func (s *Shard) readLink(key, value []byte) (v uint64, l link, err error) {
	l.apart = true
	if v, l.page, l.index, err = s.keys.parseLink(key); err != nil {
		return 0, l, err
	}
	if err := l.read(value); err != nil {
		return 0, l, fmt.Errorf("frontier: link %d of page %d: %w", l.index, l.page, err)
	}
	return v, l, nil
}

// dropLinks removes the links from entry v, which is to be saved, and returns them. They are
// deleted one by one: a range deletion makes every later read slower.
func (s *Shard) dropLinks(v *entry) ([]link, error) {
	links, err := s.links(v)
	if err != nil {
		return nil, err
	}
	for i := range links {
		if !links[i].apart {
			continue
		}
		if err := s.store.Delete(s.keys.link(v.ordinal, links[i].page, links[i].index)); err != nil {
			return nil, err
		}
	}
	v.links, v.loaded, v.more = nil, true, false
	return links, nil
}

// pageOf returns the page that a link is on.
func (s *Shard) pageOf(l *link) (*page, error) {
	p, ok, err := s.page(l.page)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, missingPage(l)
	}
	return p, nil
}

func missingPage(l *link) error {
	return fmt.Errorf("frontier: link %d of page %d: the page is gone", l.index, l.page)
}

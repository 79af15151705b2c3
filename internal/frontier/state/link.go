package state

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"forager/internal/frontier/storage"
	"forager/schemas"
)

// Link is one leap (u,v) that is known and not settled: v's entry has it until v is final. The
// first few are stored in the entry's value, as most entries have no more; the others have keys of their own,
// so that a target with a thousand links is not written again at each.
type Link struct {
	// Page u and the link's index among u's links: the order of discovery.
	Page  uint64
	Index uint32
	// First and last leaf below the <a>.
	First, Last uint32
	// Anchor is the critic's score of the link's text, in steps of 1/schemas.AnchorSteps, plus 1;
	// 0 = there is none.
	Anchor uint32
	// Alias is the entry that the link names, if that redirected to this one; 0 = none.
	Alias uint64
	// Apart: it has a key of its own.
	Apart bool

	// High is its score under the model in use, if it was scored in advance (rescore.Workers).
	High   float64
	Scored bool
	// Source is its page, if that was read in advance for place, which clears it: only fields of
	// a page that never change may be read from it.
	Source *Page
}

const linkVersion = 2

// InlineLinks is the largest number of links in an entry's value.
const InlineLinks = 8

// Inline is the number of links in the entry's value.
func (e *Entry) Inline() (n int) {
	for i := range e.Links {
		if !e.Links[i].Apart {
			n++
		}
	}
	return n
}

// appendLinks encodes the links in the entry's value.
func (e *Entry) appendLinks(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(e.Inline()))
	b = storage.AppendBool(b, e.More)
	page := uint64(0)
	for i := range e.Links {
		l := &e.Links[i]
		if l.Apart {
			continue
		}
		b = binary.AppendUvarint(b, l.Page-page)
		b = binary.AppendUvarint(b, uint64(l.Index))
		b = binary.AppendUvarint(b, uint64(l.First))
		b = binary.AppendUvarint(b, uint64(l.Last))
		b = binary.AppendUvarint(b, l.Alias)
		b = binary.AppendUvarint(b, uint64(l.Anchor))
		page = l.Page
	}
	return b
}

func (e *Entry) readLinks(r *storage.Reader) {
	n := r.U64()
	e.More = r.Bool()
	e.Loaded = !e.More
	if n > InlineLinks {
		r.Fail(storage.ErrNumber)
		return
	}
	e.Links = sized(e.Links, n)
	page := uint64(0)
	for i := range e.Links {
		page += r.U64()
		e.Links[i] = Link{Page: page, Index: r.U32(), First: r.U32(), Last: r.U32(), Alias: r.U64(), Anchor: readAnchor(r)}
	}
}

// readAnchor reads Link.Anchor.
func readAnchor(r *storage.Reader) uint32 {
	a := r.U32()
	if a > schemas.AnchorSteps+1 {
		r.Fail(storage.ErrNumber)
	}
	return a
}

func (l *Link) append(b []byte) []byte {
	b = append(b, linkVersion)
	b = binary.AppendUvarint(b, uint64(l.First))
	b = binary.AppendUvarint(b, uint64(l.Last))
	b = binary.AppendUvarint(b, l.Alias)
	return binary.AppendUvarint(b, uint64(l.Anchor))
}

func (l *Link) read(b []byte) error {
	r := storage.Reader{Rest: b}
	r.Version(linkVersion)
	l.First, l.Last, l.Alias, l.Anchor = r.U32(), r.U32(), r.U64(), readAnchor(&r)
	return r.End()
}

// AnchorsFit reports whether a judgement has a score of the text of each link of its record, or of none.
func AnchorsFit(rec *schemas.LinkFound) bool {
	anchors := rec.GetJudgement().GetAnchors()
	return (len(anchors) == 0 || len(anchors) == len(rec.GetLinks())) &&
		!slices.ContainsFunc(anchors, func(a uint32) bool { return a > schemas.AnchorSteps })
}

// AnchorOf is Link.Anchor of a record's link; AnchorsFit holds.
func AnchorOf(rec *schemas.LinkFound, index int) uint32 {
	if anchors := rec.GetJudgement().GetAnchors(); len(anchors) > 0 {
		return anchors[index] + 1
	}
	return 0
}

// SaveLink adds a link to entry v, and reports whether v's value has changed and must be saved.
func (s *Records) SaveLink(v *Entry, l *Link) (changed bool, err error) {
	l.Apart = v.More || len(v.Links) >= InlineLinks
	changed = !l.Apart || !v.More
	v.More = l.Apart
	if v.Loaded {
		kept := *l
		kept.Scored = false // only under the model in use now
		// Nearly always it comes last; only a redirect brings older links.
		at, _ := slices.BinarySearchFunc(v.Links, l, func(a Link, b *Link) int { return a.compare(b) })
		v.Links = slices.Insert(v.Links, at, kept)
	}
	if !l.Apart {
		return true, nil
	}
	s.Buffer = l.append(s.Buffer[:0])
	return changed, s.Store.Set(s.Keys.link(v.Ordinal, l.Page, l.Index), s.Buffer)
}

// Backlink reports whether the link is a backlink: a link of its target to the page.
func (l *Link) Backlink() bool { return l.First == schemas.NoLeaf }

// compare compares by the order of discovery.
func (l *Link) compare(other *Link) int {
	return cmp.Or(cmp.Compare(l.Page, other.Page), cmp.Compare(l.Index, other.Index))
}

// Links returns the pending leaps into entry v in the order of their discovery; they are v's
// own, not a copy.
func (s *Records) Links(v *Entry) ([]Link, error) {
	if v.Loaded {
		return v.Links, nil
	}
	s.KeyBuffer = append(s.KeyBuffer[:0], s.Keys.U64(KindLink, v.Ordinal)...)
	err := s.Store.Scan(s.KeyBuffer, After(s.KeyBuffer), func(key, value []byte) (bool, error) {
		_, l, err := s.ReadLink(key, value)
		v.Links = append(v.Links, l)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	v.Complete()
	s.Keep(v)
	return v.Links, nil
}

// Complete sorts the links of the entry when all are read, and notes that.
func (e *Entry) Complete() {
	slices.SortFunc(e.Links, func(a, b Link) int { return a.compare(&b) })
	e.Loaded = true
}

// ReadLink reads a link and the ordinal of its target.
func (s *Records) ReadLink(key, value []byte) (v uint64, l Link, err error) {
	l.Apart = true
	if v, l.Page, l.Index, err = s.Keys.parseLink(key); err != nil {
		return 0, l, err
	}
	if err := l.read(value); err != nil {
		return 0, l, fmt.Errorf("frontier: link %d of page %d: %w", l.Index, l.Page, err)
	}
	return v, l, nil
}

// DropLinks removes the links from entry v, which is to be saved, and returns them. They are
// deleted one by one: a range deletion makes every later read slower.
func (s *Records) DropLinks(v *Entry) ([]Link, error) {
	links, err := s.Links(v)
	if err != nil {
		return nil, err
	}
	for i := range links {
		if !links[i].Apart {
			continue
		}
		if err := s.Store.Delete(s.Keys.link(v.Ordinal, links[i].Page, links[i].Index)); err != nil {
			return nil, err
		}
	}
	v.Links, v.Loaded, v.More = nil, true, false
	return links, nil
}

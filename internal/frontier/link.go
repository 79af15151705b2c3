package frontier

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// link is one leap (u,v) that is known and not settled: v's entry has it until v is final. It is
// stored by itself, so that a target with a thousand links is not written anew at each.
type link struct {
	// page u and the link's index among u's links: the order of discovery.
	page  uint64
	index uint32
	// first and last leaf below the <a>.
	first, last uint32
	// alias is the entry that the link names, where that redirected to this one; 0 = none.
	alias uint64

	// high is what it scores under the model in use, where that was asked ahead (ahead.go).
	high   float64
	scored bool
}

const linkVersion = 1

func (l *link) append(b []byte) []byte {
	b = append(b, linkVersion)
	b = binary.AppendUvarint(b, uint64(l.first))
	b = binary.AppendUvarint(b, uint64(l.last))
	return binary.AppendUvarint(b, l.alias)
}

func (l *link) read(b []byte) error {
	r := reader{b: b}
	r.version(linkVersion)
	l.first, l.last, l.alias = r.u32(), r.u32(), r.u64()
	return r.end()
}

// saveLink adds a link to entry v.
func (s *Shard) saveLink(v *entry, l *link) error {
	if v.loaded {
		// Nearly always it comes last; only a redirect brings older links.
		at, _ := slices.BinarySearchFunc(v.links, l, func(a link, b *link) int {
			return cmp.Or(cmp.Compare(a.page, b.page), cmp.Compare(a.index, b.index))
		})
		v.links = slices.Insert(v.links, at, *l)
	}
	s.value = l.append(s.value[:0])
	return s.store.Set(s.keys.link(v.ordinal, l.page, l.index), s.value)
}

// links returns the pending leaps into entry v in the order of their discovery; they are v's
// own, not a copy.
func (s *Shard) links(v *entry) ([]link, error) {
	if v.loaded {
		return v.links, nil
	}
	v.links = v.links[:0]
	s.from = append(s.from[:0], s.keys.u64(kindLink, v.ordinal)...)
	err := s.store.Scan(s.from, after(s.from), func(key, value []byte) (bool, error) {
		_, l, err := s.readLink(key, value)
		v.links = append(v.links, l)
		return true, err
	})
	v.loaded = err == nil
	s.keep(v)
	return v.links, err
}

// readLink reads a link and the ordinal of its target.
func (s *Shard) readLink(key, value []byte) (v uint64, l link, err error) {
	if v, l.page, l.index, err = s.keys.parseLink(key); err != nil {
		return 0, l, err
	}
	if err := l.read(value); err != nil {
		return 0, l, fmt.Errorf("frontier: link %d of page %d: %w", l.index, l.page, err)
	}
	return v, l, nil
}

// dropLinks deletes the links of entry v and returns them. They are deleted one by one: every
// read of a batch that holds a range deletion costs more.
func (s *Shard) dropLinks(v *entry) ([]link, error) {
	links, err := s.links(v)
	if err != nil {
		return nil, err
	}
	for i := range links {
		if err := s.store.Delete(s.keys.link(v.ordinal, links[i].page, links[i].index)); err != nil {
			return nil, err
		}
	}
	v.links, v.loaded = nil, true
	return links, nil
}

// pageOf returns the page that a link stands on.
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

package frontier

import (
	"encoding/binary"
	"fmt"
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

func (s *Shard) saveLink(v uint64, l *link) error {
	s.value = l.append(s.value[:0])
	return s.store.Set(s.keys.link(v, l.page, l.index), s.value)
}

// links returns the pending leaps into entry v in the order of their discovery.
func (s *Shard) links(v uint64) ([]link, error) {
	var links []link
	from := append([]byte(nil), s.keys.u64(kindLink, v)...)
	err := s.store.Scan(from, after(from), func(key, value []byte) (bool, error) {
		var l link
		var err error
		if l.page, l.index, err = s.keys.parseLink(key); err != nil {
			return false, err
		}
		if err := l.read(value); err != nil {
			return false, fmt.Errorf("frontier: link %d of page %d: %w", l.index, l.page, err)
		}
		links = append(links, l)
		return true, nil
	})
	return links, err
}

// dropLinks deletes the links of entry v.
func (s *Shard) dropLinks(v uint64) error {
	from := append([]byte(nil), s.keys.u64(kindLink, v)...)
	return s.store.DeleteRange(from, after(from))
}

// pageOf returns the page that a link stands on.
func (s *Shard) pageOf(l *link) (*page, error) {
	p, ok := s.pages[l.page]
	if !ok {
		return nil, fmt.Errorf("frontier: link %d of page %d: the page is gone", l.index, l.page)
	}
	return p, nil
}

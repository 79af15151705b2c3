package frontier

import (
	"encoding/binary"
	"fmt"
)

// A policy that orders pages (rank.Policy.ExpandsPages) fetches all links of a page once it has chosen one of them. So the
// targets of each page are kept while such a policy ranks, and placed again when their page is expanded.

const targetsVersion = 1

// saveTargets stores the entries that a page's links lead to, in their order.
func (s *Shard) saveTargets(p *page) error {
	if p.listed = s.expands && !p.seeds; !p.listed {
		return nil
	}
	s.value = appendTargets(s.value[:0], s.targets)
	return s.store.Set(s.keys.u64(kindTargets, p.number), s.value)
}

// expand places the targets of the page by which an entry was chosen before all others. Pages that were judged under
// earlier policies have no stored targets and are not expanded.
func (s *Shard) expand(number uint64) error {
	p, ok, err := s.page(number)
	if err != nil || !ok || !p.listed || p.expanded {
		return err
	}
	b, ok, err := s.store.Get(s.keys.u64(kindTargets, number))
	if err == nil && !ok {
		err = fmt.Errorf("frontier: page %d (%s) has lost its targets", number, p.url)
	}
	if err != nil {
		return err
	}
	targets, err := decodeTargets(number, b)
	if err != nil {
		return err
	}
	p.expanded = true
	if err := s.savePage(p); err != nil {
		return err
	}
	for _, ordinal := range targets {
		e, err := s.unvisited(ordinal)
		if err != nil {
			return err
		}
		if e == nil || s.unranked(e.places) {
			continue
		}
		if err := s.replace(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shard) dropTargets(p *page) error {
	if !p.listed {
		return nil
	}
	return s.store.Delete(s.keys.u64(kindTargets, p.number))
}

func appendTargets(b []byte, targets []uint64) []byte {
	b = append(b, targetsVersion)
	for _, ordinal := range targets {
		b = binary.AppendUvarint(b, ordinal)
	}
	return b
}

func decodeTargets(page uint64, b []byte) (targets []uint64, err error) {
	r := reader{b: b}
	r.version(targetsVersion)
	for r.err == nil && len(r.b) > 0 {
		targets = append(targets, r.u64())
	}
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("frontier: targets of page %d: %w", page, err)
	}
	return targets, nil
}

package frontier

import (
	"encoding/binary"
	"fmt"
	"slices"

	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Co-citation features of a link (u,v) are R(w) of the links (u,w) next to it, as far as they were known when v
// was requested (2002 §3.8; docs/decisions/0109). In a crawl that has them the links of a page that lead to URLs of this
// shard are stored as long as its leaf table; R(w) is in w's entry, and the clock at which it became known
// has a key of its own. Other crawls store and read nothing of this.

// sibling is a link of a page as the co-citation features of its other links need it.
type sibling struct {
	index, first, last uint32
	// ordinal of the entry that the link names.
	ordinal uint64
}

// What a page's siblings take in memory, bytes.
const siblingCost, siblingsCost = 24, 128

// mostTouched is the largest number of entries that a verdict places again because the co-citation features of
// links to them have changed. Others keep their places until a new model comes.
const mostTouched = 256

// sharePages divides the memory for pages.
func (s *Shard) sharePages(bytes int) {
	if !s.limits.families.Cocitation() {
		s.pages.limit(bytes)
		s.siblings.limit(0)
		return
	}
	s.pages.limit(bytes / 2)
	s.siblings.limit(bytes / 2)
}

// addSiblings stores the links of a page that lead to URLs that were seen. It is called before the links are applied, and
// again afterwards, when all that the crawl takes are seen.
func (s *Shard) addSiblings(p *page, links []*schemas.Link) error {
	if !s.limits.families.Cocitation() || p.seeds {
		return nil
	}
	var all []sibling
	once := make(map[string]bool, len(links))
	for i, l := range links {
		if url := l.GetUrl(); url != p.url && !once[url] && s.shardOf(url) == s.name.Shard {
			once[url] = true
			e, err := s.seen(url)
			if err != nil {
				return err
			}
			if e != nil {
				all = append(all, sibling{uint32(i), l.GetFirstLeaf(), l.GetLastLeaf(), e.ordinal})
			}
		}
	}
	return s.storeSiblings(p, all)
}

func (s *Shard) storeSiblings(p *page, all []sibling) error {
	s.holdSiblings(p, all)
	s.value = appendSiblings(s.value[:0], all)
	return s.store.Set(s.keys.u64(kindSiblings, p.number), s.value)
}

func (s *Shard) holdSiblings(p *page, all []sibling) {
	s.siblings.put(p.number, all, siblingsCost+siblingCost*len(all))
}

func (s *Shard) dropSiblings(p *page) error {
	if !s.limits.families.Cocitation() || p.seeds {
		return nil
	}
	s.siblings.drop(p.number)
	return s.store.Delete(s.keys.u64(kindSiblings, p.number))
}

// siblingsOf returns the links of a page; none if it was judged before the crawl had co-citation features.
func (s *Shard) siblingsOf(p *page) ([]sibling, error) {
	if all, ok := s.siblings.get(p.number); ok {
		return all, nil
	}
	b, ok, err := s.store.Get(s.keys.u64(kindSiblings, p.number))
	if err != nil || !ok {
		return nil, err
	}
	all, err := decodeSiblings(p.number, b)
	if err == nil {
		s.holdSiblings(p, all)
	}
	return all, err
}

const siblingsVersion = 1

func appendSiblings(b []byte, all []sibling) []byte {
	b = binary.AppendUvarint(append(b, siblingsVersion), uint64(len(all)))
	for _, w := range all {
		b = binary.AppendUvarint(b, uint64(w.index))
		b = binary.AppendUvarint(b, uint64(w.first))
		b = binary.AppendUvarint(b, uint64(w.last))
		b = binary.AppendUvarint(b, w.ordinal)
	}
	return b
}

func decodeSiblings(page uint64, b []byte) ([]sibling, error) {
	r := reader{b: b}
	r.version(siblingsVersion)
	all := make([]sibling, r.count(4))
	for i := range all {
		all[i] = sibling{r.u32(), r.u32(), r.u32(), r.u64()}
	}
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("frontier: links beside those of page %d: %w", page, err)
	}
	return all, nil
}

// noteSince stores the clock at which R of an entry, or the target of its redirect, became known.
func (s *Shard) noteSince(e *entry) error {
	if !s.limits.families.Cocitation() {
		return nil
	}
	s.value = binary.AppendUvarint(s.value[:0], s.c.clock)
	return s.store.Set(s.keys.u64(kindSince, e.ordinal), s.value)
}

// knownAt returns R of an entry, or of what it redirects to, if that was known at a clock.
func (s *Shard) knownAt(ordinal, clock uint64) (raw float64, known bool, err error) {
	for {
		b, ok, err := s.store.Get(s.keys.u64(kindSince, ordinal))
		if err != nil || !ok {
			return 0, false, err
		}
		r := reader{b: b}
		since := r.u64()
		if err := r.end(); err != nil {
			return 0, false, fmt.Errorf("frontier: since when R of entry %d is known: %w", ordinal, err)
		}
		if since > clock {
			return 0, false, nil
		}
		e, err := s.entry(ordinal)
		if err != nil {
			return 0, false, err
		}
		if e.state != stateAlias {
			return e.raw, e.state == stateFinal && e.outcome == schemas.Outcome_OUTCOME_DELIVERED, nil
		}
		ordinal = e.target
	}
}

// cocited are the co-citation features of a link by what was known at a clock.
func (s *Shard) cocited(p *page, l *link, clock uint64) ([]*schemas.Feature, error) {
	if !s.limits.families.Cocitation() {
		return nil, nil
	}
	var known []linkfeature.Sibling
	err := s.beside(p, l, func(w *sibling) error {
		raw, ok, err := s.knownAt(w.ordinal, clock)
		if ok {
			known = append(known, linkfeature.Sibling{First: w.first, Last: w.last, Relevance: raw})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return linkfeature.Cocited(s.leaves(l), known, s.limits.dMax), nil
}

// beside calls f for the links at most d_max leaves from a link of a page.
func (s *Shard) beside(p *page, l *link, f func(w *sibling) error) error {
	all, err := s.siblingsOf(p)
	if err != nil {
		return err
	}
	for i := range all {
		w := &all[i]
		if _, near := linkfeature.Beside(s.leaves(l), w.first, w.last, s.limits.dMax); near && w.index != l.index {
			if err := f(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// touchBeside notes the links next to one to v, which is final, if R(v) is known now.
func (s *Shard) touchBeside(p *page, l *link, v *entry) error {
	if !s.limits.families.Cocitation() || !s.learns || s.using.model == nil || v.outcome != schemas.Outcome_OUTCOME_DELIVERED {
		return nil
	}
	return s.beside(p, l, func(w *sibling) error {
		if len(s.touched) < mostTouched {
			s.touched = append(s.touched, w.ordinal)
		}
		return nil
	})
}

// placeTouched places again the unvisited entries that touchBeside noted.
func (s *Shard) placeTouched() error {
	slices.Sort(s.touched)
	for _, ordinal := range slices.Compact(s.touched) {
		e, err := s.unvisited(ordinal)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if err := s.replace(e); err != nil {
			return fmt.Errorf("place %s anew: %w", e.url, err)
		}
	}
	s.touched = s.touched[:0]
	return nil
}

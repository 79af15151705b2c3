package state

import (
	"encoding/binary"
	"fmt"

	"forager/internal/frontier/storage"
	"forager/schemas"
)

// Co-citation features of a link (u,v) are R(w) of the links (u,w) next to it, as far as they were known when v
// was requested (2002 §3.8; docs/decisions/0109). In a crawl that has them the links of a page that lead to URLs of this
// shard are stored as long as its leaf table; R(w) is in w's entry, and the clock at which it became known
// has a key of its own. Other crawls store and read nothing of this.

// Sibling is a link of a page as the co-citation features of its other links need it.
type Sibling struct {
	Index, First, Last uint32
	// Ordinal of the entry that the link names.
	Ordinal uint64
}

// What a page's siblings take in memory, bytes.
const siblingCost, siblingsCost = 24, 128

// SharePages divides the memory for pages.
func (ps *Pages) SharePages(bytes int) {
	if !ps.Cocites {
		ps.Cache.Limit(bytes)
		ps.siblings.Limit(0)
		return
	}
	ps.Cache.Limit(bytes / 2)
	ps.siblings.Limit(bytes / 2)
}

// StoreSiblings stores the links of a page.
func (ps *Pages) StoreSiblings(p *Page, all []Sibling) error {
	ps.holdSiblings(p, all)
	ps.state.Buffer = AppendSiblings(ps.state.Buffer[:0], all)
	return ps.state.Store.Set(ps.state.Keys.U64(KindSiblings, p.Number), ps.state.Buffer)
}

func (ps *Pages) holdSiblings(p *Page, all []Sibling) {
	ps.siblings.Put(p.Number, all, siblingsCost+siblingCost*len(all))
}

func (ps *Pages) dropSiblings(p *Page) error {
	if !ps.Cocites || p.Seeds {
		return nil
	}
	ps.siblings.Drop(p.Number)
	return ps.state.Store.Delete(ps.state.Keys.U64(KindSiblings, p.Number))
}

// SiblingsOf returns the links of a page; none if it was judged before the crawl had co-citation features.
func (ps *Pages) SiblingsOf(p *Page) ([]Sibling, error) {
	if all, ok := ps.siblings.Get(p.Number); ok {
		return all, nil
	}
	b, ok, err := ps.state.Store.Get(ps.state.Keys.U64(KindSiblings, p.Number))
	if err != nil || !ok {
		return nil, err
	}
	all, err := DecodeSiblings(p.Number, b)
	if err == nil {
		ps.holdSiblings(p, all)
	}
	return all, err
}

const siblingsVersion = 1

// AppendSiblings appends the encoded links of a page to b.
func AppendSiblings(b []byte, all []Sibling) []byte {
	b = binary.AppendUvarint(append(b, siblingsVersion), uint64(len(all)))
	for _, w := range all {
		b = binary.AppendUvarint(b, uint64(w.Index))
		b = binary.AppendUvarint(b, uint64(w.First))
		b = binary.AppendUvarint(b, uint64(w.Last))
		b = binary.AppendUvarint(b, w.Ordinal)
	}
	return b
}

// DecodeSiblings reads what AppendSiblings wrote. Any other bytes are an error, never a panic.
func DecodeSiblings(page uint64, b []byte) ([]Sibling, error) {
	r := storage.Reader{Rest: b}
	r.Version(siblingsVersion)
	all := make([]Sibling, r.Count(4))
	for i := range all {
		all[i] = Sibling{r.U32(), r.U32(), r.U32(), r.U64()}
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("frontier: links next to those of page %d: %w", page, err)
	}
	return all, nil
}

// NoteSince stores the clock at which R of an entry, or the target of its redirect, became known.
func (ps *Pages) NoteSince(e *Entry) error {
	if !ps.Cocites {
		return nil
	}
	ps.state.Buffer = binary.AppendUvarint(ps.state.Buffer[:0], ps.state.Counters.Clock)
	return ps.state.Store.Set(ps.state.Keys.U64(KindSince, e.Ordinal), ps.state.Buffer)
}

// KnownAt returns R of an entry, or of what it redirects to, if that was known at a clock.
func (ps *Pages) KnownAt(ordinal, clock uint64) (raw float64, known bool, err error) {
	for {
		b, ok, err := ps.state.Store.Get(ps.state.Keys.U64(KindSince, ordinal))
		if err != nil || !ok {
			return 0, false, err
		}
		r := storage.Reader{Rest: b}
		since := r.U64()
		if err := r.End(); err != nil {
			return 0, false, fmt.Errorf("frontier: since when R of entry %d is known: %w", ordinal, err)
		}
		if since > clock {
			return 0, false, nil
		}
		e, err := ps.state.Entry(ordinal)
		if err != nil {
			return 0, false, err
		}
		if e.State != Alias {
			return e.Raw, e.State == Final && e.Outcome == schemas.Outcome_OUTCOME_DELIVERED, nil
		}
		ordinal = e.Target
	}
}

package frontier

import (
	"encoding/binary"
	"fmt"

	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// page is a judged page u, or a virtual page of seeds, with what its links need of it. It is
// kept while a target of its links is not final.
type page struct {
	// number is the shard's clock at its verdict.
	number uint64
	// url is empty for a page of seeds.
	url         string
	seeds       bool
	bestIsFocus bool
	// R(u).
	raw, tempered, calibrated float64
	// guidance of its links by their index (guidance.go). It has a key of its own, as the page is stored often.
	guidance []*schemas.Guidance
	guided   bool
	// listed: the targets of its links are stored; expanded: a policy that orders pages has chosen one (expand.go).
	listed, expanded bool
	// pending links, whose targets are not final.
	pending uint32
}

const pageVersion = 5

func (p *page) append(b []byte) []byte {
	b = append(b, pageVersion)
	b = appendString(b, p.url)
	b = appendBool(appendBool(appendBool(b, p.seeds), p.bestIsFocus), p.guided)
	b = appendBool(appendBool(b, p.listed), p.expanded)
	b = appendFloat(appendFloat(appendFloat(b, p.raw), p.tempered), p.calibrated)
	return binary.AppendUvarint(b, uint64(p.pending))
}

func decodePage(number uint64, b []byte) (*page, error) {
	r := reader{b: b}
	r.version(pageVersion)
	p := &page{
		number: number, url: r.string(), seeds: r.bool(), bestIsFocus: r.bool(), guided: r.bool(), listed: r.bool(), expanded: r.bool(),
		raw: r.float(), tempered: r.float(), calibrated: r.float(), pending: r.u32(),
	}
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("frontier: page %d: %w", number, err)
	}
	return p, nil
}

// addPage adds a page whose links are about to be applied; keepPage follows.
func (s *Shard) addPage(p *page, table *schemas.LeafTable) error {
	s.applying, s.targets = p, s.targets[:0]
	if p.seeds {
		return nil
	}
	var t *linkfeature.Table
	if s.settling != nil {
		t = s.settling.table
	}
	if t == nil {
		var err error
		if t, err = linkfeature.Open(table); err != nil {
			return fmt.Errorf("frontier: page %d (%s): %w", p.number, p.url, err)
		}
	}
	s.holdTable(p, t)
	// Stored before its links are applied: they may evict it.
	return s.store.Set(s.keys.u64(kindTable, p.number), t.Bytes())
}

// keepPage stores a page whose links were applied, or deletes it if none is pending.
func (s *Shard) keepPage(p *page) error {
	s.applying = nil
	if p.pending == 0 {
		return s.dropPage(p)
	}
	s.holdPage(p)
	if err := s.saveGuidance(p); err != nil {
		return err
	}
	if err := s.saveTargets(p); err != nil {
		return err
	}
	return s.savePage(p)
}

func (s *Shard) holdPage(p *page) {
	s.pages.put(p.number, p, pageCost+len(p.url)+guidanceSize(p.guidance))
}

// page returns a page with pending links; ok is false if there is none of that number. A caller that
// changes its number of pending links does so before it reads another page, and stores it.
func (s *Shard) page(number uint64) (p *page, ok bool, err error) {
	if p = s.applying; p != nil && p.number == number {
		return p, true, nil
	}
	if p, ok = s.pages.get(number); ok {
		return p, true, nil
	}
	if p, ok, err = readPage(s.store.Get, &s.keys, number); ok {
		s.holdPage(p)
	}
	return p, ok, err
}

// readPage reads a page from the store; ok is false if there is none of that number.
func readPage(get func(key []byte) ([]byte, bool, error), keys *keys, number uint64) (p *page, ok bool, err error) {
	b, ok, err := get(keys.u64(kindPage, number))
	if err != nil || !ok {
		return nil, false, err
	}
	if p, err = decodePage(number, b); err == nil && p.guided {
		p.guidance, err = readGuidance(get, keys, number)
	}
	return p, err == nil, err
}

func (s *Shard) savePage(p *page) error {
	s.value = p.append(s.value[:0])
	return s.store.Set(s.keys.u64(kindPage, p.number), s.value)
}

// settlePending subtracts one of the page's pending links; with the last one the page is deleted.
func (s *Shard) settlePending(p *page) error {
	if p.pending == 0 {
		return fmt.Errorf("frontier: page %d (%s) settles more links than it has", p.number, p.url)
	}
	p.pending--
	if p.pending > 0 {
		return s.savePage(p)
	}
	return s.dropPage(p)
}

// dropPage deletes a page without pending links.
func (s *Shard) dropPage(p *page) error {
	s.pages.drop(p.number)
	s.tables.drop(p.number)
	for _, kind := range []byte{kindPage, kindTable} {
		if err := s.store.Delete(s.keys.u64(kind, p.number)); err != nil {
			return err
		}
	}
	if err := s.dropTargets(p); err != nil {
		return err
	}
	if err := s.dropSiblings(p); err != nil {
		return err
	}
	return s.dropGuidance(p)
}

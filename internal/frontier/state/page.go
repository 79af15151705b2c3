package state

import (
	"encoding/binary"
	"fmt"

	"forager/internal/frontier/storage"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Page is a judged page u, or a virtual page of seeds, with what its links need of it. It is
// kept while a target of its links is not final.
type Page struct {
	// Number is the shard's clock at its verdict.
	Number uint64
	// URL is empty for a page of seeds.
	URL         string
	Seeds       bool
	BestIsFocus bool
	// R(u).
	Raw, Tempered, Calibrated float64
	// LogOdds of Raw, and TopicLogOdds among topics only (schemas.LogOddsOf).
	LogOdds, TopicLogOdds float64
	// Guidance of its links by their index (guidance.go). It has a key of its own, as the page is stored often.
	Guidance []*schemas.Guidance
	Guided   bool
	// Listed: the targets of its links are stored; Expanded: a policy that orders pages has chosen one.
	Listed, Expanded bool
	// Pending links, whose targets are not final.
	Pending uint32
}

const pageVersion = 6

func (p *Page) append(b []byte) []byte {
	b = append(b, pageVersion)
	b = storage.AppendString(b, p.URL)
	b = storage.AppendBool(storage.AppendBool(storage.AppendBool(b, p.Seeds), p.BestIsFocus), p.Guided)
	b = storage.AppendBool(storage.AppendBool(b, p.Listed), p.Expanded)
	b = storage.AppendFloat(storage.AppendFloat(storage.AppendFloat(b, p.Raw), p.Tempered), p.Calibrated)
	b = storage.AppendFloat(storage.AppendFloat(b, p.LogOdds), p.TopicLogOdds)
	return binary.AppendUvarint(b, uint64(p.Pending))
}

// DecodePage reads a stored page. Any other bytes are an error, never a panic.
func DecodePage(number uint64, b []byte) (*Page, error) {
	r := storage.Reader{Rest: b}
	r.Version(pageVersion)
	p := &Page{
		Number: number, URL: r.String(), Seeds: r.Bool(), BestIsFocus: r.Bool(), Guided: r.Bool(), Listed: r.Bool(), Expanded: r.Bool(),
		Raw: r.Float(), Tempered: r.Float(), Calibrated: r.Float(), LogOdds: r.Float(), TopicLogOdds: r.Float(), Pending: r.U32(),
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("frontier: page %d: %w", number, err)
	}
	return p, nil
}

// Pages are those with pending links, their leaf tables, and what crawls with some rankers store of their links.
type Pages struct {
	state  *Records
	Cache  *storage.LRU[uint64, *Page]              // by number
	Tables *storage.LRU[uint64, *linkfeature.Table] // by page
	// siblings are the links of pages, by number (siblings.go).
	siblings *storage.LRU[uint64, []Sibling]
	// Lists: the targets of pages are stored (targets.go); Cocites: so are their links, for co-citation features (siblings.go).
	Lists, Cocites bool
	// Applying is the page whose links are being applied, targets are the entries that they lead to.
	Applying *Page
	Targets  []uint64
}

// NewPages returns the pages of a shard.
func NewPages(state *Records) *Pages {
	return &Pages{
		state: state, Cache: storage.NewLRU[uint64, *Page](0), Tables: storage.NewLRU[uint64, *linkfeature.Table](0), siblings: storage.NewLRU[uint64, []Sibling](0),
	}
}

// AddPage adds a page whose links are about to be applied, with its leaf table; KeepPage follows.
func (ps *Pages) AddPage(p *Page, t *schemas.LeafTable) error {
	ps.Applying, ps.Targets = p, ps.Targets[:0]
	if p.Seeds {
		return nil
	}
	return ps.state.saveTable(p, t)
}

// KeepPage stores a page whose links were applied, or deletes it if none is pending.
func (ps *Pages) KeepPage(p *Page) error {
	ps.Applying = nil
	if p.Pending == 0 {
		return ps.dropPage(p)
	}
	ps.HoldPage(p)
	if err := ps.saveGuidance(p); err != nil {
		return err
	}
	if err := ps.saveTargets(p); err != nil {
		return err
	}
	return ps.SavePage(p)
}

// HoldPage keeps a page in memory for now.
func (ps *Pages) HoldPage(p *Page) {
	ps.Cache.Put(p.Number, p, pageCost+len(p.URL)+guidanceSize(p.Guidance))
}

// Page returns a page with pending links; ok is false if there is none of that number. A caller that
// changes its number of pending links does so before it reads another page, and stores it.
func (ps *Pages) Page(number uint64) (p *Page, ok bool, err error) {
	if p = ps.Applying; p != nil && p.Number == number {
		return p, true, nil
	}
	if p, ok = ps.Cache.Get(number); ok {
		return p, true, nil
	}
	if p, ok, err = ReadPage(ps.state.Store.Get, &ps.state.Keys, number); ok {
		ps.HoldPage(p)
	}
	return p, ok, err
}

// ReadPage reads a page from the store; ok is false if there is none of that number.
func ReadPage(get func(key []byte) ([]byte, bool, error), keys *Keys, number uint64) (p *Page, ok bool, err error) {
	b, ok, err := get(keys.U64(KindPage, number))
	if err != nil || !ok {
		return nil, false, err
	}
	if p, err = DecodePage(number, b); err == nil && p.Guided {
		p.Guidance, err = readGuidance(get, keys, number)
	}
	return p, err == nil, err
}

// SavePage stores a page.
func (ps *Pages) SavePage(p *Page) error {
	ps.state.Buffer = p.append(ps.state.Buffer[:0])
	return ps.state.Store.Set(ps.state.Keys.U64(KindPage, p.Number), ps.state.Buffer)
}

// SettlePending subtracts one of the page's pending links; with the last one the page is deleted.
func (ps *Pages) SettlePending(p *Page) error {
	if p.Pending == 0 {
		return fmt.Errorf("frontier: page %d (%s) settles more links than it has", p.Number, p.URL)
	}
	p.Pending--
	if p.Pending > 0 {
		return ps.SavePage(p)
	}
	return ps.dropPage(p)
}

// dropPage deletes a page without pending links.
func (ps *Pages) dropPage(p *Page) error {
	ps.Cache.Drop(p.Number)
	ps.Tables.Drop(p.Number)
	for _, kind := range []byte{KindPage, KindTable} {
		if err := ps.state.Store.Delete(ps.state.Keys.U64(kind, p.Number)); err != nil {
			return err
		}
	}
	if err := ps.dropTargets(p); err != nil {
		return err
	}
	if err := ps.dropSiblings(p); err != nil {
		return err
	}
	return ps.dropGuidance(p)
}

// PageOf returns the page that a link is on.
func (ps *Pages) PageOf(l *Link) (*Page, error) {
	p, ok, err := ps.Page(l.Page)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, MissingPage(l)
	}
	return p, nil
}

// MissingPage is the error for a link whose page is not stored.
func MissingPage(l *Link) error {
	return fmt.Errorf("frontier: link %d of page %d: the page is gone", l.Index, l.Page)
}

// HoldTable keeps the leaf table of a page in memory for now.
func (ps *Pages) HoldTable(p *Page, t *linkfeature.Table) {
	ps.Tables.Put(p.Number, t, tableCost+t.Memory())
}

// Table returns the leaf table of a page.
func (ps *Pages) Table(p *Page) (*linkfeature.Table, error) {
	if t, ok := ps.Tables.Get(p.Number); ok {
		return t, nil
	}
	t, err := ps.state.ReadTable(ps.state.Store.Get, &ps.state.Keys, p)
	if err == nil {
		ps.HoldTable(p, t)
	}
	return t, err
}

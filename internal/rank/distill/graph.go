package distill

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"forager/schemas"
)

// Store is an ordered map of byte strings, implemented by stateful.Store (Pebble) and frontier.NewMemory. Returned slices are
// valid until the next call, and the function given to Scan must not call the store.
type Store interface {
	Get(key []byte) (value []byte, ok bool, err error)
	Set(key, value []byte) error
	DeleteRange(from, to []byte) error
	Scan(from, to []byte, f func(key, value []byte) (more bool, err error)) error
}

// Graph is the pages that a shard of a crawl has fetched, and their links, built verdict by verdict. Under its prefix the
// store has
//
//	'c'             → version, pages, noted, through
//	'i' id 16       → nothing: a record that was taken
//	'n' number u64  → noted: a page with its links, or a redirect
//
// A page is written once, with the ids of all its links; which of these are pages of the crawl is resolved in a ranking.
type Graph struct {
	store  Store
	prefix []byte
	counts
}

// counts of a graph.
type counts struct {
	// pages delivered in the shard, and noted records.
	pages, noted uint64
	// through is the offset of the last record noted, −1 before the first.
	through int64
}

const (
	graphVersion = 1
	countsKind   = 'c'
	takenKind    = 'i'
	notedKind    = 'n'
)

// ErrVersion means that a graph was stored by another version of this package.
var ErrVersion = errors.New("a graph of another version")

// OpenGraph reads the counts of a graph; in a store without the prefix it is new. No other key may begin with the prefix. The error is
// ErrVersion if another version stored it.
func OpenGraph(store Store, prefix []byte) (*Graph, error) {
	g := &Graph{store: store, prefix: prefix, counts: counts{through: -1}}
	b, ok, err := store.Get(g.key(countsKind))
	if err != nil || !ok {
		return g, err
	}
	r := reader{b}
	if r.byte() != graphVersion {
		return nil, ErrVersion
	}
	g.pages, g.noted, g.through = r.uvarint(), r.uvarint(), int64(r.uvarint())-1
	return g, r.end()
}

// Pages returns the number of pages delivered in the shard so far, as its frontier counts them.
func (g *Graph) Pages() uint64 { return g.pages }

// ErrRecord means that a record is invalid.
var ErrRecord = errors.New("not a verdict that can be ranked")

// Note adds a record of link.found at an offset. A record whose id was noted before changes nothing. An error that is
// ErrRecord is the record's fault.
func (g *Graph) Note(rec *schemas.LinkFound, offset int64) error {
	found, err := schemas.OpenFound(rec)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	_, verdict := found.(schemas.Verdict)
	if !verdict && (!schemas.BetweenShards(found) || rec.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED) {
		return nil
	}
	id := found.ID()
	taken := append(g.key(takenKind), id[:]...)
	if _, ok, err := g.store.Get(taken); err != nil || ok {
		return err
	}
	if err := g.store.Set(taken, nil); err != nil {
		return err
	}
	var n noted
	switch {
	case rec.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED:
		n = page(rec)
		if verdict {
			g.pages++
		}
	case rec.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED && rec.GetRedirect() != "":
		n = noted{url: rec.GetUrl(), redirect: true, links: ids{}.with(schemas.URLID(rec.GetRedirect()))}
	default:
		g.through = offset
		return g.save()
	}
	if err := g.store.Set(g.number(g.noted), n.append(nil)); err != nil {
		return err
	}
	g.noted++
	g.through = offset
	return g.save()
}

func (g *Graph) save() error {
	b := []byte{graphVersion}
	b = binary.AppendUvarint(b, g.pages)
	b = binary.AppendUvarint(b, g.noted)
	return g.store.Set(g.key(countsKind), binary.AppendUvarint(b, uint64(g.through+1)))
}

// Noted returns the number of pages and redirects noted so far, which is the number of the next one.
func (g *Graph) Noted() uint64 { return g.noted }

// Drop deletes everything under the prefix, also the keys of other packages.
func (g *Graph) Drop() error {
	g.counts = counts{through: -1}
	return g.store.DeleteRange(g.key(0), g.key(math.MaxUint8))
}

func (g *Graph) key(kind byte) []byte { return append(append([]byte(nil), g.prefix...), kind) }

func (g *Graph) number(n uint64) []byte { return binary.BigEndian.AppendUint64(g.key(notedKind), n) }

// each calls f with the noted records from a number on, in order; the argument is valid until f returns.
func (g *Graph) each(ctx context.Context, from uint64, f func(n *noted) (more bool, err error)) error {
	var n noted
	return g.store.Scan(g.number(from), g.number(g.noted), func(key, value []byte) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if err := n.read(value); err != nil {
			return false, fmt.Errorf("page %x: %w", key[len(key)-8:], err)
		}
		return f(&n)
	})
}

// noted is a page with its links, or a redirect with its target.
type noted struct {
	url      string
	redirect bool
	// r is R(u) of a page.
	r     float64
	links ids
}

// ids are URLIDs, one after another.
type ids []byte

const idSize = len(schemas.ID{})

func (i ids) len() int               { return len(i) / idSize }
func (i ids) at(n int) schemas.ID    { return schemas.ID(i[n*idSize : (n+1)*idSize]) }
func (i ids) with(id schemas.ID) ids { return append(i, id[:]...) }
func (i ids) each(f func(schemas.ID)) {
	for n := range i.len() {
		f(i.at(n))
	}
}

// page returns the value of a delivered page: its distinct links, without those to itself, and pages that link to it.
func page(rec *schemas.LinkFound) noted {
	n := noted{url: rec.GetUrl(), r: rec.GetJudgement().GetRaw()}
	once := map[schemas.ID]bool{schemas.URLID(n.url): true}
	for _, l := range rec.GetLinks() {
		if id := schemas.URLID(l.GetUrl()); !once[id] && !l.GetBacklink() {
			once[id] = true
			n.links = n.links.with(id)
		}
	}
	return n
}

func (n *noted) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(n.url)))
	b = append(b, n.url...)
	if n.redirect {
		b = append(b, 1)
	} else {
		b = binary.BigEndian.AppendUint64(append(b, 0), math.Float64bits(n.r))
	}
	return append(b, n.links...)
}

// read decodes the result of append; links is part of b.
func (n *noted) read(b []byte) error {
	r := reader{b}
	n.url = string(r.bytes(int(min(r.uvarint(), math.MaxInt32))))
	n.redirect, n.r = r.byte() == 1, 0
	if !n.redirect {
		if f := r.bytes(8); len(f) == 8 {
			n.r = math.Float64frombits(binary.BigEndian.Uint64(f))
		}
	}
	if n.links = ids(r.b); r.b == nil || len(r.b)%idSize != 0 || n.redirect && n.links.len() != 1 || !(n.r >= 0 && n.r <= 1) {
		return errors.New("damaged")
	}
	return nil
}

// reader decodes a value; b is nil once something was missing.
type reader struct{ b []byte }

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b = nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.b) {
		r.b = nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) end() error {
	if r.b == nil || len(r.b) > 0 {
		return errors.New("damaged")
	}
	return nil
}

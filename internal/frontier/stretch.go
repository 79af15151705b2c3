package frontier

import (
	"cmp"
	"slices"
)

// A sweep goes through the frontier in stretches. The links of a stretch are collected, scored
// in the order of their pages, so that each leaf table is read once a stretch and side by side with
// its neighbours, and then its entries are moved. All of that goes on in slices between
// which verdicts are applied; whatever those change belongs to the new generation at once, so what
// was scored of the others stays true.
type stretch struct {
	model Model
	dMax  int
	// end is the ordinal up to which entries were collected; full: no more are to be.
	end  uint64
	full bool
	// links in the order of the entries, byPage those in the order of pages, of which done are scored.
	links  []stretchLink
	byPage []uint32
	done   int
	// at is where the links of the next entry to be moved are.
	at int
}

// stretchLink is a link of a stretch.
type stretchLink struct {
	ordinal, page      uint64
	index, first, last uint32
	scored             bool
	high               float64
}

// What a slice does of a stretch before it moves entries, at most.
const (
	collectChunk, collectChunks = 2048, 4 // entries looked at
	pageChunk, pageChunks       = 512, 4  // pages read and scored
)

// readyStretch goes on until the links of the next entries of the sweep are scored, which it
// returns, or a slice has had enough of it.
func (s *Shard) readyStretch() (ready bool, err error) {
	b := s.stretch
	if b == nil || b.model != s.using.model || b.dMax != s.limits.dMax || b.full && s.swept >= b.end {
		b = &stretch{model: s.using.model, dMax: s.limits.dMax, end: s.swept}
		s.stretch = b
	}
	for i := 0; i < collectChunks && !b.full; i++ {
		if err := s.collect(b); err != nil {
			return false, err
		}
	}
	for i := 0; i < pageChunks && b.full && b.done < len(b.byPage); i++ {
		if err := s.scorePages(b); err != nil {
			return false, err
		}
	}
	return b.full && b.done == len(b.byPage), nil
}

// collect adds the links of some more entries that the pass has not scored. Those that do not stand
// in their entries are left out, and scored when the entry is moved.
func (s *Shard) collect(b *stretch) error {
	last := min(b.end+collectChunk, s.c.entries)
	s.from = append(s.from[:0], s.keys.u64(kindEntry, b.end+1)...)
	err := s.store.Scan(s.from, after(s.keys.u64(kindEntry, last)), func(key, value []byte) (bool, error) {
		e, err := s.sweepEntry(key, value)
		if err != nil || e == nil {
			return err == nil, err
		}
		for i := range e.links {
			if l := &e.links[i]; !l.apart {
				b.links = append(b.links, stretchLink{ordinal: e.ordinal, page: l.page, index: l.index, first: l.first, last: l.last})
			}
		}
		return true, nil
	})
	b.end = last
	if b.full = last == s.c.entries || len(b.links) >= s.memory/stretchShare/stretchLinkCost; b.full {
		b.byPage = make([]uint32, len(b.links))
		for i := range b.byPage {
			b.byPage[i] = uint32(i)
		}
		slices.SortFunc(b.byPage, func(i, k uint32) int { return cmp.Compare(b.links[i].page, b.links[k].page) })
	}
	return err
}

// scorePages scores the links on the next pages of a stretch.
func (s *Shard) scorePages(b *stretch) error {
	var pages [][]uint32
	for len(pages) < pageChunk && b.done < len(b.byPage) {
		rest := b.byPage[b.done:]
		n := 1
		for n < len(rest) && b.links[rest[n]].page == b.links[rest[0]].page {
			n++
		}
		pages, b.done = append(pages, rest[:n]), b.done+n
	}
	errs := make([]error, len(pages))
	s.inParallel(len(pages), func(a *ahead, i int) { errs[i] = a.scoreStretch(b.links, pages[i]) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// scoreStretch scores links of a page; a page of seeds has no table, and its links score nothing.
func (a *ahead) scoreStretch(links []stretchLink, of []uint32) error {
	number := links[of[0]].page
	t, inMemory := a.shard.tables.peek(number)
	if !inMemory {
		b, ok, err := a.get(a.keys.u64(kindTable, number))
		if err != nil || !ok {
			return err
		}
		if t, err = decodeTable(number, b); err != nil {
			return err
		}
	}
	a.page.Turn(a.model, t, a.shard.limits.dMax)
	for _, i := range of {
		l := &links[i]
		l.high, l.scored = a.score(l.first, l.last), true
	}
	return nil
}

// give gives the links of an entry what they scored in the stretch. Entries come in their order.
func (b *stretch) give(e *entry) {
	for b.at < len(b.links) && b.links[b.at].ordinal < e.ordinal {
		b.at++
	}
	for ; b.at < len(b.links) && b.links[b.at].ordinal == e.ordinal; b.at++ {
		x := &b.links[b.at]
		for i := range e.links {
			if l := &e.links[i]; x.scored && l.page == x.page && l.index == x.index {
				l.high, l.scored = x.high, true
			}
		}
	}
}

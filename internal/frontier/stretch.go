package frontier

import (
	"slices"
	"sort"

	"forager/internal/apprentice"
	"forager/internal/linkfeature"
)

// A sweep goes through the frontier in stretches. The links of a stretch are collected, then their
// pages are read and the links scored in the order of the pages, so that each page and leaf table is
// read once a stretch and side by side with its neighbours, and then the entries are placed and moved. All
// of that goes on in slices between which verdicts are applied; whatever those change belongs to the new
// generation at once, so what was scored of the others stays true.
type stretch struct {
	model Model
	dMax  int
	// end is the ordinal up to which entries were collected; full: no more are to be.
	end  uint64
	full bool
	// links in the order of the entries; byPage are page<<stretchBits | position of each in the order of
	// pages, of which done are scored.
	links  []stretchLink
	byPage []uint64
	done   int
}

// stretchLink is a link of a stretch.
type stretchLink struct {
	ordinal, page      uint64
	index, first, last uint32
	scored             bool
	high               float64
	// from is its page, once that was looked at.
	from *page
}

// What a slice does of a stretch before it moves entries, at most.
const (
	collectChunk, collectChunks = 2048, 8 // entries looked at
	pageChunk, pageChunks       = 512, 4  // pages read and scored
)

// A stretch has fewer than 1<<stretchBits links.
const stretchBits = 24

// readyStretch goes on until the links of the next entries of the sweep are scored, which it
// returns, or a slice has had enough of it.
func (s *Shard) readyStretch() (ready bool, err error) {
	b := s.stretch
	if b == nil || b.model != s.using.model || b.dMax != s.limits.dMax || b.full && s.swept >= b.end {
		b = &stretch{model: s.using.model, dMax: s.limits.dMax, end: s.swept}
		s.stretch = b
	}
	if !b.full {
		if err := s.collect(b); err != nil || !b.full {
			return false, err
		}
	}
	for i := 0; i < pageChunks && b.done < len(b.byPage); i++ {
		if err := s.scorePages(b); err != nil {
			return false, err
		}
	}
	return b.done == len(b.byPage), nil
}

// collect adds the links of some more entries that the pass has not scored. Those that do not stand
// in their entries are left out, and scored when the entry is moved.
func (s *Shard) collect(b *stretch) error {
	last := min(b.end+collectChunk*collectChunks, s.c.entries)
	found := make([][]stretchLink, collectChunks)
	err := s.inParts(b.end+1, last, collectChunks, func(part int, from, to uint64) (err error) {
		found[part], err = s.collectFrom(from, to)
		return err
	})
	if err != nil {
		return err
	}
	b.links, b.end = append(b.links, slices.Concat(found...)...), last
	most := min(s.memory/stretchShare/stretchLinkCost, 1<<stretchBits-1-collectChunk*collectChunks*inlineLinks)
	if b.full = last == s.c.entries || len(b.links) >= most; !b.full {
		return nil
	}
	b.byPage = make([]uint64, len(b.links))
	for i := range b.links {
		b.byPage[i] = b.links[i].page<<stretchBits | uint64(i)
	}
	slices.Sort(b.byPage)
	return nil
}

// collectFrom returns the links that stand in the entries of a range.
func (s *Shard) collectFrom(from, to uint64) (links []stretchLink, err error) {
	return links, s.scanEntries(from, to, func(e *entry) {
		for i := range e.links {
			if l := &e.links[i]; !l.apart {
				links = append(links, stretchLink{ordinal: e.ordinal, page: l.page, index: l.index, first: l.first, last: l.last})
			}
		}
	})
}

// scorePages scores the links on the next pages of a stretch.
func (s *Shard) scorePages(b *stretch) error {
	var pages [][]uint64
	for len(pages) < pageChunk && b.done < len(b.byPage) {
		rest := b.byPage[b.done:]
		n := 1
		for n < len(rest) && rest[n]>>stretchBits == rest[0]>>stretchBits {
			n++
		}
		pages, b.done = append(pages, rest[:n]), b.done+n
	}
	return s.inParallel(len(pages), func(a *ahead, i int) error { return a.scoreStretch(b.links, pages[i]) })
}

// scoreStretch looks at a page and scores links on it. A page of seeds has no table, and its links score
// nothing; nor do any links where no apprentice ranks.
func (a *ahead) scoreStretch(links []stretchLink, of []uint64) error {
	number := of[0] >> stretchBits
	p, inMemory := a.shard.pages.peek(number)
	if !inMemory {
		var ok bool
		var err error
		if p, ok, err = readPage(a.get, &a.keys, number); err != nil || !ok {
			return err // that a page is gone is said where its link is moved
		}
	}
	scoring := a.model != nil && a.shard.learns && !p.seeds
	if scoring {
		t, inMemory := a.shard.tables.peek(number)
		if !inMemory {
			var err error
			if t, err = tableBy(linkfeature.TableIn, a.get, &a.keys, p); err != nil {
				return err
			}
		}
		a.page.Turn(a.model, t, a.shard.limits.dMax)
	}
	for _, i := range of {
		l := &links[i&(1<<stretchBits-1)]
		l.from = p
		if scoring {
			l.high, l.scored = a.score(l.first, l.last), true
		}
	}
	return nil
}

// give gives the links of an entry what is known of them in the stretch. at is where its links are, or
// those of an entry before it; it returns where those of the next one are.
func (b *stretch) give(e *entry, at int) int {
	for at < len(b.links) && b.links[at].ordinal < e.ordinal {
		at++
	}
	for ; at < len(b.links) && b.links[at].ordinal == e.ordinal; at++ {
		x := &b.links[at]
		for i := range e.links {
			if l := &e.links[i]; x.from != nil && l.page == x.page && l.index == x.index {
				l.high, l.scored, l.from = x.high, x.scored, x.from
			}
		}
	}
	return at
}

// from is where the links of an entry, or of the first one behind it, are.
func (b *stretch) from(ordinal uint64) int {
	return sort.Search(len(b.links), func(i int) bool { return b.links[i].ordinal >= ordinal })
}

// placeable says that place needs to read nothing and no scratch of the shard for an entry, and asks no ranker
// from outside, which may remember things.
func (s *Shard) placeable(e *entry) bool {
	if !e.loaded || len(s.options.Rankers) > 0 || s.expands {
		return false
	}
	_, scores := s.using.model.(*apprentice.Model)
	for i := range e.links {
		l := &e.links[i]
		if l.from == nil || !l.from.seeds && s.learns && s.using.model != nil && !(scores && l.scored) {
			return false
		}
	}
	return true
}

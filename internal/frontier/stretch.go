package frontier

import (
	"math"
	"slices"

	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
)

// A sweep goes through the frontier in stretches. The links of a stretch are collected, then their
// pages are read and the links scored in the order of the pages, so that each page and leaf table is
// read once a stretch and side by side with its neighbours, and then the entries are placed and moved. While the
// entries of a stretch are moved, on one processor, the next stretch is made on the others, from what is committed.
// All of that goes on in slices between which verdicts are applied; whatever those change belongs to the new
// generation at once, so what was scored of the others stays true.
type stretch struct {
	scoring
	// Its entries are those from begin < ordinal ≤ end; full: no more are to be.
	begin, end uint64
	full       bool
	// first is where the links of each entry begin, and the end of the last one's. An entry that the pass need not
	// score has none, nor are there those that stand beside their entries; they are scored when those are moved.
	first []uint32
	// Of each link, in the order of the entries: its leaves (leafPair), or the bits of what it scores once it is scored, and
	// where its page is in pages, plus 1; 0 = that was not looked at, or is gone.
	scores []uint64
	page   []uint32
	// byPage are page<<stretchBits | position of each link in the order of pages, pages[i]'s from starts[i]
	// on, of which done are scored; gone then.
	byPage []uint64
	starts []uint32
	pages  []page
	done   int
	// next is the stretch behind it, if that was begun.
	next *stretch
}

// scoring is what the links of a stretch are scored by.
type scoring struct {
	model Model
	dMax  int
	// ahead: they are; else it is only known where their pages are. named: rankers from outside want the pages' URLs.
	ahead, named bool
}

func (s *Shard) scoring() scoring {
	return scoring{
		model: s.using.model, dMax: s.limits.dMax,
		ahead: s.learns && s.scoredAheadBy() != nil, named: len(s.options.Rankers) > 0,
	}
}

const (
	// A stretch has fewer than 1<<stretchBits links.
	stretchBits = 24
	// What goes on side by side is in parts of so many entries to be collected, and pages to be read and scored.
	collectPart, pagesPart = 512, 16
	// What a slice does of a stretch while there is none to be moved, at most: entries collected, pages scored.
	collectAlone, scoreAlone = 1 << 12, 1 << 9
	// pagesBeside is how many pages of the next stretch are scored, at most, while the best entries are placed anew.
	pagesBeside = 1 << 7
	// collectPace is how many entries of the next stretch are collected for each that is moved.
	collectPace = 4
)

func leafPair(first, last uint32) uint64 { return uint64(first)<<32 | uint64(last) }

// newStretch begins a stretch behind an ordinal.
func (s *Shard) newStretch(behind uint64) *stretch {
	return &stretch{scoring: s.scoring(), begin: behind, end: behind, first: []uint32{0}}
}

// ready says that the links of the stretch are scored.
func (b *stretch) ready() bool { return b.ordered() && b.done == len(b.pages) }

// readyStretch goes on until the links of the next entries of the sweep are scored, which it
// returns, or a slice has had enough of it.
func (s *Shard) readyStretch() (ready bool, err error) {
	b := s.stretch
	if b != nil && b.full && s.c.swept >= b.end {
		b = b.next
	}
	if b == nil || b.scoring != s.scoring() {
		b = s.newStretch(s.c.swept)
	}
	s.stretch = b
	nothing := func() error { return nil }
	for from := b.end; !b.full; {
		if b.end-from >= collectAlone {
			return false, nil
		}
		if err := s.collect(b, collectAlone, nothing); err != nil {
			return false, err
		}
	}
	if !b.ordered() {
		b.order()
	}
	if !b.ready() {
		err = s.scorePages(b, scoreAlone, nothing)
	}
	return b.ready(), err
}

// moveBeside moves entries of the stretch, behind an ordinal, in the queues, and makes as much of the next one meanwhile as is
// needed for that to be scored when it is wanted.
func (s *Shard) moveBeside(moves []move, behind uint64) error {
	b, move := s.stretch, func() error { return s.moveSwept(moves) }
	if b.next == nil && b.end < s.c.entries {
		b.next = s.newStretch(b.end)
	}
	passed, left := s.c.swept-behind, b.end-behind
	switch next := b.next; {
	case next == nil || next.ready() || passed == 0:
		return move()
	case !next.full:
		return s.collect(next, collectPace*passed, move)
	case !next.ordered():
		return s.alongside(1, func(*ahead, int) error { next.order(); return nil }, move)
	default:
		pages := uint64(len(next.pages) - next.done)
		return s.scorePages(next, int((pages*passed+left-1)/left), move)
	}
}

// besideScoring does something that may move any entries, and scores some pages of the next stretch meanwhile if that has
// come so far.
func (s *Shard) besideScoring(do func() error) error {
	if b := s.stretch; b != nil && b.next != nil && b.next.ordered() && b.next.scoring == s.scoring() {
		return s.scorePages(b.next, pagesBeside, do)
	}
	return do()
}

// collected are the links of a range of entries: how many each has, and leaves and pages of all.
type collected struct {
	links         []uint32
	leaves, pages []uint64
}

// collect adds the links of up to n more entries, beside something else; the stretch is full once there are enough.
func (s *Shard) collect(b *stretch, n uint64, meanwhile func() error) error {
	last, ranking := min(b.end+min(n, uint64(max(1, s.roomIn(b)))), s.c.entries), s.c.unranked > 0
	parts := make([]collected, (last-b.end+collectPart-1)/collectPart)
	err := s.alongside(len(parts), func(a *ahead, i int) error {
		from := b.end + uint64(i)*collectPart
		return a.collect(&parts[i], ranking, from+1, min(from+collectPart, last))
	}, meanwhile)
	if err != nil {
		return err
	}
	for _, c := range parts {
		for _, n := range c.links {
			b.first = append(b.first, b.first[len(b.first)-1]+n)
		}
		for _, page := range c.pages {
			b.byPage = append(b.byPage, page<<stretchBits|uint64(len(b.byPage)))
		}
		b.scores = append(b.scores, c.leaves...)
	}
	b.end = last
	b.full = last == s.c.entries || s.roomIn(b) <= 0
	return nil
}

// roomIn is the number of links that a stretch may still take, more or less.
func (s *Shard) roomIn(b *stretch) int {
	links := s.memory/stretchShare - stretchEntryCost*len(b.first)
	return min(links/stretchLinkCost, 1<<stretchBits-1-collectAlone*inlineLinks) - len(b.byPage)
}

// ordered says that the links were brought into the order of their pages.
func (b *stretch) ordered() bool { return b.full && len(b.page) == len(b.scores) }

// order brings the links into the order of their pages.
func (b *stretch) order() {
	slices.Sort(b.byPage)
	for i, x := range b.byPage {
		if i == 0 || x>>stretchBits != b.byPage[i-1]>>stretchBits {
			b.starts = append(b.starts, uint32(i))
		}
	}
	b.pages, b.page = make([]page, len(b.starts)), make([]uint32, len(b.byPage))
}

// collect finds the links that stand in the entries of a range that the pass has not scored.
func (a *ahead) collect(c *collected, ranking bool, from, to uint64) error {
	c.links = make([]uint32, to-from+1)
	begin, end := a.keys.entries(from, to)
	return a.shard.store.ScanCommitted(begin, end, func(key, value []byte) (bool, error) {
		ordinal, err := a.keys.parseU64(key)
		if err != nil || !isQueued(value) {
			return err == nil, err
		}
		e := &a.spare
		if err := e.decode(ordinal, value); err != nil {
			return false, err
		}
		if !a.shard.isOldWhile(ranking, e) {
			return true, nil
		}
		for i := range e.links { // all of them stand in it
			l := &e.links[i]
			c.leaves, c.pages = append(c.leaves, leafPair(l.first, l.last)), append(c.pages, l.page)
		}
		c.links[ordinal-from] = uint32(len(e.links))
		return true, nil
	})
}

// scorePages scores the links on the next n pages of a stretch, beside something else.
func (s *Shard) scorePages(b *stretch, n int, meanwhile func() error) error {
	from, to := b.done, min(b.done+n, len(b.pages))
	err := s.alongside((to-from+pagesPart-1)/pagesPart, func(a *ahead, i int) error {
		return a.scoreStretch(b, from+i*pagesPart, min(from+(i+1)*pagesPart, to))
	}, meanwhile)
	if err != nil {
		return err
	}
	if b.done = to; b.ready() {
		b.byPage, b.starts = nil, nil // needed for scoring only
	}
	return nil
}

// number of a page of the stretch.
func (b *stretch) number(at int) uint64 { return b.byPage[b.starts[at]] >> stretchBits }

// linksOn are page and position of the links on a page of the stretch.
func (b *stretch) linksOn(at int) []uint64 {
	if at+1 < len(b.starts) {
		return b.byPage[b.starts[at]:b.starts[at+1]]
	}
	return b.byPage[b.starts[at]:]
}

// scoreStretch looks at pages of a stretch and scores the links on them. A page of seeds has no table, and its links score
// nothing; nor do any links where no apprentice ranks. What is missing of a page is said where its links are moved.
func (a *ahead) scoreStretch(b *stretch, from, to int) error {
	all := make([]int, 0, to-from)
	for at := from; at < to; at++ {
		all = append(all, at)
	}
	guided, scored := all[:0:0], all[:0:0]
	err := a.readEach(kindPage, b, all, func(at int, value []byte) error {
		p, err := decodePage(b.number(at), value)
		if err != nil {
			return err
		}
		if b.pages[at] = *p; !b.named {
			b.pages[at].url = "" // it is most of a page
		}
		if p.guided {
			guided = append(guided, at)
		}
		if b.ahead && !p.seeds {
			scored = append(scored, at)
		} else {
			b.look(at)
		}
		return nil
	})
	if err == nil {
		err = a.readEach(kindGuidance, b, guided, func(at int, value []byte) (err error) {
			b.pages[at].guidance, err = decodeGuidance(b.number(at), value)
			return err
		})
	}
	if err != nil {
		return err
	}
	return a.readEach(kindTable, b, scored, func(at int, value []byte) error {
		t, err := openTable(linkfeature.TableIn, value, b.number(at))
		if err != nil {
			return err
		}
		a.page.Turn(a.model, t, b.dMax)
		links := b.linksOn(at)
		a.page.Expect(len(links))
		for _, x := range links {
			score := &b.scores[x&(1<<stretchBits-1)]
			*score = math.Float64bits(a.score(uint32(*score>>32), uint32(*score)))
		}
		b.look(at)
		return nil
	})
}

// look notes that all is known of the links on a page that place wants.
func (b *stretch) look(at int) {
	for _, x := range b.linksOn(at) {
		b.page[x&(1<<stretchBits-1)] = uint32(at + 1)
	}
}

// readEach reads what is committed of some pages of a stretch.
func (a *ahead) readEach(kind byte, b *stretch, pages []int, f func(at int, value []byte) error) error {
	a.batch = a.batch[:0]
	for _, at := range pages {
		a.batch = append(a.batch, slices.Clone(a.keys.u64(kind, b.number(at))))
	}
	return a.shard.store.ReadCommitted(a.batch, func(i int, value []byte) error { return f(pages[i], value) })
}

// give gives the links of an entry of the stretch what is known of them. An entry that has other links than were
// collected, from the last commit, gets nothing: links are only added while an entry is queued, so their number tells.
func (b *stretch) give(e *entry) {
	at, end := b.first[e.ordinal-b.begin-1], b.first[e.ordinal-b.begin]
	if e.inline() != int(end-at) {
		return
	}
	for i := range e.links {
		l := &e.links[i]
		if l.apart {
			continue
		}
		if !b.knows(b.page[at], l.page) {
			return
		}
		if l.from = &b.pages[b.page[at]-1]; b.ahead && !l.from.seeds {
			l.high, l.scored = math.Float64frombits(b.scores[at]), true
		}
		at++
	}
}

// knows says that the page at a place of pages, plus 1, is that of a number, and all of it was found.
func (b *stretch) knows(at uint32, number uint64) bool {
	return at > 0 && b.pages[at-1].number == number && b.pages[at-1].guided == (len(b.pages[at-1].guidance) > 0)
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

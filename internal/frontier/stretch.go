package frontier

import (
	"math"
	"slices"

	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
)

// A sweep goes through the frontier in stretches. The links of a stretch are collected, then their
// pages are read and the links scored in the order of the pages, so that each page and leaf table is
// read once a stretch and in the order of the store, and then the entries are placed and moved. While the
// entries of a stretch are moved, on one processor, the next stretch is made on the others, from what is committed.
// Verdicts are applied between calls; the entries that they change belong to the new
// generation at once, so what was scored of the others stays valid.
type stretch struct {
	scoring
	// Its entries are those with begin < ordinal ≤ end; full: no more are added.
	begin, end uint64
	full       bool
	// first is where the links of each entry begin, and the end of the last one's. An entry that the pass need not
	// score has none. Links with keys of their own are not included; they are scored when their entry is moved.
	first []uint32
	// For each link, in the order of the entries: its leaves (leafPair), or the bits of its score once it is scored, and
	// the index of its page in pages, plus 1; 0 = the page was not read, or is gone.
	scores []uint64
	page   []uint32
	// byPage are page<<stretchBits | position of each link in the order of pages, those of pages[i] from starts[i]
	// on; done pages are scored. Both are nil when all are.
	byPage []uint64
	starts []uint32
	pages  []page
	done   int
	// next is the following stretch, if it was begun.
	next *stretch
}

// scoring is that by which the links of a stretch are scored.
type scoring struct {
	model Model
	dMax  int
	// ahead: they are scored; else only their pages are read. named: rankers from outside need the pages' URLs.
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
	// Parallel work is in parts of collectPart entries to be collected, and pagesPart pages to be read and scored.
	collectPart, pagesPart = 512, 16
	// The most that a call does for a stretch while there is none to be moved: entries collected, pages scored.
	collectAlone, scoreAlone = 1 << 12, 1 << 9
	// pagesBeside is how many pages of the next stretch are scored, at most, while the best entries are placed again.
	pagesBeside = 1 << 7
	// collectPace is how many entries of the next stretch are collected for each that is moved.
	collectPace = 4
)

func leafPair(first, last uint32) uint64 { return uint64(first)<<32 | uint64(last) }

// newStretch begins a stretch after an ordinal.
func (s *Shard) newStretch(behind uint64) *stretch {
	return &stretch{scoring: s.scoring(), begin: behind, end: behind, first: []uint32{0}}
}

// ready reports whether the links of the stretch are scored.
func (b *stretch) ready() bool { return b.ordered() && b.done == len(b.pages) }

// readyStretch works until the links of the next entries of the sweep are scored, or the limits of a call
// are reached; ready reports which.
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

// moveBeside moves entries of the stretch, after an ordinal, in the queues, and meanwhile makes as much of the next one as is
// needed for it to be scored in time.
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

// besideScoring calls do, which may move any entries, and meanwhile scores some pages of the next stretch if that is
// ordered.
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

// collect adds the links of up to n more entries while meanwhile runs; the stretch is full once there are enough.
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

// roomIn is about the number of links that a stretch may still take.
func (s *Shard) roomIn(b *stretch) int {
	links := s.memory/stretchShare - stretchEntryCost*len(b.first)
	return min(links/stretchLinkCost, 1<<stretchBits-1-collectAlone*inlineLinks) - len(b.byPage)
}

// ordered reports whether the links were brought into the order of their pages.
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

// collect collects the links in the values of entries of a range that the pass has not scored.
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
		for i := range e.links { // those in its value
			l := &e.links[i]
			c.leaves, c.pages = append(c.leaves, leafPair(l.first, l.last)), append(c.pages, l.page)
		}
		c.links[ordinal-from] = uint32(len(e.links))
		return true, nil
	})
}

// scorePages scores the links on the next n pages of a stretch while meanwhile runs.
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

// scoreStretch reads pages of a stretch and scores the links on them. Links of a page of seeds, which has no table, have no
// score; nor has any link if no apprentice ranks. A missing page is reported when its links are moved.
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
			b.pages[at].url = "" // it is most of a page's memory
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

// look notes that all that place needs of the links on a page was read.
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

// give passes page and score to the links of an entry of the stretch. An entry whose links are not those that were
// collected, from the last commit, gets nothing: links are only added while an entry is queued, so comparing their number is enough.
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

// knows reports whether pages[at-1] is the page of a number, and all of it was found.
func (b *stretch) knows(at uint32, number uint64) bool {
	return at > 0 && b.pages[at-1].number == number && b.pages[at-1].guided == (len(b.pages[at-1].guidance) > 0)
}

// placeable reports whether an entry can be placed without a read, without the shard's scratch memory, and without a ranker
// from outside, which may have state.
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

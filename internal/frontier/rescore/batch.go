package rescore

import (
	"math"
	"slices"

	"forager/internal/frontier/place"
	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
)

// batchShare is the part of the memory for a batch of a scan and the next one. It is estimated: a link takes 20 bytes and its share
// of a page, once while the entries are moved and once before, when it takes 8 more.
const batchShare, batchLinkCost, batchEntryCost = 8, 64, 8

// A scan goes through the frontier in batches. The links of a batch are collected, then their
// pages are read and the links scored in the order of the pages, so that each page and leaf table is
// read once a batch and in the order of the store, and then the entries are placed and moved. While the
// entries of a batch are moved, on one processor, the next batch is made on the others, from what is committed.
// Verdicts are applied between calls; the entries that they change belong to the new
// generation at once, so what was scored of the others stays valid.
type batch struct {
	scoring
	// Its entries are those with begin < ordinal ≤ end; full: no more are added.
	begin, end uint64
	full       bool
	// first is where the links of each entry begin, and the end of the last one's. An entry that the pass need not
	// score has none. Links with keys of their own are not included; they are scored when their entry is moved.
	first []uint32
	// For each link, in the order of the entries: its leaves, the first one in the upper half, or the bits of its score once it is scored, and
	// the index of its page in pages, plus 1; 0 = the page was not read, or is gone.
	scores []uint64
	page   []uint32
	// byPage are page<<batchBits | position of each link in the order of pages, those of pages[i] from starts[i]
	// on; done pages are scored. Both are nil when all are.
	byPage []uint64
	starts []uint32
	pages  []state.Page
	Done   int
	// Next is the following batch, if it was begun.
	Next *batch
}

// scoring is that by which the links of a batch are scored.
type scoring struct {
	model place.Model
	dMax  int
	// ahead: they are scored; else only their pages are read. named: rankers from outside need the pages' URLs.
	ahead, named bool
}

func (rs *Rescorer) scoring() scoring {
	return scoring{
		model: rs.places.Using.Model, dMax: rs.places.DMax,
		ahead: rs.places.Learns && rs.places.ScoredAheadBy() != nil, named: rs.places.Foreign,
	}
}

const (
	// A batch has fewer than 1<<batchBits links.
	batchBits = 24
	// Parallel work is in parts of collectPart entries to be collected, and pagesPart pages to be read and scored.
	collectPart, pagesPart = 512, 16
	// The most that a call does for a batch while there is none to be moved: entries collected, pages scored.
	collectAlone, scoreAlone = 1 << 12, 1 << 9
	// pagesMeanwhile is how many pages of the next batch are scored, at most, while the best entries are placed again.
	pagesMeanwhile = 1 << 7
	// collectPace is how many entries of the next batch are collected for each that is moved.
	collectPace = 4
)

// newBatch begins a batch after an ordinal.
func (rs *Rescorer) newBatch(behind uint64) *batch {
	return &batch{scoring: rs.scoring(), begin: behind, end: behind, first: []uint32{0}}
}

// ready reports whether the links of the batch are scored.
func (b *batch) ready() bool { return b.ordered() && b.Done == len(b.pages) }

// ReadyBatch works until the links of the next entries of the scan are scored, or the limits of a call
// are reached; ready reports which.
func (rs *Rescorer) ReadyBatch() (ready bool, err error) {
	b := rs.Batch
	if b != nil && b.full && rs.state.Counters.Scanned >= b.end {
		b = b.Next
	}
	if b == nil || b.scoring != rs.scoring() {
		b = rs.newBatch(rs.state.Counters.Scanned)
	}
	rs.Batch = b
	nothing := func() error { return nil }
	for from := b.end; !b.full; {
		if b.end-from >= collectAlone {
			return false, nil
		}
		if err := rs.collect(b, collectAlone, nothing); err != nil {
			return false, err
		}
	}
	if !b.ordered() {
		b.order()
	}
	if !b.ready() {
		err = rs.scorePages(b, scoreAlone, nothing)
	}
	return b.ready(), err
}

// MoveMeanwhile moves entries of the batch, after an ordinal, in the queues, and meanwhile makes as much of the next one as is
// needed for it to be scored in time.
func (rs *Rescorer) MoveMeanwhile(moves []Move, behind uint64) error {
	b, move := rs.Batch, func() error { return rs.moveScanned(moves) }
	if b.Next == nil && b.end < rs.state.Counters.Entries {
		b.Next = rs.newBatch(b.end)
	}
	passed, left := rs.state.Counters.Scanned-behind, b.end-behind
	switch next := b.Next; {
	case next == nil || next.ready() || passed == 0:
		return move()
	case !next.full:
		return rs.collect(next, collectPace*passed, move)
	case !next.ordered():
		return rs.workers.alongside(1, func(*Worker, int) error { next.order(); return nil }, move)
	default:
		pages := uint64(len(next.pages) - next.Done)
		return rs.scorePages(next, int((pages*passed+left-1)/left), move)
	}
}

// whileScoring calls do, which may move any entries, and meanwhile scores some pages of the next batch if that is
// ordered.
func (rs *Rescorer) whileScoring(do func() error) error {
	if b := rs.Batch; b != nil && b.Next != nil && b.Next.ordered() && b.Next.scoring == rs.scoring() {
		return rs.scorePages(b.Next, pagesMeanwhile, do)
	}
	return do()
}

// collected are the links of a range of entries: how many each has, and leaves and pages of all.
type collected struct {
	links         []uint32
	leaves, pages []uint64
}

// collect adds the links of up to n more entries while meanwhile runs; the batch is full once there are enough.
func (rs *Rescorer) collect(b *batch, n uint64, meanwhile func() error) error {
	last, ranking := min(b.end+min(n, uint64(max(1, rs.linksLeft(b)))), rs.state.Counters.Entries), rs.state.Counters.Unranked > 0
	parts := make([]collected, (last-b.end+collectPart-1)/collectPart)
	err := rs.workers.alongside(len(parts), func(a *Worker, i int) error {
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
			b.byPage = append(b.byPage, page<<batchBits|uint64(len(b.byPage)))
		}
		b.scores = append(b.scores, c.leaves...)
	}
	b.end = last
	b.full = last == rs.state.Counters.Entries || rs.linksLeft(b) <= 0
	return nil
}

// linksLeft is about the number of links that a batch may still take.
func (rs *Rescorer) linksLeft(b *batch) int {
	links := rs.Memory/batchShare - batchEntryCost*len(b.first)
	return min(links/batchLinkCost, 1<<batchBits-1-collectAlone*state.InlineLinks) - len(b.byPage)
}

// ordered reports whether the links were brought into the order of their pages.
func (b *batch) ordered() bool { return b.full && len(b.page) == len(b.scores) }

// order brings the links into the order of their pages.
func (b *batch) order() {
	slices.Sort(b.byPage)
	for i, x := range b.byPage {
		if i == 0 || x>>batchBits != b.byPage[i-1]>>batchBits {
			b.starts = append(b.starts, uint32(i))
		}
	}
	b.pages, b.page = make([]state.Page, len(b.starts)), make([]uint32, len(b.byPage))
}

// collect collects the links in the values of entries of a range that the pass has not scored.
func (a *Worker) collect(c *collected, ranking bool, from, to uint64) error {
	c.links = make([]uint32, to-from+1)
	begin, end := a.keys.Entries(from, to)
	return a.state.Store.ScanCommitted(begin, end, func(key, value []byte) (bool, error) {
		ordinal, err := a.keys.ParseU64(key)
		if err != nil || !queue.IsQueued(value) {
			return err == nil, err
		}
		e := &a.spare
		if err := e.Decode(ordinal, value); err != nil {
			return false, err
		}
		if !a.queues.IsOldWhile(ranking, e) {
			return true, nil
		}
		for i := range e.Links { // those in its value
			l := &e.Links[i]
			c.leaves, c.pages = append(c.leaves, uint64(l.First)<<32|uint64(l.Last)), append(c.pages, l.Page)
		}
		c.links[ordinal-from] = uint32(len(e.Links))
		return true, nil
	})
}

// scorePages scores the links on the next n pages of a batch while meanwhile runs.
func (rs *Rescorer) scorePages(b *batch, n int, meanwhile func() error) error {
	from, to := b.Done, min(b.Done+n, len(b.pages))
	err := rs.workers.alongside((to-from+pagesPart-1)/pagesPart, func(a *Worker, i int) error {
		return a.scoreBatch(b, from+i*pagesPart, min(from+(i+1)*pagesPart, to))
	}, meanwhile)
	if err != nil {
		return err
	}
	if b.Done = to; b.ready() {
		b.byPage, b.starts = nil, nil // needed for scoring only
	}
	return nil
}

// number of a page of the batch.
func (b *batch) number(at int) uint64 { return b.byPage[b.starts[at]] >> batchBits }

// linksOn are page and position of the links on a page of the batch.
func (b *batch) linksOn(at int) []uint64 {
	if at+1 < len(b.starts) {
		return b.byPage[b.starts[at]:b.starts[at+1]]
	}
	return b.byPage[b.starts[at]:]
}

// scoreBatch reads pages of a batch and scores the links on them. Links of a page of seeds, which has no table, have no
// score; nor has any link if no apprentice ranks. A missing page is reported when its links are moved.
func (a *Worker) scoreBatch(b *batch, from, to int) error {
	all := make([]int, 0, to-from)
	for at := from; at < to; at++ {
		all = append(all, at)
	}
	guided, scored := all[:0:0], all[:0:0]
	err := a.readEach(state.KindPage, b, all, func(at int, value []byte) error {
		p, err := state.DecodePage(b.number(at), value)
		if err != nil {
			return err
		}
		if b.pages[at] = *p; !b.named {
			b.pages[at].URL = "" // it is most of a page's memory
		}
		if p.Guided {
			guided = append(guided, at)
		}
		if b.ahead && !p.Seeds {
			scored = append(scored, at)
		} else {
			b.markRead(at)
		}
		return nil
	})
	if err == nil {
		err = a.readEach(state.KindGuidance, b, guided, func(at int, value []byte) (err error) {
			b.pages[at].Guidance, err = state.DecodeGuidance(b.number(at), value)
			return err
		})
	}
	if err != nil {
		return err
	}
	return a.readEach(state.KindTable, b, scored, func(at int, value []byte) error {
		t, err := a.state.OpenTable(value, b.number(at))
		if err != nil {
			return err
		}
		a.page.Turn(a.model, t, b.dMax)
		for _, x := range b.linksOn(at) {
			score := &b.scores[x&(1<<batchBits-1)]
			*score = math.Float64bits(a.score(uint32(*score>>32), uint32(*score)))
		}
		b.markRead(at)
		return nil
	})
}

// markRead notes that all that place needs of the links on a page was read.
func (b *batch) markRead(at int) {
	for _, x := range b.linksOn(at) {
		b.page[x&(1<<batchBits-1)] = uint32(at + 1)
	}
}

// readEach reads what is committed of some pages of a batch.
func (a *Worker) readEach(kind byte, b *batch, pages []int, f func(at int, value []byte) error) error {
	a.batch = a.batch[:0]
	for _, at := range pages {
		a.batch = append(a.batch, slices.Clone(a.keys.U64(kind, b.number(at))))
	}
	return a.state.Store.ReadCommitted(a.batch, func(i int, value []byte) error { return f(pages[i], value) })
}

// assign passes page and score to the links of an entry of the batch. An entry whose links are not those that were
// collected, from the last commit, gets nothing: links are only added while an entry is queued, so comparing their number is enough.
func (b *batch) assign(e *state.Entry) {
	at, end := b.first[e.Ordinal-b.begin-1], b.first[e.Ordinal-b.begin]
	if e.Inline() != int(end-at) {
		return
	}
	for i := range e.Links {
		l := &e.Links[i]
		if l.Apart {
			continue
		}
		if !b.known(b.page[at], l.Page) {
			return
		}
		if l.Source = &b.pages[b.page[at]-1]; b.ahead && !l.Source.Seeds {
			l.High, l.Scored = math.Float64frombits(b.scores[at]), true
		}
		at++
	}
}

// known reports whether pages[at-1] is the page of a number, and all of it was found.
func (b *batch) known(at uint32, number uint64) bool {
	return at > 0 && b.pages[at-1].Number == number && b.pages[at-1].Guided == (len(b.pages[at-1].Guidance) > 0)
}

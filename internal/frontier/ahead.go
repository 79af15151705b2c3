package frontier

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Most of the time of a pass of re-scoring is spent on reading leaf tables and scoring the links on them.
// Neither changes anything, so it is done in advance, on all processors, for the entries that are
// moved in the queues afterwards one by one. Verdicts are prepared in the same way (prepare.go).

// ahead is what one goroutine needs for reading and scoring concurrently with others, while the shard does not
// change. Its scratch memory is large, so the shard keeps some of them.
type ahead struct {
	shard *Shard // to be read only
	model *apprentice.Model
	keys  keys
	page  apprentice.Page
	buf   []byte
	spare entry
	batch [][]byte
	leaf  schemas.Link
}

// ahead returns one that is not in use.
func (s *Shard) ahead() *ahead {
	if a, ok := s.aheads.Get().(*ahead); ok {
		return a
	}
	return &ahead{shard: s, keys: newKeys(shardPrefix(s.name))}
}

// inParallel calls do for 0 ≤ i < n on all processors, and returns an error of a call that failed;
// other calls may be left out then.
func (s *Shard) inParallel(n int, do func(a *ahead, i int) error) error {
	return s.alongside(n, do, func() error { return nil })
}

// alongside is inParallel while the shard runs meanwhile on one processor: do reads what is committed, and nothing of the
// shard that changes.
func (s *Shard) alongside(n int, do func(a *ahead, i int) error, meanwhile func() error) error {
	m := s.scoredAheadBy()
	var next atomic.Int64
	work := func() error {
		a := s.ahead()
		defer s.aheads.Put(a)
		a.model = m
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			if err := do(a, int(i)); err != nil {
				return err
			}
		}
		return nil
	}
	var group errgroup.Group
	for range min(runtime.GOMAXPROCS(0)-1, n) {
		group.Go(func() error { return guarded(work) })
	}
	err := guarded(meanwhile)
	if err == nil {
		err = guarded(work)
	}
	return cmp.Or(err, group.Wait())
}

// panicError is a panic in another goroutine, where it would end the process.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// guarded calls f; a panic is an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	return f()
}

// inParts divides the numbers from ≤ number ≤ to into parts and calls do for them in parallel.
func (s *Shard) inParts(from, to uint64, parts int, do func(part int, from, to uint64) error) error {
	if from > to {
		return nil
	}
	size := (to - from + uint64(parts)) / uint64(parts)
	return s.inParallel(parts, func(_ *ahead, i int) error {
		first := from + uint64(i)*size
		if first > to {
			return nil
		}
		return do(i, first, min(to, first+size-1))
	})
}

// scoredAheadBy is the model by which links are scored in advance; nil if a score depends on more than the page.
func (s *Shard) scoredAheadBy() *apprentice.Model {
	if s.limits.families.Cocitation() {
		return nil
	}
	m, _ := s.using.model.(*apprentice.Model)
	return m
}

func (a *ahead) get(key []byte) (value []byte, ok bool, err error) {
	if value, ok, err = a.shard.store.Read(key, a.buf[:0]); ok {
		a.buf = value
	}
	return value, ok, err
}

// score is Pr(high | u,v) of the leaves from first to last of the page set by Turn.
func (a *ahead) score(first, last uint32) float64 {
	a.leaf.FirstLeaf, a.leaf.LastLeaf = first, last
	return a.page.Score(&a.leaf)
}

// pagesAtOnce is how many pages that were read are in memory in addition to those that are held.
const pagesAtOnce = 1 << 9

// pageWork is a page with the links on it that are to be scored.
type pageWork struct {
	links []*link
	// page and table are those in memory, or those read, until they are held.
	page  *page
	table *linkfeature.Table
	read  bool
}

// scoreAhead scores links of entries that are not scored under the model in use, page by page, as each page's
// terms have to be looked up first. Afterwards all that place needs is in memory.
func (s *Shard) scoreAhead(entries []*entry) error {
	if !s.learns || s.scoredAheadBy() == nil {
		return nil // place scores them one by one
	}
	for work := range slices.Chunk(s.pageWork(entries), pagesAtOnce) {
		if err := s.inParallel(len(work), func(a *ahead, i int) error { return a.scorePage(&work[i]) }); err != nil {
			return err
		}
		for i := range work {
			w := &work[i]
			if w.read {
				s.holdPage(w.page)
				for _, l := range w.links {
					l.from = w.page
				}
			}
			if w.table != nil {
				s.holdTable(w.page, w.table)
				w.table = nil // memory is bounded by those that are held
			}
		}
	}
	return nil
}

// pageWork sorts the links of entries that are to be scored by their pages, and notes the pages of all links that are
// in memory.
func (s *Shard) pageWork(entries []*entry) []pageWork {
	var work []pageWork
	at := make(map[uint64]int)
	for _, e := range entries {
		only := s.onlyScores(e)
		for i := range e.links {
			l := &e.links[i]
			if l.scored {
				continue
			}
			n, ok := at[l.page]
			if !ok {
				n = len(work)
				at[l.page] = n
				var w pageWork
				w.page, _ = s.pages.peek(l.page)
				w.table, _ = s.tables.peek(l.page)
				work = append(work, w)
			}
			w := &work[n]
			if l.from = w.page; l.from == nil || !only || s.wantsScore(e, l.from, l) {
				w.links = append(w.links, l)
			}
		}
	}
	work = slices.DeleteFunc(work, func(w pageWork) bool { return len(w.links) == 0 })
	slices.SortFunc(work, func(a, b pageWork) int { return cmp.Compare(a.links[0].page, b.links[0].page) }) // the order of the store
	return work
}

// scorePage reads what is not in memory and scores the links.
func (a *ahead) scorePage(w *pageWork) error {
	if w.page == nil {
		var ok bool
		var err error
		if w.page, ok, err = readPage(a.get, &a.keys, w.links[0].page); err != nil || !ok {
			return cmp.Or(err, missingPage(w.links[0]))
		}
		w.read = true
	}
	if w.page.seeds {
		return nil
	}
	if w.table == nil {
		var err error
		if w.table, err = readTable(a.get, &a.keys, w.page); err != nil {
			return err
		}
		w.read = true
	}
	w.table.KeepHashes() // it is in memory and will be used again
	a.page.Turn(a.model, w.table, a.shard.limits.dMax)
	a.page.Expect(len(w.links))
	for _, l := range w.links {
		l.high, l.scored = a.score(l.first, l.last), true
	}
	return nil
}

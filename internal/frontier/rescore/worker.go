package rescore

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"forager/internal/frontier/place"
	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Most of the time of a pass of re-scoring is spent on reading leaf tables and scoring the links on them.
// Neither changes anything, so it is done in advance, on all processors, for the entries that are
// moved in the queues afterwards one by one. Verdicts are prepared in the same way (prepare.go).

// Workers read and score on all processors.
type Workers struct {
	state  *state.Records
	pages  *state.Pages
	queues *queue.Queues
	places *place.Placer
	// idle are those not in use.
	idle sync.Pool
}

// NewWorkers returns workers that read the parts of a shard.
func NewWorkers(state *state.Records, pages *state.Pages, queues *queue.Queues, places *place.Placer) *Workers {
	return &Workers{state: state, pages: pages, queues: queues, places: places}
}

// Worker is what one goroutine needs for reading and scoring concurrently with others, while the shard does not
// change. Its scratch memory is large, so the shard keeps some of them.
type Worker struct {
	*Workers // to be read only
	model    *apprentice.Model
	keys     state.Keys
	page     apprentice.Page
	buf      []byte
	spare    state.Entry
	batch    [][]byte
	leaf     schemas.Link
}

// worker returns one that is not in use.
func (wk *Workers) worker() *Worker {
	if a, ok := wk.idle.Get().(*Worker); ok {
		return a
	}
	return &Worker{Workers: wk, keys: state.NewKeys(state.ShardPrefix(wk.state.Name))}
}

// InParallel calls do for 0 ≤ i < n on all processors, and returns an error of a call that failed;
// other calls may be left out then.
func (wk *Workers) InParallel(n int, do func(a *Worker, i int) error) error {
	return wk.alongside(n, do, func() error { return nil })
}

// alongside is InParallel while the shard runs meanwhile on one processor: do reads what is committed, and nothing of the
// shard that changes.
func (wk *Workers) alongside(n int, do func(a *Worker, i int) error, meanwhile func() error) error {
	m := wk.places.ScoredAheadBy()
	var next atomic.Int64
	work := func() error {
		a := wk.worker()
		defer wk.idle.Put(a)
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
func (wk *Workers) inParts(from, to uint64, parts int, do func(part int, from, to uint64) error) error {
	if from > to {
		return nil
	}
	size := (to - from + uint64(parts)) / uint64(parts)
	return wk.InParallel(parts, func(_ *Worker, i int) error {
		first := from + uint64(i)*size
		if first > to {
			return nil
		}
		return do(i, first, min(to, first+size-1))
	})
}

func (a *Worker) get(key []byte) (value []byte, ok bool, err error) {
	if value, ok, err = a.state.Store.Read(key, a.buf[:0]); ok {
		a.buf = value
	}
	return value, ok, err
}

// score is Pr(high | u,v) of the leaves from first to last of the page set by Turn.
func (a *Worker) score(first, last uint32) float64 {
	a.leaf.FirstLeaf, a.leaf.LastLeaf = first, last
	return a.page.Score(&a.leaf)
}

// pagesAtOnce is how many pages that were read are in memory in addition to those that are held.
const pagesAtOnce = 1 << 9

// pageWork is a page with the links on it that are to be scored.
type pageWork struct {
	links []*state.Link
	// page and table are those in memory, or those read, until they are held.
	page  *state.Page
	table *linkfeature.Table
	read  bool
}

// scoreAhead scores links of entries that are not scored under the model in use, page by page, as each page's
// terms have to be looked up first. Afterwards all that place needs is in memory.
func (wk *Workers) scoreAhead(entries []*state.Entry) error {
	if !wk.places.Learns || wk.places.ScoredAheadBy() == nil {
		return nil // place scores them one by one
	}
	for work := range slices.Chunk(wk.pageWork(entries), pagesAtOnce) {
		if err := wk.InParallel(len(work), func(a *Worker, i int) error { return a.scorePage(&work[i]) }); err != nil {
			return err
		}
		for i := range work {
			w := &work[i]
			if w.read {
				wk.pages.HoldPage(w.page)
				for _, l := range w.links {
					l.Source = w.page
				}
			}
			if w.table != nil {
				wk.pages.HoldTable(w.page, w.table)
				w.table = nil // memory is bounded by those that are held
			}
		}
	}
	return nil
}

// pageWork sorts the links of entries that are to be scored by their pages, and notes the pages of all links that are
// in memory.
func (wk *Workers) pageWork(entries []*state.Entry) []pageWork {
	var work []pageWork
	at := make(map[uint64]int)
	for _, e := range entries {
		only := wk.places.OnlyScores(e)
		for i := range e.Links {
			l := &e.Links[i]
			if l.Scored {
				continue
			}
			n, ok := at[l.Page]
			if !ok {
				n = len(work)
				at[l.Page] = n
				var w pageWork
				w.page, _ = wk.pages.Cache.Peek(l.Page)
				w.table, _ = wk.pages.Tables.Peek(l.Page)
				work = append(work, w)
			}
			w := &work[n]
			if l.Source = w.page; l.Source == nil || !only || wk.places.WantsScore(e, l.Source, l) {
				w.links = append(w.links, l)
			}
		}
	}
	work = slices.DeleteFunc(work, func(w pageWork) bool { return len(w.links) == 0 })
	slices.SortFunc(work, func(a, b pageWork) int { return cmp.Compare(a.links[0].Page, b.links[0].Page) }) // the order of the store
	return work
}

// scorePage reads what is not in memory and scores the links.
func (a *Worker) scorePage(w *pageWork) error {
	if w.page == nil {
		var ok bool
		var err error
		if w.page, ok, err = state.ReadPage(a.get, &a.keys, w.links[0].Page); err != nil || !ok {
			return cmp.Or(err, state.MissingPage(w.links[0]))
		}
		w.read = true
	}
	if w.page.Seeds {
		return nil
	}
	if w.table == nil {
		var err error
		if w.table, err = a.state.ReadTable(a.get, &a.keys, w.page); err != nil {
			return err
		}
		w.read = true
	}
	a.page.Turn(a.model, w.table, a.places.DMax)
	for _, l := range w.links {
		l.High, l.Scored = a.score(l.First, l.Last), true
	}
	return nil
}

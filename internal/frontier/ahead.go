package frontier

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"forager/internal/apprentice"
	"forager/internal/linkfeature"
	"forager/schemas"
)

// Most of what a pass of re-scoring takes is reading leaf tables and scoring the links on them.
// Neither changes anything, so it is done ahead, on all processors, for as many entries as are
// moved in the queues afterwards one by one.

// pageWork is a page with the links on it that are to be scored.
type pageWork struct {
	links []*link
	// page and table are what was in memory of them, or what was read.
	page  *page
	table *linkfeature.Table
	read  bool
	err   error
}

// scoreAhead scores the links of entries under the model in use, page by page, as each page's
// terms have to be looked up first. What place asks for next is in memory then.
func (s *Shard) scoreAhead(entries []*entry) error {
	m, ok := s.using.model.(*apprentice.Model)
	if !s.learns || !ok {
		return nil // place scores them one by one
	}
	work := s.pageWork(entries)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(work)) {
		w := aheadScorer{shard: s, model: m, keys: newKeys(shardPrefix(s.name))}
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(work)); i = next.Add(1) - 1 {
				work[i].err = w.score(&work[i])
			}
		})
	}
	wg.Wait()
	for i := range work {
		w := &work[i]
		if w.err != nil {
			return w.err
		}
		if w.read {
			s.holdPage(w.page)
		}
		if w.read && w.table != nil {
			s.holdTable(w.page, w.table)
		}
	}
	return nil
}

// pageWork puts the links of entries in the order of their pages.
func (s *Shard) pageWork(entries []*entry) []pageWork {
	var links []*link
	for _, e := range entries {
		for i := range e.links {
			links = append(links, &e.links[i])
		}
	}
	slices.SortFunc(links, func(a, b *link) int {
		return cmp.Or(cmp.Compare(a.page, b.page), cmp.Compare(a.index, b.index))
	})
	var work []pageWork
	for len(links) > 0 {
		n := 1
		for n < len(links) && links[n].page == links[0].page {
			n++
		}
		w := pageWork{links: links[:n]}
		w.page, _ = s.pages.peek(links[0].page)
		w.table, _ = s.tables.peek(links[0].page)
		work, links = append(work, w), links[n:]
	}
	return work
}

// aheadScorer is what one goroutine needs.
type aheadScorer struct {
	shard *Shard // only what does not change meanwhile
	model *apprentice.Model
	keys  keys
	page  apprentice.Page
	buf   []byte
	leaf  schemas.Link
}

func (a *aheadScorer) get(key []byte) (value []byte, ok bool, err error) {
	if value, ok, err = a.shard.store.Read(key, a.buf[:0]); ok {
		a.buf = value
	}
	return value, ok, err
}

func (a *aheadScorer) score(w *pageWork) error {
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
	dMax := a.shard.limits.dMax
	a.page.Turn(a.model, w.table, dMax)
	for _, l := range w.links {
		a.leaf.FirstLeaf, a.leaf.LastLeaf = l.first, l.last
		l.high, l.scored = a.page.Score(&a.leaf), true
	}
	return nil
}

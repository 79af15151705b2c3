package rescore

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"

	"forager/internal/frontier/place"
	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Applying a verdict needs many reads: each link's place in the seen-set and its entry,
// and for leaps that are settled the leaf tables of the pages that they are on. Prepare starts these reads
// for many verdicts at once, on all processors, and scores their links; that goes on while the first of them
// are applied. It finds what Apply would have found, so Apply has the same result with or without it (docs/decisions/0105).
//
// Prepare itself looks up what is in memory. The goroutines that run concurrently with Apply read the store, the record and the model, and
// nothing of the shard that changes. An entry that was stored since then may have been read before or after, so what was
// read of it is not used.

// prefetched is what was computed of a verdict in advance.
type prefetched struct {
	rec *schemas.LinkFound
	// ready is closed when it is complete. Until then it belongs to the goroutine that makes it.
	ready chan struct{}
	// failed: it is not used. Apply finds the error again and returns it; it returns panicked, which may not occur again.
	failed   bool
	panicked *panicError

	// found are its links, scored under model at made.DMax.
	found []found
	model *apprentice.Model
	// leaps into the verdict's entry, which it settles.
	leaps []prefetchedLeap
	made  place.MadeFeatures

	// What was read, to be kept in memory.
	entry  *state.Entry
	pages  []*state.Page
	tables []pageTable
}

// found is a link as it was looked up in advance.
type found struct {
	id schemas.ID
	// entry of its URL, in memory during Prepare, or read since; nil = the URL was not seen. final: it is visited.
	entry *state.Entry
	final bool
	// ordinal that it most likely has, if it is to be read; 0 = unknown.
	ordinal uint64
	// seen is false if it is certain that the URL was not seen.
	seen bool
	// high is its score, if its URL was not visited; its features are made if it was.
	high   float64
	scored bool
}

// prefetchedLeap is a leap that a verdict settles, with the leaf table of its page if that was in memory.
type prefetchedLeap struct {
	at    place.LeafRange
	page  *state.Page
	table *linkfeature.Table
}

type pageTable struct {
	page  *state.Page
	table *linkfeature.Table
}

// prefetching is the work for the verdicts of a step that runs concurrently with Apply, by the shard's settings when it began.
type prefetching struct {
	made  []prefetched
	next  atomic.Int64
	model *apprentice.Model
	// scores: links are scored by the model. features: those of leaps are made, visited: of leaps into visited pages, too.
	scores, features, visited bool
	dMax                      int
	families                  linkfeature.Families
	hosts                     uint32
}

// Prefetcher prepares verdicts.
type Prefetcher struct {
	state   *state.Records
	pages   *state.Pages
	queues  *queue.Queues
	places  *place.Placer
	workers *Workers
	// flying returns the entry of a request in flight.
	flying func(id schemas.ID) (ordinal uint64, ok bool)
	// Forward: leaps into visited pages are not settled, so that their features are not prepared.
	Forward bool
	// Features: those of leaps are wanted.
	Features  bool
	prepared  map[*schemas.LinkFound]*prefetched
	preparing *prefetching
	// settling is that of the verdict being applied; nil if none is complete.
	settling *prefetched
}

// NewPrefetcher returns a prefetcher; flying returns the entry of a request in flight.
func NewPrefetcher(workers *Workers, flying func(id schemas.ID) (ordinal uint64, ok bool)) *Prefetcher {
	return &Prefetcher{
		state: workers.state, pages: workers.pages, queues: workers.queues, places: workers.places, workers: workers, flying: flying,
	}
}

// Prepare is Shard.Prepare.
func (pf *Prefetcher) Prepare(recs []*schemas.LinkFound) error {
	work := &prefetching{
		made: make([]prefetched, len(recs)), model: pf.places.ScoredAheadBy(), features: pf.Features, visited: pf.Features && !pf.Forward,
		dMax: pf.places.DMax, families: pf.places.Families, hosts: pf.state.Counters.Hosts,
	}
	work.scores = work.model != nil && pf.places.Learns && (pf.places.Scored == nil || slices.Max(pf.places.Scored) > 0)
	if err := pf.workers.InParallel(len(recs), func(a *Worker, i int) error {
		m := &work.made[i]
		*m = prefetched{rec: recs[i], ready: make(chan struct{}), made: place.MadeFeatures{DMax: work.dMax, Families: work.families}}
		return m.guard(func() error { return a.lookUp(m, pf.flying) })
	}); err != nil {
		return err
	}
	pf.state.Dirty.Begin()
	pf.preparing, pf.prepared = work, make(map[*schemas.LinkFound]*prefetched, len(recs))
	for i := range work.made {
		m := &work.made[i]
		pf.prepared[m.rec] = m
		pf.take(m)
	}
	for range min(runtime.GOMAXPROCS(0)-1, len(recs)) {
		go func() {
			a := pf.workers.worker()
			defer pf.workers.idle.Put(a)
			for work.one(a) {
			}
		}()
	}
	return pf.scoreStale(work)
}

// one prepares the next verdict that no goroutine has taken; more is false if none is left.
func (w *prefetching) one(a *Worker) (more bool) {
	i := w.next.Add(1) - 1
	if i >= int64(len(w.made)) {
		return false
	}
	m := &w.made[i]
	defer close(m.ready)
	if !m.failed {
		err := m.guard(func() error { return a.prepare(w, m) })
		m.failed = m.failed || err != nil
	}
	return true
}

// guard calls f; it keeps a panic for Apply, so that it is attributed to the record.
func (m *prefetched) guard(f func() error) error {
	err := guarded(f)
	if errors.As(err, &m.panicked) {
		m.failed = true
		return nil
	}
	return err
}

// Wait returns when all verdicts are prepared.
func (pf *Prefetcher) Wait() {
	for i := range pf.preparing.made {
		pf.await(&pf.preparing.made[i])
	}
}

// await returns what was prepared of a verdict; nil if that is nothing. Until it is complete await prepares other verdicts.
func (pf *Prefetcher) await(m *prefetched) *prefetched {
	if m == nil {
		return nil
	}
	a := pf.workers.worker()
	defer pf.workers.idle.Put(a)
	for {
		select {
		case <-m.ready:
			if m.failed {
				return nil
			}
			return m
		default:
		}
		if !pf.preparing.one(a) {
			<-m.ready
		}
	}
}

// DropPrepared drops what was prepared.
func (pf *Prefetcher) DropPrepared() {
	pf.preparing, pf.prepared, pf.state.Dirty.On = nil, nil, false
}

// scoreStale scores the links of entries that links of verdicts lead to and that a pass has yet to score: they are placed again
// when the first of those links is applied.
func (pf *Prefetcher) scoreStale(work *prefetching) error {
	pf.places.Stale = place.Highs{}
	if !pf.queues.Passing() || pf.state.Counters.Unranked > 0 {
		return nil
	}
	seen := make(map[uint64]bool)
	var entries []*state.Entry
	for i := range work.made {
		m := pf.await(&work.made[i])
		if m == nil {
			continue
		}
		for _, f := range m.found {
			if e := f.entry; e != nil && e.State == state.Queued && !seen[e.Ordinal] && !pf.places.Fresh(e) {
				seen[e.Ordinal] = true
				// Of copies: the entry's own links would stay scored if it is not placed after all.
				entries = append(entries, &state.Entry{URL: e.URL, Places: e.Places, Links: slices.Clone(e.Links)})
			}
		}
	}
	if err := pf.workers.scoreAhead(entries); err != nil {
		return err
	}
	pf.places.Stale = place.Highs{Model: pf.places.Using.Model, DMax: pf.places.DMax, Of: make(map[place.LinkName]float64)}
	for _, e := range entries {
		for i := range e.Links {
			if l := &e.Links[i]; l.Scored {
				pf.places.Stale.Of[place.LinkName{Page: l.Page, Index: l.Index}] = l.High
			}
		}
	}
	return nil
}

// take keeps in memory what Prepare read.
func (pf *Prefetcher) take(m *prefetched) {
	if m.entry != nil {
		pf.state.KeepRead(m.entry)
	}
	for _, p := range m.pages {
		if _, ok := pf.pages.Cache.Peek(p.Number); !ok {
			pf.pages.HoldPage(p)
		}
	}
	m.entry, m.pages = nil, nil
}

// Begin takes what was prepared of the verdict that is applied next, and keeps in memory the leaf tables that were read for it. It
// returns the panic of a goroutine that prepared it.
func (pf *Prefetcher) Begin(rec *schemas.LinkFound) error {
	m := pf.prepared[rec]
	delete(pf.prepared, rec)
	pf.settling, pf.places.Made = pf.await(m), nil
	if m != nil && m.panicked != nil {
		return m.panicked
	}
	if m = pf.settling; m != nil {
		pf.places.Made = &m.made
		for _, t := range m.tables {
			pf.pages.HoldTable(t.page, t.table)
		}
	}
	return nil
}

// End follows begin when the verdict was applied.
func (pf *Prefetcher) End() {
	pf.settling, pf.places.Made = nil, nil
	pf.state.Dirty.On = len(pf.prepared) > 0
}

// lookUp finds in memory what a verdict needs. Errors in the record are left to Apply.
func (a *Worker) lookUp(m *prefetched, flying func(id schemas.ID) (ordinal uint64, ok bool)) error {
	links := m.rec.GetLinks()
	m.found, m.made.Links = make([]found, len(links)), make([][]*schemas.Feature, len(links))
	for i, l := range links {
		a.lookFor(l.GetUrl(), &m.found[i])
	}
	return a.lookUpLeaps(m, flying)
}

// lookFor finds the URL of a link in memory, or how it is to be read.
func (a *Worker) lookFor(url string, f *found) {
	f.id = schemas.URLID(url)
	if ordinal, ok := a.state.Known.Ordinals.Peek(f.id); ok {
		e, held := a.state.Entries.Peek(ordinal)
		switch {
		case !held:
			f.ordinal = ordinal
		case e.URL == url:
			f.entry, f.final, f.seen = e, e.State == state.Final, true
			return
		}
	}
	f.seen = f.ordinal != 0 || a.state.Known.Has(f.id)
}

// lookUpLeaps finds the leaps that a final verdict settles.
func (a *Worker) lookUpLeaps(m *prefetched, flying func(id schemas.ID) (ordinal uint64, ok bool)) error {
	outcome := m.rec.GetOutcome()
	id, err := schemas.ParseID(m.rec.GetId())
	if err != nil {
		return nil
	}
	ordinal, ok := flying(id)
	if !ok || schemas.Outcomes[outcome].Retry || outcome == schemas.Outcome_OUTCOME_REDIRECTED {
		return nil
	}
	e, ok := a.state.Entries.Peek(ordinal)
	if !ok {
		if e, err = state.ReadEntry(a.get, &a.keys, ordinal, a.state.Counters.Hosts); err != nil {
			return err
		}
		m.entry = e
	}
	for i := range e.Links { // those that are not loaded are rare
		l := &e.Links[i]
		p, ok := a.pages.Cache.Peek(l.Page)
		if !ok {
			if p, ok, err = state.ReadPage(a.get, &a.keys, l.Page); err != nil || !ok {
				return err
			}
			m.pages = append(m.pages, p)
		}
		if !p.Seeds {
			t, _ := a.pages.Tables.Peek(l.Page)
			m.leaps = append(m.leaps, prefetchedLeap{at: place.LeafRange{Page: l.Page, First: l.First, Last: l.Last}, page: p, table: t})
		}
	}
	return nil
}

// prepare reads what a verdict needs and was not in memory, and computes what Apply will need.
func (a *Worker) prepare(w *prefetching, m *prefetched) error {
	for i, l := range m.rec.GetLinks() {
		if err := a.find(w, l.GetUrl(), &m.found[i]); err != nil {
			return err
		}
	}
	table, err := linkfeature.Open(m.rec.GetTable())
	if err != nil {
		return nil // left to Apply
	}
	if len(m.found) > 0 && m.rec.GetOutcome() != schemas.Outcome_OUTCOME_SEEDS {
		a.prepareLinks(w, m, table)
	}
	if !w.features {
		return nil
	}
	return a.prepareLeaps(m)
}

// find is Records.SeenBy concurrently with Apply, for a URL whose entry is not in memory.
func (a *Worker) find(w *prefetching, url string, f *found) (err error) {
	if f.entry != nil || !f.seen {
		return nil
	}
	if f.ordinal != 0 {
		if f.entry, err = state.ReadEntry(a.get, &a.keys, f.ordinal, w.hosts); err != nil {
			return err
		}
	}
	if f.entry == nil || f.entry.URL != url { // once in some thousands of times another URL has the same tag
		f.entry = nil
		ordinal, ok, err := state.ReadSeen(a.get, &a.keys, f.id)
		if f.seen = ok; err != nil || !ok {
			return err
		}
		if f.entry, err = state.ReadEntry(a.get, &a.keys, ordinal, w.hosts); err != nil {
			return err
		}
	}
	f.final = f.entry.State == state.Final
	return nil
}

// prepareLinks scores the links that may place their URLs, and makes the features of those that settle at once.
func (a *Worker) prepareLinks(w *prefetching, m *prefetched, table *linkfeature.Table) {
	if w.scores {
		m.model = w.model
		a.page.Turn(w.model, table, w.dMax)
	}
	for i, l := range m.rec.GetLinks() {
		f := &m.found[i]
		switch {
		case f.final:
			if w.visited {
				m.made.Links[i] = table.FeaturesOf(l, w.dMax, w.families)
			}
		case w.scores:
			f.high, f.scored = a.score(l.GetFirstLeaf(), l.GetLastLeaf()), true
		}
	}
}

// prepareLeaps makes the features of the leaps that a final verdict settles.
func (a *Worker) prepareLeaps(m *prefetched) (err error) {
	m.made.Leaps = make(map[place.LeafRange][]*schemas.Feature, len(m.leaps))
	for _, l := range m.leaps {
		if l.table == nil {
			if l.table, err = a.state.ReadTable(a.get, &a.keys, l.page); err != nil {
				return err
			}
			m.tables = append(m.tables, pageTable{l.page, l.table})
		}
		a.leaf.FirstLeaf, a.leaf.LastLeaf = l.at.First, l.at.Last
		m.made.Leaps[l.at] = l.table.FeaturesOf(&a.leaf, m.made.DMax, m.made.Families)
	}
	return nil
}

// FoundAhead is seen for the URL of a link, which mostly was looked up in advance.
func (pf *Prefetcher) FoundAhead(url string, l *state.Link) (*state.Entry, error) {
	m := pf.settling
	if m == nil {
		return pf.state.Seen(url)
	}
	f := &m.found[l.Index]
	if !f.seen && !pf.state.Dirty.Urls[f.id] {
		return nil, nil
	}
	if f.entry != nil && (f.entry.Held() || !pf.state.Dirty.Entries[f.entry.Ordinal]) {
		pf.state.Known.Ordinals.Put(f.id, f.entry.Ordinal) // marks it as used
		return pf.state.KeepRead(f.entry), nil
	}
	return pf.state.SeenBy(url, f.id)
}

// ScoredAhead sets the score of a link that was computed in advance.
func (pf *Prefetcher) ScoredAhead(l *state.Link) {
	m, places := pf.settling, pf.places
	if m == nil || m.model == nil || places.Using.Model != place.Model(m.model) || m.made.DMax != places.DMax {
		return
	}
	l.High, l.Scored = m.found[l.Index].high, m.found[l.Index].scored
}

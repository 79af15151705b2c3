package frontier

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"

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

// prepared is what was computed of a verdict in advance.
type prepared struct {
	rec *schemas.LinkFound
	// ready is closed when it is complete. Until then it belongs to the goroutine that makes it.
	ready chan struct{}
	// failed: it is not used. Apply finds the error again and returns it; it returns panicked, which may not occur again.
	failed   bool
	panicked *panicError

	table *linkfeature.Table
	// found are its links, scored under model, with features of families, both at dMax.
	found    []found
	model    *apprentice.Model
	families linkfeature.Families
	dMax     int
	// leaps into the verdict's entry, which it settles, and their features.
	leaps    []leapAhead
	features map[leafRange][]*schemas.Feature

	// What was read, to be kept in memory.
	entry  *entry
	pages  []*page
	tables []pageTable
}

// found is a link as it was looked up in advance.
type found struct {
	id schemas.ID
	// entry of its URL, in memory during Prepare, or read since; nil = the URL was not seen. final: it is visited.
	entry *entry
	final bool
	// ordinal that it most likely has, if it is to be read; 0 = unknown.
	ordinal uint64
	// seen is false if it is certain that the URL was not seen.
	seen bool
	// high is its score, if its URL was not visited; features are made if it was.
	high     float64
	scored   bool
	features []*schemas.Feature
}

// leapAhead is a leap that a verdict settles, with the leaf table of its page if that was in memory.
type leapAhead struct {
	at    leafRange
	page  *page
	table *linkfeature.Table
}

// leafRange names a link by its page and its leaves.
type leafRange struct {
	page        uint64
	first, last uint32
}

type pageTable struct {
	page  *page
	table *linkfeature.Table
}

// preparing is the work for the verdicts of a step that runs concurrently with Apply, by the shard's settings when it began.
type preparing struct {
	made  []prepared
	next  atomic.Int64
	model *apprentice.Model
	// scores: links are scored by the model.
	scores, forward bool
	dMax            int
	families        linkfeature.Families
	hosts           uint32
}

// since is what was stored since the last call of Prepare, as long as prepared verdicts are in use.
type since struct {
	entries map[uint64]bool
	urls    map[schemas.ID]bool
}

// begin clears it, and keeps the memory of its maps.
func (s *since) begin() {
	if s.entries == nil {
		s.entries, s.urls = make(map[uint64]bool), make(map[schemas.ID]bool)
	}
	clear(s.entries)
	clear(s.urls)
}

// Prepare computes in advance what it can for verdicts that will be passed to Apply next, in any order or not at
// all; they must not be changed. It changes nothing but the time that Apply takes.
func (s *Shard) Prepare(recs []*schemas.LinkFound) error {
	if err := s.usable(); err != nil {
		return err
	}
	work := &preparing{
		made: make([]prepared, len(recs)), model: s.scoredAheadBy(), forward: s.limits.forward,
		dMax: s.limits.dMax, families: s.limits.families, hosts: s.c.hosts,
	}
	work.scores = work.model != nil && s.learns
	if err := s.inParallel(len(recs), func(a *ahead, i int) error {
		m := &work.made[i]
		*m = prepared{rec: recs[i], ready: make(chan struct{}), dMax: work.dMax, families: work.families}
		return m.guard(func() error { return a.look(m) })
	}); err != nil {
		return err
	}
	s.since.begin()
	s.preparing, s.prepared = work, make(map[*schemas.LinkFound]*prepared, len(recs))
	for i := range work.made {
		m := &work.made[i]
		s.prepared[m.rec] = m
		s.take(m)
	}
	for range min(runtime.GOMAXPROCS(0)-1, len(recs)) {
		go func() {
			a := s.ahead()
			defer s.aheads.Put(a)
			for work.one(a) {
			}
		}()
	}
	return s.scoreStale(work)
}

// one prepares the next verdict that no goroutine has taken; more is false if none is left.
func (w *preparing) one(a *ahead) (more bool) {
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
func (m *prepared) guard(f func() error) error {
	err := guarded(f)
	if errors.As(err, &m.panicked) {
		m.failed = true
		return nil
	}
	return err
}

// await returns what was prepared of a verdict; nil if that is nothing. Until it is complete await prepares other verdicts.
func (s *Shard) await(m *prepared) *prepared {
	if m == nil {
		return nil
	}
	a := s.ahead()
	defer s.aheads.Put(a)
	for {
		select {
		case <-m.ready:
			if m.failed {
				return nil
			}
			return m
		default:
		}
		if !s.preparing.one(a) {
			<-m.ready
		}
	}
}

// forgetPrepared forgets what was prepared.
func (s *Shard) forgetPrepared() { s.preparing, s.prepared = nil, nil }

// awaited reports whether something that was prepared is in use.
func (s *Shard) awaited() bool { return len(s.prepared) > 0 || s.settling != nil }

// highs are scores of links under a model, at dMax.
type highs struct {
	model Model
	dMax  int
	of    map[linkName]float64
}

// linkName names a link by its page and its index there.
type linkName struct {
	page  uint64
	index uint32
}

// scoreStale scores the links of entries that links of verdicts lead to and that a pass has yet to score: they are placed again
// when the first of those links is applied.
func (s *Shard) scoreStale(work *preparing) error {
	s.stale = highs{}
	if !s.passing() || s.c.unranked > 0 {
		return nil
	}
	seen := make(map[uint64]bool)
	var entries []*entry
	for i := range work.made {
		m := s.await(&work.made[i])
		if m == nil {
			continue
		}
		for _, f := range m.found {
			if e := f.entry; e != nil && e.state == stateQueued && !seen[e.ordinal] && !s.fresh(e) {
				seen[e.ordinal] = true
				// Of copies: the entry's own links would stay scored if it is not placed after all.
				entries = append(entries, &entry{links: slices.Clone(e.links)})
			}
		}
	}
	if err := s.scoreAhead(entries); err != nil {
		return err
	}
	s.stale = highs{model: s.using.model, dMax: s.limits.dMax, of: make(map[linkName]float64)}
	for _, e := range entries {
		for i := range e.links {
			if l := &e.links[i]; l.scored {
				s.stale.of[linkName{l.page, l.index}] = l.high
			}
		}
	}
	return nil
}

// staleHigh is the score of a link of an entry that a pass has yet to score, if it was computed in advance.
func (s *Shard) staleHigh(l *link) (high float64, ok bool) {
	if s.stale.of == nil || s.stale.model != s.using.model || s.stale.dMax != s.limits.dMax {
		return 0, false
	}
	high, ok = s.stale.of[linkName{l.page, l.index}]
	return high, ok
}

// take keeps in memory what Prepare read.
func (s *Shard) take(m *prepared) {
	if m.entry != nil {
		s.keepRead(m.entry)
	}
	for _, p := range m.pages {
		if _, ok := s.pages.peek(p.number); !ok {
			s.holdPage(p)
		}
	}
	m.entry, m.pages = nil, nil
}

// takeTables keeps in memory the leaf tables that were read of a verdict that is applied.
func (s *Shard) takeTables(m *prepared) {
	if m == nil {
		return
	}
	for _, t := range m.tables {
		s.holdTable(t.page, t.table)
	}
}

// keepRead keeps an entry in memory, unless one of its ordinal is there, which is returned then.
func (s *Shard) keepRead(e *entry) *entry {
	if e.held() {
		s.entries.touch(e.place)
		return e
	}
	if held, ok := s.entries.get(e.ordinal); ok {
		return held
	}
	s.keep(e)
	return e
}

// look finds in memory what a verdict needs. Errors in the record are left to Apply.
func (a *ahead) look(m *prepared) error {
	links := m.rec.GetLinks()
	m.found = make([]found, len(links))
	for i, l := range links {
		a.lookFor(l.GetUrl(), &m.found[i])
	}
	return a.lookForLeaps(m)
}

// lookFor finds the URL of a link in memory, or how it is to be read.
func (a *ahead) lookFor(url string, f *found) {
	s := a.shard
	f.id = schemas.URLID(url)
	if ordinal, ok := s.known.ordinals.peek(f.id); ok {
		e, held := s.entries.peek(ordinal)
		switch {
		case !held:
			f.ordinal = ordinal
		case e.url == url:
			f.entry, f.final, f.seen = e, e.state == stateFinal, true
			return
		}
	}
	f.seen = f.ordinal != 0 || s.known.filter.has(f.id)
}

// lookForLeaps finds the leaps that a final verdict settles.
func (a *ahead) lookForLeaps(m *prepared) error {
	s, outcome := a.shard, m.rec.GetOutcome()
	id, err := schemas.ParseID(m.rec.GetId())
	if err != nil {
		return nil
	}
	f, ok := s.flights[id]
	if !ok || f.ordinal == 0 || schemas.Outcomes[outcome].Retry || outcome == schemas.Outcome_OUTCOME_REDIRECTED {
		return nil
	}
	e, ok := s.entries.peek(f.ordinal)
	if !ok {
		if e, err = readEntry(a.get, &a.keys, f.ordinal, s.c.hosts); err != nil {
			return err
		}
		m.entry = e
	}
	for i := range e.links { // those that are not loaded are rare
		l := &e.links[i]
		p, ok := s.pages.peek(l.page)
		if !ok {
			if p, ok, err = readPage(a.get, &a.keys, l.page); err != nil || !ok {
				return err
			}
			m.pages = append(m.pages, p)
		}
		if !p.seeds {
			t, _ := s.tables.peek(l.page)
			m.leaps = append(m.leaps, leapAhead{at: leafRange{l.page, l.first, l.last}, page: p, table: t})
		}
	}
	return nil
}

// prepare reads what a verdict needs and was not in memory, and computes what Apply will need.
func (a *ahead) prepare(w *preparing, m *prepared) error {
	for i, l := range m.rec.GetLinks() {
		if err := a.find(w, l.GetUrl(), &m.found[i]); err != nil {
			return err
		}
	}
	var err error
	if m.table, err = linkfeature.Open(m.rec.GetTable()); err != nil {
		m.table = nil
		return nil
	}
	if len(m.found) > 0 && m.rec.GetOutcome() != schemas.Outcome_OUTCOME_SEEDS {
		a.prepareLinks(w, m)
	}
	return a.prepareLeaps(m)
}

// find is Shard.seenBy concurrently with Apply, for a URL whose entry is not in memory.
func (a *ahead) find(w *preparing, url string, f *found) (err error) {
	if f.entry != nil || !f.seen {
		return nil
	}
	if f.ordinal != 0 {
		if f.entry, err = readEntry(a.get, &a.keys, f.ordinal, w.hosts); err != nil {
			return err
		}
	}
	if f.entry == nil || f.entry.url != url { // once in some thousands of times another URL has the same tag
		f.entry = nil
		ordinal, ok, err := readSeen(a.get, &a.keys, f.id)
		if f.seen = ok; err != nil || !ok {
			return err
		}
		if f.entry, err = readEntry(a.get, &a.keys, ordinal, w.hosts); err != nil {
			return err
		}
	}
	f.final = f.entry.state == stateFinal
	return nil
}

// prepareLinks scores the links that may place their URLs, and makes the features of those that settle at once.
func (a *ahead) prepareLinks(w *preparing, m *prepared) {
	if w.scores {
		m.model = w.model
		a.page.Turn(w.model, m.table, w.dMax)
	}
	for i, l := range m.rec.GetLinks() {
		f := &m.found[i]
		switch {
		case f.final:
			if !w.forward {
				f.features = m.table.FeaturesOf(l, w.dMax, w.families)
			}
		case w.scores:
			f.high, f.scored = a.score(l.GetFirstLeaf(), l.GetLastLeaf()), true
		}
	}
}

// prepareLeaps makes the features of the leaps that a final verdict settles.
func (a *ahead) prepareLeaps(m *prepared) (err error) {
	m.features = make(map[leafRange][]*schemas.Feature, len(m.leaps))
	for _, l := range m.leaps {
		if l.table == nil {
			if l.table, err = readTable(a.get, &a.keys, l.page); err != nil {
				return err
			}
			m.tables = append(m.tables, pageTable{l.page, l.table})
		}
		a.leaf.FirstLeaf, a.leaf.LastLeaf = l.at.first, l.at.last
		m.features[l.at] = l.table.FeaturesOf(&a.leaf, m.dMax, m.families)
	}
	return nil
}

// foundAhead is seen for the URL of a link, which mostly was looked up in advance.
func (s *Shard) foundAhead(url string, l *link, m *prepared) (*entry, error) {
	if m == nil {
		return s.seen(url)
	}
	f := &m.found[l.index]
	if !f.seen && !s.since.urls[f.id] {
		return nil, nil
	}
	if f.entry != nil && (f.entry.held() || !s.since.entries[f.entry.ordinal]) {
		s.known.ordinals.put(f.id, f.entry.ordinal) // marks it as used
		return s.keepRead(f.entry), nil
	}
	return s.seenBy(url, f.id)
}

// scoredAhead sets the score of a link that was computed in advance.
func (s *Shard) scoredAhead(l *link, m *prepared) {
	if m == nil || m.model == nil || s.using.model != Model(m.model) || m.dMax != s.limits.dMax {
		return
	}
	l.high, l.scored = m.found[l.index].high, m.found[l.index].scored
}

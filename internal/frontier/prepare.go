package frontier

import (
	"slices"

	"forager/internal/apprentice"
	"forager/internal/linkfeature"
	"forager/schemas"
)

// A verdict is applied by reading a good deal: each link's place in the seen-set and its entry,
// and for leaps that are settled the leaf tables of the pages that they are on. Prepare reads that
// for many verdicts at once, on all processors, and scores their links. What it finds goes where
// Apply would have put it, so that Apply does the same with or without.

// prepared is what was made of a verdict ahead.
type prepared struct {
	table *linkfeature.Table
	// found are its links, scored under model, with features of families, both at dMax.
	found    []found
	model    *apprentice.Model
	families linkfeature.Families
	dMax     int
	// features of leaps into the verdict's entry.
	features map[leafRange][]*schemas.Feature

	// What was read, to be kept in memory.
	entries []*entry
	pages   []*page
	tables  []pageTable
}

// found is a link as it was found ahead.
type found struct {
	id schemas.ID
	// entry of its URL; nil = that was not seen.
	entry *entry
	// high is what it scores, where its URL was not visited; features are made where that was.
	high     float64
	scored   bool
	features []*schemas.Feature
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

// Prepare does ahead what it can for verdicts that Apply will be given next, in any order or not at
// all. It changes nothing but the time that Apply takes.
func (s *Shard) Prepare(recs []*schemas.LinkFound) error {
	if err := s.usable(); err != nil {
		return err
	}
	made := make([]prepared, len(recs))
	if err := s.inParallel(len(recs), func(a *ahead, i int) error { return a.prepare(recs[i], &made[i]) }); err != nil {
		return err
	}
	s.prepared = make(map[*schemas.LinkFound]*prepared, len(recs))
	for i, rec := range recs {
		s.take(&made[i])
		s.prepared[rec] = &made[i]
	}
	return s.scoreStale(made)
}

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

// scoreStale scores what a pass has yet to score of the entries that links of verdicts lead to: they are placed anew
// by the first of those.
func (s *Shard) scoreStale(made []prepared) error {
	s.stale = highs{}
	if !s.passing() || s.c.unranked > 0 {
		return nil
	}
	seen := make(map[uint64]bool)
	var entries []*entry
	for i := range made {
		for _, f := range made[i].found {
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

// staleHigh is what a link of an entry that a pass has yet to score scores, where that was asked ahead.
func (s *Shard) staleHigh(l *link) (high float64, ok bool) {
	if s.stale.of == nil || s.stale.model != s.using.model || s.stale.dMax != s.limits.dMax {
		return 0, false
	}
	high, ok = s.stale.of[linkName{l.page, l.index}]
	return high, ok
}

// take keeps in memory what was read.
func (s *Shard) take(m *prepared) {
	for i := range m.found {
		if f := &m.found[i]; f.entry != nil {
			f.entry = s.keepRead(f.entry)
			s.known.ordinals.put(f.id, f.entry.ordinal)
		}
	}
	for _, e := range m.entries {
		s.keepRead(e)
	}
	for _, p := range m.pages {
		if _, ok := s.pages.peek(p.number); !ok {
			s.holdPage(p)
		}
	}
	for _, t := range m.tables {
		s.holdTable(t.page, t.table)
	}
	m.entries, m.pages, m.tables = nil, nil, nil
}

// keepRead keeps an entry in memory, unless one of its ordinal is there, which it returns then.
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

// prepare reads what a verdict needs. What is wrong with a record is for Apply to say.
func (a *ahead) prepare(rec *schemas.LinkFound, m *prepared) error {
	var err error
	m.found = make([]found, len(rec.GetLinks()))
	for i, l := range rec.GetLinks() {
		f := &m.found[i]
		f.id = schemas.URLID(l.GetUrl())
		if f.entry, err = a.find(l.GetUrl(), f.id); err != nil {
			return err
		}
	}
	if m.table, err = linkfeature.Open(rec.GetTable()); err != nil {
		m.table = nil
		return nil
	}
	m.dMax, m.families = a.shard.limits.dMax, a.shard.limits.families
	if len(rec.GetLinks()) > 0 && rec.GetOutcome() != schemas.Outcome_OUTCOME_SEEDS {
		a.prepareLinks(rec.GetLinks(), m)
	}
	return a.prepareLeaps(rec, m)
}

// prepareLinks scores the links that may give their URLs a place, and makes the features of those that settle at once.
func (a *ahead) prepareLinks(links []*schemas.Link, m *prepared) {
	scores := a.model != nil && a.shard.learns
	if scores {
		m.model = a.model
		a.page.Turn(a.model, m.table, m.dMax)
	}
	for i, l := range links {
		f := &m.found[i]
		switch {
		case f.entry != nil && f.entry.state == stateFinal:
			if !a.shard.limits.forward {
				f.features = m.table.FeaturesOf(l, m.dMax, m.families)
			}
		case scores:
			f.high, f.scored = a.score(l.GetFirstLeaf(), l.GetLastLeaf()), true
		}
	}
}

// find is Shard.seenBy beside others.
func (a *ahead) find(url string, id schemas.ID) (*entry, error) {
	s := a.shard
	if ordinal, ok := s.known.ordinals.peek(id); ok {
		if e, err := a.entry(ordinal); err != nil || e.url == url {
			return e, err
		}
	}
	if !s.known.filter.has(id) {
		return nil, nil
	}
	ordinal, ok, err := readSeen(a.get, &a.keys, id)
	if err != nil || !ok {
		return nil, err
	}
	return a.entry(ordinal)
}

// entry returns an entry, held in memory or read.
func (a *ahead) entry(ordinal uint64) (*entry, error) {
	if e, ok := a.shard.entries.peek(ordinal); ok {
		return e, nil
	}
	return readEntry(a.get, &a.keys, ordinal, len(a.shard.hosts))
}

// prepareLeaps makes the features of the leaps that a final verdict settles.
func (a *ahead) prepareLeaps(rec *schemas.LinkFound, m *prepared) error {
	id, err := schemas.ParseID(rec.GetId())
	if err != nil {
		return nil
	}
	f, ok := a.shard.flights[id]
	if !ok || f.ordinal == 0 || schemas.Outcomes[rec.GetOutcome()].Retry || rec.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED {
		return nil
	}
	e, err := a.entry(f.ordinal)
	if err != nil {
		return err
	}
	m.entries = append(m.entries, e)
	m.features = make(map[leafRange][]*schemas.Feature)
	for i := range e.links { // those that are not loaded are rare
		l := &e.links[i]
		p, inMemory := a.shard.pages.peek(l.page)
		if !inMemory {
			var ok bool
			if p, ok, err = readPage(a.get, &a.keys, l.page); err != nil || !ok {
				return err
			}
			m.pages = append(m.pages, p)
		}
		if p.seeds {
			continue
		}
		t, inMemory := a.shard.tables.peek(l.page)
		if !inMemory {
			if t, err = readTable(a.get, &a.keys, p); err != nil {
				return err
			}
			m.tables = append(m.tables, pageTable{p, t})
		}
		a.leaf.FirstLeaf, a.leaf.LastLeaf = l.first, l.last
		m.features[leafRange{l.page, l.first, l.last}] = t.FeaturesOf(&a.leaf, m.dMax, m.families)
	}
	return nil
}

// foundAhead is seen for the URL of a link, which mostly was found ahead.
func (s *Shard) foundAhead(url string, l *link, m *prepared) (*entry, error) {
	if m == nil || m.found == nil {
		return s.seen(url)
	}
	f := m.found[l.index]
	if f.entry != nil && f.entry.held() {
		s.entries.touch(f.entry.place)
		return f.entry, nil
	}
	return s.seenBy(url, f.id)
}

// scoredAhead gives a link what it scored ahead.
func (s *Shard) scoredAhead(l *link, m *prepared) {
	if m == nil || m.model == nil || s.using.model != Model(m.model) || m.dMax != s.limits.dMax {
		return
	}
	l.high, l.scored = m.found[l.index].high, m.found[l.index].scored
}

package frontier

import (
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
	// high of each link under model, at dMax; nil where none was scored.
	high  []float64
	model *apprentice.Model
	dMax  int
	// features of leaps into the verdict's entry, of families.
	families linkfeature.Families
	features map[leafRange][]*schemas.Feature

	// found are the URLs of its links.
	found []found

	// What was read, to be kept in memory.
	entries []*entry
	pages   []*page
	tables  []pageTable
}

// found is a URL as it was found ahead.
type found struct {
	id schemas.ID
	// entry of the URL; nil = it was not seen.
	entry *entry
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
	return nil
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
		if m.found[i], err = a.find(l.GetUrl()); err != nil {
			return err
		}
	}
	if m.table, err = linkfeature.Open(rec.GetTable()); err != nil {
		m.table = nil
		return nil
	}
	m.dMax = a.shard.limits.dMax
	if a.model != nil && a.shard.learns && len(rec.GetLinks()) > 0 && rec.GetOutcome() != schemas.Outcome_OUTCOME_SEEDS {
		m.model = a.model
		a.page.Turn(a.model, m.table, m.dMax)
		for _, l := range rec.GetLinks() {
			m.high = append(m.high, a.score(l.GetFirstLeaf(), l.GetLastLeaf()))
		}
	}
	return a.prepareLeaps(rec, m)
}

// find is Shard.seen beside others.
func (a *ahead) find(url string) (found, error) {
	s, id := a.shard, schemas.URLID(url)
	if ordinal, ok := s.known.ordinals.peek(id); ok {
		if e, err := a.entry(ordinal); err != nil || e.url == url {
			return found{id, e}, err
		}
	}
	if !s.known.filter.has(id) {
		return found{id: id}, nil
	}
	ordinal, ok, err := readSeen(a.get, &a.keys, id)
	if err != nil || !ok {
		return found{id: id}, err
	}
	e, err := a.entry(ordinal)
	return found{id, e}, err
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
	m.families = a.shard.limits.families
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
	if m == nil || m.high == nil || s.using.model != Model(m.model) || m.dMax != s.limits.dMax {
		return
	}
	l.high, l.scored = m.high[l.index], true
}

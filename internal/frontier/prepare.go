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

	// What was read, to be kept in memory.
	ids     []schemas.ID
	seen    []uint64 // ordinals of ids
	entries []*entry
	pages   []*page
	tables  []pageTable
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
	for i, id := range m.ids {
		if _, ok := s.known.peek(id); !ok {
			s.known.put(id, m.seen[i])
		}
	}
	for _, e := range m.entries {
		if _, ok := s.entries.peek(e.ordinal); !ok {
			s.keep(e)
		}
	}
	for _, p := range m.pages {
		if _, ok := s.pages.peek(p.number); !ok {
			s.holdPage(p)
		}
	}
	for _, t := range m.tables {
		s.holdTable(t.page, t.table)
	}
	m.ids, m.seen, m.entries, m.pages, m.tables = nil, nil, nil, nil, nil
}

// prepare reads what a verdict needs. What is wrong with a record is for Apply to say.
func (a *ahead) prepare(rec *schemas.LinkFound, m *prepared) error {
	for _, l := range rec.GetLinks() {
		if err := a.find(l.GetUrl(), m); err != nil {
			return err
		}
	}
	var err error
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

// find reads what is not in memory of a URL that was seen.
func (a *ahead) find(url string, m *prepared) error {
	s, id := a.shard, schemas.URLID(url)
	ordinal, ok := s.known.peek(id)
	if !ok {
		if !s.known.filter.has(id) {
			return nil
		}
		b, ok, err := a.get(a.keys.id(kindSeen, id))
		if err != nil || !ok {
			return err
		}
		if ordinal, err = decodeSeen(url, b); err != nil {
			return err
		}
		m.ids, m.seen = append(m.ids, id), append(m.seen, ordinal)
	}
	_, err := a.entry(ordinal, m)
	return err
}

// entry reads an entry that is not in memory.
func (a *ahead) entry(ordinal uint64, m *prepared) (*entry, error) {
	if e, ok := a.shard.entries.peek(ordinal); ok {
		return e, nil
	}
	e, err := readEntry(a.get, &a.keys, ordinal, len(a.shard.hosts))
	if err == nil {
		m.entries = append(m.entries, e)
	}
	return e, err
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
	e, err := a.entry(f.ordinal, m)
	if err != nil {
		return err
	}
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

// scoredAhead gives a link what it scored ahead.
func (s *Shard) scoredAhead(l *link, m *prepared) {
	if m == nil || m.high == nil || s.using.model != Model(m.model) || m.dMax != s.limits.dMax {
		return
	}
	l.high, l.scored = m.high[l.index], true
}

package linkvalue

import (
	"slices"

	"forager/schemas"
)

// What is kept is counted by lengths, not measured, so that what is forgotten, and with it every score, follows from the records.
const (
	// targetCost is what a URL that waits takes apart from its text, edgeCost what each source of it adds, sourceCost what a
	// source takes and outcomeCost each outcome of it, bytes, with the spare capacity of slices and of the map.
	targetCost, edgeCost, sourceCost, outcomeCost = 128, 48, 216, 24
	// mostHeld are the bytes of all of these: ten crawls of MostBytes fit into the frontier_bytes that are the default.
	mostHeld = 6 << 20
	// behindBytes are those of what became of the URLs found on a page.
	behindBytes = 32
	// fixedBytes are those of the examples, the ranks and the recent words.
	fixedBytes = mostExamples*((features+2)*8+behindBytes) + 4*mostRanked*8 + mostRecent*24
)

// Bytes returns how much memory the ranker takes, about, and at most MostBytes.
func (r *Ranker) Bytes() int {
	return r.held + r.past.young.Bytes + r.past.old.Bytes + r.parts.bytes() + fixedBytes
}

// MostBytes is the bound of Bytes.
const MostBytes = mostHeld + 2*mostPast + 2*mostParts*partCost + fixedBytes

// followed are the links of a page that are taken.
func followed(rec *schemas.LinkFound) []*schemas.Link {
	return rec.GetLinks()[:min(len(rec.GetLinks()), mostLinks)]
}

// needs returns by how many bytes a record raises held, at most.
func needs(rec *schemas.LinkFound) int {
	sum := sourceCost + mostSources*max(edgeCost, outcomeCost) + targetCost + len(rec.GetRedirect())
	for _, l := range followed(rec) {
		sum += targetCost + len(l.GetUrl()) + max(edgeCost, outcomeCost)
	}
	return sum
}

// reserve drops the URLs of least value if so many bytes more would be too many. A quarter of all is free afterwards, so that
// values are not computed for every page.
func (r *Ranker) reserve(bytes int) {
	if r.held+bytes <= r.most {
		return
	}
	r.measure()
	left := r.most/4*3 - bytes
	if r.held <= left {
		return
	}
	all := r.byValue()
	for i := len(all) - 1; i >= 0 && r.held > left; i-- {
		r.forget(all[i].target)
	}
}

// measure drops sources without links that wait, and counts what is kept.
func (r *Ranker) measure() {
	r.sources = slices.DeleteFunc(r.sources, func(s *source) bool { return len(s.waiting) == 0 })
	r.held = 0
	for t := range r.targets {
		r.held += t.cost()
	}
	for _, s := range r.sources {
		r.held += s.cost()
	}
}

// forget drops a URL that waits.
func (r *Ranker) forget(t *target) {
	delete(r.waiting, t.url)
	r.held -= t.cost()
	for _, e := range t.edges {
		if e.from.remove(t); len(e.from.waiting) == 0 {
			r.held -= e.from.cost()
		}
	}
	r.changed = append(r.changed, t.url)
}

func (t *target) cost() int { return targetCost + len(t.url) + edgeCost*len(t.edges) }

func (s *source) cost() int { return sourceCost + outcomeCost*len(s.outcomes) }

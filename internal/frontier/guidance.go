package frontier

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/internal/rank/guide"
	"forager/internal/rank/rank"
	"forager/schemas"
)

// The guidance of the links of a page u (schemas.Guidance) comes with the verdict on u, and is stored
// with u's page while one of its links is not settled: a score and a state belong to a link by its index. It
// is that of the guides in force at the verdict. If the crawl's policies are changed to another guide, links found before have
// no guidance of it (rank.Policy: their last tier), until pages that are judged later link to the same URLs; of another version of the same
// guide the scores are used, not the states (docs/decisions/0107).

// Fit returns an error if a record's judgement refers to links that the record does not have, or has numbers that are
// out of range; Apply takes no such record.
func Fit(rec *schemas.LinkFound) error {
	if !anchorsFit(rec) {
		return fmt.Errorf("the text of %d links is judged, the page has %d; or a number is above %d",
			len(rec.GetJudgement().GetAnchors()), len(rec.GetLinks()), schemas.AnchorSteps)
	}
	for i, g := range rec.GetJudgement().GetGuidance() {
		if err := guide.Check(g, len(rec.GetLinks())); err != nil {
			return fmt.Errorf("guide %s: %w", g.GetGuide(), err)
		}
		before := rec.GetJudgement().GetGuidance()[:i]
		if slices.ContainsFunc(before, func(b *schemas.Guidance) bool { return b.GetGuide() == g.GetGuide() }) {
			return fmt.Errorf("guide %s: it was asked twice", g.GetGuide())
		}
	}
	return nil
}

// guidanceOf returns the guidance of a record that is to be kept.
func guidanceOf(rec *schemas.LinkFound) (kept []*schemas.Guidance) {
	for _, g := range rec.GetJudgement().GetGuidance() {
		if len(g.GetScores()) > 0 || len(g.GetStates()) > 0 {
			kept = append(kept, &schemas.Guidance{Guide: g.GetGuide(), Scores: g.GetScores(), States: g.GetStates()})
		}
	}
	return kept
}

// guidanceFor returns the guidance of some of a page's links, by their indices.
func guidanceFor(all []*schemas.Guidance, links []uint32) []*schemas.Guidance {
	var some []*schemas.Guidance
	for _, g := range all {
		some = append(some, &schemas.Guidance{Guide: g.GetGuide(), Scores: pick(g.GetScores(), links), States: pick(g.GetStates(), links)})
	}
	return some
}

// pick returns the elements for some links of a list that has one for all links, one for each, or none.
func pick[T any](list []T, links []uint32) []T {
	if len(list) < 2 {
		return list
	}
	some := make([]T, len(links))
	for i, l := range links {
		some[i] = list[l]
	}
	return some
}

// guidedBy returns the scores of a link by guides. It may be called concurrently (sweep.go, prepare.go).
func guidedBy(p *page, l *link) []rank.Guided {
	guided := make([]rank.Guided, 0, len(p.guidance))
	for _, g := range p.guidance {
		if score, ok := guide.Score(g, int(l.index)); ok {
			guided = append(guided, rank.Guided{Guide: g.GetGuide(), Score: score})
		}
	}
	return guided
}

// pathTo returns FetchRequest.path_state of a queued entry; shadowed are its places under shadows. asks reports whether
// the request lets the source of backlinks be queried.
func (s *Shard) pathTo(e *entry, shadowed []rank.Place) (state []byte, asks bool, err error) {
	var path schemas.Path
	step := func(policy *rank.Policy, at *rank.Place) error {
		version := policy.Guide()
		if version == "" || slices.ContainsFunc(path.Steps, func(st *schemas.PathStep) bool { return st.GetGuide() == version }) {
			return nil // several policies may rank by one guide
		}
		state, err := s.stateOf(e, at, version)
		if len(state) > 0 {
			path.Steps = append(path.Steps, &schemas.PathStep{Guide: version, State: state})
		}
		return err
	}
	for i, policy := range s.policies {
		if err := step(policy, &e.places[i].Place); err != nil {
			return nil, false, err
		}
	}
	for i := range shadowed {
		if err := step(s.shadows[i], &shadowed[i]); err != nil {
			return nil, false, err
		}
	}
	if asks = s.mayAsk(); asks {
		path.Backlinks = s.ctl.GetBacklinks().GetSource()
	}
	if len(path.Steps) == 0 && !asks {
		return nil, false, nil
	}
	state, err = proto.MarshalOptions{Deterministic: true}.Marshal(&path)
	return state, asks, err
}

// stateOf returns the state that a guide keeps for the link by which the entry has its place.
func (s *Shard) stateOf(e *entry, at *rank.Place, version string) ([]byte, error) {
	p, ok, err := s.page(at.Via)
	if err != nil || !ok {
		return nil, err
	}
	i := slices.IndexFunc(p.guidance, func(g *schemas.Guidance) bool { return g.GetGuide() == version })
	if i < 0 {
		return nil, nil
	}
	links, err := s.links(e)
	if err != nil {
		return nil, err
	}
	// A page has several links to an entry if some of them redirect to it.
	var first []byte
	found := false
	for k := range links {
		if links[k].page != at.Via {
			continue
		}
		state := guide.State(p.guidance[i], int(links[k].index))
		if score, ok := guide.Score(p.guidance[i], int(links[k].index)); ok && score == at.Best {
			return state, nil
		}
		if !found {
			first, found = state, true
		}
	}
	return first, nil
}

const guidanceVersion = 1

// saveGuidance stores the guidance of a page that is about to be stored.
func (s *Shard) saveGuidance(p *page) error {
	if p.guided = len(p.guidance) > 0; !p.guided {
		return nil
	}
	s.value = appendGuidance(s.value[:0], p.guidance)
	return s.store.Set(s.keys.u64(kindGuidance, p.number), s.value)
}

func readGuidance(get func(key []byte) ([]byte, bool, error), keys *keys, page uint64) ([]*schemas.Guidance, error) {
	b, ok, err := get(keys.u64(kindGuidance, page))
	if err == nil && !ok {
		err = fmt.Errorf("frontier: page %d has lost its guidance", page)
	}
	if err != nil {
		return nil, err
	}
	return decodeGuidance(page, b)
}

func (s *Shard) dropGuidance(p *page) error {
	if !p.guided {
		return nil
	}
	return s.store.Delete(s.keys.u64(kindGuidance, p.number))
}

func appendGuidance(b []byte, all []*schemas.Guidance) []byte {
	b = binary.AppendUvarint(append(b, guidanceVersion), uint64(len(all)))
	for _, g := range all {
		b = appendString(b, g.GetGuide())
		b = binary.AppendUvarint(b, uint64(len(g.GetScores())))
		for _, score := range g.GetScores() {
			b = appendFloat(b, score)
		}
		b = binary.AppendUvarint(b, uint64(len(g.GetStates())))
		for _, state := range g.GetStates() {
			b = appendString(b, string(state))
		}
	}
	return b
}

func decodeGuidance(page uint64, b []byte) ([]*schemas.Guidance, error) {
	r := reader{b: b}
	r.version(guidanceVersion)
	all := make([]*schemas.Guidance, r.count(3)) // lengths of a name, of scores and of states
	for i := range all {
		g := &schemas.Guidance{Guide: r.string()}
		for range r.count(8) {
			score := r.float()
			if math.IsInf(score, 0) {
				r.fail(errNumber)
			}
			g.Scores = append(g.Scores, score)
		}
		for range r.count(1) {
			g.States = append(g.States, []byte(r.string()))
		}
		all[i] = g
	}
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("frontier: guidance of page %d: %w", page, err)
	}
	return all, nil
}

// count reads a number of items that take at least size bytes each.
func (r *reader) count(size int) int {
	n := r.u64()
	if n > uint64(len(r.b)/size) {
		r.fail(errShort)
		return 0
	}
	return int(n)
}

// guidanceSize is the memory that guidance takes, bytes.
func guidanceSize(all []*schemas.Guidance) (n int) {
	for _, g := range all {
		n += 128 + len(g.GetGuide()) + 8*len(g.GetScores())
		for _, state := range g.GetStates() {
			n += 24 + len(state)
		}
	}
	return n
}

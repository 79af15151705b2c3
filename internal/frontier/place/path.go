package place

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier/state"
	"forager/internal/rank/guide"
	"forager/internal/rank/policy"
	"forager/schemas"
)

// guidedBy returns the scores of a link by guides. It may be called concurrently.
func guidedBy(p *state.Page, l *state.Link) []policy.Guided {
	guided := make([]policy.Guided, 0, len(p.Guidance))
	for _, g := range p.Guidance {
		if score, ok := guide.Score(g, int(l.Index)); ok {
			guided = append(guided, policy.Guided{Guide: g.GetGuide(), Score: score})
		}
	}
	return guided
}

// PathTo returns FetchRequest.path_state of a queued entry; shadowed are its places under shadows, backlinks is the source that
// may be queried, or "".
func (pr *Placer) PathTo(e *state.Entry, shadowed []policy.Place, backlinks string) ([]byte, error) {
	path := schemas.Path{Backlinks: backlinks}
	step := func(policy *policy.Policy, at *policy.Place) error {
		version := policy.Guide()
		if version == "" || slices.ContainsFunc(path.Steps, func(st *schemas.PathStep) bool { return st.GetGuide() == version }) {
			return nil // several policies may rank by one guide
		}
		state, err := pr.stateOf(e, at, version)
		if len(state) > 0 {
			path.Steps = append(path.Steps, &schemas.PathStep{Guide: version, State: state})
		}
		return err
	}
	for i, policy := range pr.Policies {
		if err := step(policy, &e.Places[i].Place); err != nil {
			return nil, err
		}
	}
	for i := range shadowed {
		if err := step(pr.Shadows[i], &shadowed[i]); err != nil {
			return nil, err
		}
	}
	if len(path.Steps) == 0 && backlinks == "" {
		return nil, nil
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(&path)
}

// stateOf returns the state that a guide keeps for the link by which the entry has its place.
func (pr *Placer) stateOf(e *state.Entry, at *policy.Place, version string) ([]byte, error) {
	p, ok, err := pr.pages.Page(at.Via)
	if err != nil || !ok {
		return nil, err
	}
	i := slices.IndexFunc(p.Guidance, func(g *schemas.Guidance) bool { return g.GetGuide() == version })
	if i < 0 {
		return nil, nil
	}
	links, err := pr.state.Links(e)
	if err != nil {
		return nil, err
	}
	// A page has several links to an entry if some of them redirect to it.
	var first []byte
	found := false
	for k := range links {
		if links[k].Page != at.Via {
			continue
		}
		state := guide.State(p.Guidance[i], int(links[k].Index))
		if score, ok := guide.Score(p.Guidance[i], int(links[k].Index)); ok && score == at.Best {
			return state, nil
		}
		if !found {
			first, found = state, true
		}
	}
	return first, nil
}

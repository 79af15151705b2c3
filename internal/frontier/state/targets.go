package state

import (
	"encoding/binary"
	"fmt"

	"forager/internal/frontier/storage"
)

// A policy that orders pages (policy.Policy.ExpandsPages) fetches all links of a page once it has chosen one of them. So the
// targets of each page are kept while such a policy ranks, and placed again when their page is expanded.

const targetsVersion = 1

// saveTargets stores the entries that a page's links lead to, in their order.
func (ps *Pages) saveTargets(p *Page) error {
	if p.Listed = ps.Lists && !p.Seeds; !p.Listed {
		return nil
	}
	ps.state.Buffer = appendTargets(ps.state.Buffer[:0], ps.Targets)
	return ps.state.Store.Set(ps.state.Keys.U64(kindTargets, p.Number), ps.state.Buffer)
}

// TargetsOf reads what saveTargets stored.
func (ps *Pages) TargetsOf(p *Page) ([]uint64, error) {
	b, ok, err := ps.state.Store.Get(ps.state.Keys.U64(kindTargets, p.Number))
	if err == nil && !ok {
		err = fmt.Errorf("frontier: page %d (%s) has lost its targets", p.Number, p.URL)
	}
	if err != nil {
		return nil, err
	}
	return decodeTargets(p.Number, b)
}

func (ps *Pages) dropTargets(p *Page) error {
	if !p.Listed {
		return nil
	}
	return ps.state.Store.Delete(ps.state.Keys.U64(kindTargets, p.Number))
}

func appendTargets(b []byte, targets []uint64) []byte {
	b = append(b, targetsVersion)
	for _, ordinal := range targets {
		b = binary.AppendUvarint(b, ordinal)
	}
	return b
}

func decodeTargets(page uint64, b []byte) (targets []uint64, err error) {
	r := storage.Reader{Rest: b}
	r.Version(targetsVersion)
	for r.Err == nil && len(r.Rest) > 0 {
		targets = append(targets, r.U64())
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("frontier: targets of page %d: %w", page, err)
	}
	return targets, nil
}

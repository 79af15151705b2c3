package state

import (
	"encoding/binary"
	"fmt"
	"math"

	"forager/internal/frontier/storage"
	"forager/schemas"
)

const guidanceVersion = 1

// saveGuidance stores the guidance of a page that is about to be stored.
func (ps *Pages) saveGuidance(p *Page) error {
	if p.Guided = len(p.Guidance) > 0; !p.Guided {
		return nil
	}
	ps.state.Buffer = appendGuidance(ps.state.Buffer[:0], p.Guidance)
	return ps.state.Store.Set(ps.state.Keys.U64(KindGuidance, p.Number), ps.state.Buffer)
}

func readGuidance(get func(key []byte) ([]byte, bool, error), keys *Keys, page uint64) ([]*schemas.Guidance, error) {
	b, ok, err := get(keys.U64(KindGuidance, page))
	if err == nil && !ok {
		err = fmt.Errorf("frontier: page %d has lost its guidance", page)
	}
	if err != nil {
		return nil, err
	}
	return DecodeGuidance(page, b)
}

func (ps *Pages) dropGuidance(p *Page) error {
	if !p.Guided {
		return nil
	}
	return ps.state.Store.Delete(ps.state.Keys.U64(KindGuidance, p.Number))
}

func appendGuidance(b []byte, all []*schemas.Guidance) []byte {
	b = binary.AppendUvarint(append(b, guidanceVersion), uint64(len(all)))
	for _, g := range all {
		b = storage.AppendString(b, g.GetGuide())
		b = binary.AppendUvarint(b, uint64(len(g.GetScores())))
		for _, score := range g.GetScores() {
			b = storage.AppendFloat(b, score)
		}
		b = binary.AppendUvarint(b, uint64(len(g.GetStates())))
		for _, state := range g.GetStates() {
			b = storage.AppendString(b, string(state))
		}
	}
	return b
}

// DecodeGuidance reads the stored guidance of a page. Any other bytes are an error, never a panic.
func DecodeGuidance(page uint64, b []byte) ([]*schemas.Guidance, error) {
	r := storage.Reader{Rest: b}
	r.Version(guidanceVersion)
	all := make([]*schemas.Guidance, r.Count(3)) // lengths of a name, of scores and of states
	for i := range all {
		g := &schemas.Guidance{Guide: r.String()}
		for range r.Count(8) {
			score := r.Float()
			if math.IsInf(score, 0) {
				r.Fail(storage.ErrNumber)
			}
			g.Scores = append(g.Scores, score)
		}
		for range r.Count(1) {
			g.States = append(g.States, []byte(r.String()))
		}
		all[i] = g
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("frontier: guidance of page %d: %w", page, err)
	}
	return all, nil
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

package pageguide

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"forager/internal/page/text"
	"forager/internal/page/tfidf"
	"forager/internal/platform/modelfile"
	"forager/internal/rank/contextgraph"
	"forager/internal/rank/localgraph"
	"forager/internal/rank/memm"
)

const (
	fileVersion = 1
	// countLimit bounds the counts in a file.
	countLimit = 1 << 31
)

// Marshal returns the guide's file: the same guide gives the same bytes.
func (g *Guide) Marshal() []byte {
	e := modelfile.NewEncoder(string(g.kind), fileVersion)
	e.String(g.words.String())
	e.Uint(uint64(g.graph.Depth))
	e.Uint(uint64(g.graph.Cap))
	e.Uint(g.graph.Seed)
	e.Uint(uint64(len(g.provenance)))
	for _, k := range slices.Sorted(maps.Keys(g.provenance)) {
		e.String(k)
		e.String(g.provenance[k])
	}
	g.judge.encode(e)
	return modelfile.Seal(string(g.kind), fileVersion, e.Bytes())
}

// IsFile reports whether b begins as the file of one of Kinds.
func IsFile(b []byte) bool { return slices.Contains(Kinds, Kind(modelfile.Kind(b))) }

// Unmarshal reads a guide's file. The guide shares memory with b, which must not be changed. Errors are those of package
// modelfile, which distinguish foreign, newer and damaged files.
func Unmarshal(b []byte) (*Guide, error) {
	kind := Kind(modelfile.Kind(b))
	if !slices.Contains(Kinds, kind) {
		return nil, fmt.Errorf("%w: no guide that learns from a local graph begins with %.24q", modelfile.ErrForeign, b[:min(len(b), 24)])
	}
	_, body, err := modelfile.Open(b, string(kind), fileVersion)
	if err == nil {
		var g *Guide
		if g, err = decode(kind, body); err == nil {
			return g, nil
		}
	}
	return nil, fmt.Errorf("guide %s: %w", kind, err)
}

func decode(kind Kind, body []byte) (*Guide, error) {
	d := modelfile.NewDecoder(body)
	words, err := text.ParseSettings(d.String("words"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w; train it again", modelfile.ErrForeign, err)
	}
	g := &Guide{kind: kind, words: words}
	g.graph = localgraph.Settings{Depth: int(d.Uint("depth", countLimit)), Cap: int(d.Uint("cap", countLimit)), Seed: d.Uint("seed", math.MaxUint64)}
	g.provenance = decodeProvenance(d)
	if d.Err() != nil {
		return nil, d.Err()
	}
	switch kind {
	case ContextGraph:
		g.judge = layers{contextgraph.Decode(d)}
	case Focused2000:
		g.judge = nearest{contextgraph.Decode(d)}
	case BestFirst:
		g.judge = decodeCosines(d)
	case MEMM:
		g.judge = decodePath(d)
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return g, nil
}

func decodeProvenance(d *modelfile.Decoder) map[string]string {
	n, last := d.Len("provenance", 2), ""
	if n == 0 {
		return nil
	}
	all := make(map[string]string)
	for i := range n {
		k := d.String("provenance")
		if i > 0 && k <= last {
			d.Fail("provenance %q behind %q", k, last)
		}
		if last, all[k] = k, d.String("provenance"); d.Err() != nil {
			break
		}
	}
	return all
}

func (j layers) encode(e *modelfile.Encoder)  { j.model.Encode(e) }
func (j nearest) encode(e *modelfile.Encoder) { j.model.Encode(e) }

func (j *cosines) encode(e *modelfile.Encoder) {
	j.corpus.Encode(e)
	e.Uint(uint64(len(j.targets)))
	for _, t := range j.targets {
		t.Encode(e)
	}
}

func decodeCosines(d *modelfile.Decoder) *cosines {
	j := &cosines{corpus: tfidf.Decode(d)}
	for range d.Len("targets", 4) {
		if j.targets = append(j.targets, j.corpus.Decode(d)); d.Err() != nil {
			break
		}
	}
	return j
}

func (j *path) encode(e *modelfile.Encoder) {
	j.cosines.encode(e)
	j.description.Encode(e)
	e.Uint(uint64(len(j.keywords)))
	for _, w := range j.keywords {
		e.String(w)
	}
	s := &j.settings
	e.Uint(uint64(s.Observe))
	e.String(string(s.Inference))
	e.String(string(s.Order))
	e.Float(s.Gamma)
	ahead := uint64(0)
	if s.Ahead {
		ahead = 1
	}
	e.Uint(ahead)
	e.Uint(uint64(s.Keywords))
	e.String(s.Topic)
	e.String(s.Description)
	for _, n := range []int{s.Walks.Number, s.Walks.Tries, s.Walks.Shortest, s.Walks.Longest} {
		e.Uint(uint64(n))
	}
	e.Uint(s.Walks.Seed)
	j.model.Encode(e)
}

func decodePath(d *modelfile.Decoder) *path {
	j := &path{cosines: *decodeCosines(d)}
	if d.Err() != nil {
		return j
	}
	j.description = j.corpus.Decode(d)
	for i := range d.Len("keywords", 1) {
		w := d.String("keyword")
		if i > 0 && w <= j.keywords[i-1] {
			d.Fail("keyword %q behind %q", w, j.keywords[i-1])
		}
		if j.keywords = append(j.keywords, w); d.Err() != nil {
			return j
		}
	}
	s := &j.settings
	s.Observe = Observations(d.Uint("observations", uint64(ObserveAll)))
	s.Inference, s.Order, s.Gamma = Inference(d.String("inference")), Order(d.String("order")), d.Float("discount")
	s.Ahead = d.Uint("ahead", 1) == 1
	s.Keywords = int(d.Uint("keywords", maxKeywords))
	s.Topic, s.Description = d.String("topic"), d.String("description")
	for _, n := range []*int{&s.Walks.Number, &s.Walks.Tries, &s.Walks.Shortest, &s.Walks.Longest} {
		*n = int(d.Uint("walks", countLimit))
	}
	s.Walks.Seed = d.Uint("seed of walks", math.MaxUint64)
	j.model = memm.Decode(d)
	if d.Err() != nil {
		return j
	}
	m := j.model.Settings()
	s.Edges, s.Variance = m.Edges, m.Variance
	if err := s.check(m.States); err != nil {
		d.Fail("%v", err)
	}
	if len(j.keywords) > s.Keywords || m.Features != features(len(j.keywords)) {
		d.Fail("%d features of %d keywords, at most %d are wanted", m.Features, len(j.keywords), s.Keywords)
	}
	return j
}

package pageguide

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"forager/internal/page/text"
	"forager/internal/page/tfidf"
	"forager/internal/platform/progress"
	"forager/internal/rank/contextgraph"
	"forager/internal/rank/localgraph"
	"forager/internal/rank/memm"
	"forager/schemas"
)

// Samples are the training data of guides: pages that are known before a crawl. The caller numbers the pages.
type Samples struct {
	// Targets among the pages, distinct.
	Targets []uint32
	// Parents of pages; see localgraph.Parents.
	Parents localgraph.Parents
	// Children returns, for the pages of the graph, the pages that each links to, each once.
	Children func(graph *localgraph.Graph) (of func(page uint32) []uint32, err error)
	// Page returns a page; nil if its text is not known.
	Page func(page uint32) (*schemas.Page, error)
	// Document returns the words of a page, counted by Settings.Words. It replaces Page for guides that read nothing else
	// (ContextGraph, Focused2000); nil = Page is read.
	Document func(page uint32) (tfidf.Document, error)
	// Corpus is the pages for document frequencies of cosines; nil = those of the graph.
	Corpus []uint32
}

// Settings of a training.
type Settings struct {
	Words text.Settings
	Graph localgraph.Settings
	// Layers are those of context-graph and focused-2000.
	Layers contextgraph.Settings
	// Path is that of memm.
	Path PathSettings
	// Provenance describes where the training data come from, in the user's words.
	Provenance map[string]string
}

// PathSettings are those of a MEMM.
type PathSettings struct {
	Observe   Observations
	Inference Inference
	Order     Order
	// Gamma is γ of ByDiscount, (0,1).
	Gamma float64
	// Ahead extends the belief of a link by one step, to the page that it leads to, of which only the anchor and the URL
	// are known; the model is then trained with such a last page in each sequence.
	Ahead bool
	// Edges and Variance are those of package memm.
	Edges    bool
	Variance float64
	// Keywords is the largest number of keywords; 1 to 1,024.
	Keywords int
	// Topic is the topic's path ("Science/Chemistry"), whose words are keywords, and Description what it is about; an empty
	// description is replaced by titles and descriptions of the targets. Both are optional.
	Topic, Description string
	// Walks make the training sequences.
	Walks memm.Walks
}

// Default returns those of the papers, with means of log-likelihoods and a Gaussian prior.
func Default() Settings {
	return Settings{
		Words: text.Settings{StopWords: true, Stem: true}, Graph: localgraph.Default, Layers: contextgraph.Default,
		Path: PathSettings{
			Observe: ObserveAll, Inference: Marginal, Order: ByDiscount, Gamma: .5, Variance: memm.Default(0).Variance, Keywords: 200, Walks: memm.DefaultWalks,
		},
	}
}

func (s *PathSettings) check(states int) error {
	switch {
	case s.Inference != Marginal && s.Inference != Viterbi:
		return fmt.Errorf("a MEMM infers by %s or %s, not by %q", Marginal, Viterbi, s.Inference)
	case s.Order != ByDiscount && s.Order != ByStates:
		return fmt.Errorf("a MEMM orders links by %s or %s, not by %q", ByDiscount, ByStates, s.Order)
	case !(s.Gamma > 0 && s.Gamma < 1):
		return fmt.Errorf("the discount of a MEMM is %v, it must lie in (0,1)", s.Gamma)
	case s.Keywords < 1 || s.Keywords > maxKeywords:
		return fmt.Errorf("a MEMM has %d keywords; want 1 to %d", s.Keywords, maxKeywords)
	case s.Observe == 0 || s.Observe > ObserveAll:
		return fmt.Errorf("a MEMM observes nothing; want some of %s", ObserveAll)
	case states > maxStates:
		return fmt.Errorf("a MEMM has %d layers; want at most %d", states, maxStates)
	}
	return nil
}

// Report describes a training.
type Report struct {
	// Graph is the training graph, without Textless pages whose text is not known.
	Graph    *localgraph.Graph
	Textless int
	// Keywords, Sequences and Fit are those of a MEMM.
	Keywords, Sequences int
	Fit                 *memm.Report
}

// Train makes a guide. Errors are those of settings or training data, of the functions of Lessons, or of the context.
func Train(ctx context.Context, kind Kind, l *Samples, s Settings) (*Guide, *Report, error) {
	if !slices.Contains(Kinds, kind) {
		return nil, nil, fmt.Errorf("no guide of kind %q is learnt from a local graph", kind)
	}
	if l.Document != nil && kind != ContextGraph && kind != Focused2000 {
		return nil, nil, fmt.Errorf("a guide of kind %q reads more of pages than their words", kind)
	}
	graph, err := localgraph.Build(l.Targets, l.Parents, s.Graph)
	if err != nil {
		return nil, nil, err
	}
	t := &training{samples: l, settings: s, report: &Report{Graph: graph}, readings: make(map[uint32]*reading)}
	if err := t.readGraph(ctx); err != nil {
		return nil, nil, err
	}
	g := &Guide{kind: kind, words: s.Words, graph: s.Graph, provenance: maps.Clone(s.Provenance)}
	switch kind {
	case ContextGraph, Focused2000:
		var m *contextgraph.Model
		m, err = contextgraph.Train(t.report.Graph, func(p uint32) tfidf.Document { return t.readings[p].whole }, s.Layers)
		g.judge = layers{m}
		if kind == Focused2000 {
			g.judge = nearest{m}
		}
	case BestFirst:
		g.judge, err = t.cosines(ctx)
	case MEMM:
		g.judge, err = t.path(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	return g, t.report, nil
}

// training is the state of Train.
type training struct {
	samples  *Samples
	settings Settings
	report   *Report
	readings map[uint32]*reading // of the pages of the graph
}

// readGraph reads the pages of the graph and removes those without a text.
func (t *training) readGraph(ctx context.Context) error {
	whole := t.report.Graph
	ctx, end := progress.Start(ctx, "reading the pages of the graph", int64(len(whole.Lowest())))
	defer end()
	kept := &localgraph.Graph{Sampled: whole.Sampled}
	missing := make(map[uint32]bool)
	for _, layer := range whole.Layers {
		var with []localgraph.Member
		for _, m := range layer {
			if t.readings[m.Page] == nil && !missing[m.Page] {
				r, err := t.read(m.Page)
				if err == nil {
					err = progress.Add(ctx, 1)
				}
				if err != nil {
					return err
				}
				if r == nil {
					missing[m.Page] = true
				} else {
					t.readings[m.Page] = r
				}
			}
			if !missing[m.Page] {
				with = append(with, m)
			}
		}
		kept.Layers = append(kept.Layers, with)
	}
	if t.report.Graph, t.report.Textless = kept, len(missing); len(kept.Layers[0]) == 0 {
		return fmt.Errorf("no target has a text: %d are known by their links only", len(whole.Layers[0]))
	}
	return nil
}

// read reads a page; nil if its text is not known.
func (t *training) read(page uint32) (*reading, error) {
	if t.samples.Document != nil {
		d, err := t.samples.Document(page)
		return &reading{whole: d}, err
	}
	p, err := t.samples.Page(page)
	if err != nil || p == nil {
		return nil, err
	}
	return read(p, t.settings.Words)
}

// targets returns those with a text, ascending.
func (t *training) targets() []*reading {
	var all []*reading
	for _, m := range t.report.Graph.Layers[0] {
		all = append(all, t.readings[m.Page])
	}
	return all
}

func (t *training) cosines(ctx context.Context) (*cosines, error) {
	var failed error
	corpus, err := tfidf.NewCorpus(func(yield func(tfidf.Document) bool) { failed = t.corpus(ctx, yield) })
	if err = cmp.Or(failed, err); err != nil {
		return nil, err
	}
	j := &cosines{corpus: corpus}
	for _, r := range t.targets() {
		j.targets = append(j.targets, corpus.Vector(r.whole))
	}
	return j, nil
}

// corpus yields the documents for document frequencies.
func (t *training) corpus(ctx context.Context, yield func(tfidf.Document) bool) error {
	pages := t.samples.Corpus
	if pages == nil {
		pages = slices.Sorted(maps.Keys(t.readings))
	}
	ctx, end := progress.Start(ctx, "reading all pages", int64(len(pages)))
	defer end()
	for _, p := range pages {
		if err := progress.Add(ctx, 1); err != nil {
			return err
		}
		r := t.readings[p]
		if r == nil {
			var err error
			if r, err = t.read(p); err != nil {
				return err
			}
			if r == nil {
				continue
			}
		}
		if !yield(r.whole) {
			break
		}
	}
	return nil
}

package pageguide

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"forager/internal/rank/memm"
)

// path trains a MEMM on walks down the graph.
func (t *training) path(ctx context.Context) (*path, error) {
	s := t.settings.Path
	states := t.settings.Graph.Depth + 1
	if err := s.check(states); err != nil {
		return nil, err
	}
	base, err := t.cosines(ctx)
	if err != nil {
		return nil, err
	}
	j := &path{cosines: *base, settings: s}
	t.topic(j)
	children, err := t.samples.Children(t.report.Graph)
	if err != nil {
		return nil, err
	}
	walks, err := memm.Sample(t.report.Graph, children, s.Walks)
	if err != nil {
		return nil, err
	}
	model := memm.Settings{States: states, Features: features(len(j.keywords)), Edges: s.Edges, Variance: s.Variance}
	if j.model, t.report.Fit, err = memm.Train(ctx, t.sequences(j, walks), model); err != nil {
		return nil, err
	}
	t.report.Keywords, t.report.Sequences = len(j.keywords), len(walks)
	return j, nil
}

// topic sets keywords and description.
func (t *training) topic(j *path) {
	counts, having := make(map[string]uint32), make(map[string]int)
	targets := t.targets()
	for _, r := range targets {
		own := r.text(r.page.GetTitle() + "\n" + r.page.GetDescription())
		for i, w := range own.Words {
			counts[w] += own.Counts[i]
			having[w]++
		}
	}
	named := targets[0] // the topic has the language of its pages
	for _, w := range named.text(apart(j.settings.Topic)).Words {
		having[w] = len(targets) + 1
	}
	all := slices.SortedFunc(maps.Keys(having), func(a, b string) int { return cmp.Or(cmp.Compare(having[b], having[a]), cmp.Compare(a, b)) })
	j.keywords = all[:min(len(all), j.settings.Keywords)]
	slices.Sort(j.keywords)
	about := documentOf(counts)
	if d := j.settings.Description; d != "" {
		about = named.text(d)
	}
	j.description = j.corpus.Vector(about)
}

// sequences converts walks to training sequences.
func (t *training) sequences(j *path, walks [][]memm.Step) []memm.Sequence {
	seen := make(map[uint32]*sample)
	see := func(page uint32) *sample {
		if seen[page] == nil {
			seen[page] = newSample(j.view(t.readings[page]), t.readings[page])
		}
		return seen[page]
	}
	sequences, made := make([]memm.Sequence, len(walks)), make(map[observationKey]*memm.Observation)
	for n, walk := range walks {
		q := &sequences[n]
		for i, step := range walk {
			page := see(step.Page)
			var into, on keywords
			if i > 0 {
				into = see(walk[i-1].Page).anchorTo(page)
			}
			if i+1 < len(walk) {
				on = page.anchorTo(see(walk[i+1].Page))
			}
			ahead := j.settings.Ahead && i > 0 && i+1 == len(walk)
			as := observationKey{step.Page, string(into), string(on), ahead}
			o := made[as]
			switch {
			case o != nil: // walks share equal observations
			case ahead:
				o = j.unseen(into, page.urlSaysIt)
			default:
				o = page.observation(into, on)
			}
			made[as] = o
			q.States, q.Observations = append(q.States, step.State), append(q.Observations, o)
		}
	}
	return sequences
}

// observationKey identifies an observation on a walk.
type observationKey struct {
	page     uint32
	into, on string // the keywords around the links
	ahead    bool   // it is not fetched yet
}

// sample is a page of a training sequence.
type sample struct {
	*pathView
	url       string
	urlSaysIt bool
	links     map[string]keywords // anchors by the URLs that they lead to
}

func newSample(s *pathView, r *reading) *sample {
	l := &sample{pathView: s, url: r.page.GetUrl(), links: make(map[string]keywords)}
	l.urlSaysIt = s.settings.Observe.has(ObserveURL) && s.keywordIn(r, l.url)
	for i, link := range r.page.GetLinks() {
		l.links[link.GetUrl()] = s.anchors[i]
	}
	return l
}

// anchorTo returns the keywords around the link to a page; nil if the page has no link to that URL.
func (l *sample) anchorTo(to *sample) keywords { return l.links[to.url] }

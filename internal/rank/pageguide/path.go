package pageguide

import (
	"fmt"
	"slices"
	"strings"

	"forager/internal/page/tfidf"
	"forager/internal/rank/memm"
	"forager/schemas"
)

// Observations is a set of the observations of a MEMM; see the package comment.
type Observations uint16

// The observations.
const (
	ObserveText Observations = 1 << iota
	ObserveDescription
	ObserveWords
	ObserveLinks
	ObserveURL
	ObserveAnchorIn
	ObserveAnchorOut

	ObserveAll Observations = 1<<iota - 1
	// ReadURLs are those that read URLs.
	ReadURLs = ObserveLinks | ObserveURL
)

var observationNames = []string{"text", "description", "words", "links", "url", "anchor-in", "anchor-out"}

// ParseObservations reads names separated by commas; "all" is all.
func ParseObservations(s string) (Observations, error) {
	if s == "all" {
		return ObserveAll, nil
	}
	var o Observations
	for name := range strings.SplitSeq(s, ",") {
		i := slices.Index(observationNames, strings.TrimSpace(name))
		if i < 0 {
			return 0, fmt.Errorf("%q is no observation of a MEMM; those are all, %s", name, strings.Join(observationNames, ", "))
		}
		o |= 1 << i
	}
	return o, nil
}

func (o Observations) String() string {
	var names []string
	for i, name := range observationNames {
		if o>>i&1 == 1 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// has reports whether any of some observations is in the set.
func (o Observations) has(some Observations) bool { return o&some != 0 }

// Inference along a path: by sums over paths of states, or by the most likely one.
type Inference string

// Order of links by the belief of their pages.
type Order string

// The values; the first of each is the default.
const (
	Marginal Inference = "marginal"
	Viterbi  Inference = "viterbi"

	ByDiscount Order = "discount" // Σ γ^i α(T_i)
	ByStates   Order = "states"   // lexicographic: α(T_0), then α(T_1) …
)

// Indices of features: one each of text, description, links and url, then the keywords of the page, of the anchor that led
// to it and of the one that leads on.
const (
	placeText = iota
	placeDescription
	placeLinks
	placeURL
	placeKeywords
)

// features returns the number of features.
func features(keywords int) int { return placeKeywords + 3*keywords }

// path scores links by a MEMM.
type path struct {
	cosines
	description tfidf.Vector // of the topic
	keywords    []string     // ascending
	model       *memm.Model
	settings    PathSettings
}

func (j *path) readsURLs() bool { return j.settings.Observe.has(ReadURLs) }

// Along returns a MEMM's guide with another inference and order; its training is the same. Guides of other kinds are an
// error.
func (g *Guide) Along(by Inference, order Order) (*Guide, error) {
	j, ok := g.judge.(*path)
	if !ok {
		return nil, fmt.Errorf("a guide of kind %s follows no path", g.kind)
	}
	other := *j
	other.settings.Inference, other.settings.Order = by, order
	if err := other.settings.check(other.model.Settings().States); err != nil {
		return nil, err
	}
	along := *g
	along.judge = &other
	return &along, nil
}

// pathView is a page as a MEMM has read it.
type pathView struct {
	*path
	page    memm.Observation
	anchors []keywords // around each link
	urls    []bool     // of the links: has a keyword; nil if no observation uses it
}

func (j *path) see(r *reading) PageView { return j.view(r) }

func (j *path) view(r *reading) *pathView {
	s := &pathView{path: j}
	o := j.settings.Observe
	if o.has(ObserveText) {
		s.add(placeText, j.largest(r))
	}
	if o.has(ObserveDescription) {
		s.add(placeDescription, tfidf.Cosine(j.corpus.Vector(r.description()), j.description))
	}
	for _, l := range r.page.GetLinks() {
		a := make(keywords, (len(j.keywords)+7)/8)
		if o.has(ObserveAnchorIn | ObserveAnchorOut) {
			j.among(r.anchor(l), a.add)
		}
		s.anchors = append(s.anchors, a)
		if o.has(ReadURLs) {
			s.urls = append(s.urls, j.keywordIn(r, l.GetUrl()))
		}
	}
	if o.has(ObserveLinks) && slices.Contains(s.urls, true) {
		s.add(placeLinks, 1)
	}
	if o.has(ObserveURL) && j.keywordIn(r, r.page.GetUrl()) {
		s.add(placeURL, 1)
	}
	if o.has(ObserveWords) {
		j.among(r.whole, func(k uint32) { s.add(placeKeywords+int(k), 1) })
	}
	return s
}

func (s *pathView) add(place int, value float64) { put(&s.page, place, value) }

func put(o *memm.Observation, place int, value float64) {
	if value != 0 {
		o.Index, o.Value = append(o.Index, uint32(place)), append(o.Value, value)
	}
}

// among calls f with the keywords in a text.
func (j *path) among(d tfidf.Document, f func(k uint32)) {
	for _, w := range d.Words {
		if k, ok := slices.BinarySearch(j.keywords, w); ok {
			f(uint32(k))
		}
	}
}

func (j *path) keywordIn(r *reading, url string) (found bool) {
	j.among(r.text(apart(url)), func(uint32) { found = true })
	return found
}

// apart separates the words of a name: an underscore joins words in a text.
func apart(name string) string { return strings.ReplaceAll(name, "_", " ") }

// observation returns that of the page on a path, with the anchor that led to it, nil at the beginning, and the one that
// leads on, nil at the end.
func (s *pathView) observation(into, on keywords) *memm.Observation {
	o := &memm.Observation{Index: slices.Clone(s.page.Index), Value: slices.Clone(s.page.Value)}
	s.observe(o, into, ObserveAnchorIn)
	s.observe(o, on, ObserveAnchorOut)
	return o
}

// observe adds the keywords of an anchor.
func (j *path) observe(o *memm.Observation, anchor keywords, as Observations) {
	if !j.settings.Observe.has(as) {
		return
	}
	block := 1
	if as == ObserveAnchorOut {
		block = 2
	}
	anchor.each(func(k uint32) { put(o, placeKeywords+block*len(j.keywords)+int(k), 1) })
}

// unseen returns the observation of a page that is not fetched: its URL and the anchor that leads to it.
func (j *path) unseen(into keywords, keywordInURL bool) *memm.Observation {
	o := new(memm.Observation)
	if keywordInURL && j.settings.Observe.has(ObserveURL) {
		put(o, placeURL, 1)
	}
	j.observe(o, into, ObserveAnchorIn)
	return o
}

// step extends a path by one page.
func (j *path) step(before memm.Belief, o *memm.Observation) memm.Belief {
	if j.settings.Inference == Viterbi {
		return j.model.Viterbi(before, o)
	}
	return j.model.Marginal(before, o)
}

func (j *path) priority(b memm.Belief) float64 {
	if j.settings.Order == ByStates {
		return b.Lexicographic()
	}
	return min(1, b.Discount(j.settings.Gamma)) // rounding may exceed 1
}

// linked is the guidance for a link.
type linked struct {
	score float64
	state []byte
}

// Guide scores the links by the path of the state and the page. Links with the same keywords around them
// have the same score.
func (s *pathView) Guide(state []byte) (*schemas.Guidance, error) {
	before, into, err := recall(state, s.model.Settings().States, len(s.keywords))
	if err != nil {
		return nil, err
	}
	known := make(map[string]linked)
	g := new(schemas.Guidance)
	for i, anchor := range s.anchors {
		ahead := s.urls != nil && s.settings.Ahead && s.urls[i]
		key := string(anchor)
		if ahead {
			key += "u"
		}
		l, ok := known[key]
		if !ok {
			b := s.step(before, s.observation(into, anchor))
			l.state = remember(b, anchor)
			if s.settings.Ahead {
				b = s.step(b, s.unseen(anchor, ahead))
			}
			l.score = s.priority(b)
			known[key] = l
		}
		g.Scores, g.States = append(g.Scores, l.score), append(g.States, l.state)
	}
	return g, nil
}

package pageguide

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/internal/page/dom"
	"forager/internal/page/tfidf"
	"forager/internal/platform/progress"
	"forager/internal/rank/guide"
	"forager/internal/rank/localgraph"
	"forager/internal/rank/memm"
	"forager/schemas"
)

// web is a hand-made one: pages 0 and 1 are targets, 2 and 3 link to them, 4 and 5 to those, 6 to 5, 7 to nothing.
var web = []struct {
	title, text string
	links       []string // page: anchor
}{
	{"Papers wanted", "call for papers: the deadline is near, papers are wanted", nil},
	{"Call for papers", "call for papers of a workshop on papers, with a committee", []string{"0: another call"}},
	{"Conferences", "a list of conferences", []string{"0: call for papers", "1: workshop call", "7: weather"}},
	{"Workshops", "a list of workshops and conferences", []string{"1: papers wanted here", "2: list of conferences"}},
	{"Student", "home of a student who reads", []string{"2: conferences in a list", "7: weather at home"}},
	{"Professor", "home of a professor of conferences", []string{"3: workshops", "4: my student"}},
	{"University", "departments of a university", []string{"5: professor", "7: weather"}},
	{"Weather", "rain and sun tomorrow", nil},
}

func url(i int) string { return fmt.Sprintf("http://h.test/p%d", i) }

// parse makes a page of the hand-made web, its links at paths with the given prefix.
func parse(t testing.TB, i int, at string) *schemas.Page {
	t.Helper()
	p := web[i]
	var b strings.Builder
	fmt.Fprintf(&b, "<html lang=en><title>%s</title><p>%s</p>", p.title, p.text)
	for _, l := range p.links {
		to, anchor, _ := strings.Cut(l, ": ")
		fmt.Fprintf(&b, "<p><a href=/%s%s>%s</a> so it is</p>", at, to, anchor)
	}
	page, err := dom.Parse([]byte(b.String()), "text/html; charset=utf-8", "http://h.test/"+at+fmt.Sprint(i), dom.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// samples returns the whole web.
func samples(t testing.TB) *Samples {
	children := make([][]uint32, len(web))
	for i, p := range web {
		for _, l := range p.links {
			children[i] = append(children[i], uint32(l[0]-'0'))
		}
	}
	parents := func(page uint32) (of []uint32) {
		for i, c := range children {
			if slices.Contains(c, page) {
				of = append(of, uint32(i))
			}
		}
		return of
	}
	return &Samples{
		Targets: []uint32{0, 1}, Parents: localgraph.Known(parents),
		Children: func(*localgraph.Graph) (func(uint32) []uint32, error) {
			return func(p uint32) []uint32 { return children[p] }, nil
		},
		Page: func(p uint32) (*schemas.Page, error) { return parse(t, int(p), "p"), nil },
	}
}

// small are settings for the small web.
func small() Settings {
	s := Default()
	s.Path.Walks.Number, s.Path.Keywords = 60, 12
	s.Path.Topic = "Science/Call_for_Papers"
	s.Provenance = map[string]string{"crawl": "by hand", "date": "2026-11-21"}
	return s
}

func trained(t testing.TB, kind Kind, s Settings) *Guide {
	t.Helper()
	g, _, err := Train(t.Context(), kind, samples(t), s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func ask(t testing.TB, g *Guide, p *schemas.Page, state []byte) *schemas.Guidance {
	t.Helper()
	result, err := g.Guide(t.Context(), &guide.View{Page: p, State: state})
	if err != nil {
		t.Fatal(err)
	}
	if err := guide.Check(result, len(p.GetLinks())); err != nil {
		t.Fatal(err)
	}
	for _, s := range result.GetScores() {
		if other := g.Kind() == ContextGraph && result.GetLayer() == 0; !other && (s < 0 || s > 1) || other && (s < -1 || s > 0) {
			t.Fatalf("score %v in layer %d", s, result.GetLayer())
		}
	}
	return result
}

// TestOrders: each kind prefers the links that its paper would follow.
func TestOrders(t *testing.T) {
	for _, c := range []struct {
		kind        Kind
		better      int
		than        int
		description string
	}{
		{ContextGraph, 2, 4, "layer 1 before layer 2"},
		{ContextGraph, 5, 7, "layer 2 before other"},
		{Focused2000, 1, 4, "words of targets before others"},
		{BestFirst, 1, 6, "like a target before unlike"},
		{BestFirst, 3, 6, "a common word before none"},
		{MEMM, 3, 6, "lists before departments"},
	} {
		g := trained(t, c.kind, small())
		a, _ := guide.Score(ask(t, g, withLink(parse(t, c.better, "p")), nil), 0)
		b, _ := guide.Score(ask(t, g, withLink(parse(t, c.than, "p")), nil), 0)
		if !(a > b) {
			t.Errorf("%s, %s: %v and %v", c.kind, c.description, a, b)
		}
	}
	g := trained(t, ContextGraph, small())
	for page, layer := range map[int]uint32{0: 1, 2: 2, 5: 3, 7: 0} {
		if result := ask(t, g, parse(t, page, "p"), nil); result.GetLayer() != layer {
			t.Errorf("page %d is of layer %d, want %d", page, result.GetLayer(), layer)
		}
	}
}

// withLink adds a link to a page that has none.
func withLink(p *schemas.Page) *schemas.Page {
	if len(p.Links) == 0 {
		p.Links = []*schemas.Link{{Url: "http://h.test/else"}}
	}
	return p
}

// seenOn returns the observation of a page by the definitions, straight from the parsed page: by index.
func seenOn(j *path, p *schemas.Page, into, on []string) map[int]float64 {
	seen := make(map[int]float64)
	words := func(tokens []string) map[string]bool {
		d, err := Document(&schemas.Page{Terms: tokens, Tokens: upTo(len(tokens)), LeafLengths: []uint32{uint32(len(tokens))}, Language: "en"}, Default().Words)
		if err != nil {
			panic(err)
		}
		has := make(map[string]bool)
		for _, w := range d.Words {
			has[w] = true
		}
		return has
	}
	var all []string
	for _, i := range p.Tokens {
		all = append(all, p.Terms[i])
	}
	for block, tokens := range [][]string{all, into, on} {
		has := words(tokens)
		for k, w := range j.keywords {
			if has[w] {
				seen[placeKeywords+block*len(j.keywords)+k] = 1
			}
		}
	}
	whole, err := Document(p, Default().Words)
	if err != nil {
		panic(err)
	}
	for _, target := range j.targets {
		seen[placeText] = math.Max(seen[placeText], tfidf.Cosine(j.corpus.Vector(whole), target))
	}
	return seen
}

func upTo(n int) []uint32 {
	var all []uint32
	for i := range n {
		all = append(all, uint32(i))
	}
	return all
}

// TestPathIsTheMEMMAlongIt: states passed from page to page give the result of the model for the whole path, with
// observations that the test makes from the pages.
func TestPathIsTheMEMMAlongIt(t *testing.T) {
	for _, by := range []Inference{Marginal, Viterbi} {
		s := small()
		s.Path.Observe = ObserveText | ObserveWords | ObserveAnchorIn | ObserveAnchorOut
		s.Path.Inference = by
		g := trained(t, MEMM, s)
		j := g.judge.(*path)
		var state []byte
		var belief memm.Belief
		var into []string
		for _, step := range [][2]int{{6, 5}, {5, 3}, {3, 1}, {1, 0}} {
			p := parse(t, step[0], "p")
			at := slices.IndexFunc(p.Links, func(l *schemas.Link) bool { return l.Url == url(step[1]) })
			result := ask(t, g, p, state)
			l := p.Links[at]
			// Three words follow in the leaf after the link, so there are four and more.
			on := tokensOf(p, int(l.FirstLeaf), int(l.LastLeaf))
			if len(on) < 4 {
				on = tokensOf(p, int(l.FirstLeaf)-1, int(l.LastLeaf)+1)
			}
			o := new(memm.Observation)
			for place, v := range seenOn(j, p, into, on) {
				put(o, place, v)
			}
			if by == Viterbi {
				belief = j.model.Viterbi(belief, o)
			} else {
				belief = j.model.Marginal(belief, o)
			}
			if got, _ := guide.Score(result, at); math.Abs(got-belief.Discount(.5)) > 1e-9 {
				t.Fatalf("%s, link %d → %d: %v, by the whole path %v", by, step[0], step[1], got, belief.Discount(.5))
			}
			state, into = guide.State(result, at), on
		}
	}
}

func tokensOf(p *schemas.Page, first, last int) (tokens []string) {
	at := 0
	for leaf, n := range p.LeafLengths {
		for _, i := range p.Tokens[at : at+int(n)] {
			if leaf >= first && leaf <= last {
				tokens = append(tokens, p.Terms[i])
			}
		}
		at += int(n)
	}
	return tokens
}

// TestObservationsAreSwitched: what is switched off changes nothing, what is on does.
func TestObservationsAreSwitched(t *testing.T) {
	s := small()
	without := s
	without.Path.Observe &^= ReadURLs
	if g := trained(t, MEMM, without); g.ReadsURLs() {
		t.Error("it reports that it reads URLs")
	} else {
		for i := range web {
			a, b := ask(t, g, withLink(parse(t, i, "p")), nil), ask(t, g, withLink(parse(t, i, "call/papers/")), nil)
			if !proto.Equal(a, b) {
				t.Errorf("page %d: %v, with other URLs %v", i, a, b)
			}
		}
	}
	// Pages near targets have a keyword in their URLs and those of their links.
	named := samples(t)
	named.Page = func(p uint32) (*schemas.Page, error) {
		if p < 4 {
			return parse(t, int(p), "call_for_papers/"), nil
		}
		return parse(t, int(p), "p"), nil
	}
	g, _, err := Train(t.Context(), MEMM, named, s)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := ask(t, g, parse(t, 2, "p"), nil), ask(t, g, parse(t, 2, "papers/"), nil); !g.ReadsURLs() || !(a.Scores[0] < b.Scores[0]) {
		t.Errorf("links at %v, with keywords in their URLs %v", a.Scores, b.Scores)
	}
	for _, kind := range []Kind{ContextGraph, Focused2000, BestFirst} {
		if trained(t, kind, s).ReadsURLs() {
			t.Errorf("%s reports that it reads URLs", kind)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		o := Observations(rapid.Uint16Range(1, uint16(ObserveAll)).Draw(t, "observations"))
		if again, err := ParseObservations(o.String()); err != nil || again != o {
			t.Errorf("%s: %s, %v", o, again, err)
		}
	})
	if o, err := ParseObservations("all"); err != nil || o != ObserveAll {
		t.Errorf("all is %s, %v", o, err)
	}
	if _, err := ParseObservations("text,smell"); err == nil || !strings.Contains(err.Error(), "anchor-in") {
		t.Errorf("%v", err)
	}
}

// TestAheadReadsAnchor: one step further, links differ by their anchors even where O6 is off.
func TestAheadReadsAnchor(t *testing.T) {
	s := small()
	s.Path.Observe &^= ObserveAnchorOut
	page := parse(t, 2, "p")
	if result := ask(t, trained(t, MEMM, s), page, nil); result.Scores[0] != result.Scores[2] {
		t.Errorf("without O6 and a step ahead links differ: %v", result.Scores)
	}
	s.Path.Ahead = true
	if result := ask(t, trained(t, MEMM, s), page, nil); result.Scores[0] <= result.Scores[2] {
		t.Errorf("a call for papers at %v, the weather at %v", result.Scores[0], result.Scores[2])
	}
}

// TestStatesOfOthersAreRefused changes states, and takes those of other guides.
func TestStatesOfOthersAreRefused(t *testing.T) {
	g := trained(t, MEMM, small())
	page := parse(t, 2, "p")
	whole := guide.State(ask(t, g, parse(t, 5, "p"), nil), 0)
	if len(whole) > 256 {
		t.Errorf("a state of %d bytes", len(whole))
	}
	ask(t, g, page, whole)
	for name, state := range map[string][]byte{
		"one byte": {1}, "a byte less": whole[:len(whole)-1], "a byte more": append(slices.Clone(whole), 0),
		"a keyword too many": append(slices.Clone(whole[:len(whole)-1]), 0x80),
		"no probabilities":   append(make([]byte, 40), whole[40:]...),
		"NaN":                append(slices.Repeat([]byte{0xff}, 40), whole[40:]...),
	} {
		if result, err := g.Guide(t.Context(), &guide.View{Page: page, State: state}); err == nil {
			t.Errorf("%s was taken: %v", name, result)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		state := rapid.SliceOfN(rapid.Byte(), len(whole), len(whole)).Draw(t, "state")
		if result, err := g.Guide(t.Context(), &guide.View{Page: page, State: state}); err == nil && guide.Check(result, len(page.Links)) != nil {
			t.Errorf("%v", result)
		}
	})
}

// TestPagesThatContradictThemselves are errors of the page.
func TestPagesThatContradictThemselves(t *testing.T) {
	for _, kind := range Kinds {
		g := trained(t, kind, small())
		links := []*schemas.Link{{Url: "http://h.test/", FirstLeaf: 7, LastLeaf: 1 << 31}, {Url: "http://h.test/x", FirstLeaf: 2, LastLeaf: 1}}
		for name, p := range map[string]*schemas.Page{
			"token of no term":     {Terms: []string{"a"}, Tokens: []uint32{1}, LeafLengths: []uint32{1}, Links: links},
			"leaves of more words": {Terms: []string{"a"}, Tokens: []uint32{0}, LeafLengths: []uint32{2}, Links: links},
		} {
			if _, err := g.Guide(t.Context(), &guide.View{Page: p}); err == nil {
				t.Errorf("%s: %s was taken", kind, name)
			}
		}
		ask(t, g, &schemas.Page{Terms: []string{"a"}, Tokens: []uint32{0}, LeafLengths: []uint32{1}, Links: links}, nil)
		ask(t, g, &schemas.Page{Links: links}, nil)
		if result := ask(t, g, &schemas.Page{}, nil); (len(result.Scores) > 0) != (kind == ContextGraph) {
			t.Errorf("%s: %v of a page without links", kind, result)
		}
	}
}

func TestTrainRefuses(t *testing.T) {
	bare := samples(t)
	bare.Page = func(p uint32) (*schemas.Page, error) {
		if p < 2 {
			return nil, nil
		}
		return parse(t, int(p), "p"), nil
	}
	lonely := samples(t)
	lonely.Targets = []uint32{6}
	none := samples(t)
	none.Targets = nil
	for _, c := range []struct {
		want    string
		kind    Kind
		samples *Samples
		change  func(*Settings)
	}{
		{"no target has a text: 2 are known by their links only", BestFirst, bare, nil},
		{"hardly any path leads on", MEMM, lonely, nil},
		{"needs targets", ContextGraph, none, nil},
		{"kind \"spider\"", "spider", samples(t), nil},
		{"depth 0", ContextGraph, samples(t), func(s *Settings) { s.Graph.Depth = 0 }},
		{"17 layers", MEMM, samples(t), func(s *Settings) { s.Graph.Depth = 16 }},
		{"0 keywords", MEMM, samples(t), func(s *Settings) { s.Path.Keywords = 0 }},
		{"observes nothing", MEMM, samples(t), func(s *Settings) { s.Path.Observe = 0 }},
		{"(0,1)", MEMM, samples(t), func(s *Settings) { s.Path.Gamma = 1 }},
		{"infers by marginal or viterbi", MEMM, samples(t), func(s *Settings) { s.Path.Inference = "" }},
		{"by discount or states", MEMM, samples(t), func(s *Settings) { s.Path.Order = "alphabet" }},
	} {
		s := small()
		if c.change != nil {
			c.change(&s)
		}
		if _, _, err := Train(t.Context(), c.kind, c.samples, s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestPagesWithoutTextAreLeftOut: a page that is known by its links only is not used in training.
func TestPagesWithoutTextAreLeftOut(t *testing.T) {
	l := samples(t)
	l.Page = func(p uint32) (*schemas.Page, error) {
		if p == 4 {
			return nil, nil
		}
		return parse(t, int(p), "p"), nil
	}
	_, r, err := Train(t.Context(), ContextGraph, l, small())
	if err != nil {
		t.Fatal(err)
	}
	if _, in := r.Graph.Lowest()[4]; in || r.Textless != 1 {
		t.Errorf("%d pages without text, page 4 in a layer %t", r.Textless, in)
	}
}

// watcher records the tasks that it is given.
type watcher struct{ tasks []*progress.Task }

func (w *watcher) Begin(t *progress.Task) (end func()) {
	w.tasks = append(w.tasks, t)
	return func() {}
}

func (*watcher) Moved(*progress.Task) {}

func TestTrainIsWatchedAndEnds(t *testing.T) {
	w := new(watcher)
	ctx, cancel := context.WithCancel(progress.Observe(t.Context(), w))
	if _, _, err := Train(ctx, MEMM, samples(t), small()); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, task := range w.tasks {
		if names = append(names, task.What); task.Done() == 0 || task.Done() > task.Total() {
			t.Errorf("%s: %d of %d", task.What, task.Done(), task.Total())
		}
	}
	if want := []string{"reading the pages of the graph", "reading all pages", "fitting the model"}; !slices.Equal(names, want) {
		t.Errorf("tasks %q, want %q", names, want)
	}
	cancel()
	for _, kind := range Kinds {
		if _, _, err := Train(ctx, kind, samples(t), small()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v after the end of the context", kind, err)
		}
	}
}

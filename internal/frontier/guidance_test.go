package frontier

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/schemas"
)

var guideNames = []string{"layers/1", "paths/2", "paths/3"}

// guidance draws the guidance of n links by some guides.
func (d dice) guidance(n int) (all []*schemas.Guidance) {
	for _, name := range guideNames {
		g := &schemas.Guidance{Guide: name}
		many := func() int { return []int{0, 1, n}[d.IntN(3)] }
		for range many() {
			g.Scores = append(g.Scores, []float64{-7, 0, .5, 1, 30, 1e300}[d.IntN(6)])
		}
		for range many() {
			g.States = append(g.States, []byte(strings.Repeat("s", d.IntN(4))))
		}
		switch d.IntN(4) {
		case 0:
			continue
		case 1:
			g.Scores, g.States, g.Failure = nil, nil, "timeout"
		}
		all = append(all, g)
	}
	return all
}

// guidanceBy is the guidance of the page by the guide of a policy.
func (p *nPage) guidanceBy(by *schemas.Policy) *schemas.Guidance {
	for _, g := range p.guidance {
		if g.GetGuide() == by.GetGuide() {
			return g
		}
	}
	return &schemas.Guidance{}
}

// guided is the guide's score of the link, else the last score by any other version of it.
func (l nLink) guided(by *schemas.Policy) (float64, bool) {
	if score, ok := l.scored(by); ok {
		return score, true
	}
	for _, g := range slices.Backward(l.page.guidance) {
		if strings.Split(g.GetGuide(), "/")[0] == strings.Split(by.GetGuide(), "/")[0] {
			if score, ok := l.scored(&schemas.Policy{Guide: g.GetGuide()}); ok {
				return score, true
			}
		}
	}
	return 0, false
}

func (l nLink) scored(by *schemas.Policy) (float64, bool) {
	switch scores := l.page.guidanceBy(by).GetScores(); len(scores) {
	case 0:
		return 0, false
	case 1:
		return scores[0], true
	default:
		return scores[l.index], true
	}
}

func (l nLink) remembered(by *schemas.Policy) []byte {
	switch states := l.page.guidanceBy(by).GetStates(); len(states) {
	case 0:
		return nil
	case 1:
		return states[0]
	default:
		return states[l.index]
	}
}

func (n *naive) pathTo(e *nEntry, shadowed []nPlace) []byte {
	path := &schemas.Path{}
	told := map[string]bool{}
	places := slices.Concat(e.places, shadowed)
	for i, p := range schemas.Orders(n.ctl)[:len(places)] {
		if _, overridden := n.options.Rankers[p.GetName()]; overridden || p.GetRanker() != schemas.Ranker_RANKER_GUIDE || told[p.GetGuide()] {
			continue
		}
		if state := places[i].state; len(state) > 0 {
			told[p.GetGuide()] = true
			path.Steps = append(path.Steps, &schemas.PathStep{Guide: p.GetGuide(), State: state})
		}
	}
	if n.mayAsk() {
		path.Backlinks = n.ctl.GetBacklinks().GetSource()
	}
	b, err := proto.Marshal(path)
	if err != nil {
		panic(err)
	}
	return b
}

// find returns the guidance of a page of the web for its link to a URL.
func (w smallWeb) find(page, named, guide string) (score []float64, state []byte) {
	p := &nPage{guidance: w[page].GetJudgement().GetGuidance()}
	i := slices.IndexFunc(w[page].GetLinks(), func(l *schemas.Link) bool { return l.GetUrl() == named })
	l := nLink{page: p, index: i}
	by := &schemas.Policy{Guide: guide}
	if s, ok := l.scored(by); ok {
		score = []float64{s}
	}
	return score, l.remembered(by)
}

// checkGuidance: links that are sent to another shard have their guidance, and no other.
func (w smallWeb) checkGuidance(t *rapid.T, sent *schemas.LinkFound) {
	if sent.GetOutcome() == schemas.Outcome_OUTCOME_SEEDS {
		if sent.GetJudgement() != nil {
			t.Fatalf("seeds were judged: %v", sent)
		}
		return
	}
	page := &nPage{guidance: sent.GetJudgement().GetGuidance()}
	for i, l := range sent.GetLinks() {
		named := l.GetUrl()
		if m := sent.GetMoved(); m != nil {
			named = m.GetNamed()
		}
		for _, name := range guideNames {
			wantScore, wantState := w.find(sent.GetUrl(), named, name)
			by, link := &schemas.Policy{Guide: name}, nLink{page: page, index: i}
			score, ok := link.scored(by)
			if ok != (wantScore != nil) || ok && score != wantScore[0] || !bytes.Equal(link.remembered(by), wantState) {
				t.Fatalf("%s predicts for %s on %s: %v, %q in another shard, want %v, %q", name, named, sent.GetUrl(), score, link.remembered(by), wantScore, wantState)
			}
		}
		for _, g := range sent.GetJudgement().GetGuidance() {
			if len(g.GetScores()) > len(sent.GetLinks()) || len(g.GetStates()) > len(sent.GetLinks()) {
				t.Fatalf("guidance for more than the links that are sent: %v", sent)
			}
		}
	}
}

// checkPath: a request has the state of a link on the page by which it was chosen.
func (w smallWeb) checkPath(t *rapid.T, r *schemas.FetchRequest) {
	path := new(schemas.Path)
	if err := proto.Unmarshal(r.GetPathState(), path); err != nil {
		t.Fatal(err)
	}
	for _, step := range path.GetSteps() {
		if !slices.ContainsFunc(w[r.GetVia()].GetLinks(), func(l *schemas.Link) bool {
			end, _ := w.end(l.GetUrl())
			_, state := w.find(r.GetVia(), l.GetUrl(), step.GetGuide())
			return (l.GetUrl() == r.GetUrl() || end == r.GetUrl() || w[l.GetUrl()].GetRedirect() != "") && bytes.Equal(state, step.GetState())
		}) {
			t.Fatalf("%s via %s has the state %q, which no link to it was given", r.GetUrl(), r.GetVia(), step.GetState())
		}
	}
}

// guided is a crawl by a guide.
func guided(t *testing.T) *script {
	return newScript(t, func(c *schemas.CrawlControl) {
		c.Policies[0].Ranker, c.Policies[0].Guide = schemas.Ranker_RANKER_GUIDE, "layers/1"
	})
}

// judged is the verdict on a page with R(u) = 1/2.
func (s *script) judged(url string, guidance []*schemas.Guidance, links ...string) *schemas.LinkFound {
	rec := s.answer(url, schemas.Outcome_OUTCOME_DELIVERED)
	rec.Judgement, rec.Links = &schemas.Judgement{Raw: .5, Guidance: guidance}, linksTo(links...)
	return rec
}

func (s *script) wantState(url, want string) {
	s.t.Helper()
	path := new(schemas.Path)
	if err := proto.Unmarshal(s.last[url].GetPathState(), path); err != nil {
		s.t.Fatal(err)
	}
	got := ""
	for _, step := range path.GetSteps() {
		got += step.GetGuide() + ":" + string(step.GetState())
	}
	if got != want {
		s.t.Fatalf("%s was asked for with the state %q, want %q", url, got, want)
	}
}

func TestAGuideOrdersLinksAndGetsThePath(t *testing.T) {
	s := guided(t)
	s.seed(onA("s"), onA("t"))
	s.want(s.dispatch(9), onA("s"))
	s.wantState(onA("s"), "")
	s.apply(s.judged(onA("s"), []*schemas.Guidance{
		{Guide: "layers/1", Scores: []float64{7, 30, -4, 30}, States: [][]byte{[]byte("x"), nil, []byte("z"), []byte("moved")}},
		{Guide: "paths/2", Scores: []float64{0}, States: [][]byte{[]byte("another")}},
	}, onA("x"), onA("y"), onA("z"), onA("old")))
	s.want(s.dispatch(9), onA("t")) // a seed, before links of any score
	s.apply(s.judged(onA("t"), []*schemas.Guidance{{Guide: "layers/1", Failure: "timeout"}}, onA("blind"), onA("z")))
	s.want(s.dispatch(9), onA("y"))
	s.wantState(onA("y"), "")
	s.apply(s.judged(onA("y"), nil, onA("blind too")))
	s.want(s.dispatch(9), onA("old"))
	s.redirect(onA("old"), onA("new"))
	s.open() // what is known is in the store
	s.want(s.dispatch(9), onA("new"))
	s.wantState(onA("new"), "layers/1:moved")
	s.deliver(onA("new"), 0, false)
	s.want(s.dispatch(9), onA("x"))
	s.wantState(onA("x"), "layers/1:x")
	s.deliver(onA("x"), 1, false, onA("better"))
	s.want(s.dispatch(9), onA("z"))
	s.deliver(onA("z"), 0, false)
	if r := s.last[onA("z")]; r.GetTier() != 1 || r.GetScore() != -4 || r.GetVia() != onA("s") {
		t.Errorf("z is asked for with %v", r)
	}
	// Last come links without guidance, by R(u).
	s.want(s.dispatch(9), onA("better"))
	s.deliver(onA("better"), 0, false)
	s.want(s.dispatch(9), onA("blind"))
	s.wantState(onA("blind"), "")
}

// TestTwoLinksOfAPageComeTogether by a redirect: the better one's state counts.
func TestTwoLinksOfAPageComeTogether(t *testing.T) {
	s := guided(t)
	s.seed(onA("s"))
	s.dispatch(1)
	s.apply(s.judged(onA("s"), []*schemas.Guidance{
		{Guide: "layers/1", Scores: []float64{5, 9}, States: [][]byte{[]byte("new"), []byte("old")}},
	}, onA("new"), onA("old")))
	for _, redirects := range []string{"old", "other"} {
		s.want(s.dispatch(1), onA(redirects))
		s.wantState(onA(redirects), "layers/1:old")
		s.redirect(onA(redirects), onA(map[string]string{"old": "other", "other": "new"}[redirects]))
	}
	s.want(s.dispatch(1), onA("new"))
	s.wantState(onA("new"), "layers/1:old")
}

// TestAnotherGuideUnderWay: pages that were judged before have its guidance, that of another version of it, or none.
func TestAnotherGuideUnderWay(t *testing.T) {
	s := guided(t)
	s.seed(onA("s"))
	s.dispatch(9)
	s.apply(s.judged(onA("s"), []*schemas.Guidance{
		{Guide: "layers/1", Scores: []float64{1, 2, 3}}, {Guide: "paths/2", Scores: []float64{4, 3, 2}, States: [][]byte{[]byte("p")}},
	}, onA("x"), onA("y"), onA("z")))
	for revision, c := range []struct {
		guide, first, state string
		tier                uint32
		score               float64
	}{{"paths/2", "x", "paths/2:p", 1, 4}, {"paths/3", "y", "", 1, 3}, {"ways/2", "z", "", 3, .5}} {
		s.ctl.Revision, s.ctl.Policies[0].Guide = uint64(revision+2), c.guide
		s.configure()
		s.want(s.dispatch(1), onA(c.first))
		s.wantState(onA(c.first), c.state)
		if r := s.last[onA(c.first)]; r.GetTier() != c.tier || r.GetScore() != c.score {
			t.Errorf("%s is asked for with %v", c.first, r)
		}
		s.deliver(onA(c.first), 0, false)
	}
}

// TestGuidanceThatDoesNotFitIsRefused: the error names the record.
func TestGuidanceThatDoesNotFitIsRefused(t *testing.T) {
	fits := &schemas.Guidance{Guide: "layers/1", Scores: []float64{1, 2}}
	for name, g := range map[string][]*schemas.Guidance{
		"3 scores for 2 links":   {{Guide: "layers/1", Scores: []float64{1, 2, 3}}},
		"3 states for 2 links":   {fits, {Guide: "x", States: make([][]byte, 3)}},
		"score of link 1 is NaN": {{Guide: "layers/1", Scores: []float64{1, math.NaN()}}},
		"link 0 is -Inf":         {{Guide: "layers/1", Scores: []float64{math.Inf(-1)}}},
		"257 bytes":              {{Guide: "layers/1", States: [][]byte{make([]byte, 257)}}},
		"asked twice":            {fits, fits},
	} {
		s := guided(t)
		s.seed(onA("s"))
		s.dispatch(1)
		if _, err := s.shard.Apply(s.judged(onA("s"), g, onA("x"), onA("y")), s.now); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

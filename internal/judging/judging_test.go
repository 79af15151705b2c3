package judging

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/internal/classify/critic"
	"forager/internal/classify/httpmodel"
	"forager/internal/classify/taxonomy"
	"forager/internal/rank/backlink"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// model is a critic, a guide and a source of backlinks of one version.
type model struct {
	version  string
	r        float64
	layer    uint32
	err      error
	panics   bool
	service  bool
	fallback string
	hasty    bool
	state    []byte // that a guide was called with
	terms    int    // of the page that was judged last
}

func (*model) Classes() []string         { return []string{"off", "on"} }
func (*model) Pruned() []taxonomy.Pruned { return nil }
func (m *model) Asks() bool              { return m.service }
func (m *model) Fallback() string        { return m.fallback }
func (*model) ReadsURLs() bool           { return false }

func (m *model) FailFast() critic.Classifier {
	hasty := *m
	hasty.hasty = true
	return &hasty
}

func (m *model) Predict(_ context.Context, o *critic.Prediction, page *schemas.Page) error {
	m.terms = len(page.GetTerms())
	for _, p := range [][]float64{o.Raw, o.Tempered, o.Calibrated} {
		p[0], p[1] = 1-m.r, m.r
	}
	if o.Known = 1; m.hasty {
		o.Known = 2
	}
	return m.err
}

func (m *model) Guide(_ context.Context, v *guide.View) (*schemas.Guidance, error) {
	if m.panics {
		panic("guide " + m.version)
	}
	m.state = v.State
	return &schemas.Guidance{Scores: m.scores(len(v.Page.GetLinks())), Layer: m.layer}, m.err
}

func (m *model) scores(links int) (scores []float64) {
	for i := range links {
		scores = append(scores, m.r+float64(i))
	}
	return scores
}

func (m *model) Parents(context.Context, string) ([]string, error) {
	return []string{"http://parent.test/" + m.version}, m.err
}

// models are those that exist, by version.
type models map[string]*model

func (ms models) open(version string) (*model, error) {
	if m, ok := ms[version]; ok {
		return m, nil
	}
	return nil, fmt.Errorf("there is no model %s", version)
}

func (ms models) Critic(_ context.Context, _ *schemas.CrawlControl, version string, _ bool) (*Critic, error) {
	m, err := ms.open(version)
	return &Critic{m, version, &taxonomy.Weights{Focus: []float64{0, 1}, Form: make([]bool, 2)}}, err
}

func (ms models) Guide(_ context.Context, version string) (guide.Guide, error) {
	return ms.open(version)
}

func (ms models) Backlinks(_ context.Context, version string) (backlink.Source, error) {
	return ms.open(version)
}

// world is what a page is judged in.
type world struct {
	models
	ctl    *schemas.CrawlControl
	parsed *schemas.PageParsed
	path   *schemas.Path
	// fatal is the part whose failures end the page; "" = none.
	fatal Part
}

var errFatal = errors.New("a failure that ends the page")

// seen is what a judgement calls, and in which order is not fixed.
type seen struct {
	failed []string
	waits  int
}

func (w *world) judge(ctx context.Context) (j *schemas.Judgement, s seen, err error) {
	var mu sync.Mutex
	by := &Judge{
		Models: w.models,
		Failed: func(of Part, version string, err error) error {
			mu.Lock()
			defer mu.Unlock()
			s.failed = append(s.failed, fmt.Sprint(of, " ", version, " ", err))
			if of == w.fatal {
				return errFatal
			}
			return nil
		},
		Wait: func(call func()) { s.waits++; call() },
	}
	j, err = by.Page(ctx, w.ctl, w.parsed)
	slices.Sort(s.failed)
	return j, s, err
}

// plain is Judge.Page step by step; ok is false if the page fails.
func (w *world) plain() (j *schemas.Judgement, s seen, ok bool) {
	ok = true
	failed := func(of Part, m *model) {
		s.failed = append(s.failed, fmt.Sprint(of, " ", m.version, " ", m.err))
		ok = ok && of != w.fatal
	}
	wait := func(m *model) {
		if m.service {
			s.waits++
		}
	}
	if w.ctl.GetCritic() == "" {
		return new(schemas.Judgement), s, true
	}
	c := w.models[w.ctl.GetCritic()]
	if c == nil {
		return nil, s, false
	}
	wait(c)
	degraded := ""
	if failure, is := c.err.(*httpmodel.Failure); is {
		degraded = failure.Reason
		if failed(OfCritic, c); !ok || c.fallback == "" || w.models[c.fallback] == nil {
			return nil, s, false
		}
		c = w.models[c.fallback]
		wait(c)
	}
	if c.err != nil {
		return nil, s, false
	}
	j = &schemas.Judgement{Raw: c.r, Critic: c.version, Degraded: degraded, Marking: w.ctl.GetRevision()}
	versions, links := schemas.Guides(w.ctl), len(w.parsed.GetPage().GetLinks())
	if w.parsed.GetPage().GetNofollow() {
		links = 0
	}
	if links == 0 && (w.ctl.GetBacklinks() == nil || w.path.GetBacklinks() == "") {
		versions = nil
	}
	target, service := false, false
	for _, version := range versions {
		if w.models[version] == nil {
			return nil, s, false
		}
	}
	for _, version := range versions {
		m := w.models[version]
		service = service || m.service
		switch {
		case m.panics:
			ok = false
		case m.err != nil:
			failed(OfGuide, m)
			j.Guidance = append(j.Guidance, &schemas.Guidance{Guide: version, Failure: m.err.Error()})
		default:
			target = target || m.layer == 1
			j.Guidance = append(j.Guidance, &schemas.Guidance{Guide: version, Scores: m.scores(links), Layer: m.layer})
		}
	}
	if service {
		s.waits++
	}
	if !ok {
		return nil, s, false
	}
	if from := w.path.GetBacklinks(); target && from != "" {
		m := w.models[from]
		if m == nil {
			return nil, s, false
		}
		wait(m)
		j.Backlinks = &schemas.Backlinks{Source: from, Queries: 1}
		if m.err != nil {
			failed(OfBacklinks, m)
			j.Backlinks.Failure = m.err.Error()
		} else {
			j.Backlinks.Parents = []string{"http://parent.test/" + from}
		}
	}
	for _, version := range w.ctl.GetShadows() {
		m := w.models[version]
		if m == nil {
			m = &model{version: version, err: fmt.Errorf("there is no model %s", version)}
		}
		wait(m)
		if m.err != nil {
			failed(OfShadow, m)
			j.Shadows = append(j.Shadows, &schemas.Shadow{Critic: version, Failure: m.err.Error()})
			continue
		}
		j.Shadows = append(j.Shadows, &schemas.Shadow{
			Critic: version, Raw: m.r, Tempered: m.r, Calibrated: m.r, BestIsFocus: m.r > .5, KnownTokens: 2,
		})
	}
	slices.Sort(s.failed)
	return j, s, ok
}

// drawWorld draws models of which any may be missing, fail or be services, and a page.
func drawWorld(t *rapid.T) *world {
	names := []string{"a", "b", "c", "d"}
	version := rapid.SampledFrom(append([]string{"none"}, names...))
	some := func(label string) []string {
		return rapid.SliceOfNDistinct(version, 0, 3, rapid.ID[string]).Draw(t, label)
	}
	w := &world{models: make(models), fatal: rapid.SampledFrom([]Part{"", "", OfCritic, OfShadow, OfGuide, OfBacklinks}).Draw(t, "fatal")}
	for _, name := range names {
		w.models[name] = &model{
			version: name, r: rapid.SampledFrom([]float64{.25, .75}).Draw(t, "r"), layer: rapid.Uint32Range(0, 2).Draw(t, "layer"),
			err: rapid.SampledFrom([]error{nil, nil, nil, nil, errors.New("broken"), &httpmodel.Failure{Reason: "timeout", Detail: "slow"}}).Draw(t, "error"),
			// A panic of a guide that is no service goes to the caller: TestPanicOfAGuide.
			service: rapid.Bool().Draw(t, "service"), fallback: rapid.SampledFrom([]string{"", "a", "b", "none"}).Draw(t, "fallback"),
		}
		w.models[name].panics = w.models[name].service && rapid.IntRange(0, 9).Draw(t, "panics") == 0
	}
	w.ctl = &schemas.CrawlControl{Crawl: "c", Revision: rapid.Uint64().Draw(t, "revision"), Critic: rapid.SampledFrom(append([]string{"", "none"}, names...)).Draw(t, "critic"), Shadows: some("shadows")}
	for _, g := range some("guides") {
		w.ctl.Policies = append(w.ctl.Policies, &schemas.Policy{Ranker: schemas.Ranker_RANKER_GUIDE, Guide: g})
	}
	w.path = new(schemas.Path)
	if rapid.Bool().Draw(t, "backlinks") {
		w.ctl.Backlinks = new(schemas.BacklinkSource)
		w.path.Backlinks = rapid.SampledFrom([]string{"", "a", "b", "none"}).Draw(t, "source")
	}
	for _, name := range names {
		w.path.Steps = append(w.path.Steps, &schemas.PathStep{Guide: name, State: []byte("of " + name)})
	}
	page := &schemas.Page{Url: "http://u.test/", Nofollow: rapid.IntRange(0, 3).Draw(t, "nofollow") == 0}
	for i := range rapid.IntRange(0, 3).Draw(t, "links") {
		page.Links = append(page.Links, &schemas.Link{Url: fmt.Sprint("http://v.test/", i)})
	}
	w.parsed = parsedOf(page, w.path)
	return w
}

func parsedOf(page *schemas.Page, path *schemas.Path) *schemas.PageParsed {
	state, _ := proto.Marshal(path)
	request, _ := proto.Marshal(&schemas.FetchRequest{PathState: state})
	return &schemas.PageParsed{Page: page, Request: request}
}

// TestPage compares judgements with those made step by step.
func TestPage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		want, calls, ok := w.plain()
		got, seen, err := w.judge(t.Context())
		if (err == nil) != ok {
			t.Fatalf("error %v; the page is to be judged: %v", err, ok)
		}
		if w.fatal != "" && err == nil && slices.ContainsFunc(seen.failed, func(s string) bool { return strings.HasPrefix(s, string(w.fatal)+" ") }) {
			t.Fatalf("%v ended no page", seen.failed)
		}
		if err != nil {
			return // what was called before depends on the order
		}
		if w.ctl.GetCritic() != "" {
			part := &schemas.Judgement{
				Raw: got.Raw, Critic: got.Critic, Degraded: got.Degraded, Marking: got.Marking, Guidance: got.Guidance, Backlinks: got.Backlinks, Shadows: got.Shadows,
			}
			if got = part; !proto.Equal(got, want) {
				t.Fatalf("judged %v\nwant %v", got, want)
			}
		} else if !proto.Equal(got, want) {
			t.Fatalf("without a critic: %v", got)
		}
		if !slices.Equal(seen.failed, calls.failed) || seen.waits != calls.waits {
			t.Fatalf("failures and waits %+v, want %+v", seen, calls)
		}
		for _, g := range got.GetGuidance() {
			if m := w.models[g.GetGuide()]; string(m.state) != "of "+m.version {
				t.Fatalf("guide %s was called with the state %q", m.version, m.state)
			}
		}
	})
}

// TestFields: a judgement has the posteriors, the words of links and the words of the page only for crawls that read them, and the
// words of links are not those of URLs where labels follow from these.
func TestFields(t *testing.T) {
	page := &schemas.Page{Url: "http://u.test/", Terms: []string{"word"}, Tokens: []uint32{0}, LeafLengths: []uint32{1}, Links: []*schemas.Link{{Url: "http://v.test/other"}}}
	by := &model{version: "a", r: .75}
	w := &world{models: models{"a": by}, parsed: parsedOf(page, nil)}
	for i := range 16 {
		w.ctl = &schemas.CrawlControl{Critic: "a", Learning: new(schemas.Learning), LabelsFromUrls: i&8 != 0}
		posteriors, anchors, words := i&1 != 0, i&2 != 0, i&4 != 0
		if posteriors {
			w.ctl.Learning.Topics = schemas.TopicFeatures_TOPIC_FEATURES_ALL
		}
		if anchors {
			w.ctl.Policies = []*schemas.Policy{{Ranker: schemas.Ranker_RANKER_ANCHOR}}
		}
		if words {
			w.ctl.Renewal = new(schemas.Renewal)
		}
		j, _, err := w.judge(t.Context())
		if err != nil || (len(j.GetPosteriors()) > 0) != posteriors || (len(j.GetAnchors()) > 0) != anchors || (j.GetDocument() != nil) != words {
			t.Errorf("posteriors %v, anchors %v, words %v: %v, %v", posteriors, anchors, words, j, err)
		}
		if urls := anchors && i&8 == 0; (by.terms == 2) != urls {
			t.Errorf("anchors %v, labels_from_urls %v: %d terms were judged", anchors, w.ctl.LabelsFromUrls, by.terms)
		}
		if Guided(w.ctl) != words {
			t.Errorf("words %v: Guided is %v", words, Guided(w.ctl))
		}
	}
}

// TestPanicOfAGuide: in the goroutine of the caller it is the caller's, in another one it is an error.
func TestPanicOfAGuide(t *testing.T) {
	w := &world{
		models: models{"a": {version: "a"}, "g": {version: "g", panics: true, service: true}},
		ctl:    &schemas.CrawlControl{Critic: "a", Policies: []*schemas.Policy{{Ranker: schemas.Ranker_RANKER_GUIDE, Guide: "g"}}},
		parsed: parsedOf(&schemas.Page{Links: []*schemas.Link{{Url: "http://v.test/"}}}, nil),
	}
	if _, _, err := w.judge(t.Context()); err == nil || !strings.Contains(err.Error(), "panic: guide g") {
		t.Errorf("a service: %v", err)
	}
	w.models["g"].service = false
	defer func() {
		if p := recover(); p != "guide g" {
			t.Errorf("recovered %v", p)
		}
	}()
	_, _, err := w.judge(t.Context())
	t.Errorf("no panic, but %v", err)
}

// TestInvalidRequests: a guided page needs a request and a path that can be decoded.
func TestInvalidRequests(t *testing.T) {
	page := &schemas.Page{Links: []*schemas.Link{{Url: "http://v.test/"}}}
	w := &world{
		models: models{"a": {version: "a"}},
		ctl:    &schemas.CrawlControl{Critic: "a", Policies: []*schemas.Policy{{Ranker: schemas.Ranker_RANKER_GUIDE, Guide: "a"}}},
	}
	badPath, err := proto.Marshal(&schemas.FetchRequest{PathState: []byte{0xff}})
	if err != nil {
		t.Fatal(err)
	}
	for want, request := range map[string][]byte{"decode the request": {0xff}, "the state of the path": badPath} {
		w.parsed = &schemas.PageParsed{Page: page, Request: request}
		if _, _, err := w.judge(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestTheEndOfAContext is no failure of a model: the page is not judged.
func TestTheEndOfAContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, part := range []Part{OfShadow, OfGuide, OfBacklinks} {
		w := &world{
			models: models{"a": {version: "a"}, "g": {version: "g", layer: 1}, "x": {version: "x", err: errors.New("interrupted")}},
			ctl:    &schemas.CrawlControl{Critic: "a", Policies: []*schemas.Policy{{Ranker: schemas.Ranker_RANKER_GUIDE, Guide: "g"}}},
		}
		path := new(schemas.Path)
		switch part {
		case OfShadow:
			w.ctl.Policies, w.ctl.Shadows = nil, []string{"x"}
		case OfGuide:
			w.models["g"].err = errors.New("interrupted")
		case OfBacklinks:
			path.Backlinks = "x"
		}
		w.parsed = parsedOf(&schemas.Page{Links: []*schemas.Link{{Url: "http://v.test/"}}}, path)
		if _, seen, err := w.judge(ctx); !errors.Is(err, context.Canceled) || len(seen.failed) > 0 {
			t.Errorf("%s: %v, failures %v", part, err, seen.failed)
		}
	}
}

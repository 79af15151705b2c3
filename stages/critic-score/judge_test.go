package main

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"forager/internal/classify/httpmodel"
	"forager/internal/classify/pagerules"
	"forager/internal/stream"
	"forager/schemas"
)

// judged is the judgement of the page of parsed, which must get one.
func (w *world) judged(t testing.TB) *schemas.Judgement {
	t.Helper()
	outs, err := w.stage.Apply(t.Context(), parsed(t, nil))
	_, j := one(t, outs, err)
	if j.GetJudgement() == nil {
		t.Fatalf("no judgement: %v", j)
	}
	return j.GetJudgement()
}

func rules(t testing.TB, source string) []byte {
	t.Helper()
	r, err := pagerules.Parse("x.rules", source)
	if err != nil {
		t.Fatal(err)
	}
	return r.Marshal()
}

// service is a predicate that gives chess the probability .75, unless a test changes it.
type service struct {
	mu     sync.Mutex
	status int
	body   string
	asked  int
}

func (s *service) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.status != 0 {
		w.WriteHeader(s.status)
	}
	if s.body == "" {
		s.body = `{"pages":[{"probabilities":{"chess":0.75}}]}`
	}
	fmt.Fprint(w, s.body)
}

func (s *service) respond(status int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.body = status, body
}

func asking(t testing.TB, s http.Handler, more, fallback string) []byte {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	p, err := httpmodel.Parse("x.yaml", "url: "+srv.URL+"\ntopics: [chess]\nbreaker: {failures: 2, pause: 1h}\n"+more, fallback)
	if err != nil {
		t.Fatal(err)
	}
	return p.Marshal()
}

// TestMarkingAgain: judgements follow the newest control record, and name it.
func TestMarkingAgain(t *testing.T) {
	w := newWorld(t)
	version := w.publish(t, "games", trained(t, "Games/chess", "Games/go", "Home"))
	w.revise(t, &schemas.CrawlControl{Crawl: "c", Critic: version, Focus: []string{"Games"}})
	all := w.judged(t)
	w.revise(t, &schemas.CrawlControl{Crawl: "c", Critic: version, Focus: []string{"Games"}, Bad: []string{"Games/chess"}})
	without := w.judged(t)
	w.revise(t, &schemas.CrawlControl{Crawl: "c", Critic: version, Focus: []string{"Games/chess", "Home"}, Weights: map[string]float64{"Games/chess": .5}})
	half := w.judged(t)
	if !all.BestIsFocus || without.BestIsFocus || !half.BestIsFocus || all.Marking != 1 || without.Marking != 2 || half.Marking != 3 {
		t.Errorf("%v\n%v\n%v", all, without, half)
	}
	if !(all.Raw > .7 && without.Raw < .5 && half.Raw < all.Raw && half.Raw > .3) || all.Topics[0].Topic != "Games/chess" {
		t.Errorf("R(u) %v, without chess %v, half of it %v", all.Raw, without.Raw, half.Raw)
	}
	w.revise(t, &schemas.CrawlControl{Crawl: "d", Critic: version, Focus: []string{"Home"}}) // the same critic, another crawl
	if again := w.judged(t); again.Raw != half.Raw {
		t.Errorf("another crawl's marking is followed: %v", again)
	}
}

func TestHotSwap(t *testing.T) {
	w := newWorld(t)
	first, second := w.publish(t, "games", trained(t, "chess", "go")), w.publish(t, "rules", rules(t, "chess: url has 'nowhere'\ngo: text has 'chess'"))
	for revision, version := range []string{first, second, first} {
		w.control(t, "c", version, "chess")
		j := w.judged(t)
		if j.Critic != version || j.Marking != uint64(revision+1) || j.BestIsFocus != (version == first) {
			t.Errorf("revision %d: %v", revision+1, j)
		}
	}
}

// TestShadows: what shadows judge is recorded, and neither a missing one nor one that does not fit
// changes or holds up the judgement.
func TestShadows(t *testing.T) {
	w := newWorld(t)
	s := &service{}
	main := w.publish(t, "games", trained(t, "chess", "go"))
	ruled := w.publish(t, "rules", rules(t, "chess: text has 'chess'"))
	asked := w.publish(t, "asked", asking(t, s, "patience: 1h", ""))
	other := w.publish(t, "other", trained(t, "a", "b"))
	w.control(t, "c", main, "chess")
	alone := w.judged(t)
	w.revise(t, &schemas.CrawlControl{Crawl: "c", Critic: main, Focus: []string{"chess"}, Shadows: []string{ruled, asked, "missing/000000000000", other}})
	j := w.judged(t)
	if j.Critic != main || j.Raw != alone.Raw || len(j.Shadows) != 4 {
		t.Fatalf("judgement %v", j)
	}
	for i, want := range []*schemas.Shadow{
		{Critic: ruled, Raw: 1, Tempered: 1, Calibrated: 1, BestIsFocus: true},
		{Critic: asked, Raw: .75, Tempered: .75, Calibrated: .75, BestIsFocus: true},
	} {
		if got := j.Shadows[i]; got.String() != want.String() {
			t.Errorf("shadow %v, want %v", got, want)
		}
	}
	if x := j.Shadows[2]; x.Critic != "missing/000000000000" || !strings.Contains(x.Failure, "not announced") {
		t.Errorf("a missing shadow: %v", x)
	}
	if x := j.Shadows[3]; !strings.Contains(x.Failure, `focus topic "chess" is unknown`) {
		t.Errorf("a shadow of other topics: %v", x)
	}
	fetches := w.fetches.Load()
	s.respond(200, "rubbish")
	if x := w.judged(t).Shadows[1]; !strings.Contains(x.Failure, "rubbish") || x.Raw != 0 {
		t.Errorf("a service as shadow that answers rubbish: %v", x)
	}
	if n := w.fetches.Load() - fetches; n != 0 {
		t.Errorf("the missing shadow was looked for again at once")
	}
	if n := w.count(t, "shadow_failures_total", ""); n != 5 {
		t.Errorf("%v failures counted", n)
	}
}

// count is a counter of the stage.
func (w *world) count(t testing.TB, name, label string) float64 {
	t.Helper()
	m := new(dto.Metric)
	var err error
	if name == "shadow_failures_total" {
		err = w.scorer.metrics.shadowless.Write(m)
	} else {
		err = w.scorer.metrics.degraded.WithLabelValues(label).Write(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

// TestPredicateWithAFallback: pages for which a service fails, or returns nonsense, are judged by
// its fallback, which is counted and recorded.
func TestPredicateWithAFallback(t *testing.T) {
	w := newWorld(t)
	s := &service{}
	fallback := w.publish(t, "games", trained(t, "chess", "go"))
	version := w.publish(t, "asked", asking(t, s, "fallback: games", fallback))
	w.control(t, "c", version, "chess")
	if j := w.judged(t); j.Critic != version || j.Raw != .75 || j.Degraded != "" || !j.BestIsFocus || j.Topics[0].Topic != "chess" {
		t.Errorf("judgement %v", j)
	}
	for _, c := range []struct {
		status int
		body   string
		reason string
	}{{200, `{"pages":[{"error":"too short"}]}`, httpmodel.Refused}, {200, "yes", httpmodel.Rubbish}, {500, "", httpmodel.Status}, {200, "", httpmodel.Open}} {
		s.respond(c.status, c.body)
		if j := w.judged(t); j.Critic != fallback || j.Degraded != c.reason || j.Raw <= .5 || j.Raw == .75 || j.Marking != 1 {
			t.Errorf("%s: %v", c.reason, j)
		}
		if n := w.count(t, "degraded_pages_total", c.reason); n != 1 {
			t.Errorf("%s is counted %v times", c.reason, n)
		}
	}
	if s.asked != 4 {
		t.Errorf("the service was asked %d times", s.asked)
	}
}

// TestPredicateWithoutAFallback: when patience is over the page fails, once, and can be replayed.
func TestPredicateWithoutAFallback(t *testing.T) {
	w := newWorld(t)
	s := &service{status: 500}
	w.control(t, "c", w.publish(t, "asked", asking(t, s, "patience: 0s", "")), "chess")
	outs, err := w.stage.Apply(t.Context(), parsed(t, nil))
	if err != nil || len(outs) != 2 || outs[1].Topic != schemas.TopicDeadLetter {
		t.Fatalf("%d records, %v", len(outs), err)
	}
	if j := judged(t, outs[0]); j.Outcome != schemas.Outcome_OUTCOME_FAILED_CRITIC_SCORE || j.Judgement != nil || s.asked != 1 {
		t.Errorf("%v after %d requests", j, s.asked)
	}
	s.respond(200, "")
	w.control(t, "c", w.publish(t, "asked", asking(t, s, "patience: 1s", "")), "chess")
	if j := w.judged(t); j.Raw != .75 {
		t.Errorf("judgement %v", j)
	}
}

// TestAFallbackIsWaitedFor, as any critic that counts is.
func TestAFallbackIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.control(t, "c", w.publish(t, "asked", asking(t, &service{status: 500}, "fallback: games", "games/000000000000")), "chess")
	if _, err := w.stage.Apply(t.Context(), parsed(t, nil)); !stream.IsUnavailable(err) || !strings.Contains(err.Error(), "games/000000000000") {
		t.Errorf("error %v", err)
	}
	w = newWorld(t)
	w.control(t, "c", w.publish(t, "asked", asking(t, &service{status: 500}, "fallback: games", w.publish(t, "games", trained(t, "a", "b")))), "chess")
	outs, err := w.stage.Apply(t.Context(), parsed(t, nil))
	if err != nil || len(outs) != 2 {
		t.Errorf("a fallback of other topics: %d records, %v", len(outs), err)
	}
}

// TestPagesThatWaitKeepNoOthersFromBeingJudged: with one turn in all, a page that waits for its
// service has none.
func TestPagesThatWaitKeepNoOthersFromBeingJudged(t *testing.T) {
	w := newWorld(t)
	begun, release := make(chan bool), make(chan bool)
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- true
		<-release
		fmt.Fprint(w, `{"pages":[{"probabilities":{"chess":0.75}}]}`)
	})
	w.control(t, "slow", w.publish(t, "asked", asking(t, slow, "concurrent: 1", "")), "chess")
	w.control(t, "c", w.publish(t, "games", trained(t, "chess", "go")), "chess")
	var wg sync.WaitGroup
	wg.Go(func() {
		r := parsed(t, func(p *schemas.PageParsed) { p.Crawl = "slow" })
		r.Headers[schemas.HeaderCrawl] = "slow"
		outs, err := w.stage.Apply(t.Context(), r)
		if err != nil || len(outs) != 1 || judged(t, outs[0]).GetJudgement().GetRaw() != .75 {
			t.Errorf("%d records, %v", len(outs), err)
		}
	})
	<-begun
	if j := w.judged(t); j.Raw < .5 { // while the other waits
		t.Errorf("judgement %v", j)
	}
	close(release)
	wg.Wait()
}

// TestPosteriorsWhereLearnersReadThem: all classes are named to crawls whose features are made of them, and to no others.
func TestPosteriorsWhereLearnersReadThem(t *testing.T) {
	w := newWorld(t)
	version := w.publish(t, "games", trained(t, "chess", "go"))
	for topics, want := range map[schemas.TopicFeatures]int{schemas.TopicFeatures_TOPIC_FEATURES_TOP2: 0, schemas.TopicFeatures_TOPIC_FEATURES_ALL: 2} {
		w.revise(t, &schemas.CrawlControl{Crawl: "c", Critic: version, Focus: []string{"chess"}, Learning: &schemas.Learning{Topics: topics}})
		outs, err := w.stage.Apply(t.Context(), parsed(t, nil))
		_, judged := one(t, outs, err)
		j := judged.GetJudgement()
		sum := 0.
		for i, x := range j.GetPosteriors() {
			if sum += x.GetTempered(); x.GetTopic() != []string{"chess", "go"}[i] {
				t.Errorf("class %d is %v", i, x)
			}
		}
		if len(j.GetPosteriors()) != want || want > 0 && math.Abs(sum-1) > 1./256 || len(j.GetTopics()) != 2 {
			t.Errorf("%v: %v", topics, j)
		}
	}
}

// TestAnchorsWherePoliciesReadThem: the text of each link is judged by the critic that judged the
// page, and not for crawls that do not use it.
func TestAnchorsWherePoliciesReadThem(t *testing.T) {
	w := newWorld(t)
	version := w.publish(t, "games", trained(t, "chess", "go"))
	linked := parsed(t, func(p *schemas.PageParsed) {
		p.Page.LeafLengths = []uint32{1, 1, 1, 1} // chess page chess never
		p.Page.Links = []*schemas.Link{{Url: "http://h/a", FirstLeaf: 3, LastLeaf: 3}, {Url: "http://h/b", FirstLeaf: 1, LastLeaf: 2}}
	})
	for ranker, want := range map[schemas.Ranker]int{schemas.Ranker_RANKER_SOFT_FOCUS: 0, schemas.Ranker_RANKER_ANCHOR: 2} {
		w.revise(t, &schemas.CrawlControl{
			Crawl: "c", Critic: version, Focus: []string{"chess"}, Policies: []*schemas.Policy{{Name: "p", Ranker: ranker}},
		})
		outs, err := w.stage.Apply(t.Context(), linked)
		_, judged := one(t, outs, err)
		got := judged.GetJudgement().GetAnchors()
		if len(got) != want {
			t.Fatalf("%v: %v", ranker, got)
		}
		if want > 0 && !(got[0] == (schemas.AnchorSteps+1)/2 && got[1] > got[0]) { // "never" has no information
			t.Errorf("anchors %v", got)
		}
	}
}

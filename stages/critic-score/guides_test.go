package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"forager/internal/classify/httpmodel"
	"forager/internal/stream"
	"forager/schemas"
)

// linkService is a service that scores its links in descending steps from a given value, and counts the
// requests of a path.
func linkService(t testing.TB, from *float64, asked *int) []byte {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		var m struct {
			Pages []struct {
				State     string
				Judgement struct{ Raw float64 }
				Links     []struct{ Anchor string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || len(m.Pages) != 1 || m.Pages[0].Judgement.Raw == 0 {
			t.Errorf("asked was %v, %v", m, err)
		}
		scores := make([]float64, len(m.Pages[0].Links))
		for i := range scores {
			scores[i] = *from - float64(i)
		}
		if *from < 0 {
			scores = append(scores, 1, 2)
		}
		json.NewEncoder(w).Encode(map[string]any{"pages": []any{map[string]any{"scores": scores, "states": []string{m.Pages[0].State + "x"}}}})
	}))
	t.Cleanup(srv.Close)
	p, err := httpmodel.ParseLinks("l.yaml", "url: "+srv.URL+"\nsend: [anchor, judgement]\nbreaker: {failures: 2, pause: 1h}")
	if err != nil {
		t.Fatal(err)
	}
	return p.Marshal()
}

// linked is a record of page.parsed with two links, come to by a path.
func linked(t testing.TB, path []byte, change func(*schemas.PageParsed)) stream.Record {
	return parsed(t, func(p *schemas.PageParsed) {
		request := new(schemas.FetchRequest)
		if err := proto.Unmarshal(p.Request, request); err != nil {
			t.Fatal(err)
		}
		request.PathState = path
		var err error
		if p.Request, err = proto.Marshal(request); err != nil {
			t.Fatal(err)
		}
		p.Page.Links = []*schemas.Link{{Url: "http://h/a"}, {Url: "http://h/b"}}
		if change != nil {
			change(p)
		}
	})
}

func steps(t testing.TB, s ...*schemas.PathStep) []byte {
	t.Helper()
	b, err := proto.Marshal(&schemas.Path{Steps: s})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (w *world) unguided(t testing.TB, reason string) float64 {
	t.Helper()
	m := new(dto.Metric)
	if err := w.scorer.metrics.unguided.WithLabelValues(reason).Write(m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

func TestGuidesAreAsked(t *testing.T) {
	w := newWorld(t)
	from, asked := 5., 0
	version := w.publishKind(t, "guide", "links", linkService(t, &from, &asked))
	ctl := func(policies ...*schemas.Policy) *schemas.CrawlControl {
		return &schemas.CrawlControl{Crawl: "c", Critic: w.publish(t, "games", trained(t, "chess", "go")), Focus: []string{"chess"}, Policies: policies}
	}
	by := func(guide string) *schemas.Policy {
		return &schemas.Policy{Name: "p", Ranker: schemas.Ranker_RANKER_GUIDE, Guide: guide}
	}
	result := func(r stream.Record) string {
		t.Helper()
		outs, err := w.stage.Apply(t.Context(), r)
		_, j := one(t, outs, err)
		got := ""
		for _, g := range j.GetJudgement().GetGuidance() {
			got += fmt.Sprintf("%s %v %q %s;", g.GetGuide(), g.GetScores(), g.GetStates(), g.GetFailure())
		}
		return got
	}
	w.revise(t, ctl(by(version), &schemas.Policy{Name: "q", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}, by(version)))
	path := steps(t, &schemas.PathStep{Guide: "other/1", State: []byte("z")}, &schemas.PathStep{Guide: version, State: []byte("ab")})
	if got := result(linked(t, path, nil)); got != version+` [5 4] ["abx"] ;` || asked != 1 {
		t.Errorf("asked %d times, %s", asked, got)
	}
	if got := result(linked(t, nil, nil)); got != version+` [5 4] ["x"] ;` {
		t.Errorf("at a seed: %s", got)
	}
	for name, change := range map[string]func(*schemas.PageParsed){
		"no links": func(p *schemas.PageParsed) { p.Page.Links = nil },
		"nofollow": func(p *schemas.PageParsed) { p.Page.Nofollow = true },
	} {
		if got := result(linked(t, []byte("opaque"), change)); got != "" || asked != 2 {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, path := range map[string][]byte{"no path": []byte("opaque"), "a long state": steps(t, &schemas.PathStep{Guide: version, State: make([]byte, 257)})} {
		outs, err := w.stage.Apply(t.Context(), linked(t, path, nil))
		if err != nil || len(outs) != 2 || outs[1].Topic != schemas.TopicDeadLetter {
			t.Errorf("%s: %d records, %v", name, len(outs), err)
		}
	}
	from = -1
	for _, reason := range []string{httpmodel.Rubbish, httpmodel.Rubbish, httpmodel.Open} {
		if got := result(linked(t, path, nil)); !strings.Contains(got, "[] [] the predicate does not answer ("+reason) {
			t.Errorf("rubbish: %s", got)
		}
	}
	if a, b := w.unguided(t, httpmodel.Rubbish), w.unguided(t, httpmodel.Open); a != 2 || b != 1 {
		t.Errorf("%v and %v failures are counted", a, b)
	}
	w.revise(t, ctl(&schemas.Policy{Name: "q", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}))
	if got := result(linked(t, []byte("opaque"), nil)); got != "" {
		t.Errorf("without a guide: %s", got)
	}
}

// TestGuidesAreWaitedFor, as critics are: what is not there yet, what is no guide, what is damaged.
func TestGuidesAreWaitedFor(t *testing.T) {
	w := newWorld(t)
	from, asked := 5., 0
	file := linkService(t, &from, &asked)
	for _, c := range []struct{ version, want string }{
		{"links/000000000000", "not announced"},
		{w.publishKind(t, "guide", "games", trained(t, "chess", "go")), `no guide of kind "critic"`},
		{w.publishKind(t, "guide", "cut", file[:len(file)-1]), "damaged"},
		{w.publish(t, "links", file), "not announced"}, // as a critic
	} {
		w.revise(t, &schemas.CrawlControl{
			Crawl: "c", Critic: w.publish(t, "games", trained(t, "chess", "go")), Focus: []string{"chess"},
			Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_GUIDE, Guide: c.version}},
		})
		if _, err := w.stage.Apply(t.Context(), linked(t, nil, nil)); !stream.IsUnavailable(err) || !strings.Contains(err.Error(), c.version) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.version, err)
		}
	}
}

// TestGuidesOfTheCrawlsOwn: a page waits for the control record that it was requested under, and its words are in the
// output.
func TestGuidesOfTheCrawlsOwn(t *testing.T) {
	w := newWorld(t)
	ctl := &schemas.CrawlControl{
		Crawl: "c", Critic: w.publish(t, "games", trained(t, "chess", "go")), Focus: []string{"chess"}, Renewal: &schemas.Renewal{Bootstrap: 3},
		Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_UNFOCUSED}},
	}
	w.revise(t, ctl)
	under := func(revision uint64) stream.Record {
		return parsed(t, func(p *schemas.PageParsed) {
			request := new(schemas.FetchRequest)
			if err := proto.Unmarshal(p.Request, request); err != nil {
				t.Fatal(err)
			}
			request.Revision = revision
			var err error
			if p.Request, err = proto.Marshal(request); err != nil {
				t.Fatal(err)
			}
		})
	}
	if _, err := w.stage.Apply(t.Context(), under(ctl.Revision+1)); !stream.IsUnavailable(err) {
		t.Errorf("a page of the next revision: %v", err)
	}
	outs, err := w.stage.Apply(t.Context(), under(ctl.Revision))
	_, j := one(t, outs, err)
	if d := j.GetJudgement().GetDocument(); !slices.Equal(d.GetWords(), []string{"chess", "never", "page"}) || !slices.Equal(d.GetCounts(), []uint32{2, 1, 1}) {
		t.Errorf("its words: %v", d)
	}
	// Another crawl, whose guide is not made of its own pages.
	w = newWorld(t)
	ctl.Critic, ctl.Renewal = w.publish(t, "games", trained(t, "chess", "go")), nil
	w.revise(t, ctl)
	outs, err = w.stage.Apply(t.Context(), under(ctl.Revision+1))
	if _, j = one(t, outs, err); j.GetJudgement().GetDocument() != nil {
		t.Errorf("words that were not requested: %v", j.GetJudgement().GetDocument())
	}
}

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"forager/internal/classify/httpmodel"
	"forager/internal/rank/backlink"
	"forager/internal/rank/guide"
	"forager/internal/rank/localgraph"
	"forager/internal/rank/pageguide"
	"forager/internal/stream"
	"forager/schemas"
)

// layered is a guide for which pages of chess are targets, and no others.
func layered(t testing.TB) []byte {
	t.Helper()
	l := &pageguide.Samples{
		Targets: []uint32{0}, Parents: localgraph.Known(func(uint32) []uint32 { return nil }),
		Page: func(uint32) (*schemas.Page, error) {
			return &schemas.Page{Url: "http://l/", Terms: []string{"chess", "other"}, Tokens: []uint32{0, 0, 1}, LeafLengths: []uint32{3}}, nil
		},
	}
	g, _, err := pageguide.Train(t.Context(), pageguide.ContextGraph, l, pageguide.Default())
	if err != nil {
		t.Fatal(err)
	}
	return g.Marshal()
}

// pageOf is a record of a page of one word, whose request allows a query of a source.
func pageOf(t testing.TB, word, source string, change func(*schemas.Page)) stream.Record {
	t.Helper()
	path, err := proto.Marshal(&schemas.Path{Backlinks: source})
	if err != nil {
		t.Fatal(err)
	}
	return linked(t, path, func(p *schemas.PageParsed) {
		p.Page.Terms = []string{word}
		p.Page.Tokens, p.Page.LeafLengths = []uint32{0, 0}, []uint32{2}
		if change != nil {
			change(p.Page)
		}
	})
}

func (w *world) unanswered(t testing.TB, reason string) float64 {
	t.Helper()
	m := new(dto.Metric)
	if err := w.scorer.metrics.unanswered.WithLabelValues(reason).Write(m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

// TestParentsOfTargetsAreAskedFor, where the request allows it, also of pages whose links may not be followed; a service
// that is slow, or wrong, costs a query and no more.
func TestParentsOfTargetsAreAskedFor(t *testing.T) {
	w := newWorld(t)
	table, _, err := backlink.NewTable(backlink.EdgesOf(t.Context(), strings.NewReader("http://parent/ http://h/u\nhttp://h/b http://h/u\n"), 0, func(string) bool { return true }))
	if err != nil {
		t.Fatal(err)
	}
	source := w.publishKind(t, "backlinks", "edges", table.Marshal())
	w.revise(t, &schemas.CrawlControl{
		Crawl: "c", Critic: w.publish(t, "games", trained(t, "chess", "go")), Focus: []string{"chess"},
		Policies:  []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_GUIDE, Guide: w.publishKind(t, "guide", "layers", layered(t))}},
		Backlinks: &schemas.BacklinkSource{Source: source, Ration: 9},
	})
	judged := func(r stream.Record) *schemas.Judgement {
		t.Helper()
		outs, err := w.stage.Apply(t.Context(), r)
		_, j := one(t, outs, err)
		return j.GetJudgement()
	}
	for name, change := range map[string]func(*schemas.Page){
		"a target":   nil,
		"a leaf":     func(p *schemas.Page) { p.Links = nil },
		"a nofollow": func(p *schemas.Page) { p.Nofollow = true },
	} {
		j := judged(pageOf(t, "chess", source, change))
		if b := j.GetBacklinks(); !slices.Equal(b.GetParents(), []string{"http://parent/", "http://h/b"}) || b.GetQueries() != 1 || b.GetSource() != source ||
			len(j.GetGuidance()) != 1 || len(j.GetGuidance()[0].GetScores()) != 1 || j.GetGuidance()[0].GetLayer() != 1 {
			t.Errorf("%s: %v", name, j)
		}
	}
	if j := judged(pageOf(t, "go", source, nil)); j.GetBacklinks() != nil || j.GetGuidance()[0].GetLayer() != 0 {
		t.Errorf("no target: %v", j)
	}
	if j := judged(pageOf(t, "chess", "", nil)); j.GetBacklinks() != nil || j.GetGuidance()[0].GetLayer() != 1 {
		t.Errorf("not allowed: %v", j)
	}
	if _, err := w.stage.Apply(t.Context(), pageOf(t, "chess", "gone/000000000000", nil)); !stream.IsUnavailable(err) || !strings.Contains(err.Error(), "gone/000000000000") {
		t.Errorf("a source that is not there: %v", err)
	}
	hang := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(hang) })
	slow, err := httpmodel.ParseBacklinks("s.yaml", "url: "+srv.URL+"\ntimeout: 500ms\nbreaker: {failures: 2, pause: 1h}")
	if err != nil {
		t.Fatal(err)
	}
	source = w.publishKind(t, "backlinks", "slow", slow.Marshal())
	for i, want := range []struct {
		reason  string
		queries uint32
	}{{httpmodel.Timeout, 1}, {httpmodel.Timeout, 1}, {httpmodel.Open, 0}} {
		b := judged(pageOf(t, "chess", source, nil)).GetBacklinks()
		if !strings.Contains(b.GetFailure(), want.reason) || b.GetQueries() != want.queries || len(b.GetParents()) > 0 {
			t.Errorf("page %d: %v", i, b)
		}
	}
	if a, b := w.unanswered(t, httpmodel.Timeout), w.unanswered(t, httpmodel.Open); a != 2 || b != 1 {
		t.Errorf("%v and %v failures are counted", a, b)
	}
}

// TestGuidesAreAskedSideBySide: two services that wait for one another both respond.
func TestGuidesAreAskedSideBySide(t *testing.T) {
	w := newWorld(t)
	met := make(chan struct{})
	var versions []string
	var policies []*schemas.Policy
	for i, name := range []string{"one", "two"} {
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			select {
			case met <- struct{}{}:
			case <-met:
			case <-r.Context().Done():
				return
			}
			rw.Write([]byte(`{"pages": [{"scores": [` + []string{"1", "2"}[i] + `]}]}`))
		}))
		t.Cleanup(srv.Close)
		p, err := httpmodel.ParseLinks(name, "url: "+srv.URL+"\ntimeout: 30s")
		if err != nil {
			t.Fatal(err)
		}
		version := w.publishKind(t, "guide", name, p.Marshal())
		versions = append(versions, version)
		policies = append(policies, &schemas.Policy{Name: name, Ranker: schemas.Ranker_RANKER_GUIDE, Guide: version})
	}
	w.revise(t, &schemas.CrawlControl{Crawl: "c", Critic: w.publish(t, "games", trained(t, "chess", "go")), Focus: []string{"chess"}, Policies: policies})
	outs, err := w.stage.Apply(t.Context(), linked(t, nil, nil))
	_, j := one(t, outs, err)
	for i, g := range j.GetJudgement().GetGuidance() {
		if g.GetGuide() != versions[i] || g.GetFailure() != "" || g.GetScores()[0] != float64(i+1) {
			t.Errorf("guide %d returned %v", i, g)
		}
	}
}

// touchy is a guide that calls a service, and panics on its response.
type touchy struct{}

func (touchy) Guide(context.Context, *guide.View) (*schemas.Guidance, error) {
	panic("an answer without pages")
}
func (touchy) ReadsURLs() bool { return false }
func (touchy) Asks() bool      { return true }

// TestAGuideThatPanics costs its page, not the process.
func TestAGuideThatPanics(t *testing.T) {
	w := newWorld(t)
	const version = "touchy/123456789abc"
	place := w.models.guides.slotOf(version)
	place.model, place.there = touchy{}, true
	w.revise(t, &schemas.CrawlControl{
		Crawl: "c", Critic: w.publish(t, "games", trained(t, "chess", "go")), Focus: []string{"chess"},
		Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_GUIDE, Guide: version}},
	})
	outs, err := w.stage.Apply(t.Context(), linked(t, nil, nil))
	if err != nil || len(outs) != 2 || outs[1].Topic != schemas.TopicDeadLetter {
		t.Fatalf("%d records, %v", len(outs), err)
	}
	if j := judged(t, outs[0]); j.GetOutcome() != schemas.Outcome_OUTCOME_FAILED_CRITIC_SCORE {
		t.Errorf("it is %v", j)
	}
}

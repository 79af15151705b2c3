package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"forager/internal/classify/httpmodel"
	"forager/internal/lab/experiment"
	"forager/internal/lab/experiment/worldtest"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/backlink"
	"forager/internal/rank/guide"
	"forager/internal/rank/guidefile"
	"forager/internal/rank/linkfeature"
	"forager/internal/rank/localgraph"
	"forager/internal/rank/pageguide"
	"forager/internal/stream"
	"forager/schemas"
)

// TestExperimentsJudgeAsTheStage crawls a web in an experiment, gives the stage each page with its request, and compares the
// judgements: with anchors, posteriors, words, the scores and states of two guides, one of them a service, and backlinks.
// Every third page asks not to follow its links.
func TestExperimentsJudgeAsTheStage(t *testing.T) {
	web := worldtest.Random(7, 90)
	for i := range web.Answers {
		if a := &web.Answers[i]; i%3 == 0 {
			a.Body = strings.Replace(a.Body, "<title>", "<meta name=robots content=nofollow><title>", 1)
		}
	}
	dir := web.Write(t)
	file, err := taskfile.Load(filepath.Join(dir, "tasks.json"))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := file.Select()
	if err != nil {
		t.Fatal(err)
	}
	environments, err := experiment.Prepare(t.Context(), file, dir, tasks, linkfeature.Settings{DMax: 5})
	if err != nil {
		t.Fatal(err)
	}
	env, task := environments[tasks[0]], tasks[0]
	var edges strings.Builder
	for i, u := range env.URLs() {
		fmt.Fprintf(&edges, "http://parent.test/%d %s\nhttp://h0.test/0 %s\n", i, u, u)
	}
	parents, _, err := backlink.NewTable(backlink.EdgesOf(t.Context(), strings.NewReader(edges.String()), 0, func(string) bool { return true }))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"layers": layersOf(t), "service": countingService(t)}
	guides := make(map[string]guide.Guide)
	for version, b := range files {
		if guides[version], err = guidefile.Open(b, httpmodel.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	ctl := &schemas.CrawlControl{
		Crawl: "experiment", Critic: task.Critic, Focus: []string{task.FocusClass},
		Policies:      []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_GUIDE, Guide: "service"}},
		RankerShadows: []*schemas.Policy{{Name: "l", Ranker: schemas.Ranker_RANKER_GUIDE, Guide: "layers"}, {Name: "a", Ranker: schemas.Ranker_RANKER_ANCHOR}},
		Learning:      &schemas.Learning{DMax: 5, Topics: schemas.TopicFeatures_TOPIC_FEATURES_ALL},
		Backlinks:     &schemas.BacklinkSource{Source: "backlinks", Ration: 12}, Renewal: new(schemas.Renewal),
	}
	w := newWorld(t)
	w.publishAs(t, "critic", task.Critic, env.Critic().Marshal())
	w.publishAs(t, "backlinks", ctl.Backlinks.Source, parents.Marshal())
	for version, b := range files {
		w.publishAs(t, "guide", version, b)
	}
	w.revise(t, ctl)
	var joined, dead, states int
	run := &experiment.Run{
		Environment: env, Seeds: task.Seeds[0], Policies: ctl.Policies, Shadows: ctl.RankerShadows, Learning: ctl.Learning, Guides: guides,
		Backlinks: parents, Ration: ctl.Backlinks.Ration, Renewal: ctl.Renewal,
	}
	run.Read = append(run.Read, func(rec *schemas.LinkFound, page *schemas.Page) error {
		j := w.judgement(t, rec, page)
		if diff := cmp.Diff(j, rec.GetJudgement(), protocmp.Transform()); diff != "" {
			return fmt.Errorf("%s in the stage and in the experiment: %s", rec.GetUrl(), diff)
		}
		if len(j.GetPosteriors()) == 0 || j.GetDocument() == nil || !page.GetNofollow() && len(j.GetAnchors()) < len(page.GetLinks()) {
			return fmt.Errorf("the judgement of %s is incomplete: %v", rec.GetUrl(), j)
		}
		for _, g := range j.GetGuidance() {
			states += len(g.GetStates())
		}
		if len(j.GetBacklinks().GetParents()) > 0 {
			joined++
			if page.GetNofollow() {
				dead++
			}
		}
		return nil
	})
	c, err := run.Crawl(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Steps) < 20 || joined < 4 || dead == 0 || states == 0 {
		t.Errorf("%d pages, %d with backlinks, %d of them without links to follow, %d states", len(c.Steps), joined, dead, states)
	}
}

// judgement is that of the stage on a page, after feature-extract has joined its backlinks.
func (w *world) judgement(t *testing.T, rec *schemas.LinkFound, page *schemas.Page) *schemas.Judgement {
	t.Helper()
	request := new(schemas.FetchRequest)
	if err := proto.Unmarshal(rec.GetRequest(), request); err != nil {
		t.Fatal(err)
	}
	value, err := proto.Marshal(&schemas.PageParsed{
		Id: rec.GetId(), Crawl: rec.GetCrawl(), Outcome: rec.GetOutcome(), Request: rec.GetRequest(), Page: page,
	})
	if err != nil {
		t.Fatal(err)
	}
	outs, err := w.stage.Apply(t.Context(), stream.Record{
		Topic: schemas.TopicPageParsed, Key: rec.GetId(), Value: value, Headers: schemas.RequestHeaders(request),
	})
	_, judged := one(t, outs, err)
	found := &schemas.LinkFound{Judgement: judged.GetJudgement()}
	for _, l := range rec.GetLinks() {
		if !l.GetBacklink() {
			found.Links = append(found.Links, l)
		}
	}
	backlink.Join(found)
	found.Judgement.Marking = 0 // a judgement in an experiment is of no revision
	return found.Judgement
}

// layersOf is a guide for which pages with the words of worldtest's good pages are targets.
func layersOf(t *testing.T) []byte {
	t.Helper()
	target := &schemas.Page{Url: "http://l/"}
	for i := range uint32(30) {
		target.Terms, target.Tokens = append(target.Terms, fmt.Sprint("good", i)), append(target.Tokens, i)
	}
	target.LeafLengths = []uint32{uint32(len(target.Tokens))}
	l := &pageguide.Samples{
		Targets: []uint32{0}, Parents: localgraph.Known(func(uint32) []uint32 { return nil }),
		Page: func(uint32) (*schemas.Page, error) { return target, nil },
	}
	g, _, err := pageguide.Train(t.Context(), pageguide.ContextGraph, l, pageguide.Default())
	if err != nil {
		t.Fatal(err)
	}
	return g.Marshal()
}

// countingService is a guide that gives each link another score and counts the steps of a path in its states.
func countingService(t *testing.T) []byte {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			Pages []struct {
				State string
				Links []struct{ Anchor string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		var pages []any
		for _, p := range m.Pages {
			scores, states := []float64{}, []string{}
			for i, l := range p.Links {
				scores, states = append(scores, float64(len(l.Anchor)*10-i)), append(states, p.State+"+")
			}
			pages = append(pages, map[string]any{"scores": scores, "states": states})
		}
		json.NewEncoder(w).Encode(map[string]any{"pages": pages})
	}))
	t.Cleanup(srv.Close)
	p, err := httpmodel.ParseLinks("l.yaml", "url: "+srv.URL+"\nsend: [anchor]")
	if err != nil {
		t.Fatal(err)
	}
	return p.Marshal()
}

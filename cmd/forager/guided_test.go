package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"forager/infra/simweb"
	"forager/internal/classify/predicate"
	"forager/internal/crawl/crawlfile"
	"forager/internal/page/dom"
	"forager/internal/page/text"
	"forager/internal/rank/guide"
	"forager/internal/rank/guides"
	"forager/internal/rank/qvalue"
	"forager/internal/rank/shark"
)

// ranksLinks is a service that scores a link by its position on the page, by the relevance of the page and by
// the length of the path, which it keeps in the state.
func ranksLinks(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Pages []struct {
			State     string
			Judgement struct{ Calibrated float64 }
			Links     []struct{ Anchor string }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pages := []any{}
	for _, p := range asked.Pages {
		depth, _ := strconv.Atoi(p.State)
		scores, states := []float64{}, []string{}
		for i, l := range p.Links {
			scores = append(scores, 3*float64(depth%3)-float64(i%7)+p.Judgement.Calibrated+float64(len(l.Anchor)%5))
			states = append(states, strconv.Itoa(depth+1+i%2))
		}
		pages = append(pages, map[string]any{"scores": scores, "states": states})
	}
	json.NewEncoder(w).Encode(map[string]any{"pages": pages})
}

// valued is a guide trained on pages of the web.
func (r *rig) valued(g *demoGround, web *simweb.Web) *qvalue.Model {
	r.t.Helper()
	var lessons []qvalue.Lesson
	for _, url := range g.urlList[:100] {
		body, _, ok := web.Page(url)
		if !ok {
			continue
		}
		page, err := dom.Parse([]byte(body), "text/html", url, dom.Settings{})
		if err != nil {
			r.t.Fatal(err)
		}
		l := qvalue.Lesson{Page: page}
		for _, link := range page.GetLinks() {
			q := 0.
			if g.truth(link.GetUrl()) {
				q = 1
			}
			l.Q = append(l.Q, q)
		}
		lessons = append(lessons, l)
	}
	m, err := qvalue.Train(lessons, qvalue.Default)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// guides publishes guides and returns them by their versions, and their names by rankers.
func (r *rig) guides(g *demoGround, web *simweb.Web) (by map[string]guide.Guide, named map[string]string) {
	r.t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(ranksLinks))
	r.t.Cleanup(srv.Close)
	asking, err := predicate.ParseLinks("links.yaml", "url: "+srv.URL+"\nsend: [anchor, judgement]")
	if err != nil {
		r.t.Fatal(err)
	}
	query, err := shark.Ask([]shark.Word{{Word: "page", Weight: 1}, {Word: "the", Weight: .5}}, text.Settings{})
	if err != nil {
		r.t.Fatal(err)
	}
	sharp, err := shark.NewShark(query, shark.Default)
	if err != nil {
		r.t.Fatal(err)
	}
	fish, err := shark.NewFish(query, shark.FishSettings{Depth: 3, Least: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	paths, err := os.ReadFile("../../internal/rank/localguide/testdata/v1-memm.guide") // its words are none here: paths alone differ
	if err != nil {
		r.t.Fatal(err)
	}
	by, named = make(map[string]guide.Guide), make(map[string]string)
	for ranker, file := range map[string][]byte{"link-predicate": asking.Marshal(), "shark-search": sharp.Marshal(), "memm-marginal": paths,
		"fish-search": fish.Marshal(), "rennie-mccallum": r.valued(g, web).Marshal()} {
		version, err := r.s.publishGuide("guide-"+ranker, "", file)
		if err != nil {
			r.t.Fatal(err)
		}
		if by[version], err = guides.Open(file, predicate.Options{}); err != nil {
			r.t.Fatal(err)
		}
		named[ranker] = "guide-" + ranker
	}
	if err := r.books.settle(r.s, time.Minute); err != nil {
		r.t.Fatal(err)
	}
	return by, named
}

// refusesGuides tries crawl files and commands that name guides which do not fit.
func (r *rig) refusesGuides() {
	r.t.Helper()
	dir := r.t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			r.t.Fatal(err)
		}
		return path
	}
	settings := write("urls.yaml", "url: http://127.0.0.1:9/\n")
	if out := r.mustRun("guide", "predicate", settings, "--name", "urls"); !strings.Contains(out, "published urls/") || !strings.Contains(out, "unreachable") {
		r.t.Errorf("a service that is away: %s", out)
	}
	p, err := predicate.ParseLinks("other.yaml", "url: http://127.0.0.1:9/\nsend: [anchor]")
	if err != nil {
		r.t.Fatal(err)
	}
	file := write("other.guide", string(p.Marshal()))
	if out := r.mustRun("guide", "publish", file, "--name", "theirs"); !strings.Contains(out, "a guide of the ranker link-predicate") {
		r.t.Errorf("published: %s", out)
	}
	r.mustRun("critic", "rules", write("x.rules", "A: text has 'a'\n"), "--name", "other")
	r.mustRun("guide", "publish", file, "--name", "theirs-alone", "--critic", "other")
	if err := os.WriteFile(file, p.Marshal()[:40], 0o600); err != nil {
		r.t.Fatal(err)
	}
	if _, stderr, code := r.run("guide", "publish", file, "--name", "cut"); code != exitFailure || !strings.Contains(stderr, "damaged") {
		r.t.Errorf("a file that was cut: exit %d, %s", code, stderr)
	}
	ctl, err := r.books.control("guided")
	if err != nil {
		r.t.Fatal(err)
	}
	crawl := "name: refused\ncritic: test\nfocus: [" + ctl.GetFocus()[0] + "]\nseeds: [\"http://a.example/\"]\nbudget: {pages: 3}\npoliteness: {contact: me@example.org}\n"
	for content, want := range map[string]string{
		"ranker: context-graph":                                                   "name a published one",
		"ranker: context-graph\nguides: {context-graph: psychic}":                 `no guide "psychic"; there are: guide-fish-search, guide-link-predicate, guide-memm-marginal, guide-rennie-mccallum, guide-shark-search, layers, theirs, theirs-alone, urls`,
		"ranker: context-graph\nguides: {context-graph: test}":                    `no guide "test"`,
		"ranker: context-graph+random\nguides: {context-graph: theirs}":           "is link-predicate",
		"ranker: mine\nguides: {mine: theirs-alone}":                              "was made for the critic other/",
		"ranker: mine\nguides: {mine: urls}\nlabels_from_urls: true":              "reads URLs, from which the labels follow",
		"labels_from_urls: true\nlearning: {features: [anchor, url-tokens]}":      "features anchor+url-tokens reads URLs",
		"ranker: mine+link-predicate\nguides: {mine: urls, link-predicate: urls}": "",
	} {
		_, stderr, code := r.run("crawl", "start", write("refused.yaml", crawl+content+"\n"), "--check")
		if want == "" && code != exitOK || want != "" && (code != exitFailure || !strings.Contains(stderr, want)) {
			r.t.Errorf("%s: exit %d, %s; want %q", content, code, stderr, want)
		}
	}
	if out := r.mustRun("models", "show", newestGuide(r, "theirs")); !strings.Contains(out, "a guide (link-predicate") || !strings.Contains(out, "send: [anchor]") {
		r.t.Errorf("models show: %s", out)
	}
}

// newestGuide returns the newest version of a guide.
func newestGuide(r *rig, name string) string {
	r.t.Helper()
	if err := r.books.settle(r.s, time.Minute); err != nil {
		r.t.Fatal(err)
	}
	m, err := r.books.guide(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return m.GetVersion()
}

// ranked returns the settings of a ranker with named guides.
func ranked(t *testing.T, name string, named map[string]string) *crawlfile.Ranking {
	t.Helper()
	used := make(map[string]string)
	for _, arm := range strings.Split(name, "+") {
		if named[arm] != "" {
			used[arm] = named[arm]
		}
	}
	ranking, err := crawlfile.RankBy(name, used)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", name, err))
	}
	return ranking
}

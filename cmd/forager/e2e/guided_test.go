package e2e

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

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/cmd/internal/models"
	"forager/internal/classify/httpmodel"
	"forager/internal/crawl/crawlfile"
	"forager/internal/rank/guide"
	"forager/internal/rank/guidefile"
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

// guides publishes guides and returns them by their versions, and their names by rankers.
func (r *rig) guides() (by map[string]guide.Guide, named map[string]string) {
	r.t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(ranksLinks))
	r.t.Cleanup(srv.Close)
	asking, err := httpmodel.ParseLinks("links.yaml", "url: "+srv.URL+"\nsend: [anchor, judgement]")
	if err != nil {
		r.t.Fatal(err)
	}
	paths, err := os.ReadFile("../../../internal/rank/pageguide/testdata/v1-memm.guide") // its words are none here: paths alone differ
	if err != nil {
		r.t.Fatal(err)
	}
	by, named = make(map[string]guide.Guide), make(map[string]string)
	for ranker, file := range map[string][]byte{"link-predicate": asking.Marshal(), "memm-marginal": paths} {
		version, err := models.PublishGuide(r.s, "guide-"+ranker, "", file)
		if err != nil {
			r.t.Fatal(err)
		}
		if by[version], err = guidefile.Open(file, httpmodel.Options{}); err != nil {
			r.t.Fatal(err)
		}
		named[ranker] = "guide-" + ranker
	}
	if err := crawls.Settle(r.s, r.books, time.Minute); err != nil {
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
	p, err := httpmodel.ParseLinks("other.yaml", "url: http://127.0.0.1:9/\nsend: [anchor]")
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
	if _, stderr, code := r.run("guide", "publish", file, "--name", "cut"); code != cli.ExitFailure || !strings.Contains(stderr, "damaged") {
		r.t.Errorf("a file that was cut: exit %d, %s", code, stderr)
	}
	ctl, err := r.books.Control("guided")
	if err != nil {
		r.t.Fatal(err)
	}
	crawl := "name: refused\ncritic: test\nfocus: [" + ctl.GetFocus()[0] + "]\nseeds: [\"http://a.example/\"]\nbudget: {pages: 3}\npoliteness: {contact: me@example.org}\n"
	for content, want := range map[string]string{
		"ranker: context-graph":                                                               "name a published one",
		"ranker: context-graph\nguides: {context-graph: psychic}":                             `no guide "psychic"; there are: guide-link-predicate, guide-memm-marginal, layers, theirs, theirs-alone, urls`,
		"ranker: context-graph\nguides: {context-graph: test}":                                `no guide "test"`,
		"ranker: context-graph+random\nguides: {context-graph: theirs}":                       "is link-predicate",
		"ranker: mine\nguides: {mine: theirs-alone}":                                          "was made for the critic other/",
		"ranker: mine\nguides: {mine: urls}\nlabels_from_urls: true":                          "reads URLs, from which the labels follow",
		"ranker: mixture\nlabels_from_urls: true\nlearning: {features: [anchor, url-tokens]}": "features anchor+url-tokens reads URLs",
		"ranker: mine+link-predicate\nguides: {mine: urls, link-predicate: urls}":             "",
	} {
		_, stderr, code := r.run("crawl", "start", write("refused.yaml", crawl+content+"\n"), "--check")
		if want == "" && code != cli.ExitOK || want != "" && (code != cli.ExitFailure || !strings.Contains(stderr, want)) {
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
	if err := crawls.Settle(r.s, r.books, time.Minute); err != nil {
		r.t.Fatal(err)
	}
	m, err := r.books.Guide(name)
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

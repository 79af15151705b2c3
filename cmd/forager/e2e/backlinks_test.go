package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forager/cmd/internal/crawls"
	"forager/cmd/internal/models"
	"forager/infra/simweb"
	"forager/internal/page/dom"
	"forager/internal/rank/backlink"
	"forager/internal/rank/guide"
	"forager/internal/rank/localgraph"
	"forager/internal/rank/pageguide"
	"forager/schemas"
)

// layersRation is less than the number of targets in the crawl.
const layersRation = 7

// layersWorld is crawls by a context graph of a synthetic web, with and without backlinks.
type layersWorld struct {
	crawls  []string
	guides  map[string]guide.Guide // by version
	named   map[string]string
	parents *backlink.Table
}

func (l *layersWorld) asks(crawl string) bool {
	return crawl == "layers-backlinks" || crawl == "layers-pages"
}

// layers publishes a context graph whose targets are pages about a topic, and a source of the links to such pages.
func (r *rig) layers(w *simweb.Web, topic string) *layersWorld {
	r.t.Helper()
	out := &layersWorld{crawls: []string{"layers", "layers-backlinks", "layers-pages"}, named: map[string]string{"context-graph": "layers"}}
	urls := append(w.Examples(topic, 20), w.Examples("Other", 20)...)
	samples := &pageguide.Samples{
		Parents: localgraph.Known(func(p uint32) []uint32 { return []uint32{(p + 20) % 40, (p + 21) % 40} }),
		Page:    func(p uint32) (*schemas.Page, error) { return simPage(r.t, w, urls[p]), nil },
	}
	for p := range uint32(20) {
		samples.Targets = append(samples.Targets, p)
	}
	made, _, err := pageguide.Train(r.s, pageguide.ContextGraph, samples, pageguide.Default())
	if err != nil {
		r.t.Fatal(err)
	}
	version, err := models.PublishGuide(r.s, "layers", "", made.Marshal())
	if err != nil {
		r.t.Fatal(err)
	}
	out.guides = map[string]guide.Guide{version: made}
	about, other := w.Examples(topic, 400), w.Examples("Other", 400)
	var edges strings.Builder
	for i, target := range about {
		for k := range 1 + i%3 {
			edges.WriteString(other[(3*i+k)%len(other)] + "\t" + target + "\n")
		}
	}
	file := filepath.Join(r.t.TempDir(), "edges.txt")
	if err := os.WriteFile(file, []byte(edges.String()), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if printed := r.mustRun("guide", "backlinks", file, "--name", "parents"); !strings.Contains(printed, "parents of 400 pages") {
		r.t.Errorf("guide backlinks printed %s", printed)
	}
	if out.parents, _, err = backlink.NewTable(backlink.EdgesOf(r.s, strings.NewReader(edges.String()), 0, func(string) bool { return true })); err != nil {
		r.t.Fatal(err)
	}
	if err := crawls.Settle(r.s, r.books, time.Minute); err != nil {
		r.t.Fatal(err)
	}
	return out
}

// simPage is a page of a synthetic web as parse-dom returns it.
func simPage(t testing.TB, w *simweb.Web, url string) *schemas.Page {
	t.Helper()
	html, _, ok := w.Page(url)
	if !ok {
		t.Fatalf("no page %s", url)
	}
	p, err := dom.Parse([]byte(html), "text/html; charset=utf-8", url, dom.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// asksForParents fails if a crawl did not spend its ration, or, where pages are ordered, fetched no page found
// by a backlink: links of one score wait for those found before.
func (r *rig) asksForParents(crawl string) {
	r.t.Helper()
	queries, parents := uint32(0), make(map[string]bool)
	for _, p := range r.pages(crawl) {
		queries += p.GetJudgement().GetBacklinks().GetQueries()
		for _, parent := range p.GetJudgement().GetBacklinks().GetParents() {
			parents[parent] = true
		}
	}
	fetched := 0
	for _, p := range r.pages(crawl) {
		if parents[p.GetUrl()] {
			fetched++
		}
	}
	if queries != layersRation || fetched == 0 && crawl == "layers-pages" {
		r.t.Errorf("%s: %d queries of a ration of %d, %d pages that they found were fetched", crawl, queries, layersRation, fetched)
	}
	r.t.Logf("%s: %d queries, %d of the pages fetched were found by them", crawl, queries, fetched)
}

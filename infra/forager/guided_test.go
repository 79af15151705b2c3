package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"forager/internal/crawlfile"
	"forager/internal/guide"
	"forager/internal/guides"
	"forager/internal/predicate"
	"forager/internal/shark"
	"forager/internal/text"
)

// ranksLinks is a service that scores a link by its place on the page, by the relevance of the page and
// by how far the path has come, which it is told in the state.
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

// guides publishes two guides and returns them by their versions, and their names by rankers.
func (r *rig) guides() (by map[string]guide.Guide, named map[string]string) {
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
	by, named = make(map[string]guide.Guide), make(map[string]string)
	for ranker, file := range map[string][]byte{"link-predicate": asking.Marshal(), "shark-search": sharp.Marshal()} {
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

// ranked is what a ranker sets whose guides have names.
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

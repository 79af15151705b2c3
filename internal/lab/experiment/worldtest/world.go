package worldtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forager/internal/web/warc"
)

// World is a small web to be written as files: pages of university "one" are crawled, those of
// "two" train the critic.
type World struct {
	Answers []Answer
	Labels  []string // URL, tab, label
	Critic  map[string][]string
	Seeds   [][]string
	Targets int
	Budget  uint64
	Pages   string // "" = those of university "one"
	// NotCounted pages by URL; nil = all but those of university "one".
	NotCounted []string
}

// Answer is the response of a URL.
type Answer struct {
	URL, Kind, Location, Body string
	Status                    int
}

// Page adds a page with its label.
func (w *World) Page(url, label, body string) {
	w.Answers = append(w.Answers, Answer{URL: url, Kind: "text/html", Status: 200, Body: body})
	w.Labels = append(w.Labels, url+"\t"+label)
}

// Redirect adds a redirect.
func (w *World) Redirect(url, to string) {
	w.Answers = append(w.Answers, Answer{URL: url, Location: to, Status: 301})
}

// Write puts web.warc.gz, web.labels.tsv and tasks.json into a folder and returns it.
func (w *World) Write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	var file strings.Builder
	out := warc.NewWriter(&file)
	if _, err := out.Info([16]byte{}, "web.warc.gz", time.Unix(0, 0), nil); err != nil {
		t.Fatal(err)
	}
	for i, a := range w.Answers {
		p := &warc.Page{ID: [16]byte{byte(i), byte(i >> 8), 1}, URL: a.URL, Date: time.Unix(0, 0), Status: a.Status, Reason: "said", Body: []byte(a.Body)}
		if a.Kind != "" {
			p.Header = append(p.Header, warc.Field{Name: "Content-Type", Value: a.Kind})
		}
		if a.Location != "" {
			p.Header = append(p.Header, warc.Field{Name: "Location", Value: a.Location})
		}
		if _, _, err := out.Response(p); err != nil {
			t.Fatal(err)
		}
	}
	var notCounted any = "every page whose label does not end in /one"
	if w.NotCounted != nil {
		notCounted = w.NotCounted
	}
	tasks, err := json.Marshal(map[string]any{
		"critics": map[string]any{"c": map[string]any{"examples": w.Critic, "not_counted": notCounted}},
		"tasks": []any{map[string]any{
			"name": "tiny:good", "warc": "web.warc.gz", "pages": cmp.Or(w.Pages, "label ends in /one"), "target_label": "good", "critic": "c",
			"focus_class": "good", "targets": w.Targets, "budget": w.Budget, "seeds": w.Seeds, "labels_from_url": false,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"web.warc.gz": file.String(), "web.labels.tsv": strings.Join(w.Labels, "\n") + "\n", "tasks.json": string(tasks),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// classes of pages of a random world; their words and the anchors that lead to them differ a
// little, pages of one class are linked more often among themselves.
var classes = []string{"bad", "good", "hub"}

// Random has n pages to be crawled and n/2 more for the critic. Every tenth URL of "one" is
// linked by an alias, too.
func Random(seed uint64, n int) *World {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &World{Budget: uint64(n / 2), Critic: make(map[string][]string)}
	class := make([]string, n)
	for i := range class {
		class[i] = classes[r.IntN(len(classes))]
	}
	words := func(class string, n int) string {
		var b strings.Builder
		for range n {
			if r.IntN(3) == 0 {
				fmt.Fprintf(&b, "%s%d ", class, r.IntN(30))
			} else {
				fmt.Fprintf(&b, "word%d ", r.IntN(60))
			}
		}
		return b.String()
	}
	url := func(i int) string { return fmt.Sprintf("http://h%d.test/%d", i%3, i) }
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, "<title>%s</title><p>%s<img src=x></p>", words(class[i], 2), words(class[i], 20+r.IntN(40)))
		for range 1 + r.IntN(8) {
			to := r.IntN(n)
			if again := r.IntN(n); class[to] != class[i] {
				to = again
			}
			href := url(to)
			if to%10 == 0 && r.IntN(2) == 0 {
				href += "/"
			}
			fmt.Fprintf(&b, "<li>%s<a href=%q>%s</a> %s</li>", words("li", r.IntN(2)), href, words(class[to], 1+r.IntN(3)), words("li", r.IntN(3)))
		}
		w.Page(url(i), class[i]+"/one", b.String())
		if i%10 == 0 {
			w.Redirect(url(i)+"/", url(i))
		}
		if class[i] == "good" {
			w.Targets++
		}
	}
	for i := range n / 2 {
		c := classes[i%len(classes)]
		u := fmt.Sprintf("http://two.test/%d", i)
		to := (7*i + 1) % (n / 2)
		link := fmt.Sprintf("<a href=%q>%s%d</a>", fmt.Sprintf("http://two.test/%d", to), classes[to%len(classes)], to%30)
		w.Page(u, c+"/two", "<p>"+words(c, 30)+"</p>"+link)
		w.Critic[c] = append(w.Critic[c], u)
	}
	for range 2 {
		w.Seeds = append(w.Seeds, []string{url(r.IntN(n)), url(r.IntN(n))})
	}
	return w
}

package experiment

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

	"forager/internal/linkfeature"
	"forager/internal/warc"
	"forager/schemas"
)

// world is a small web to be written as files: pages of university "one" are crawled, those of
// "two" train the critic.
type world struct {
	answers []answerRecord
	labels  []string
	critic  map[string][]string
	seeds   [][]string
	targets int
	budget  uint64
	pages   string // "" = those of university "one"
	// notCounted pages by URL; nil = all but those of university "one".
	notCounted []string
}

type answerRecord struct {
	url, kind, location, body string
	status                    int
}

func (w *world) page(url, label, body string) {
	w.answers = append(w.answers, answerRecord{url: url, kind: "text/html", status: 200, body: body})
	w.labels = append(w.labels, url+"\t"+label)
}

func (w *world) redirect(url, to string) {
	w.answers = append(w.answers, answerRecord{url: url, location: to, status: 301})
}

// write puts web.warc.gz, web.labels.tsv and tasks.json into a folder and returns it.
func (w *world) write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	var file strings.Builder
	out := warc.NewWriter(&file)
	if _, err := out.Info([16]byte{}, "web.warc.gz", time.Unix(0, 0), nil); err != nil {
		t.Fatal(err)
	}
	for i, a := range w.answers {
		p := &warc.Page{ID: [16]byte{byte(i), byte(i >> 8), 1}, URL: a.url, Date: time.Unix(0, 0), Status: a.status, Reason: "said", Body: []byte(a.body)}
		if a.kind != "" {
			p.Header = append(p.Header, warc.Field{Name: "Content-Type", Value: a.kind})
		}
		if a.location != "" {
			p.Header = append(p.Header, warc.Field{Name: "Location", Value: a.location})
		}
		if _, _, err := out.Response(p); err != nil {
			t.Fatal(err)
		}
	}
	var notCounted any = "every page whose label does not end in /one"
	if w.notCounted != nil {
		notCounted = w.notCounted
	}
	tasks, err := json.Marshal(map[string]any{
		"critics": map[string]any{"c": map[string]any{"examples": w.critic, "not_counted": notCounted}},
		"tasks": []any{map[string]any{
			"name": "tiny:good", "warc": "web.warc.gz", "pages": cmp.Or(w.pages, "label ends in /one"), "target_label": "good", "critic": "c",
			"focus_class": "good", "targets": w.targets, "budget": w.budget, "seeds": w.seeds, "labels_from_url": false,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"web.warc.gz": file.String(), "web.labels.tsv": strings.Join(w.labels, "\n") + "\n", "tasks.json": string(tasks),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ground writes the world and prepares its task.
func (w *world) ground(t testing.TB) *Ground {
	t.Helper()
	dir := w.write(t)
	file, err := LoadTasks(filepath.Join(dir, "tasks.json"))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := file.Select()
	if err != nil {
		t.Fatal(err)
	}
	grounds, err := Prepare(file, dir, tasks, linkfeature.Settings{DMax: 5})
	if err != nil {
		t.Fatal(err)
	}
	return grounds[tasks[0]]
}

// classes of pages of a random world; their words and the anchors that lead to them differ a
// little, pages of one class are linked more often among themselves.
var classes = []string{"bad", "good", "hub"}

// randomWorld has n pages to be crawled and n/2 more for the critic. Every tenth URL of "one" is
// linked by an alias, too.
func randomWorld(seed uint64, n int) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &world{budget: uint64(n / 2), critic: make(map[string][]string)}
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
		w.page(url(i), class[i]+"/one", b.String())
		if i%10 == 0 {
			w.redirect(url(i)+"/", url(i))
		}
		if class[i] == "good" {
			w.targets++
		}
	}
	for i := range n / 2 {
		c := classes[i%len(classes)]
		u := fmt.Sprintf("http://two.test/%d", i)
		w.page(u, c+"/two", "<p>"+words(c, 30)+"</p>")
		w.critic[c] = append(w.critic[c], u)
	}
	for range 2 {
		w.seeds = append(w.seeds, []string{url(r.IntN(n)), url(r.IntN(n))})
	}
	return w
}

// try makes a crawl that must not fail.
func try(t testing.TB, g *Ground, ranker string, draw int, seed uint64) *Crawl {
	t.Helper()
	c, err := g.Try(ranker, draw, seed, &schemas.Learning{DMax: 5})
	if err != nil {
		t.Fatalf("%s: %v", ranker, err)
	}
	return c
}

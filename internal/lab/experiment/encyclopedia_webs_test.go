//go:build webs

package experiment

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"html"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"forager/internal/lab/storedpage"
	"forager/internal/lab/taskfile"
	"forager/internal/page/dom"
	"forager/internal/page/text"
	"forager/internal/rank/linkfeature"
	"forager/internal/web/warc"
	"forager/internal/web/webarchive"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// article is one of an encyclopedia whose links were not kept.
type article struct {
	URL, Text string
	Topics    []string
}

// subject is the first part of the first topic.
func (a *article) subject() string {
	subject, _, _ := strings.Cut(a.Topics[0], "/")
	return subject
}

// title is that of the URL, in tokens, without the part that distinguishes it from others of the same name.
func (a *article) title() []string {
	name, err := url.PathUnescape(path.Base(a.URL))
	if err != nil {
		return nil
	}
	name, _, _ = strings.Cut(name, "_(")
	return text.Tokens(nil, strings.ReplaceAll(name, "_", " "))
}

func articles(t testing.TB) []*article {
	t.Helper()
	dir := os.Getenv("FORAGER_TAXONOMY")
	if dir == "" {
		t.Fatal("FORAGER_TAXONOMY names no folder")
	}
	f, err := os.Open(filepath.Join(dir, "schools-wikipedia.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []*article
	lines := bufio.NewScanner(z)
	for lines.Buffer(nil, 64<<20); lines.Scan(); {
		a := new(article)
		if err := json.Unmarshal(lines.Bytes(), a); err != nil {
			t.Fatal(err)
		}
		u, err := weburl.Parse(a.URL)
		if err != nil {
			t.Fatal(err)
		}
		a.URL = u.String()
		all = append(all, a)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// encyclopedia is a web of articles in two halves, by the hashes of their URLs: labels end in /learn and /crawl. An
// article has its text, in paragraphs, and a link at the first place where it mentions the title of another, which is how
// those who write encyclopedias set links.
func encyclopedia(t testing.TB, all []*article) *Web {
	t.Helper()
	type entry struct {
		title []string
		url   string
	}
	titles := make(map[string][]entry) // by the first token, the longest first
	for _, a := range all {
		if title := a.title(); len(title) > 0 {
			titles[title[0]] = append(titles[title[0]], entry{title, a.URL})
		}
	}
	for _, of := range titles {
		slices.SortFunc(of, func(a, b entry) int {
			return cmp.Or(cmp.Compare(len(b.title), len(a.title)), cmp.Compare(a.url, b.url))
		})
	}
	body := func(a *article) []byte {
		var b strings.Builder
		linked := map[string]bool{a.URL: true}
		for paragraph := range strings.SplitSeq(a.Text, "\n\n") {
			b.WriteString("<p>")
			for tokens := text.Tokens(nil, paragraph); len(tokens) > 0; {
				mentioned := func(e entry) bool {
					return len(e.title) <= len(tokens) && slices.Equal(e.title, tokens[:len(e.title)])
				}
				of := titles[tokens[0]]
				at, n := slices.IndexFunc(of, mentioned), 1
				if at >= 0 {
					n = len(of[at].title)
				}
				words := html.EscapeString(strings.Join(tokens[:n], " "))
				if at >= 0 && !linked[of[at].url] {
					linked[of[at].url] = true
					words = `<a href="` + html.EscapeString(of[at].url) + `">` + words + "</a>"
				}
				b.WriteString(words + " ")
				tokens = tokens[n:]
			}
			b.WriteString("</p>\n")
		}
		return []byte(b.String())
	}
	web := &Web{pages: make(map[string]*page), labels: make(map[string]string), unescaped: make(map[string]*page)}
	made, bodies, errs := make([]*page, len(all)), make([]*storedpage.Encoded, len(all)), make([]error, len(all))
	terms := new(storedpage.Terms)
	each(len(all), func(i int) {
		stored := &webarchive.Page{URL: all[i].URL, Status: 200, Header: warc.Header{{Name: "Content-Type", Value: "text/html; charset=utf-8"}}, Body: body(all[i])}
		made[i], bodies[i], errs[i] = newPage(stored, dom.Settings{Leaves: schemas.LeafMode_LEAF_MODE_COMPACT})
	})
	for i, a := range all {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		half := "/learn"
		if xxhash.Sum64String("half "+a.URL)%2 == 0 {
			half = "/crawl"
		}
		body := terms.Put(bodies[i])
		made[i].stored = storedpage.Section{File: bytes.NewReader(body), Terms: terms, Size: len(body)}
		web.pages[a.URL], web.labels[a.URL] = made[i], a.subject()+half
	}
	return web
}

// TestWebsEncyclopediaByLikes crawls one half of an encyclopedia for three of its subjects, from three other articles,
// guided by critics that learnt from the other half (newLikeBench); with fewer than 5 draws for one subject. The links are
// made here: see encyclopedia.
func TestWebsEncyclopediaByLikes(t *testing.T) {
	all := articles(t)
	web := encyclopedia(t, all)
	set := taskfile.CriticSet{Examples: make(map[string][]string)}
	var crawled []*article
	for _, a := range all {
		if strings.HasSuffix(web.labels[a.URL], "/learn") {
			set.Examples[a.subject()] = append(set.Examples[a.subject()], a.URL)
		} else {
			crawled = append(crawled, a)
		}
	}
	model, err := web.trainCritic(t.Context(), &set, "")
	if err != nil {
		t.Fatal(err)
	}
	sets := map[string]taskfile.CriticSet{"subjects": set}
	subjects := []string{"Religion", "Science", "Mathematics"}
	if len(newLikeBench(t, nil, sets).likes) == 1 {
		subjects = subjects[:1]
	}
	for _, subject := range subjects {
		task := &taskfile.Task{Name: "encyclopedia:" + subject, Pages: taskfile.PageSet{LabelSuffix: "/crawl"}, TargetLabel: subject, Critic: "subjects", FocusClass: subject, Budget: 300}
		for draw := range 30 {
			place := func(a *article) uint64 { return xxhash.Sum64String(strconv.Itoa(draw) + " " + a.URL) }
			slices.SortFunc(crawled, func(a, b *article) int { return cmp.Compare(place(a), place(b)) })
			var seeds []string
			for _, a := range crawled {
				if a.subject() != subject && len(seeds) < 3 {
					seeds = append(seeds, a.URL)
				}
			}
			task.Seeds = append(task.Seeds, seeds)
		}
		g, err := newEnvironment(task, &set, web, model, linkfeature.Settings{DMax: 5})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d targets among %d articles", task.Name, len(g.targets), len(g.urls))
		newLikeBench(t, []*taskfile.Task{task}, sets).compare(t, map[*taskfile.Task]*Environment{task: g}, "soft-focus")
	}
}

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
)

// listedHost is a host of a few pages, next to a synthetic web.
const listedHost = "listed.example"

func withListed(web http.Handler) http.Handler {
	pages := map[string]string{"/a": "<p>acids and <a href=/b>bases</a>", "/b": "<p>bases", "/c": "<p>comets", "/secret": "<p>secret"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != listedHost {
			web.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch page, ok := pages[r.URL.Path]; {
		case r.URL.Path == "/robots.txt":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, "User-agent: *\nDisallow: /secret\n")
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/a", http.StatusMovedPermanently)
		case ok:
			fmt.Fprint(w, page)
		default:
			http.NotFound(w, r)
		}
	})
}

// testFetchList fetches a list through the running stages, and again, which fetches nothing.
func (r *rig) testFetchList(t *testing.T) {
	var urls []string
	for _, path := range []string{"a", "c", "gone", "moved", "secret"} {
		urls = append(urls, "http://"+listedHost+"/"+path)
	}
	p := crawls.FetchPoliteness{Contact: "you@example.org"}
	parts, err := r.s.OpenParts()
	if err != nil {
		t.Fatal(err)
	}
	defer parts.Topics.Close()
	look := func(again bool) string {
		p.Again = again
		f, err := crawls.FetchList(r.s, parts, urls, p)
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]string)
		failed, err := f.Pages(r.s, func(p crawls.FetchedPage) error {
			for _, u := range p.Asked {
				got[u] = p.URL + " " + string(p.Body)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range failed {
			got[u.URL] = u.Outcome
		}
		a := "http://" + listedHost + "/a <p>acids and <a href=/b>bases</a>"
		if diff := cmp.Diff(map[string]string{
			urls[0]: a, urls[1]: urls[1] + " <p>comets", urls[2]: "client-error", urls[3]: a, urls[4]: "robots-disallowed",
		}, got); diff != "" {
			t.Error(diff)
		}
		return f.Crawl
	}
	first := look(false)
	asked := r.web.requests(listedHost)
	if look(false) != first || r.web.requests(listedHost) != asked {
		t.Errorf("a list that was fetched is fetched again: %d requests, then %d", asked, r.web.requests(listedHost))
	}
	if second := look(true); second != first+"-2" || r.web.requests(listedHost) == asked {
		t.Errorf("asked for again it is not: %s, then %s", first, second)
	}
	if _, err := crawls.FetchList(r.s, parts, urls[:1], crawls.FetchPoliteness{}); err == nil || !strings.Contains(err.Error(), "contact") {
		t.Errorf("without a contact: %v", err)
	}
	r.verified(first)
	r.testImport(t, urls)
}

// testImport imports the list, a folder and what was exported, as one set.
func (r *rig) testImport(t *testing.T, urls []string) {
	list := r.file("list.urls", "[Crafts/Dyeing]\n"+strings.Join(urls, "\n")+"\n"+urls[3]+"\tCrafts\n")
	page := r.file("acid.html", "<p>acids")
	pages := filepath.Join(r.dir, "pages", "Science", "Chemistry")
	if err := errors.Join(os.MkdirAll(pages, 0o755), os.Rename(page, filepath.Join(pages, "acid.html"))); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(r.dir, "imported.jsonl")
	args := []string{"critic", "import", list, filepath.Join(r.dir, "pages"), "--contact", "you@example.org", "-o", to}
	out := r.mustRun(args...)
	for _, want := range []string{"3 examples of 3 topics", "2  not fetched", urls[2] + ": client-error", urls[4] + ": robots-disallowed"} {
		if !strings.Contains(out, want) {
			t.Errorf("critic import does not contain %q:\n%s", want, out)
		}
	}
	first, err := os.ReadFile(to)
	if err != nil || string(first) != `{"url":"file:///Science/Chemistry/acid.html","topics":["Science/Chemistry"],"text":"acids"}
{"url":"http://listed.example/a","topics":["Crafts","Crafts/Dyeing"],"text":"acids and bases"}
{"url":"http://listed.example/c","topics":["Crafts/Dyeing"],"text":"comets"}
` {
		t.Errorf("%v\n%s", err, first)
	}
	r.fails(t, cli.ExitFailure, args, "exists already")
	args[2], args[3] = args[3], args[2]
	asked := r.web.requests(listedHost)
	r.mustRun(append(args, "--force")...)
	if again, err := os.ReadFile(to); err != nil || string(again) != string(first) || r.web.requests(listedHost) != asked {
		t.Errorf("a second import differs, %v:\n%s", err, again)
	}
	r.fails(t, cli.ExitUsage, append(args, "--force", "--contact", ""), "contact")
	if again, err := os.ReadFile(to); err != nil || string(again) != string(first) {
		t.Errorf("an import that fails leaves something behind: %v", err)
	}
}

func (l *accessLog) requests(host string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.times[host])
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	"forager/internal/frontier/why"
	"forager/internal/stream"
	"forager/internal/stream/state"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// TestExplainer asks for URLs of a crawl in a store while the crawl is under way.
func TestExplainer(t *testing.T) {
	store, err := stateful.OpenStore(state.Options{Dir: "state", Identity: "test", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	ctl := crawlOf("c")
	ctl.Scope = &schemas.Scope{UrlList: "lists/c"}
	b, reads := newCache(), 0
	get := func(context.Context, string) ([]byte, error) {
		if reads++; reads == 1 {
			return nil, errors.New("the store is away")
		}
		return []byte(page + "1\n" + page + "2\n"), nil
	}
	x := newExplainer(b, 1, get, "")
	ask := func(crawl, u, host string) (int, *why.Answer) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, why.Path+"?"+url.Values{"crawl": {crawl}, "url": {u}, "depth": {"1"}}.Encode(), nil)
		w := httptest.NewRecorder()
		r.Host = host
		x.ServeHTTP(w, r)
		a := new(why.Answer)
		if w.Code == http.StatusOK {
			if err := json.Unmarshal(w.Body.Bytes(), a); err != nil {
				t.Fatal(err)
			}
		}
		return w.Code, a
	}
	status := func(what string, want int, crawl, u, host string) {
		t.Helper()
		if got, _ := ask(crawl, u, host); got != want {
			t.Errorf("%s: status %d, want %d", what, got, want)
		}
	}
	const local = "localhost:1"
	status("no such crawl", 404, "c", page+"1", local)
	value, err := proto.Marshal(ctl)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.control(stream.Record{Key: []byte("c"), Value: value}); err != nil {
		t.Fatal(err)
	}
	status("no partition", 404, "c", page+"1", local)
	x.opened(0, store)
	status("not taken up", 503, "c", page+"1", local)

	p, err := settings{book: b, library: newLibrary(func(context.Context, string) ([]byte, error) {
		return []byte(page + "1\n" + page + "2\n"), nil
	}, nil, b.notify, slog.New(slog.DiscardHandler)), partitions: 1, disk: roomy, log: slog.New(slog.DiscardHandler)}.open(0, 1, store)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); p.crawls["c"].shard == nil; time.Sleep(time.Millisecond) {
		if _, err := p.Step(t.Context(), stateful.Work{Now: time.Now()}); err != nil || time.Now().After(deadline) {
			t.Fatalf("the crawl is not ready: %v", err)
		}
	}
	if _, err := p.crawls["c"].shard.Apply(seedsOf("c", page+"1"), time.Now()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first commit is then written
		if err := store.Commit(state.Marks{}); err != nil {
			t.Fatal(err)
		}
	}
	status("its list cannot be read", 503, "c", page+"1", local)
	if code, a := ask("c", page+"1", local); code != 200 || a.State != why.Queued {
		t.Errorf("a seed: %d, %+v", code, a)
	}
	if code, a := ask("c", page+"3", local); code != 200 || a.State != why.Unknown || a.Deciding() == nil || a.Deciding().Rule != "scope" {
		t.Errorf("out of the list: %d, %+v", code, a)
	}
	post := func(path string, form url.Values) (int, string) {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Host = local
		w := httptest.NewRecorder()
		x.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	const refused = `[null,{"state":"unknown","depth":7,"rule":"scope","reason":"it is not in the list of scope.url_list"},null]`
	if code, body := post(why.RefusedPath, url.Values{"crawl": {"c"}, "url": {page + "1", page + "3", page + "2"}, "depth": {"1", "7", "0"}}); code != 200 || body != refused {
		t.Errorf("several URLs: %d %s", code, body)
	}
	for name, form := range map[string]url.Values{
		"no URL": {"crawl": {"c"}}, "no depth": {"crawl": {"c"}, "url": {page, page}, "depth": {"1"}},
		"bad URL": {"crawl": {"c"}, "url": {page, "mailto:a@b"}, "depth": {"1", "1"}}, "bad depth": {"crawl": {"c"}, "url": {page}, "depth": {"-1"}},
	} {
		if code, body := post(why.RefusedPath, form); code != 400 {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	exclude := func(shard, rules string) (int, string) {
		return post(why.ExcludesPath, url.Values{"crawl": {"c"}, "shard": {shard}, "excludes": {rules}})
	}
	if code, body := exclude("0", `{"prefixes":["/"]}`); code != 200 || !strings.Contains(body, `"queued":1,"removed":1,"admitted":0,"exact":true`) || !strings.Contains(body, page+"1") {
		t.Errorf("what rules exclude: %d %s", code, body)
	}
	for shard, rules := range map[string]string{"1": `{}`, "-1": `{}`, "0": `{"prefixes":7}`, "": `{}`} {
		if code, body := exclude(shard, rules); code != 400 {
			t.Errorf("rules %s of shard %q: %d %s", rules, shard, code, body)
		}
	}
	list := func(shard string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, why.QueuedPath+"?crawl=c&shard="+shard, nil)
		r.Host = local
		w := httptest.NewRecorder()
		x.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	if code, body := list("0"); code != 200 || strings.Count(body, page+"1") != 2 || !strings.Contains(body, `"exact":true`) {
		t.Errorf("queued URLs: %d %s", code, body)
	}
	if code, body := list("1"); code != 400 {
		t.Errorf("queued URLs of a shard that is none: %d %s", code, body)
	}
	if reads != 2 {
		t.Errorf("the list was read %d times", reads)
	}
	status("no URL", 400, "c", "mailto:a@b", local)
	status("a name of another site", 421, "c", page+"1", "evil.example")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	status("the partition has moved", 404, "c", page+"1", local)
}

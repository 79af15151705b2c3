package operate

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"forager/internal/frontier/why"
	"forager/internal/platform/pipeline"
)

// TestWhoAnswers: the replica that has the shard answers, wherever it is; without one the error has the remedy.
func TestWhoAnswers(t *testing.T) {
	serve := func(status int, body, token string) (address string) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if want := strings.TrimSpace("Bearer " + token); token != "" && r.Header.Get("Authorization") != want {
				status, body = http.StatusUnauthorized, "another token"
			}
			if r.URL.Path != why.Path || r.FormValue("crawl") != "c" || r.FormValue("url") != "http://a.example/?x=1" || r.FormValue("depth") != "3" {
				t.Errorf("asked %s", r.URL)
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	data := t.TempDir()
	config := func(replicas int, metrics string) *pipeline.Config {
		c := &pipeline.Config{Data: data}
		c.Stages.Prioritize.Replicas, c.Stages.Prioritize.Metrics = replicas, metrics
		return c
	}
	elsewhere := func(address string) *pipeline.Config {
		c := config(1, "0.0.0.0:9100")
		c.Stages.Prioritize.Address = address
		return c
	}
	none, has, late := serve(404, "not here", ""), serve(200, `{"crawl":"c","state":"queued"}`, ""), serve(503, "it waits for its list", "")
	if err := os.MkdirAll(config(1, "").StateDir("prioritize"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pipeline.AddressFile(config(1, "").StateDir("prioritize"), 1), []byte(serve(200, `{"state":"final"}`, "secret")+" secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		what   string
		config *pipeline.Config
		at     []string
		state  why.State
		fails  []string
	}{
		{"the second has it", config(1, ""), []string{none, has}, why.Queued, nil},
		{"the first does not run", config(1, ""), []string{"127.0.0.1:1", has}, why.Queued, nil},
		{"the address of the metrics", config(1, has), nil, why.Queued, nil},
		{"the address in the file of a replica", config(2, ""), nil, why.Final, nil},
		{"a name of other machines", elsewhere(strings.Replace(has, "127.0.0.1", "localhost", 1)), nil, why.Queued, nil},
		{"no such name", elsewhere("a..b:1"), nil, "", []string{"stages.prioritize.address"}},
		{"none has it", config(1, ""), []string{none}, "", []string{"no replica", "try again"}},
		{"not ready", config(1, ""), []string{none, late}, "", []string{"503", "it waits for its list"}},
		{"none runs", config(1, "127.0.0.1:1"), nil, "", []string{"does not answer", "forager up"}},
		{"none runs on this machine", config(1, ""), nil, "", []string{"no replica of it runs on this machine", "--at"}},
		{"any address", config(1, "127.0.0.1:0"), nil, "", []string{"stages.prioritize.metrics"}},
	} {
		a, err := Explainer{Config: k.config, At: k.at}.answer(t.Context(), "c", "http://a.example/?x=1", 3)
		if k.fails == nil && (err != nil || a.State != k.state) {
			t.Errorf("%s: %+v, %v", k.what, a, err)
		}
		for _, want := range k.fails {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v lacks %q", k.what, err, want)
			}
		}
	}
}

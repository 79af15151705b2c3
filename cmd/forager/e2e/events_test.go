package e2e

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"forager/internal/monitor/view"
	"forager/internal/platform/freeport"
	"forager/internal/platform/objects"
)

// hooked is a receiver of the events of the monitor, with its setting.
type hooked struct {
	server  *httptest.Server
	got     chan view.Event
	setting []string // changes of the pipeline file
}

const hookSecret = "e2e-hook-secret"

func newHooked(t *testing.T) *hooked {
	h := &hooked{got: make(chan view.Event, 100)}
	h.server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || err != nil {
			return // doctor sends no event
		}
		mac := hmac.New(sha256.New, []byte(hookSecret))
		mac.Write(body)
		var e view.Event
		if err := json.Unmarshal(body, &e); err != nil || r.Header.Get("Forager-Signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
			t.Errorf("%s with %v: %v", body, r.Header, err)
		}
		h.got <- e
	}))
	t.Cleanup(h.server.Close)
	metrics, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	h.setting = []string{"    monitor:\n", "    monitor:\n        metrics: " + metrics[0] + "\n        webhooks: [{url: '" + h.server.URL + "/path', events: [finished], secret: " + hookSecret + "}]\n"}
	return h
}

// keepsEvents waits until the monitor has stored which events there were before.
func (r *rig) keepsEvents() {
	r.t.Helper()
	store, err := objects.Open(r.cfg.S3)
	if err != nil {
		r.t.Fatal(err)
	}
	wait(r.t, "the monitor keeps events", func() bool {
		for _, err := range store.List(r.s, "monitor/events/") {
			if err != nil {
				r.t.Fatal(err)
			}
			return true
		}
		return false
	})
}

// testEvents: the end of a crawl arrives at a webhook and in the stream; after the monitor was killed that of another crawl does.
func (h *hooked) testEvents(t *testing.T, r *rig, o *operator) {
	next := func(crawl, reason string) {
		t.Helper()
		for {
			select {
			case e := <-h.got:
				if e.Crawl == "done" && crawl != "done" || e.Crawl == "sent" || e.Crawl == "formed" { // killed before it had stored that; deleted
					continue
				}
				if e.Crawl != crawl || e.Kind != "finished" || !strings.Contains(e.Text, reason) || e.Link != o.base+"/crawls/"+crawl {
					t.Fatalf("%+v", e)
				}
				return
			case <-time.After(time.Minute):
				t.Fatalf("no event of %s within a minute", crawl)
			}
		}
	}
	next("done", "pages budget spent; 60 pages")
	r.kill("monitor-0")
	r.mustRun("crawl", "stop", "steered")
	r.until("steered", "finished", time.Minute, finished)
	r.start([]string{"monitor"})
	next("steered", "stopped")

	ctx, cancel := context.WithTimeout(r.s, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.base+"/api/v1/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+o.token)
	resp, err := o.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var ids []string
	for lines := bufio.NewScanner(resp.Body); lines.Scan() && lines.Text() != "event: crawls"; {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok && (strings.HasPrefix(id, "done/") || strings.HasPrefix(id, "steered/")) {
			ids = append(ids, id[:strings.LastIndex(id, "/")])
		}
	}
	if !slices.Equal(slices.Compact(ids), []string{"done/finished", "steered/dead-letters", "steered/finished"}) {
		t.Errorf("the stream has %v", ids)
	}
	for path, want := range map[string]string{"/": "crawl done has finished: pages budget spent", "/crawls/steered": "crawl steered has finished: stopped"} {
		if _, _, body := o.do("GET", path, "", ""); !strings.Contains(body, want) || path != "/" && strings.Contains(body, "crawl done has") {
			t.Errorf("%s does not show the event %q", path, want)
		}
	}
	const count = `forager_monitor_webhook_events_total{outcome="delivered",webhook="1"} `
	wait(t, "the metric counts what was delivered", func() bool {
		return strings.Contains(scrape(t, "http://"+r.cfg.Stages.Monitor.Metrics+"/metrics"), count+"1\n")
	})

	for _, args := range [][]string{{"config"}, {"config", "--all"}, {"config", "--json"}} {
		if out := r.mustRun(args...); strings.Contains(out, hookSecret) || !strings.Contains(out, "secret: hidden") {
			t.Errorf("%v shows the secret, or no webhook:\n%s", args, out)
		}
	}
	if out, _, _ := r.run("doctor"); !strings.Contains(out, "number 1 at 127.0.0.1 responds") {
		t.Errorf("doctor:\n%s", out)
	}
	h.server.Close()
	if out, _, code := r.run("doctor"); code == 0 || !strings.Contains(out, "BAD  webhook      number 1 at 127.0.0.1: ") {
		t.Errorf("doctor, code %d:\n%s", code, out)
	}
}

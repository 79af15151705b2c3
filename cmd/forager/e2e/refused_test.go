package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"forager/cmd/internal/cli"
	"forager/internal/frontier/why"
	"forager/internal/operate"
	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// crowded is a web to each page of which that many links are added, in paragraphs of 20, to a few pages.
type crowded struct {
	next  http.Handler
	urls  []string
	links int
}

func (c *crowded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	c.next.ServeHTTP(answer, r)
	body := answer.Body
	if answer.Code == http.StatusOK && strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
		draw := rand.New(rand.NewPCG(xxhash.Sum64String(r.URL.String()), 1))
		for i := range c.links {
			if i%20 == 0 {
				body.WriteString("\n<p>more")
			}
			fmt.Fprintf(body, ` <a href="%s">page %d</a>`, c.urls[draw.IntN(len(c.urls))], draw.IntN(1000))
		}
	}
	for name, values := range answer.Header() {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.Code)
	w.Write(body.Bytes())
}

// refusals are the URLs that were never requested as a rule refuses them, by brute force.
func (h *history) refusals(sc *scope.Scope) map[string]operate.Refusal {
	found := make(map[string]operate.Refusal)
	lead := func(u, v string, depth uint32) {
		old, ok := found[v]
		if h.requested[v] == 0 && (!ok || depth < old.Depth || depth == old.Depth && u < old.Via) {
			found[v] = operate.Refusal{URL: v, Outcome: "refused-link", Via: u, Refusal: why.Refusal{Depth: depth}}
		}
	}
	for u, targets := range h.links {
		depth := h.asked[u] + 1
		if u == "" {
			depth = 0
		}
		for v := range targets {
			lead(u, v, depth)
		}
	}
	for u, m := range h.final {
		if m.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED {
			lead(u, m.GetRedirect(), h.asked[u])
		}
	}
	for v, x := range found {
		if depth, known := h.depth[v]; known {
			x.Depth = depth
		}
		refused := sc.Check(v, x.Depth)
		switch {
		case strings.HasSuffix(v, excludedEnd):
			x.Rule = "exclude"
		case refused != "":
			x.Rule, _, _ = strings.Cut(string(refused), ":")
		case h.hosts[weburl.Host(v)] >= int(h.ctl.GetScope().GetHostCap()):
			x.Rule = "host-cap"
		case !h.within[v]:
			x.Rule = "gate"
		default:
			delete(found, v)
			continue
		}
		found[v] = x
	}
	return found
}

// exportedRefusals exports the refused links of a crawl, and compares them with those of its history.
func (r *rig) exportedRefusals(t *testing.T, crawl string, want map[string]operate.Refusal) {
	kinds := make(map[string]int)
	var urls []string
	for line := range strings.Lines(r.mustRun("export", crawl, "--outcome", "refused-link", "--format", "jsonl")) {
		var x operate.Refusal
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		state, reason := x.State, x.Reason
		x.State, x.Reason = "", ""
		if w, ok := want[x.URL]; !ok || x != w || reason == "" || state == "" {
			t.Errorf("exported is %s, by the topics %+v", line, w)
		}
		urls = append(urls, x.URL)
		kinds[x.Rule]++
	}
	if !slices.Equal(urls, slices.Sorted(maps.Keys(want))) {
		t.Errorf("%d URLs are exported, %d were refused", len(urls), len(want))
	}
	t.Logf("refused: %v", kinds)
	for _, rule := range []string{"exclude", "scope", "depth", "trap", "host-cap", "gate"} {
		if kinds[rule] == 0 {
			t.Errorf("no URL is refused by the rule %s", rule)
		}
	}
	file := filepath.Join(r.dir, "refused.txt")
	if out := r.mustRun("export", crawl, "--outcome", "refused-link", "-o", file); !strings.Contains(out, fmt.Sprintf("%d links of %s in %s", len(want), crawl, file)) {
		t.Errorf("export -o: %s", out)
	}
	if b, err := os.ReadFile(file); err != nil || !bytes.Equal(b, []byte(strings.Join(urls, "\n")+"\n")) {
		t.Errorf("the file has %d bytes, %v", len(b), err)
	}
	refused := []string{"export", crawl, "--outcome", "refused-link"}
	r.fails(t, cli.ExitUsage, append(refused, "--format", "warc"), "goes with jsonl and urls")
	r.fails(t, cli.ExitUsage, append(refused, "--format", "urls", "--above", "0.5"), "have no relevance")
	r.fails(t, cli.ExitFailure, append(refused, "--format", "urls", "--at", "127.0.0.1:1"), "does not answer", "holds 0 whole links")
}

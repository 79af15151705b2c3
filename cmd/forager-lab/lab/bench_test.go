package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"forager/cmd/internal/cli"
	"forager/internal/lab/experiment/worldtest"
	"forager/internal/lab/study"
)

// relevant scores all links of a page by its relevance, as soft focus does.
func relevant(t *testing.T) (address string, crawls func() map[string]int) {
	var mu sync.Mutex
	pages := make(map[string]int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Version int
			Pages   []struct {
				URL       string
				Judgement struct{ Raw float64 }
				Links     []struct{ URL, Anchor string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || request.Version != 1 || len(request.Pages) != 1 || request.Pages[0].URL == "" {
			http.Error(w, fmt.Sprint(request, err), http.StatusBadRequest)
			return
		}
		mu.Lock()
		pages[r.URL.Query().Get("task")+" "+r.URL.Query().Get("crawl")]++
		mu.Unlock()
		fmt.Fprintf(w, `{"pages": [{"scores": [%v]}]}`, request.Pages[0].Judgement.Raw)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() map[string]int { return pages }
}

// TestBenchOverHTTP: a service that scores links by R(u) finds what soft focus finds, under each critic, and the results name it.
func TestBenchOverHTTP(t *testing.T) {
	dir, out := worldtest.Random(11, 80).Write(t), t.TempDir()
	address, crawls := relevant(t)
	command := func(more ...string) (string, int) {
		var stderr bytes.Buffer
		args := append([]string{"--json", "experiment", "bench", filepath.Join(dir, "tasks.json"), "--no-cache", "--first-draw", "0", "--draws", "2", "-o", out}, more...)
		code := Run(t.Context(), args, new(bytes.Buffer), &stderr)
		return stderr.String(), code
	}
	if printed, code := command("--ranker", "mine="+address, "--access", "examples", "--rankers", "random,oracle,soft-focus,soft-focus@perfect,mine@perfect"); code != cli.ExitOK {
		t.Fatalf("exit %d: %s", code, printed)
	}
	b, err := os.ReadFile(filepath.Join(out, "study.json"))
	var rep study.Report
	if err == nil {
		err = json.Unmarshal(b, &rep)
	}
	if err != nil {
		t.Fatal(err)
	}
	auc, access := make(map[string]float64), make(map[string]string)
	for _, g := range rep.Groups {
		for _, r := range g.Rankers {
			auc[r.Ranker], access[r.Ranker] = r.Measures["AUC"].Mean, string(g.Access)
		}
	}
	for mine, theirs := range map[string]string{"mine": "soft-focus", "mine@perfect": "soft-focus@perfect"} {
		if auc[mine] != auc[theirs] || auc[mine] == 0 || access[mine] != "examples" {
			t.Errorf("%s has an AUC of %v with access %s, %s of %v", mine, auc[mine], access[mine], theirs, auc[theirs])
		}
	}
	if rep.Origin.Services["mine"].URL != address || len(rep.Origin.Program) != 64 || len(rep.Origin.Webs["web.warc.gz"]) != 64 || len(rep.Comparisons) != 2 {
		t.Errorf("origin %+v, comparisons %+v", rep.Origin, rep.Comparisons)
	}
	if n := crawls(); len(n) != 4 {
		t.Errorf("pages by crawl: %v; want two draws under two critics", n)
	}
	for want, args := range map[string][]string{
		"name of another ranker": {"--ranker", "mixture=" + address}, "http:// or https://": {"--ranker", "mine=nowhere"}, `no ranker "yours"`: {"--rankers", "yours"},
	} {
		if printed, code := command(args...); code != cli.ExitUsage || !strings.Contains(printed, want) {
			t.Errorf("%v: exit %d, %s", args, code, printed)
		}
	}
}

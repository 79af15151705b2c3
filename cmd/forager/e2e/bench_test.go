package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forager/cmd/forager-lab/bench"
	"forager/cmd/forager-lab/lab"
	"forager/cmd/internal/cli"
)

// benched runs a small bench and returns what it printed and wrote.
func benched(t *testing.T, args ...string) (string, *bench.Report) {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var out strings.Builder
	code := lab.Run(ctx, append([]string{"bench", "--out", dir, "--bin", bin(t), "--from", "../../../pipeline.yaml"}, args...), &out, &lines{t: t})
	t.Logf("%s", out.String())
	if code != cli.ExitOK {
		t.Fatalf("exit %d", code)
	}
	b, err := os.ReadFile(filepath.Join(dir, "bench.json"))
	if err != nil {
		t.Fatal(err)
	}
	report := new(bench.Report)
	if err := json.Unmarshal(b, report); err != nil {
		t.Fatal(err)
	}
	for _, x := range report.Runs {
		var sum float64
		for _, p := range bench.PrintProcesses() {
			if !slices.ContainsFunc([]string{p, p + "-0"}, func(name string) bool { return x.PeakMemory[name] > 1<<20 }) {
				t.Errorf("%s: no memory of %s", x.Web, p)
			}
			sum += x.CPUMSPerPage[p]
		}
		if x.Pages == 0 || x.Requests < x.Pages || x.Seconds <= 0 || sum <= 0 || sum < x.Sum-1e-9 || sum > x.Sum+1e-9 {
			t.Errorf("%s: %+v", x.Web, x)
		}
		if x.LatencyMS == 0 || x.IdleLatencyMS == 0 || x.LatencyP95MS < x.LatencyMS {
			t.Errorf("%s: latency of the loop %d, %d, idle %d ms", x.Web, x.LatencyMS, x.LatencyP95MS, x.IdleLatencyMS)
		}
		// The floor fetches the pages of the crawl: every page, as often as an alias led to it.
		if x.Floor.Pages < int64(x.Pages) || x.Floor.Parse <= 0 || x.Ratio <= 1 {
			t.Errorf("%s: %d pages, the floor has %+v", x.Web, x.Pages, x.Floor)
		}
	}
	return out.String(), report
}

// foreseen compares what a crawl stored and requested with what docs/sizing.md computes of it, within a quarter. The archive is not
// written yet; how large state is depends on when it was compacted.
func foreseen(t *testing.T, x bench.Run) {
	if x.Crawled.Pages != float64(x.Pages) || x.Crawled.Requests < float64(x.Requests) || x.Crawled.Requests > 1.25*float64(x.Requests) {
		t.Errorf("%d pages and %d requests, for the sizes %+v", x.Pages, x.Requests, x.Crawled)
	}
	for _, prefix := range []string{"topic ", "s3 segments", "clickhouse"} {
		var got, want float64
		for name, bytes := range x.Crawled.Stored() {
			if strings.HasPrefix(name, prefix) {
				got, want = got+bytes, want+float64(x.Stored[name])
			}
		}
		if t.Logf("%s: %.0f bytes, computed %.0f", prefix, want, got); got < 0.75*want || got > 1.25*want {
			t.Errorf("%s: %.0f bytes are stored, and %.0f computed", prefix, want, got)
		}
	}
}

func TestBench(t *testing.T) {
	const pages = 500
	out, report := benched(t, "--pages", fmt.Sprint(pages), "--cores", "1")
	if report.Cores != 1 || len(report.Runs) != 3 {
		t.Fatalf("bench.json: %+v", report)
	}
	for i, ranker := range []string{"link-value", "soft-focus", "apprentice"} {
		if x := report.Runs[i]; x.Ranker != ranker || x.Pages != pages {
			t.Errorf("run %d: %d pages with %s, want %d with %s", i, x.Pages, x.Ranker, pages, ranker)
		}
	}
	foreseen(t, report.Runs[0])
	for _, want := range []string{"1 processors", "CPU ms a page, prioritize", "floor: net/http + html.Parse", "peak MiB / memory_bytes, local", "loop idle"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the table", want)
		}
	}
}

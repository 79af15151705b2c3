package e2e

import (
	"context"
	"encoding/json"
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

func TestBench(t *testing.T) {
	out, report := benched(t, "--pages", "120", "--cores", "1")
	if report.Cores != 1 || len(report.Runs) != 3 {
		t.Fatalf("bench.json: %+v", report)
	}
	for i, ranker := range []string{"mixture", "soft-focus", "apprentice"} {
		if x := report.Runs[i]; x.Ranker != ranker || x.Pages != 120 {
			t.Errorf("run %d: %d pages with %s, want 120 with %s", i, x.Pages, x.Ranker, ranker)
		}
	}
	for _, want := range []string{"1 processors", "CPU ms a page, prioritize", "floor: net/http + html.Parse", "peak MiB / memory_bytes, local", "loop idle"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the table", want)
		}
	}
}

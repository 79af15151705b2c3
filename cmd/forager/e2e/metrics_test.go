package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"forager/cmd/internal/cli"
	"forager/internal/platform/freeport"
)

var updateMetrics = flag.Bool("update-metrics", false, "write infra/dashboards/metrics.txt")

// observed returns changes of a pipeline file by which stages serve their metrics, with the addresses, and write logs as JSON.
func observed(t *testing.T) (change []string, addresses map[string]string) {
	t.Helper()
	ports, err := freeport.Addresses(len(cli.StageNames))
	if err != nil {
		t.Fatal(err)
	}
	change, addresses = []string{"data: data", "log_format: json\ndata: data"}, make(map[string]string)
	for i, stage := range cli.StageNames {
		addresses[stage] = "http://" + ports[i]
		change = append(change, "\n    "+stage+":\n", "\n    "+stage+":\n        metrics: "+ports[i]+"\n")
	}
	return change, addresses
}

// testMetrics compares infra/dashboards/metrics.txt with the metrics that the stages serve after a crawl, and reads their probes
// and logs. The queries of dashboards and alerts are checked against that file (infra/deploytest).
func (r *rig) testMetrics(t *testing.T, addresses map[string]string) {
	for _, stage := range cli.StageNames {
		for _, probe := range []string{"/livez", "/readyz"} {
			wait(t, stage+" answers "+probe, func() bool { return scrape(t, addresses[stage]+probe) == "ok\n" })
		}
	}
	// The first is absent where no crawl is parked; tests of internal/stream cover it. The other is that of the monitor (testEvents).
	conditional := []string{"forager_stage_parked_records gauge", "forager_monitor_webhook_events_total counter"}
	served := func() string {
		lines := slices.Clone(conditional)
		for _, address := range addresses {
			for line := range strings.Lines(scrape(t, address+"/metrics")) {
				if metric, ok := strings.CutPrefix(line, "# TYPE "); ok {
					lines = append(lines, strings.TrimSuffix(metric, "\n"))
				}
			}
		}
		slices.Sort(lines)
		return strings.Join(slices.Compact(lines), "\n") + "\n"
	}
	for stage, address := range addresses {
		lintMetrics(t, stage, scrape(t, address+"/metrics"))
	}
	const file = "../../../infra/dashboards/metrics.txt"
	if *updateMetrics {
		time.Sleep(10 * time.Second) // files of the archive
		if err := os.WriteFile(file, []byte(served()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && got != string(want); {
		got = served()
		time.Sleep(50 * time.Millisecond)
	}
	for _, stage := range cli.StageNames {
		for line := range bytes.Lines(r.log(stage + "-0")) {
			var record struct{ Time, Level, Msg, Stage string }
			if err := json.Unmarshal(line, &record); err != nil || record.Time == "" || record.Level == "" || record.Msg == "" || record.Stage != stage {
				t.Errorf("%s logs %q: %v", stage, line, err)
			}
		}
	}
	if got != string(want) {
		t.Errorf("metrics are\n%s\nwant those of %s, which -update-metrics writes", got, file)
	}
}

// lintMetrics checks names, units and help texts by the rules of Prometheus, and that no label has a value for each URL or host. Names of crawls are
// allowed: an operator makes few of them.
func lintMetrics(t *testing.T, stage, text string) {
	t.Helper()
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatalf("%s: %v", stage, err)
	}
	for _, p := range problems {
		t.Errorf("%s: metric %s: %s", stage, p.Metric, p.Text)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, label := range labelName.FindAllStringSubmatch(line, -1) {
			if slices.Contains([]string{"url", "host", "page", "address", "id"}, label[1]) || strings.Contains(label[2], ".sim") {
				t.Errorf("%s: label %s=%q in %s", stage, label[1], label[2], line)
			}
		}
	}
}

var labelName = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)

func scrape(t testing.TB, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forager/cmd/forager-lab/bench"
	"forager/cmd/forager-lab/lab"
	"forager/cmd/internal/cli"
)

// TestSoak runs a very short soak, and checks that its report is complete.
func TestSoak(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out strings.Builder
	args := []string{"soak", "--pages", "600", "--out", dir, "--bin", bin(t), "--from", "../../../pipeline.yaml", "--set", "stages.prioritize.memory_bytes=402653184"}
	if code := lab.Run(ctx, args, &out, &lines{t: t}); code != cli.ExitOK {
		t.Fatalf("exit %d", code)
	}
	t.Logf("%s", &out)
	b, err := os.ReadFile(filepath.Join(dir, "soak.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := new(bench.SoakReport)
	if err := json.Unmarshal(b, r); err != nil {
		t.Fatal(err)
	}
	if r.Pages != 600 || r.EndReason != "pages budget spent" || len(r.Samples) == 0 {
		t.Fatalf("%d pages, %q, %d samples", r.Pages, r.EndReason, len(r.Samples))
	}
	last := r.Samples[len(r.Samples)-1]
	for _, name := range bench.PrintProcesses() {
		load := last.By[name]
		if load.Memory < 1<<20 || load.Files < 3 || load.CPU <= 0 || load.Goroutines == 0 && name != "web" {
			t.Errorf("%s: %+v", name, load)
		}
		if !strings.Contains(out.String(), "memory, MiB, "+name) {
			t.Errorf("no line about the memory of %s", name)
		}
		if peak, limit := r.Of(name); peak < load.Memory || (limit == 0) != (name == "web") {
			t.Errorf("%s: a peak of %d of %d bytes", name, peak, limit)
		}
	}
	if _, limit := r.Of("prioritize"); limit != 384<<20 {
		t.Errorf("prioritize may take %d bytes; --set has 384 MiB", limit)
	}
	disk := r.Disk[len(r.Disk)-1]
	for _, folder := range []string{"kafka", "s3", "clickhouse", "prioritize", "apprentice-train"} {
		if disk.Sizes[folder] == 0 || !strings.Contains(out.String(), "bytes a page, "+folder) {
			t.Errorf("nothing of the folder %s: %v", folder, disk)
		}
	}
}

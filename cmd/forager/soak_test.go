package main

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSoak runs a very short soak, and checks that its report is complete.
func TestSoak(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out strings.Builder
	args := []string{"soak", "--pages", "600", "--out", dir, "--bin", bin(t), "--from", "../../pipeline.yaml", "--set", "stages.prioritize.memory_bytes=402653184"}
	if code := run(ctx, args, &out, &lines{t: t}); code != exitOK {
		t.Fatalf("exit %d", code)
	}
	t.Logf("%s", &out)
	b, err := os.ReadFile(filepath.Join(dir, "soak.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := new(soakReport)
	if err := json.Unmarshal(b, r); err != nil {
		t.Fatal(err)
	}
	if r.Pages != 600 || r.EndReason != "pages budget spent" || len(r.Samples) == 0 {
		t.Fatalf("%d pages, %q, %d samples", r.Pages, r.EndReason, len(r.Samples))
	}
	last := r.Samples[len(r.Samples)-1]
	for _, name := range benchProcesses() {
		load := last.By[name]
		if load.Memory < 1<<20 || load.Files < 3 || load.CPU <= 0 || load.Goroutines == 0 && name != "web" {
			t.Errorf("%s: %+v", name, load)
		}
		if !strings.Contains(out.String(), "memory, MiB, "+name) {
			t.Errorf("no line about the memory of %s", name)
		}
		if peak, limit := r.of(name); peak < load.Memory || (limit == 0) != (name == "web") {
			t.Errorf("%s: a peak of %d of %d bytes", name, peak, limit)
		}
	}
	if _, limit := r.of("prioritize"); limit != 384<<20 {
		t.Errorf("prioritize may take %d bytes; --set says 384 MiB", limit)
	}
	disk := r.Disk[len(r.Disk)-1]
	for _, folder := range []string{"kafka", "s3", "clickhouse", "prioritize", "apprentice-train"} {
		if disk.Sizes[folder] == 0 || !strings.Contains(out.String(), "bytes a page, "+folder) {
			t.Errorf("nothing of the folder %s: %v", folder, disk)
		}
	}
}

func TestTenths(t *testing.T) {
	r := &soakReport{Pages: 1000, Seconds: 100}
	for i := range 100 { // a sample a second, 10 pages and 20 ms of CPU in each
		r.Samples = append(r.Samples, soakSample{
			Seconds: float64(i + 1), Pages: uint64(10 * (i + 1)), Latency: uint32(i / 10), Passing: i%10 == 3,
			By: map[string]processLoad{"fetch": {Memory: int64(1000 + i), Files: 7, Goroutines: i, CPU: 3 + .02*float64(i+1)}},
		})
	}
	r.memoryPeaks = memoryPeaks{map[string]int64{"fetch-0": 300 << 20, "fetch-1": 200 << 20}, map[string]int64{"fetch-0": 512 << 20, "fetch-1": 512 << 20}}
	r.Disk = []soakDisk{{95, map[string]int64{"kafka": 1}}, {350, map[string]int64{"kafka": 2}}, {1000, map[string]int64{"kafka": 3}}}
	list := r.tenths()
	var disk []int64
	for i, x := range list {
		load := x.by["fetch"]
		if x.pages != 100 || math.Abs(x.seconds-10) > 1e-9 || x.latency != float64(i) || load.Files != 7 ||
			load.Memory != int64(1000+10*i+9) || x.everything().Memory != load.Memory || load.Goroutines != 10*i+5 ||
			x.passing.pages != 20 || math.Abs(x.passing.seconds-2) > 1e-9 || math.Abs(x.passing.each()-2) > 1e-9 ||
			x.calm.pages != 80 || math.Abs(x.calm.rate()-10) > 1e-9 {
			t.Errorf("tenth %d: %+v", i, x)
		}
		// The first includes the CPU time before the crawl.
		if want := 2.0; i > 0 && math.Abs(load.CPU-want) > 1e-9 {
			t.Errorf("tenth %d: %g ms of CPU a page, want %g", i, load.CPU, want)
		}
		disk = append(disk, x.disk["kafka"])
	}
	if !slices.Equal(disk, []int64{1, 1, 1, 2, 2, 2, 2, 2, 2, 3}) {
		t.Errorf("disk %v", disk)
	}
	var out strings.Builder
	printSoak(&out, r)
	for _, want := range []string{"1000 pages in 100 s", "10th/1st", "CPU ms a page, scoring again", "memory, MiB, everything", "bytes a page, kafka", "peak 300 of 512"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	printSoak(&out, &soakReport{}) // no samples
	// Fewer samples than tenths.
	if list := (&soakReport{Pages: 30, Samples: []soakSample{{Pages: 3}, {Pages: 30}}}).tenths(); list[0].pages != 3 || list[9].pages != 27 || list[5].pages != 0 {
		t.Errorf("%+v", list)
	}
}

func TestSettingOf(t *testing.T) {
	for text, want := range map[string]any{
		"stages.fetch.concurrency=8": 8, "stages.fetch.linger=20ms": "20ms", "kafka.brokers=[a, b]": []any{"a", "b"}, "data=": nil,
	} {
		x, err := settingOf(text)
		name, _, _ := strings.Cut(text, "=")
		if err != nil || !reflect.DeepEqual(x.value, want) || strings.Join(x.path, ".") != name {
			t.Errorf("%s: %+v, %v", text, x, err)
		}
	}
	for _, text := range []string{"", "stages.fetch.concurrency", "=8", "data=[a"} {
		if x, err := settingOf(text); err == nil {
			t.Errorf("%q is read as %+v", text, x)
		}
	}
}

package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestTenths(t *testing.T) {
	r := &SoakReport{Pages: 1000, Seconds: 100}
	for i := range 100 { // a sample a second, 10 pages and 20 ms of CPU in each
		r.Samples = append(r.Samples, SoakSample{
			Seconds: float64(i + 1), Pages: uint64(10 * (i + 1)), Latency: uint32(i / 10), Passing: i%10 == 3,
			By: map[string]ProcessLoad{"fetch": {Memory: int64(1000 + i), Files: 7, Goroutines: i, CPU: 3 + .02*float64(i+1)}},
		})
	}
	r.MemoryPeaks = MemoryPeaks{PeakMemory: map[string]int64{"fetch-0": 300 << 20, "fetch-1": 200 << 20}, Limit: map[string]int64{"fetch-0": 512 << 20, "fetch-1": 512 << 20}}
	r.Disk = []SoakDisk{{Pages: 95, Sizes: map[string]int64{"kafka": 1}}, {Pages: 350, Sizes: map[string]int64{"kafka": 2}}, {Pages: 1000, Sizes: map[string]int64{"kafka": 3}}}
	list := r.Tenths()
	var disk []int64
	for i, x := range list {
		load := x.By["fetch"]
		if x.Pages != 100 || math.Abs(x.Seconds-10) > 1e-9 || x.Latency != float64(i) || load.Files != 7 ||
			load.Memory != int64(1000+10*i+9) || x.Everything().Memory != load.Memory || load.Goroutines != 10*i+5 ||
			x.Passing.Pages != 20 || math.Abs(x.Passing.Seconds-2) > 1e-9 || math.Abs(x.Passing.Each()-2) > 1e-9 ||
			x.Calm.Pages != 80 || math.Abs(x.Calm.Rate()-10) > 1e-9 {
			t.Errorf("tenth %d: %+v", i, x)
		}
		// The first includes the CPU time before the crawl.
		if want := 2.0; i > 0 && math.Abs(load.CPU-want) > 1e-9 {
			t.Errorf("tenth %d: %g ms of CPU a page, want %g", i, load.CPU, want)
		}
		disk = append(disk, x.Disk["kafka"])
	}
	if !slices.Equal(disk, []int64{1, 1, 1, 2, 2, 2, 2, 2, 2, 3}) {
		t.Errorf("disk %v", disk)
	}
	var out strings.Builder
	PrintSoak(&out, r)
	for _, want := range []string{"1000 pages in 100 s", "10th/1st", "CPU ms a page, scoring again", "memory, MiB, everything", "bytes a page, kafka", "peak 300 of 512"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	PrintSoak(&out, &SoakReport{}) // no samples
	// Fewer samples than tenths.
	if list := (&SoakReport{Pages: 30, Samples: []SoakSample{{Pages: 3}, {Pages: 30}}}).Tenths(); list[0].Pages != 3 || list[9].Pages != 27 || list[5].Pages != 0 {
		t.Errorf("%+v", list)
	}
}

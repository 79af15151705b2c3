package sizing

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// near reports whether two figures differ by so large a share at most.
func near(got, want, share float64) bool { return math.Abs(got-want) <= share*math.Abs(want) }

// sum adds what has a prefix.
func sum[N int64 | float64](all map[string]N, prefix string) (total float64) {
	for name, x := range all {
		if strings.HasPrefix(name, prefix) {
			total += float64(x)
		}
	}
	return total
}

// run is a crawl of a bench.
type run struct {
	Web     string
	Ranker  string
	Crawled Crawl
	Stored  map[string]int64
	CPU     map[string]float64 `json:"cpu_ms_per_page"`
}

func measured(t *testing.T) (runs []run) {
	b, err := os.ReadFile("testdata/measured.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &runs); err != nil || len(runs) != 10 {
		t.Fatalf("%d crawls, %v", len(runs), err)
	}
	return runs
}

// The tables of docs/sizing.md have the figures of the crawls.
func TestTable(t *testing.T) {
	page, err := os.ReadFile("../../../docs/sizing.md")
	if err != nil {
		t.Fatal(err)
	}
	for runs := range slices.Chunk(measured(t), 5) {
		inTable(t, string(page), runs)
	}
}

func inTable(t *testing.T, page string, runs []run) {
	row := func(name, format string, of func(run) float64) {
		line := "| " + name + " |"
		for _, r := range runs {
			if x := of(r); x > 0 {
				line += " " + fmt.Sprintf(format, x) + " |"
			} else {
				line += " – |"
			}
		}
		if !strings.Contains(page, line+"\n") {
			t.Errorf("docs/sizing.md lacks the line\n%s", line)
		}
	}
	row("pages", "%.0f", func(r run) float64 { return r.Crawled.Pages })
	for name, of := range map[string]func(Crawl) float64{
		"requests": func(c Crawl) float64 { return c.Requests }, "bytes": func(c Crawl) float64 { return c.Bytes }, "links": func(c Crawl) float64 { return c.Links },
		"leaps": func(c Crawl) float64 { return c.Leaps }, "URLs": func(c Crawl) float64 { return c.URLs },
	} {
		row(name+" a page", "%.4g", func(r run) float64 { return of(r.Crawled) / r.Crawled.Pages })
	}
	for name := range runs[0].CPU {
		row("CPU, ms, "+name, "%.3f", func(r run) float64 { return r.CPU[name] })
	}
	for name := range storedBytes {
		row("bytes, "+name, "%.0f", func(r run) float64 { return float64(r.Stored[name]) / r.Crawled.Pages })
	}
}

// TestMeasured compares the figures with every crawl that they are fitted to: bytes within a quarter, CPU time of all stages as well.
func TestMeasured(t *testing.T) {
	for _, r := range measured(t) {
		stored := r.Crawled.Stored()
		for _, prefix := range []string{"topic ", "s3 segments", "s3 archive", "clickhouse"} {
			got, want := sum(stored, prefix), sum(r.Stored, prefix)
			t.Logf("%-9s of %5.0f pages by %-10s: %-12s %10.0f bytes, measured %10.0f", r.Web, r.Crawled.Pages, r.Ranker, prefix, got, want)
			if want > 0 && !near(got, want, 0.25) {
				t.Errorf("%s of %v pages: %s %.0f bytes, measured %.0f", r.Web, r.Crawled.Pages, prefix, got, want)
			}
		}
		if r.Crawled.Pages < 1000 {
			continue // the start of the processes counts
		}
		got, want := sum(r.Crawled.CPU(), ""), sum(r.CPU, "")/1000*r.Crawled.Pages
		t.Logf("%-9s of %5.0f pages: %.1f s of CPU time, measured %.1f", r.Web, r.Crawled.Pages, got, want)
		if !near(got, want, 0.25) {
			t.Errorf("%s of %v pages: %.1f s of CPU time, measured %.1f", r.Web, r.Crawled.Pages, got, want)
		}
	}
}

// A plan by hand: a page a second, which takes a request and makes a URL known, and nothing else.
func TestSize(t *testing.T) {
	m := Month{Crawl: Crawl{Pages: Seconds, Requests: Seconds, URLs: Seconds}, Hosts: 2, Delay: 4, Cores: 4, Busy: 0.5, Replication: 2}
	p := Size(m)
	const decisions, pages = 150.0, 210.0 + 47 + 50 // bytes a second in topics kept for a month and for a day
	for _, k := range []struct {
		what      string
		got, want float64
	}{
		{"pages a second", p.PagesPerSecond, 1}, {"seconds of a host", p.HostSeconds, Seconds / 2 * 6}, {"slots", float64(p.Slots), 2},
		{"Kafka, written", p.KafkaWrites, 2 * (decisions + pages)}, {"Kafka, disks", p.KafkaDisk, 2 * 1.3 * Seconds * (decisions + pages/30)},
		{"S3", p.S3, Seconds * 700}, {"S3, objects", p.S3Writes, 1}, {"ClickHouse", p.ClickHouse, 1.3 * Seconds * 120},
		{"state", p.State, 2 * Seconds * 1100}, {"snapshots", p.S3Snapshots, 3 * Seconds * 1100},
		{"fetch", p.Processors["fetch"], 0.099e-3}, {"machines", float64(p.Machines), 1}, {"partitions", float64(p.Partitions), 4},
	} {
		if !near(k.got, k.want, 1e-9) {
			t.Errorf("%s: %v, want %v", k.what, k.got, k.want)
		}
	}
}

// More of anything takes no less of everything, and bytes are proportional to the crawl.
func TestSizeGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := func(name string) float64 { return rapid.Float64Range(0, 1e10).Draw(t, name) }
		c := Crawl{Pages: x("pages"), Requests: x("requests"), Bytes: x("bytes"), Links: x("links"), Leaps: x("leaps"), Featured: x("featured"), URLs: x("urls")}
		m := Month{Crawl: c, Hosts: 1e6, Delay: 1, Cores: 8, Busy: 0.6, Replication: 3}
		k := rapid.Float64Range(1, 1000).Draw(t, "times")
		more := m
		more.Crawl = Crawl{k * c.Pages, k * c.Requests, k * c.Bytes, k * c.Links, k * c.Leaps, k * c.Featured, k * c.URLs}
		p, q := Size(m), Size(more)
		for _, y := range [][2]float64{
			{p.KafkaDisk, q.KafkaDisk}, {p.KafkaWrites, q.KafkaWrites}, {p.S3, q.S3}, {p.S3Snapshots, q.S3Snapshots}, {p.ClickHouse, q.ClickHouse}, {p.State, q.State},
		} {
			if !near(y[1], k*y[0], 1e-9) {
				t.Fatalf("%v times as much: %v, before %v", k, y[1], y[0])
			}
		}
		if q.Machines < p.Machines || q.Partitions < p.Partitions || q.Slots < p.Slots || q.S3Writes < p.S3Writes || p.Machines < 1 {
			t.Fatalf("less for more: %+v, %+v", p, q)
		}
		for name, n := range p.Processes {
			if float64(n)*m.Busy*1.0000001 < p.Processors[name] || q.Processes[name] < n {
				t.Fatalf("%s: %d processes for %v processors, then %d", name, n, p.Processors[name], q.Processes[name])
			}
		}
	})
}

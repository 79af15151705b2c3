package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Tenth is a summary of the samples of a tenth of the pages.
type Tenth struct {
	Pages   uint64
	Seconds float64
	Latency float64
	// Memory is the largest of the samples, the other fields are means over them; CPU is that of the tenth, in milliseconds a page.
	By map[string]ProcessLoad
	// memory is the largest of all processes together, bytes.
	memory int64
	// Disk holds the sizes of folders at the end.
	Disk map[string]int64
	// Passing are the seconds during a rescore pass, calm the others.
	Passing, Calm interval
}

// Everything is the sum over all processes.
func (t *Tenth) Everything() (sum ProcessLoad) {
	for _, load := range t.By {
		sum.Files += load.Files
		sum.Goroutines += load.Goroutines
		sum.CPU += load.CPU
	}
	sum.Memory = t.memory // the largest of each are not of the same moment
	return sum
}

// interval is a number of seconds, not necessarily one after another.
type interval struct {
	Pages        uint64
	Seconds, cpu float64
}

func (s interval) Rate() float64 { return float64(s.Pages) / max(s.Seconds, 1e-9) }

// Each is CPU time a page, milliseconds.
func (s interval) Each() float64 { return s.cpu * 1000 / float64(max(1, s.Pages)) }

// Tenths divides the samples of a crawl by its pages. A sample belongs to the tenth of its last page.
func (r *SoakReport) Tenths() []Tenth {
	list := make([]Tenth, 10)
	last := SoakSample{By: map[string]ProcessLoad{}}
	counts := make([]float64, 10)
	for _, x := range r.Samples {
		i := r.tenthOf(x.Pages)
		t := &list[i]
		if t.By == nil {
			t.By = make(map[string]ProcessLoad)
		}
		counts[i]++
		t.Pages += x.Pages - last.Pages
		t.Seconds += x.Seconds - last.Seconds
		t.Latency += float64(x.Latency)
		part := &t.Calm
		if x.Passing || last.Passing {
			part = &t.Passing
		}
		part.Pages += x.Pages - last.Pages
		part.Seconds += x.Seconds - last.Seconds
		memory := int64(0)
		for name, load := range x.By {
			memory += load.Memory
			sum := t.By[name]
			sum.Memory = max(sum.Memory, load.Memory)
			sum.Files += load.Files
			sum.Goroutines += load.Goroutines
			sum.CPU += load.CPU - last.By[name].CPU
			part.cpu += load.CPU - last.By[name].CPU
			t.By[name] = sum
		}
		t.memory = max(t.memory, memory)
		last = x
	}
	for _, x := range r.Disk {
		for i := r.tenthOf(x.Pages); i < len(list); i++ {
			list[i].Disk = x.Sizes
		}
	}
	for i := range list {
		t, n := &list[i], max(1, counts[i])
		t.Latency /= n
		for name, sum := range t.By {
			t.By[name] = ProcessLoad{
				Memory: sum.Memory, Files: int(float64(sum.Files)/n + .5), Goroutines: int(float64(sum.Goroutines)/n + .5),
				CPU: sum.CPU * 1000 / float64(max(1, t.Pages)),
			}
		}
	}
	return list
}

// tenthOf is the tenth, from 0, of the last of that many pages.
func (r *SoakReport) tenthOf(pages uint64) int {
	if pages == 0 {
		return 0
	}
	return int(min(9, (pages-1)*10/max(1, r.Pages)))
}

// PrintSoak prints a column for each tenth, and the ratio of the last to the first.
func PrintSoak(w io.Writer, r *SoakReport) {
	list := r.Tenths()
	fmt.Fprintf(w, "%d pages in %.0f s: %s\n\n%-34s", r.Pages, r.Seconds, r.EndReason, "tenth of the pages")
	for i := range list {
		fmt.Fprintf(w, " %7d", i+1)
	}
	fmt.Fprintf(w, " %9s\n", "10th/1st")
	line := func(name, format string, value func(i int) float64, more ...any) {
		fmt.Fprintf(w, "%-34s", name)
		for i := range list {
			fmt.Fprintf(w, " %7s", fmt.Sprintf(format, value(i)))
		}
		if first := value(0); first > 0 {
			fmt.Fprintf(w, " %9.2f", value(9)/first)
		}
		fmt.Fprintln(w, more...)
	}
	line("pages/s", "%.0f", func(i int) float64 { return float64(list[i].Pages) / max(list[i].Seconds, 1e-9) })
	line("loop, ms", "%.0f", func(i int) float64 { return list[i].Latency })
	fmt.Fprintln(w)
	line("% of the time scoring again", "%.0f", func(i int) float64 { return 100 * list[i].Passing.Seconds / max(list[i].Seconds, 1e-9) })
	for _, part := range []struct {
		name string
		of   func(i int) interval
	}{
		{"scoring again", func(i int) interval { return list[i].Passing }},
		{"else", func(i int) interval { return list[i].Calm }},
	} {
		line("pages/s, "+part.name, "%.0f", func(i int) float64 { return part.of(i).Rate() })
		line("CPU ms a page, "+part.name, "%.2f", func(i int) float64 { return part.of(i).Each() })
	}
	names := PrintProcesses()
	for _, m := range []struct {
		name, format string
		of           func(ProcessLoad) float64
		more         func(process string) string
	}{
		{"CPU ms a page", "%.2f", func(l ProcessLoad) float64 { return l.CPU }, nothing},
		{"memory, MiB", "%.0f", func(l ProcessLoad) float64 { return float64(l.Memory) / (1 << 20) }, r.bound},
		{"open files", "%.0f", func(l ProcessLoad) float64 { return float64(l.Files) }, nothing},
		{"goroutines", "%.0f", func(l ProcessLoad) float64 { return float64(l.Goroutines) }, nothing},
	} {
		fmt.Fprintln(w)
		for _, name := range names {
			line(m.name+", "+name, m.format, func(i int) float64 { return m.of(list[i].By[name]) }, m.more(name))
		}
		line(m.name+", everything", m.format, func(i int) float64 { return m.of(list[i].Everything()) })
	}
	fmt.Fprintln(w)
	folders := slices.Sorted(maps.Keys(list[9].Disk))
	for _, dir := range folders {
		line("disk, MB, "+dir, "%.0f", func(i int) float64 { return float64(list[i].Disk[dir]) / 1e6 })
	}
	for _, dir := range folders {
		fmt.Fprintf(w, "%-34s %7.0f\n", "bytes a page, "+dir, float64(list[9].Disk[dir])/float64(max(1, r.Pages)))
	}
}

func nothing(string) string { return "" }

// bound is the largest memory of a process of the stage, with its limit.
func (r *SoakReport) bound(stage string) string {
	peak, limit := r.Of(stage)
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf("  peak %d of %d", peak>>20, limit>>20)
}

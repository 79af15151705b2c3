package examples

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

// dumpShape describes a synthetic dump: topics to a depth of about 12, pages of about 45 words, one of 30 of them
// filed twice, and in one of 200 a fault.
type dumpShape struct {
	random *rand.Rand
	words  []string
	topics []string
}

func newDumpShape(seed uint64, topics int) *dumpShape {
	d := &dumpShape{random: rand.New(rand.NewPCG(seed, 5))}
	for i := range 20_000 {
		d.words = append(d.words, strconv.FormatUint(uint64(i)*2_654_435_761%9_999_991, 36))
	}
	d.topics = []string{"Top"}
	for len(d.topics) < topics {
		// A child of a random topic: names as deep as those of a directory.
		above := d.topics[d.random.IntN(len(d.topics))]
		if strings.Count(above, "/") < 14 {
			d.topics = append(d.topics, fmt.Sprintf("%s/%s_%d", above, d.word(), len(d.topics)))
		}
	}
	return d
}

// word draws a word, the first ones far more often.
func (d *dumpShape) word() string {
	x := d.random.Float64()
	return d.words[int(x*x*x*float64(len(d.words)))]
}

func (d *dumpShape) text(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(d.word())
		b.WriteByte(' ')
	}
	return b.String()
}

const dumpBegin = "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n<RDF xmlns:r=\"http://www.w3.org/TR/RDF/\">\n"

// content writes the given number of bytes of content.rdf.u8 and returns the number of ExternalPages.
func (d *dumpShape) content(to io.Writer, size int64) (pages int, err error) {
	w := bufio.NewWriterSize(to, 1<<20)
	n := int64(0)
	put := func(format string, args ...any) {
		k, _ := fmt.Fprintf(w, format, args...)
		n += int64(k)
	}
	put("%s", dumpBegin)
	for n < size {
		topic := d.topics[1+d.random.IntN(len(d.topics)-1)]
		put("  <Topic r:id=\"%s\">\n    <catid>%d</catid>\n  </Topic>\n", topic, n)
		for range 1 + d.random.IntN(24) {
			pages++
			id := pages
			if d.random.IntN(30) == 0 {
				id = 1 + d.random.IntN(pages)
			}
			title, end := d.text(3), "</d:Description>\n"
			switch d.random.IntN(1000) {
			case 0:
				title += " \xe9\x93 & <"
			case 1:
				title += "\x01 &bogus; &#0;"
			case 2:
				end = "\n"
			}
			put("  <ExternalPage about=\"http://www.%s%d.example/%s?a=1&amp;b=2\">\n    <d:Title>%s</d:Title>\n    <d:Description>%s &quot;%s&quot; %s    <priority>1</priority>\n    <topic>%s</topic>\n  </ExternalPage>\n",
				d.words[id%len(d.words)], id, d.words[id*7%len(d.words)], title, d.text(30+d.random.IntN(20)), d.word(), end, topic)
		}
	}
	put("</RDF>\n")
	return pages, w.Flush()
}

// structure writes structure.rdf.u8.
func (d *dumpShape) structure(to io.Writer) error {
	w := bufio.NewWriterSize(to, 1<<20)
	fmt.Fprint(w, dumpBegin)
	for i, topic := range d.topics {
		fmt.Fprintf(w, "  <Topic r:id=\"%s\">\n    <catid>%d</catid>\n    <d:Description>%s</d:Description>\n", topic, i, d.text(12))
		for range d.random.IntN(3) {
			fmt.Fprintf(w, "    <symbolic r:resource=\"%s:%s\"/>\n", d.word(), d.topics[d.random.IntN(len(d.topics))])
		}
		fmt.Fprint(w, "  </Topic>\n")
	}
	fmt.Fprint(w, "</RDF>\n")
	return w.Flush()
}

// writeDump writes a dump of the given size into a folder.
func writeDump(t testing.TB, dir string, size int64) (pages int) {
	t.Helper()
	d := newDumpShape(1, int(max(20, size/6_000)))
	for name, write := range map[string]func(io.Writer) error{
		contentFile:   func(w io.Writer) (err error) { pages, err = d.content(w, size*9/10); return err },
		structureFile: d.structure,
	} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return pages
}

func TestGeneratedDump(t *testing.T) {
	dir := t.TempDir()
	pages := writeDump(t, dir, 2<<20)
	in := intake(t, Settings{Memory: 200_000, Temp: t.TempDir()})
	defer in.Close()
	if err := Read(t.Context(), dir, DMOZ, in, Open); err != nil {
		t.Fatal(err)
	}
	_, sum := finished(t, in)
	if int(sum.Read) != pages || sum.Refusals() > 0 || int(sum.Examples+sum.Repeated) != pages || sum.Repeated == 0 || sum.Structure.Topics == 0 {
		t.Errorf("%d pages: %+v", pages, sum)
	}
	for _, reason := range []Reason{Encoding, Controls, Ampersands, NotClosed} {
		if counts(sum.Repaired)[reason] == 0 {
			t.Errorf("%q never occurs", reason)
		}
	}
	if len(in.sorter.runs) < 2 {
		t.Errorf("%d runs", len(in.sorter.runs))
	}
}

// TestOrderOfADumpDoesNotMatter shuffles the pages of a dump.
func TestOrderOfADumpDoesNotMatter(t *testing.T) {
	var content bytes.Buffer
	if _, err := newDumpShape(2, 40).content(&content, 200_000); err != nil {
		t.Fatal(err)
	}
	const begin, end = "  <ExternalPage", "  <Topic"
	var pages []string
	body, _, _ := strings.Cut(content.String(), "</RDF>")
	for i, part := range strings.Split(body, begin) {
		if i > 0 {
			page, _, _ := strings.Cut(part, end)
			pages = append(pages, begin+page)
		}
	}
	read := func(pages []string) string {
		got, _, err := importDump(t, []byte(dumpBegin+strings.Join(pages, "")+"</RDF>"), nil, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := read(pages)
	if whole, _, err := importDump(t, content.Bytes(), nil, Settings{}); err != nil || whole != want {
		t.Fatalf("%v, %d bytes without the topics, %d with them", err, len(want), len(whole))
	}
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
		if read(pages) != want {
			t.Fatalf("shuffled by %d, the import is another one", seed)
		}
	}
}

// peak is the largest resident memory of this process so far, bytes.
func peak(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib * 1024
}

// BenchmarkImport imports a synthetic dump of FORAGER_BENCH_DUMP bytes (32 MiB) from disk to compressed JSON
// Lines, compared with encoding/xml, which only cuts the same bytes into tags and text.
func BenchmarkImport(b *testing.B) {
	size := int64(32 << 20)
	if s := os.Getenv("FORAGER_BENCH_DUMP"); s != "" {
		var err error
		if size, err = strconv.ParseInt(s, 10, 64); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	pages := writeDump(b, dir, size)
	floor := cutByXML(b, filepath.Join(dir, contentFile))
	b.SetBytes(size)
	b.ResetTimer()
	for b.Loop() {
		begun := cpu(b)
		in := intake(b, Settings{Temp: dir})
		if err := Read(b.Context(), dir, DMOZ, in, Open); err != nil {
			b.Fatal(err)
		}
		f, err := os.Create(filepath.Join(dir, "out.jsonl.gz"))
		if err != nil {
			b.Fatal(err)
		}
		z := gzip.NewWriter(f)
		sum, err := in.Finish(NewWriter(z).Write)
		if err := errors.Join(err, z.Close(), f.Close(), in.Close()); err != nil || int(sum.Read) != pages {
			b.Fatal(err, sum)
		}
		perByte := (cpu(b) - begun) / float64(size)
		b.ReportMetric(perByte/floor, "of-encoding/xml")
		b.ReportMetric(1e-6/perByte, "MB/cpu-s")
		b.ReportMetric(float64(sum.Examples), "examples")
	}
	b.ReportMetric(peak(b)/(1<<20), "peak-MiB")
}

// cutByXML returns the seconds that encoding/xml takes for a byte.
func cutByXML(b *testing.B, path string) float64 {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	part, err := io.ReadAll(io.LimitReader(f, 8<<20))
	if err != nil {
		b.Fatal(err)
	}
	part = bytes.ToValidUTF8(part, nil)
	part = bytes.ReplaceAll(part, []byte{1}, nil)
	begun := cpu(b)
	d := xml.NewDecoder(bytes.NewReader(part))
	d.Strict = false
	for {
		if _, err := d.RawToken(); err != nil {
			break
		}
	}
	return (cpu(b) - begun) / float64(d.InputOffset())
}

// cpu returns the CPU time of this process, seconds.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

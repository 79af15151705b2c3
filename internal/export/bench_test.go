package export

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"forager/internal/platform/analytics"
	"forager/internal/web/warc"
	"forager/schemas"
)

// largePages are pages of about 60 KiB with text and links.
func largePages(t testing.TB, pages int) *shelf {
	s := &shelf{}
	s.writer = warc.NewWriter(&s.segment)
	for i := range pages {
		var body strings.Builder
		fmt.Fprintf(&body, "<title>Page %d</title>", i)
		for k := range 500 {
			fmt.Fprintf(&body, "<p>The %d words of paragraph %d, which is <b>about</b> something %x, and a <a href=\"/page/%d/%d\">link to %d</a>.</p>\n", (k*7919)%997, k, k*k*i, i, k, k)
		}
		url := fmt.Sprintf("http://h%d.example/%d", i%3, i)
		at, _, err := s.writer.Response(&warc.Page{
			ID: schemas.RequestID("c", url, 1), URL: url, Date: time.Unix(int64(i), 0), Status: 200, Reason: "OK",
			Header: warc.Header{{Name: "Content-Type", Value: "text/html; charset=utf-8"}}, Body: []byte(body.String()),
		})
		if err != nil {
			t.Fatal(err)
		}
		s.rows = append(s.rows, analytics.StoredPage{
			URL: url, Outcome: "delivered", Status: 200, Relevance: .75, Tempered: .5, Topics: []string{"A/B", "C"}, Posteriors: []float64{.7, .2},
			Title: fmt.Sprint("Page ", i), Language: "en", Depth: 2, Via: "http://via.example/",
			Fetched: time.UnixMilli(int64(i)), Object: "segment", Offset: uint64(at.Offset), Length: uint64(at.Length),
		})
	}
	return s
}

// cpu is the CPU time of the process.
func cpu() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkJSONLines(b *testing.B) {
	s := largePages(b, 50)
	o := options
	o.Format = JSONL
	for _, o.Gzip = range []bool{false, true} {
		b.Run(fmt.Sprintf("gzip=%t", o.Gzip), func(b *testing.B) {
			begun := cpu()
			for b.Loop() {
				if n, err := Write(b.Context(), io.Discard, s, s, analytics.Selection{Crawl: "c", Outcome: "delivered"}, o); err != nil || n != len(s.rows) {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64((cpu()-begun).Microseconds())/float64(b.N*len(s.rows)), "CPU-µs/page")
		})
	}
}

package dom

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// synthetic makes a page of paragraphs, links, lists and tables from a small vocabulary.
func synthetic(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	words := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "word%d ", int(r.ExpFloat64()*200))
		}
		return b.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html><html lang=en><head><title>%s</title><meta charset=utf-8><style>p { margin: 0 }</style></head><body>\n", words(5))
	for range 60 {
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&b, "<p class=\"text\">%s<a href=\"/page/%d.html\">%s</a> %s<b>%s</b></p>\n", words(20), r.IntN(500), words(3), words(15), words(2))
		case 1:
			fmt.Fprintf(&b, "<ul id=\"list\">\n<li><a href=\"../x/%d\">%s</a></li>\n<li>%s</li>\n</ul>\n", r.IntN(500), words(4), words(6))
		case 2:
			fmt.Fprintf(&b, "<table><tr><td>%s</td><td align=\"right\"><a href=\"http://example.org/%d\">%s</a></td></tr></table>\n", words(3), r.IntN(500), words(2))
		}
	}
	return []byte(b.String() + "</body></html>")
}

// BenchmarkParse measures Parse beside html.Parse alone; "of-html" is the speed of Parse as a share
// of that of html.Parse.
func BenchmarkParse(b *testing.B) {
	var pages [][]byte
	for i := range 20 {
		pages = append(pages, synthetic(uint64(i)))
	}
	var whole, bare time.Duration
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range pages {
			start := time.Now()
			if _, err := Parse(p, "text/html", here, Settings{}); err != nil {
				b.Fatal(err)
			}
			middle := time.Now()
			if _, err := html.Parse(bytes.NewReader(p)); err != nil {
				b.Fatal(err)
			}
			whole += middle.Sub(start)
			bare += time.Since(middle)
			size += len(p)
		}
	}
	b.ReportMetric(bare.Seconds()/whole.Seconds(), "of-html")
	b.ReportMetric(float64(size)/1e6/whole.Seconds(), "MB/s")
}

package dom

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"google.golang.org/protobuf/proto"

	"forager/internal/web/weburl"
	"forager/schemas"
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

// stored is a page as a server sent it.
type stored struct {
	url, contentType string
	body             []byte
}

// The steps of Parse, in their order.
const (
	decoding  = iota // the URL, the character encoding
	screening        // what would take html.Parse too long
	repairing        // html.Parse
	walking          // leaves, words, meta elements
	linking          // links made absolute and canonical
	steps
)

var stepNames = [steps]string{"decode", "screen", "repair", "walk", "links"}

// bySteps is Parse for a page that has a tree; it adds the time of each step.
func bySteps(p stored, took *[steps]time.Duration) (*schemas.Page, error) {
	at := time.Now()
	lap := func(step int) {
		now := time.Now()
		took[step] += now.Sub(at)
		at = now
	}
	u, err := weburl.Parse(p.url)
	if err != nil {
		return nil, err
	}
	set := Settings{}.withDefaults()
	enc := detect(p.body, p.contentType)
	var r *reading
	for again := true; again; {
		text := enc.decode(p.body)
		lap(decoding)
		if heavy(text) {
			return nil, errors.New("the page is read without a tree")
		}
		lap(screening)
		doc, err := repair(text)
		if err != nil {
			return nil, err
		}
		lap(repairing)
		r = newReading(set, len(text))
		r.tree(doc)
		lap(walking)
		var declared encodingOf
		if declared, again = enc.corrected(r.charset); again {
			enc = declared
		}
	}
	r.page.Url, r.page.Charset = u.String(), enc.name
	r.finish(u)
	lap(linking)
	return r.page, nil
}

// measureSteps measures the steps of Parse, compared with html.Parse alone over the same bytes. Each step is given
// in multiples of html.Parse; "of-html" is the speed of all of them as a share of its speed.
func measureSteps(b *testing.B, pages []stored) {
	for _, p := range pages {
		want, err := Parse(p.body, p.contentType, p.url, Settings{})
		if err != nil {
			b.Fatal(err)
		}
		if got, err := bySteps(p, new([steps]time.Duration)); err != nil || !proto.Equal(got, want) {
			b.Fatalf("%s: step by step it is another page (%v)", p.url, err)
		}
	}
	var took [steps]time.Duration
	var bare time.Duration
	size, turn := 0, 0
	alone := func(p stored) {
		start := time.Now()
		_, _ = html.Parse(bytes.NewReader(p.body)) // for pages that it refuses, the time until then
		bare += time.Since(start)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range pages {
			turn++
			if turn%2 == 0 { // the second one finds the page in the processor's cache
				alone(p)
			}
			if _, err := bySteps(p, &took); err != nil {
				b.Fatal(err)
			}
			if turn%2 == 1 {
				alone(p)
			}
			size += len(p.body)
		}
	}
	var whole time.Duration
	for step, d := range took {
		whole += d
		b.ReportMetric(d.Seconds()/bare.Seconds(), stepNames[step]+"/html")
	}
	b.ReportMetric(bare.Seconds()/whole.Seconds(), "of-html")
	b.ReportMetric(float64(size)/1e6/whole.Seconds(), "MB/s")
}

func BenchmarkParse(b *testing.B) {
	var pages []stored
	for i := range 20 {
		pages = append(pages, stored{here, "text/html", synthetic(uint64(i))})
	}
	measureSteps(b, pages)
}

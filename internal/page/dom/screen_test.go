package dom

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// numbered repeats a format with 0, 1, 2, …
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// hostile are inputs for which html.Parse takes time or memory out of proportion, each of some 6 n bytes or more.
// heavy is set if the screen must detect it at n = 4,000.
var hostile = []struct {
	name  string
	heavy bool
	make  func(n int) string
}{
	{"attributes of body", true, func(n int) string { return numbered("<body a%d>", n) }},
	{"attributes of html", true, func(n int) string { return numbered("<p><html a%d=x>", n) }},
	{"attributes of body behind foreign content", true, func(n int) string { return "<svg><style><p>" + numbered("<body a%d>", n) }},
	{"attributes of body within CDATA that is none", true, func(n int) string { return "<p><![CDATA[>" + numbered("<body a%d>", n) }},
	{"attributes of annotation-xml", true, func(n int) string {
		return "<math><annotation-xml " + numbered("a%d ", n) + ">" + strings.Repeat("<mi/>", n)
	}},
	{"table of attribute names", false, func(n int) string {
		return "<p " + numbered("a%d ", n) + ">" + strings.Repeat("<br a>", n)
	}},
	{"formatting elements reopened", true, func(n int) string {
		return "<p>" + numbered("<b a%d>", 400) + strings.Repeat("<p>x", n)
	}},
	{"formatting elements without attributes reopened", true, func(n int) string {
		return "<p>" + strings.Repeat("<b><big><code><em><font><i><s><small><strike><strong><tt><u>", 3) + strings.Repeat("<p>x", n)
	}},
	{"formatting elements with large attributes reopened", true, func(n int) string {
		return "<p><b " + numbered("a%d ", n/8) + ">" + strings.Repeat("<p>x", n)
	}},
	{"formatting elements hidden in a table", true, func(n int) string {
		return numbered("<b a%d><table></b></table>", 400) + strings.Repeat("<p>x", n)
	}},
	{"formatting elements ended in a comment", true, func(n int) string {
		return "<p>" + numbered("<b a%d><!-- </b> -->", 400) + strings.Repeat("<p>x", n)
	}},
	{"formatting elements ended in an attribute", true, func(n int) string {
		return "<p>" + numbered("<b a%d='</b>'>", 400) + strings.Repeat("<p>x", n)
	}},
	{"formatting elements ended in a script", true, func(n int) string {
		return "<p>" + numbered("<b a%d><script></b></script>", 400) + strings.Repeat("<p>x", n)
	}},
	{"formatting elements reopened by images", true, func(n int) string {
		return "<p>" + numbered("<i a%d>", 400) + strings.Repeat("<p><img>", n)
	}},
	{"formatting elements reopened by objects", true, func(n int) string {
		return "<p>" + numbered("<i a%d>", 400) + strings.Repeat("<p><object></object>", n)
	}},
	{"formatting elements reopened by </br>", true, func(n int) string {
		return "<p>" + numbered("<i a%d>", 400) + strings.Repeat("<p></br>", n)
	}},
	{"formatting elements reopened within a run", true, func(n int) string {
		return strings.Repeat(strings.Repeat("<span>", 250)+numbered("<i a%d>", 250)+strings.Repeat("</span>x", 250)+strings.Repeat("</i>", 250), n/250)
	}},
	{"markers left by tables", true, func(n int) string {
		n *= 2
		return strings.Repeat("<table><tr><td><object></table>", n) + strings.Repeat("<b><b><b><b></b></b></b></b>", n)
	}},
	{"markers left by rows", true, func(n int) string {
		n *= 2
		return "<table>" + strings.Repeat("<object><tr>", n) + "</table>" + strings.Repeat("<b><b><b><b></b></b></b></b>", n)
	}},
	{"markers left by templates", true, func(n int) string {
		n *= 2
		return strings.Repeat("<template><td></template>", n) + strings.Repeat("<b><b><b><b></b></b></b></b>", n)
	}},
	{"nested deep", false, func(n int) string { return strings.Repeat("<div>", n) }},
	{"nested deep within limits", false, func(n int) string { return strings.Repeat("<div>", 400) + strings.Repeat("<hr>", n) }},
	{"misnested", true, func(n int) string { return strings.Repeat("<b><div>x</b>y", n) }},
	{"misnested links", false, func(n int) string { return strings.Repeat("<a href=v><p>x<a href=w>y</p>", n) }},
	{"tags within tags", true, func(n int) string { return strings.Repeat("<b ", 4*n) }},
	{"tags within names", true, func(n int) string { return strings.Repeat("<b<i", 4*n) }},
	{"end tags within names", true, func(n int) string { return strings.Repeat("</b<i", 4*n) }},
	{"tags within quotes", true, func(n int) string { return strings.Repeat("<b a=\"<i b='", 2*n) }},
	{"many tags", true, func(n int) string { return strings.Repeat("<br>", 26*n) }},
	{"open links", false, func(n int) string { return strings.Repeat("<table><tr><td><a href=v>", n) }},
	{"many links", false, func(n int) string { return numbered("<a href=%d>", n) }},
	{"many links nobr", true, func(n int) string {
		return numbered("<nobr a%d><div>", 100) + strings.Repeat("</div>", 100) + strings.Repeat("<p>x", n)
	}},
	{"text in tables", false, func(n int) string { return "<table>" + strings.Repeat("x<tr>", 4*n) }},
	{"entities", false, func(n int) string { return strings.Repeat("&amp", 4*n) }},
	{"one long word", false, func(n int) string { return strings.Repeat("x", 20*n) }},
	{"one long word with marks", false, func(n int) string { return strings.Repeat("a.\u0301", 5*n) }},
	{"comments in scripts", false, func(n int) string { return "<script>" + strings.Repeat("<!--<script></script", n) }},
	{"meta elements", false, func(n int) string { return strings.Repeat("<meta name=robots content=a,b>", n) }},
}

// cost is the cost of reading a page.
type cost struct {
	took   time.Duration // of a processor
	memory uint64        // bytes
}

func measure(t *testing.T, body []byte) cost {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := threadTime(t)
	p, err := Parse(body, "", here, Settings{})
	took := threadTime(t) - start
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	check(t, p)
	return cost{took, after.TotalAlloc - before.TotalAlloc}
}

// threadTime is the CPU time of this thread.
func threadTime(t *testing.T) time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		t.Fatal(err)
	}
	return time.Duration(at.Nano())
}

// TestHostileInputIsLinear compares each hostile page with one twice as long: twice the cost is linear, four times
// quadratic. The least of some runs counts, as other programs share the caches, and the garbage collector is off.
// Where that fails, larger pages are compared: a cache that is too small has an effect at one size, work that is
// quadratic at every one.
func TestHostileInputIsLinear(t *testing.T) {
	const first, limit = 4000, 3
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			if got := heavy([]byte(h.make(first))); got != h.heavy {
				t.Errorf("heavy: %v", got)
			}
			var a, b cost
			var size int
			for n := first; n <= 32_000; n *= 2 {
				body, double := []byte(h.make(n)), []byte(h.make(2*n))
				size = len(body)
				a, b = measure(t, body), measure(t, double)
				for range 8 {
					if b.took <= limit*a.took {
						break
					}
					a.took, b.took = min(a.took, measure(t, body).took), min(b.took, measure(t, double).took)
				}
				if most := uint64(1<<20 + 400*len(body)); a.memory > most {
					t.Fatalf("%d bytes of memory for a page of %d", a.memory, len(body))
				}
				if b.took <= limit*a.took && b.memory <= limit*a.memory {
					return
				}
			}
			t.Errorf("a page of %d bytes costs %v, one twice as long %v", size, a, b)
		})
	}
}

// TestScreenBoundsElements compares the number of elements of a tree with the screen's bound: except those with a
// tag, those that tables and end tags imply, and those that the adoption agency copies (4 in each of 8 turns),
// every one is counted with cloneSteps.
func TestScreenBoundsElements(t *testing.T) {
	tags := strings.Fields("b i font a nobr code span label p div li ul table tr td th caption object template select option " +
		"svg desc math mi button h1 body br img noscript form br dd")
	piece := rapid.Custom(func(t *rapid.T) string {
		tag := rapid.SampledFrom(tags).Draw(t, "tag")
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1, 2, 3:
			return "<" + tag + ">"
		case 4:
			return "<" + tag + fmt.Sprintf(" a%d>", rapid.IntRange(0, 99).Draw(t, "attribute"))
		case 5:
			return "<" + tag + ">x</" + tag + ">"
		case 6, 7, 8:
			return "</" + tag + ">"
		}
		return rapid.SampledFrom([]string{"x", " ", "<!-- </b> -->", "<p a='</b>'>", "<script></b></script>", "<![CDATA[", "]]>", "</b x>", "<b <i>>"}).Draw(t, "other")
	})
	unit := rapid.Map(rapid.SliceOfN(piece, 0, 8), func(p []string) string { return strings.Join(p, "") })
	rapid.Check(t, func(t *rapid.T) {
		var body string
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			body += strings.Repeat(unit.Draw(t, "unit"), rapid.SampledFrom([]int{1, 2, 10, 60}).Draw(t, "times"))
		}
		s := screen{body: []byte(body), limit: 1 << 60}
		s.heavy()
		doc, err := html.ParseWithOptions(strings.NewReader(body), html.ParseOptionEnableScripting(false))
		if err != nil {
			return // nested too deep
		}
		elements := 0
		for n := range doc.Descendants() {
			if n.Type == html.ElementNode {
				elements++
			}
		}
		most := 3 + strings.Count(body, "<t")*3 + 2*strings.Count(body, "<") + 8*4*strings.Count(body, "</") + s.steps/cloneSteps
		if elements > most {
			t.Fatalf("%d elements, the screen allows for %d (%d steps)", elements, most, s.steps)
		}
	})
}

// TestScreenReadsTagsAsTheTokenizer compares the end of a tag and the upper bound of its attributes.
func TestScreenReadsTagsAsTheTokenizer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inside := rapid.StringMatching(`[ab =/"'<>\n\x00]{0,20}`).Draw(t, "inside")
		body := "<Code" + inside + `>" '>`
		z := html.NewTokenizer(strings.NewReader(body))
		if token := z.Next(); token != html.StartTagToken && token != html.SelfClosingTagToken {
			return // no end
		}
		size := len(z.Raw())
		name, more := z.TagName()
		attrs := 0
		for more {
			_, _, more = z.TagAttr()
			attrs++
		}
		tag, at, cleanName := lookup([]byte(body), 1)
		count, end, clean := attributes([]byte(body), at)
		if (tag == tagCode) != (string(name) == "code") || end != size || count < attrs ||
			(clean && cleanName) != !strings.Contains(body[1:size], "<") {
			t.Fatalf("%q is tag %d, ends at %d, has %d attributes, is clean: %v, %v; the tokenizer has %q, %d, %d",
				body, tag, end, count, cleanName, clean, name, size, attrs)
		}
	})
}

func TestScreenLetsCommonPagesThrough(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":           "",
		"paragraphs":        strings.Repeat("<p>Some <b>bold</b> and <i>italic <a href=x>link</a></i> text.</p>\n", 2000),
		"fonts left open":   strings.Repeat("<p><font size=2 color=red>Text<p>", 2000),
		"tables":            "<table>" + strings.Repeat("<tr><td><font face=x><b>A</b></font></td><td><a href=y>B</a></td></tr>", 2000) + "</table>",
		"list items":        "<ul>" + strings.Repeat("<li><a href=x>x</a>", 5000) + "</ul>",
		"headings in links": strings.Repeat("<a href=x><h3>A</h3><div><img src=y><p>B</p></div></a>", 2000),
		"script":            "<script>" + strings.Repeat("if (a<b&&i<n) { s += '<b>' + x + '</b><i class=y></i>'; }\n", 3000) + "</script>",
	} {
		if heavy([]byte(body)) {
			t.Errorf("%s: heavy", name)
		}
	}
}

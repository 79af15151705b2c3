package likeness

import (
	"math"
	"testing"

	"forager/internal/page/dom"
)

// parsed is a page of a hand-made web.
func parsed(t testing.TB, url, label, body string) Page {
	t.Helper()
	p, err := dom.Parse([]byte(body), "text/html; charset=utf-8", url, dom.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return Page{p, label}
}

// TestFiguresByHand measures a web of 400 pages whose figures can be computed by hand: page i of topic "even"
// or "odd" on one of two hosts links to page i+2 of its topic with the word of the topic before the anchor, and
// to page 0.
func TestFiguresByHand(t *testing.T) {
	const n = 400
	topics := []string{"even", "odd"}
	url := func(i int) string {
		return []string{"http://a.test/", "http://b.test/"}[i/(n/2)] + string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	w := &Web{Resolve: func(u string) string {
		if u == "http://a.test/moved" {
			return url(0)
		}
		return u
	}}
	for i := range n {
		topic := topics[i%2]
		w.Pages = append(w.Pages, parsed(t, url(i), topic,
			"<p>"+topic+"<a href="+url((i+2)%n)+">x</a><b>y</b><i>z</i><a href=http://a.test/moved>home</a><a href=http://c.test/>out</a>"))
	}
	f, err := Measure(w)
	if err != nil {
		t.Fatal(err)
	}
	// Seven leaves a page: the empty <head> is one.
	half := 2 * float64(n) // links: two a page, but page n−2 names page 0 twice and page 0 itself
	links := half - 2
	// Links to page 0 from the other host: those of b.test, except page n−2, whose first link it is already; of
	// the links to i+2, those of 198, 199, 398 and 399.
	across := float64(n/2) - 1 + 4
	// Same topic: links to i+2 all; those to page 0 of the even pages.
	same := float64(n) + float64(n/2) - 2
	for name, want := range map[string]float64{
		"pages": n, "hosts": 2, "pages a host, mean": n / 2, "pages a host, of the median page": n / 2, "largest host, share of pages": 0.5,
		"tokens, mean": 6, "tokens, p50": 6, "leaves, p90": 7, "links, mean": 3,
		"out-degree, mean": links / n, "out-degree, p50": 2, "in-degree, p50": 1, "in-degree, p99": 1, "in-degree, share of the top 1 %": (n - 1 + 3) / links,
		"links, same host": (links - across) / links, "links, same topic": same / links, "links, same topic, lift": 2 * same / links,
		"critic, pages judged right": 1,
	} {
		if have, ok := f[name]; !ok || math.Abs(have-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, have, want)
		}
	}
	// At −1 of the first link is the topic, which is that of the target; at +1 nothing is informative ("y" or
	// "out"), except that "out" follows the links to page 0, whose topic is even.
	if have := f[Gain(-1)]; have < 40 || have > 100 {
		t.Errorf("gain at −1 is %.1f %%", have)
	}
	if have := f[Gain(-8)]; math.Abs(have) > 1 {
		t.Errorf("gain at −8, where there are no words, is %.1f %%", have)
	}
}

// Of four equal classes, two terms that each occur with two of them give one bit of two; in random order none.
func TestInformation(t *testing.T) {
	x := newTable(4)
	for class := range 4 {
		for range 10 {
			x.add([]string{"a", "a", "b", "b"}[class], class)
		}
	}
	x.add("rare", 0)
	x.add("rare too", 3)
	if have := x.information(2); math.Abs(have-0.5) > 0.03 {
		t.Errorf("information %.3f, want a half", have)
	}
	if have := x.information(1000); have != 0 {
		t.Errorf("of rare terms alone: %.3f, want nothing", have)
	}
}

func TestRanges(t *testing.T) {
	c := &Committed{
		Frozen:    map[string]Figures{"a": {"x": 2, "y": 0, "pages": 5}, "b": {"x": 8}},
		Synthetic: map[string]Figures{"s": {"x": 17, "pages": 9}},
	}
	if low, high, ok := c.Range("x"); !ok || low != 1 || high != 16 {
		t.Errorf("x: %g to %g, %t", low, high, ok)
	}
	if _, _, ok := c.Range("pages"); ok {
		t.Error("the size of the sample has a range")
	}
	if out := c.Outside(c.Synthetic["s"]); len(out) != 2 { // x too large, y missing
		t.Errorf("outside: %q", out)
	}
	if out := c.Outside(Figures{"x": 1, "y": 0}); len(out) != 0 {
		t.Errorf("outside: %q", out)
	}
	if have := Round(1234.5678) + Round(0.00012345678); have != 1234.57+0.000123457 {
		t.Errorf("rounded to %v", have)
	}
}

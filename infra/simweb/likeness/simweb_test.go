package likeness

import (
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"forager/infra/simweb"
	"forager/internal/page/dom"
)

var update = flag.Bool("update", false, "write the figures into measured.json and README.md")

const (
	measured = "../measured.json"
	readme   = "../README.md"
	// pages of the measured webs: about as many as the frozen webs have.
	pages = 8000
	// making is the seed with which simweb was designed.
	making = 101
)

// synthetic measures a whole synthetic web.
func synthetic(t testing.TB, seed uint64, cues simweb.Cues) Figures {
	t.Helper()
	c := simweb.Default(seed)
	c.Pages, c.Cues = pages, cues
	w, err := simweb.New(c)
	if err != nil {
		t.Fatal(err)
	}
	web := &Web{Resolve: func(url string) string {
		if tr := w.Truth(url); tr.Alias {
			return tr.Target
		}
		return url
	}}
	for n := range w.Size() {
		url := w.URL(n)
		html, _, ok := w.Page(url)
		if !ok {
			t.Fatalf("%s is no page", url)
		}
		p, err := dom.Parse([]byte(html), "text/html; charset=utf-8", url, dom.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		web.Pages = append(web.Pages, Page{p, w.Truth(url).Topic})
	}
	f, err := Measure(web)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func committed(t testing.TB) *Committed {
	t.Helper()
	c, err := ReadCommitted(measured)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// same reports whether two measurements are the same except for rounding.
func same(t testing.TB, name string, have, want Figures) {
	t.Helper()
	for figure, x := range have {
		if w, ok := want[figure]; !ok || math.Abs(Round(x)-w) > 1e-5*math.Abs(w) {
			t.Errorf("%s: %s is %.6g, measured.json has %.6g; if that is meant, run go test with -update", name, figure, x, w)
		}
	}
	for figure := range want {
		if _, ok := have[figure]; !ok {
			t.Errorf("%s: measured.json has the figure %q, which is not measured any more", name, figure)
		}
	}
}

// TestSimwebIsLikeTheFrozenWebs measures the synthetic web: the figures are those committed and within a factor
// of two of the frozen webs'; so are those of another seed.
func TestSimwebIsLikeTheFrozenWebs(t *testing.T) {
	c := committed(t)
	f := synthetic(t, making, simweb.CuesPeaked)
	if *update {
		c.Synthetic["simweb"] = f
		save(t, c)
	} else {
		same(t, "simweb", f, c.Synthetic["simweb"])
	}
	for _, line := range c.Outside(f) {
		t.Error(line)
	}
	for _, line := range c.Outside(synthetic(t, 201, simweb.CuesPeaked)) {
		t.Errorf("another seed: %s", line)
	}
}

const (
	tableBegins = "<!-- figures: written by go test ./infra/simweb/likeness -update -->\n"
	tableEnds   = "<!-- end of figures -->\n"
)

// save writes measured.json and its table into the README.
func save(t testing.TB, c *Committed) {
	t.Helper()
	if err := c.Write(measured); err != nil {
		t.Fatal(err)
	}
	before, _, after := readTable(t)
	if err := os.WriteFile(readme, []byte(before+tableBegins+c.Table()+tableEnds+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readTable(t testing.TB) (before, inside, after string) {
	t.Helper()
	b, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), tableBegins)
	inside, after, ok2 := strings.Cut(rest, tableEnds)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", readme)
	}
	return before, inside, after
}

func TestTheREADMEShowsTheFigures(t *testing.T) {
	if _, inside, _ := readTable(t); inside != committed(t).Table() && !*update {
		t.Error("the table is not that of measured.json; run go test ./infra/simweb/likeness -update")
	}
}

package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"forager/internal/platform/analytics"
)

const hostile = "\"'><script>attack()</script><img src=http://evil.example/ onerror=attack()></style></title>\u202e\x00&amp;{{.}}"

// fill sets every exported text of a value to a hostile one, every number to 1, and gives lists and maps two elements.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(1)
	case reflect.Uint64, reflect.Uint32, reflect.Uint16, reflect.Uint8:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type() != reflect.TypeFor[time.Time]() {
				fill(v.Field(i))
			}
		}
	}
}

func hostileReport(crawl string) *CrawlReport {
	r := new(CrawlReport)
	fill(reflect.ValueOf(r).Elem())
	r.Crawl = crawl
	fill(reflect.ValueOf(&r.fine).Elem())
	for _, rows := range []any{&r.more.topics, &r.more.best, &r.more.waste, &r.more.tenths} {
		fill(reflect.ValueOf(rows).Elem())
	}
	return r
}

var (
	tag       = regexp.MustCompile(`<(/?[!a-zA-Z][a-zA-Z0-9]*)([^>]*)>`)
	attribute = regexp.MustCompile(`([a-zA-Z:-]+)="`)
)

// TestHostilePages: whatever the web, a critic or a user calls something, the page has only elements and attributes that load nothing.
func TestHostilePages(t *testing.T) {
	for _, reports := range [][]*CrawlReport{{hostileReport(hostile)}, {hostileReport("one"), hostileReport(hostile)}} {
		var names []string
		for _, r := range reports {
			names = append(names, r.Crawl)
		}
		drawn := figures(reports)
		page := crawlsPage{
			Title: hostile, Made: time.UnixMilli(0), Crawls: reports, Figures: drawn,
			Overlap: overlapRows(names, []analytics.Shared{{One: "one", Other: "one", Pages: 3}, {One: "one", Other: hostile, Pages: 1}, {One: hostile, Other: hostile, Pages: 2}}),
		}
		var b bytes.Buffer
		if err := page.write(&b); err != nil {
			t.Fatal(err)
		}
		allowed := strings.Fields("!doctype html head meta title style body h1 h2 h3 p div table thead tbody caption tr th td figure figcaption section svg g line path rect circle text span")
		for _, m := range tag.FindAllStringSubmatch(b.String(), -1) {
			if !slices.Contains(allowed, strings.TrimPrefix(m[1], "/")) {
				t.Errorf("element %s", m[0])
			}
			for _, a := range attribute.FindAllStringSubmatch(m[2], -1) {
				if name := strings.ToLower(a[1]); strings.HasPrefix(name, "on") || slices.Contains([]string{"src", "href", "xlink:href", "style", "srcset", "data", "action"}, name) {
					t.Errorf("attribute %s of %s", name, m[0])
				}
			}
		}
		if n := strings.Count(b.String(), "<style>"); n != 1 || strings.Contains(b.String(), "url(") || strings.Contains(b.String(), "@import") {
			t.Errorf("%d styles, or a style that loads something", n)
		}
		if i := strings.IndexFunc(b.String(), func(c rune) bool { return c != '\n' && c != '\t' && unicode.In(c, unicode.Cc, unicode.Cf) }); i >= 0 {
			t.Errorf("a control character in %.60q", b.String()[i:])
		}
		if n := strings.Count(b.String(), "attack()"); n < 40 {
			t.Errorf("the names are shown %d times", n)
		}
		checkFigures(t, drawn)
	}
}

// checkFigures writes figures: each is well-formed XML, and its numbers are a table.
func checkFigures(t *testing.T, drawn []figure) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "figures")
	if err := writeFigures(dir, drawn); err != nil {
		t.Fatal(err)
	}
	for _, f := range drawn {
		b, err := os.ReadFile(filepath.Join(dir, f.Name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(bytes.NewReader(b)); err == nil; _, err = d.Token() {
		}
		if err != io.EOF {
			t.Errorf("%s.svg: %v", f.Name, err)
		}
		if b, err = os.ReadFile(filepath.Join(dir, f.Name+".csv")); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil || len(rows) < 2 || len(rows[0]) != 3 {
			t.Errorf("%s.csv: %q, %v", f.Name, rows, err)
		}
	}
}

// TestPageOfNothing: a crawl that has begun, without any row.
func TestPageOfNothing(t *testing.T) {
	r := new(CrawlReport)
	drawn := figures([]*CrawlReport{r})
	page := crawlsPage{Crawls: []*CrawlReport{r}, Figures: drawn}
	if err := page.write(io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, f := range drawn {
		if !strings.Contains(string(f.Drawing), "no values") {
			t.Errorf("%s: %s", f.Name, f.Drawing)
		}
	}
}

func TestTenthsOfACurve(t *testing.T) {
	for _, pages := range []int{0, 1, 7, 10, 199, 200, 4321} {
		var fine []analytics.CurvePoint
		for n := 1; n <= pages; n++ {
			if n*curvePoints/pages != (n-1)*curvePoints/pages {
				fine = append(fine, analytics.CurvePoint{Pages: uint64(n)})
			}
		}
		var got, want []string
		for _, p := range tenths(curve(fine)) {
			got = append(got, fmt.Sprint(p.Pages))
		}
		for n := 1; n <= pages; n++ {
			if n*10/pages > (n-1)*10/pages {
				want = append(want, fmt.Sprint(n))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d pages: tenths at %v, want %v", pages, got, want)
		}
	}
}

func TestOverlapRows(t *testing.T) {
	rows := overlapRows([]string{"b", "a"}, []analytics.Shared{{One: "a", Other: "a", Pages: 10}, {One: "a", Other: "b", Pages: 2}, {One: "b", Other: "b", Pages: 4}})
	if got := fmt.Sprint(rows); got != "[{b [{4 1} {2 0.16666666666666666}]} {a [{2 0.16666666666666666} {10 1}]}]" {
		t.Errorf("%s", got)
	}
	if got := fmt.Sprint(overlapRows([]string{"a", "b"}, nil)); got != "[{a [{0 0} {0 0}]} {b [{0 0} {0 0}]}]" {
		t.Errorf("without pages: %s", got)
	}
}

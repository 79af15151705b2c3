package weburl

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pieces are what references in pages consist of, near the borders between the fast and the
// slow path.
var pieces = []string{
	"http://", "https://", "HTTP://", "http:", "https:/", "ftp://", "mailto:", "//", "/", "\\", "?", "#", ":", "@",
	".", "..", "./", "../", "/.", "/..", "/./", "/../", "%2e", "%2E%2e", ".%2e", "a", "b.html", "A-z_0~9", "index",
	"example.com", "Example.COM", "example.com.", "a..b", "xn--bcher-kva", "xn--x", "bücher", "127.0.0.1", "1.2", "0x7f",
	"[::1]", "host_name", ":80", ":443", ":8080", ":080", ":99999", ":1234567", "user:pw@",
	"%41", "%2f", "%2F", "%7E", "%7e", "%", "%2", "%zz", "%C3%BC", "%c3%bc", "%20", "%25",
	" ", "\t", "\n", "'", "\"", "<", ">", "^", "`", "{", "}", "|", "[", "]", "!$&()*+,;=", "=1&b=2", "ü", "\xff", "\x00", "K",
}

var begins = []string{"", "", "", "/", "//example.com/", "http://example.com/", "https://h.example", "http://", "https://"}

func references() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(0, 7).Draw(t, "n")
		return rapid.SampledFrom(begins).Draw(t, "begin") +
			strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), n, n).Draw(t, "pieces"), "")
	})
}

// checkPaths fails the test unless fast and slow path agree on a reference and the result is
// canonical.
func checkPaths(t interface {
	Helper()
	Errorf(string, ...any)
}, base *Base, ref string) (plain bool) {
	t.Helper()
	ref, err := bound(ref)
	if err != nil {
		return false
	}
	fast, ok, refused := base.plain(ref)
	slow, err := base.slow(ref)
	if ok && (err != nil || fast != slow) {
		t.Errorf("base %q, reference %q: fast %+v, slow %+v, %v", base.u.s, ref, fast, slow, err)
	}
	if refused != nil && err == nil {
		t.Errorf("base %q, reference %q: refused (%v), slow gives %q", base.u.s, ref, refused, slow.s)
	}
	if err == nil {
		checkCanonical(t, slow)
	}
	return ok || refused != nil
}

func TestFastPathIsSlowPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := new(Base)
		if u, err := Parse("http://h.example/" + references().Draw(t, "base")); err == nil {
			base = NewBase(u)
		}
		for range 20 {
			checkPaths(t, base, references().Draw(t, "reference"))
		}
	})
}

func TestFastPathTakesPlainReferences(t *testing.T) {
	page, err := Parse("http://example.com/a/b.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{
		"", "#x", "x.html", "../x/", "/x?y=z&a[]=%20", "http://Example.org", "https://example.org:8080/~x/./y?q#f",
		"//example.org/x", "mailto:x@example.org", "javascript:void(0)",
	} {
		if !checkPaths(t, NewBase(page), ref) {
			t.Errorf("%q takes the slow path", ref)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, seed := range [][2]string{
		{"http://example.com/a/b?c", "../x?y#z"}, {"", "http://EXAMPLE.com:80/%7e%2f?"}, {"https://a.b/", "//xn--x/%"},
		{"http://h/", "http://[::1.2.3.4]:8/"}, {"http://h/a", "\xff:\\ü"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, page, ref string) {
		base := new(Base)
		if u, err := Parse(page); err == nil {
			checkCanonical(t, u)
			base = NewBase(u)
		}
		checkPaths(t, base, ref)
	})
}

func TestBaseIsSafeForSeveralGoroutines(t *testing.T) {
	page, err := Parse("http://example.com/a/b?c=d")
	if err != nil {
		t.Fatal(err)
	}
	base := NewBase(page)
	done := make(chan string)
	for range 8 {
		go func() {
			u, _ := base.Resolve("ü?c=ü") // takes the slow path
			done <- u.String()
		}()
	}
	for range 8 {
		if got := <-done; got != "http://example.com/a/%C3%BC?c=%C3%BC" {
			t.Errorf("got %q", got)
		}
	}
}

var benchmarkRefs = []string{
	"index.html", "../people/", "/~user/pubs.html#top", "http://www.example.com/a/b/c.html", "course.html?year=1996&term=fall",
	"./images/../notes.html", "https://developer.example.org/docs/css/properties/", "mailto:someone@example.com",
}

func benchmark(b *testing.B, resolve func(*Base, string)) {
	page, err := Parse("http://www.cs.example.edu/Info/Courses/Current/CS415/CS414.html")
	if err != nil {
		b.Fatal(err)
	}
	base := NewBase(page)
	resolve(base, "x")
	b.ReportAllocs()
	for b.Loop() {
		for _, ref := range benchmarkRefs {
			resolve(base, ref)
		}
	}
}

// BenchmarkResolve and BenchmarkSlow measure the two paths on plain references, eight an operation.
func BenchmarkResolve(b *testing.B) {
	benchmark(b, func(base *Base, ref string) { _, _ = base.Resolve(ref) })
}

func BenchmarkSlow(b *testing.B) {
	benchmark(b, func(base *Base, ref string) { _, _ = base.slow(ref) })
}

package robots

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// check parses file and checks each path: "+/a" must be allowed, "-/a" must not.
func check(t *testing.T, file, token string, paths ...string) {
	t.Helper()
	f := Parse([]byte(file))
	for _, p := range paths {
		if want := p[0] == '+'; f.Allowed(token, p[1:]) != want {
			t.Errorf("%s, %s: allowed %v, want %v; file:\n%s", token, p[1:], !want, want, file)
		}
	}
}

func TestExamplesOfRFC9309(t *testing.T) {
	// §5.1
	simple := `User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot

EOF
`
	check(t, simple, "other", "-/a.gif", "+/a.gif?b", "-/example/", "+/example", "+/publications/x", "+/publications/x.gif",
		"-/example/page.html", "+/")
	check(t, simple, "FooBot", "-/", "-/a", "+/example/page.html", "+/example/page.html?x", "+/example/allowed.gif", "-/example/")
	check(t, simple, "barbot", "-/example/page.html", "+/example/", "+/a.gif")
	check(t, simple, "bazbot", "-/example/page.html", "+/example/", "+/a.gif")
	check(t, simple, "quxbot", "+/example/page.html", "+/a.gif", "+/")
	// §5.2
	longest := "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"
	check(t, longest, "foobot", "+/example/page/", "+/example/page/a.gif", "-/example/page/disallowed.gif")
	// §2.2.1: groups of one name are one group.
	merged := "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: BazBot\ndisallow: /baz\n\n" +
		"user-agent: ExampleBot\ndisallow: /qux\n"
	check(t, merged, "examplebot", "-/foo", "-/bar", "-/qux", "+/baz")
	// §2.2.2, the table of encodings: the path of the rule, and what it must match.
	for _, row := range [][2]string{
		{"/foo/bar?baz=quz", "/foo/bar?baz=quz"},
		{"/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"},
		{"/foo/bar/\u30C4", "/foo/bar/%E3%83%84"},
		{"/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"},
		{"/foo/bar/%62%61%7A", "/foo/bar/baz"},
	} {
		for _, path := range row {
			check(t, "user-agent: a\ndisallow: "+row[0], "a", "-"+path, "-"+path+"x", "+"+path[:len(path)-1])
			check(t, "user-agent: a\ndisallow: "+row[1], "a", "-"+path)
		}
	}
	// §2.2.3
	check(t, "user-agent: a\nallow: /this/path/exactly$\ndisallow: /this", "a",
		"+/this/path/exactly", "-/this/path/exactly/", "-/this/path/exactly?x")
	check(t, "user-agent: a\nallow: /this/*/exactly\ndisallow: /", "a", "+/this/path/exactly", "+/this//exactly/so", "-/this/exactly")
	check(t, "user-agent: a\ndisallow: /path/file-with-a-%2A.html\ndisallow: /path/foo-%24", "a",
		"-/path/file-with-a-*.html", "-/path/file-with-a-%2a.html", "+/path/file-with-a-b.html", "-/path/foo-$", "-/path/foo-%24x", "+/path/foo-")
}

func TestMatching(t *testing.T) {
	for _, c := range []struct {
		rules string
		paths []string
	}{
		{"", []string{"+/", "+/a"}},
		{"disallow:", []string{"+/", "+/a"}},
		{"disallow: /", []string{"-/", "-/a", "-", "+/robots.txt", "-/robots.txt.bak"}},
		{"disallow: /fish", []string{"-/fish", "-/fish.html", "-/fish/salmon", "-/fishheads", "-/fish.php?id=x", "+/Fish", "+/catfish", "+/?id=fish"}},
		{"disallow: /fish*", []string{"-/fish", "-/fishheads", "+/catfish"}},
		{"disallow: /fish/", []string{"-/fish/", "-/fish/?id=x", "+/fish", "+/fish.html"}},
		{"disallow: fish/", []string{"+/fish/"}},
		{"disallow: /*.php", []string{"-/index.php", "-/folder/a.php.html", "-/a.php/", "+/", "+/a.PHP"}},
		{"disallow: /*.php$", []string{"-/a.php", "+/a.php?x", "+/a.php/", "+/a.php5"}},
		{"disallow: /fish*.php", []string{"-/fish.php", "-/fishheads/catfish.php?x", "+/Fish.php"}},
		{"disallow: /a*b*c$", []string{"-/abc", "-/abcbc", "-/a/b/c", "+/abcd", "-/abcdc", "+/ac"}},
		{"disallow: /**a", []string{"-/a", "-/xxa", "+/"}},
		{"disallow: *", []string{"-/", "-/a"}},
		{"disallow: *$", []string{"-/", "-/a"}},
		{"disallow: /$", []string{"-/", "+/a", "+/?"}},
		{"disallow: $", []string{"+/", "+/a"}},
		{"disallow: /a$b", []string{"-/a$b", "-/a%24bc", "+/a"}},
		{"disallow: /a$$", []string{"-/a$", "+/a$b", "+/a"}},
		// The longest match decides, then allow.
		{"disallow: /\nallow: /p", []string{"+/page", "-/test"}},
		{"allow: /folder\ndisallow: /folder", []string{"+/folder/page"}},
		{"disallow: /folder\nallow: /folder", []string{"+/folder/page"}},
		{"allow: /page\ndisallow: /*.htm", []string{"-/page.htm", "+/page"}},
		{"allow: /page\ndisallow: /*.ht", []string{"+/page.htm"}},
		{"allow: /$\ndisallow: /", []string{"+/", "-/page.htm", "-/?a"}},
		{"disallow: /a\nallow: /%61", []string{"+/a"}},
		{"disallow: /~x\nallow: /%7ex", []string{"+/~x", "+/%7Ex"}},
		// Encodings.
		{"disallow: /ü", []string{"-/%C3%BC", "-/ü", "-/%c3%bc", "+/u"}},
		{"disallow: /\xfc", []string{"-/%FC", "-/\xfc", "+/ü"}},
		{"disallow: /a b", []string{"-/a%20b", "-/a b"}},
		{"disallow: /a:b", []string{"-/a:b", "-/a%3ab"}},
		{"disallow: /a%2fb", []string{"-/a%2Fb", "+/a/b"}},
		{"disallow: /a/b", []string{"-/a/b", "+/a%2Fb"}},
		{"disallow: /a?u=/b", []string{"-/a?u=/b", "-/a?u=%2fb", "+/a?u=/c"}},
		{"disallow: /a?u=%2Fb", []string{"-/a?u=/b", "-/a?u=%2fb"}},
		{"disallow: /*u=http://b", []string{"-/a?u=http://b", "-/u=http:%2f/b?u=http://b", "-/a/u=http://b"}},
		{"disallow: /*u=http%3A%2F%2Fb", []string{"-/a?u=http%3a%2f%2fb"}},
		{"disallow: /100%", []string{"-/100%", "-/100%25", "+/100"}},
		{"disallow: /100%zz", []string{"-/100%zz", "-/100%25zz"}},
		{"disallow: /a#b", []string{"-/a", "-/ac"}},
		{"disallow: /ab", []string{"+/a#b", "-/ab#c"}},
	} {
		check(t, "user-agent: *\n"+c.rules+"\n", "forager", c.paths...)
	}
}

func TestGroups(t *testing.T) {
	for _, c := range []struct {
		name, file, token string
		paths             []string
	}{
		{"no group", "disallow: /\n", "a", []string{"+/"}},
		{"rules before the first group", "disallow: /x\nuser-agent: a\ndisallow: /y", "a", []string{"+/x", "-/y"}},
		{"case of names", "USER-AGENT: FoRager\nDISALLOW: /", "fOraGER", []string{"-/"}},
		{"version behind the name", "user-agent: Forager/1.0 (+mailto:x)\ndisallow: /", "forager", []string{"-/"}},
		{"asterisk behind the name", "user-agent: forager*\ndisallow: /", "forager", []string{"-/"}},
		{"a name that begins with ours", "user-agent: forager-news\ndisallow: /", "forager", []string{"+/"}},
		{"a name that ours begins with", "user-agent: forage\ndisallow: /", "forager", []string{"+/"}},
		{"a name with digits", "user-agent: forager2\ndisallow: /", "forager", []string{"+/"}},
		{"own group before all", "user-agent: *\ndisallow: /\nuser-agent: forager\ndisallow: /x", "forager", []string{"+/", "-/x"}},
		{"own group before all, empty", "user-agent: *\ndisallow: /\nuser-agent: forager\n", "forager", []string{"+/"}},
		{"all", "user-agent: other\nallow: /\n\nuser-agent: *\ndisallow: /", "forager", []string{"-/"}},
		{"all, twice", "user-agent: *\ndisallow: /a\nuser-agent: b\ndisallow: /c\nuser-agent: *\ndisallow: /d", "forager",
			[]string{"-/a", "+/c", "-/d"}},
		{"all and more", "user-agent: * (every robot)\ndisallow: /", "forager", []string{"-/"}},
		{"not all", "user-agent: *bot\ndisallow: /", "forager", []string{"+/"}},
		{"no token", "user-agent: *\ndisallow: /a\nuser-agent:\ndisallow: /b", "", []string{"-/a", "+/b"}},
		{"empty name", "user-agent: forager\ndisallow: /a\nuser-agent:\ndisallow: /b", "forager", []string{"-/a", "+/b"}},
		{"blank lines end nothing", "user-agent: forager\n\n\ndisallow: /a\n\ndisallow: /b", "forager", []string{"-/a", "-/b"}},
		{"several names", "user-agent: a\n\nuser-agent: forager\n# comment\nuser-agent: b\ndisallow: /", "forager", []string{"-/"}},
		{"an empty rule ends the names", "user-agent: forager\ndisallow:\nuser-agent: b\ndisallow: /", "forager", []string{"+/"}},
		{"an unreadable rule ends the names", "user-agent: forager\ndisallow: x\nuser-agent: b\ndisallow: /", "forager", []string{"+/"}},
		{"other records end nothing", "user-agent: forager\nsitemap: http://x/\ncrawl-delay: 1\nnoindex: /\nuser-agent: b\ndisallow: /",
			"forager", []string{"-/"}},
		{"records among rules", "user-agent: forager\ndisallow: /a\nsitemap: http://x/\ndisallow: /b", "forager", []string{"-/a", "-/b"}},
		{"misspelt", "useragent: forager\ndissallow: /a\nuser agent: b\ndisalow: /b", "forager", []string{"-/a", "+/b"}},
		{"white space", " \tuser-agent\t :\tforager \t\n\t disallow \t:/a\t \n disallow: /b # /c", "forager", []string{"-/a", "-/b", "-/bc"}},
		{"ends of lines", "user-agent: forager\rdisallow: /a\r\n\r\ndisallow: /b\n\rdisallow: /c", "forager", []string{"-/a", "-/b", "-/c"}},
		{"no other ends of lines", "user-agent: forager\ndisallow: /a\vdisallow: /b\u2028disallow: /c", "forager", []string{"+/a", "+/b", "+/c"}},
		{"no colon", "user-agent forager\ndisallow /\nuser-agent: *\ndisallow: /a", "forager", []string{"+/", "-/a"}},
		{"byte order mark", "\ufeffuser-agent: forager\ndisallow: /", "forager", []string{"-/"}},
		{"byte order mark within", "user-agent: *\ndisallow: /b\n\ufeffuser-agent: forager\ndisallow: /c", "forager", []string{"-/b", "-/c"}},
		{"HTML", "<!DOCTYPE html>\n<a href=\"http://x/\">user-agent: *</a>\n<p>disallow: /</p>\n", "forager", []string{"+/"}},
		{"NUL", "user-agent: forager\x00\ndisallow: /\x00\n", "forager", []string{"+/", "-/%00"}},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, c.file, c.token, c.paths...) })
	}
}

func TestUTF16(t *testing.T) {
	file := "user-agent: forager\r\ndisallow: /ü\r\n"
	for name, order := range map[string][2]int{"little": {0, 8}, "big": {8, 0}} {
		var b []byte
		for _, u := range utf16.Encode([]rune("\ufeff" + file)) {
			b = append(b, byte(u>>order[0]), byte(u>>order[1]))
		}
		f := Parse(append(b, 'x'))
		if f.Allowed("forager", "/%C3%BC") || !f.Allowed("forager", "/u") {
			t.Errorf("%s endian: %+v", name, f)
		}
	}
}

func TestCrawlDelay(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"10": 10 * time.Second, "0": 0, "0.5": 500 * time.Millisecond, "1e3 # x": 1000 * time.Second,
		"1e300": 24 * time.Hour, "86401": 24 * time.Hour,
		"": -1, "-1": -1, "x": -1, "5s": -1, "NaN": -1, "Inf": -1, "1e999": -1,
	} {
		f := Parse([]byte("crawl-delay: 99\nuser-agent: forager\ncrawl-delay: " + value + "\ndisallow: /\n"))
		got, ok := f.CrawlDelay("Forager")
		if ok != (want >= 0) || got != max(0, want) {
			t.Errorf("crawl-delay %q: %v, %v", value, got, ok)
		}
		if got, ok := f.CrawlDelay("other"); ok {
			t.Errorf("crawl-delay %q counts for another crawler: %v", value, got)
		}
	}
	f := Parse([]byte("user-agent: *\ncrawl-delay: 3\nuser-agent: a\nsitemap: x\nuser-agent: d\n\ndisallow: /x\ncrawl-delay: 5\n" +
		"user-agent: a\ncrawl-delay: 4\ndisallow:\nuser-agent: b\ndisallow: /\n"))
	for token, want := range map[string]time.Duration{
		"a": 5 * time.Second, "b": -1, "c": 3 * time.Second, "d": 5 * time.Second,
	} {
		if got, ok := f.CrawlDelay(token); ok != (want >= 0) || got != max(0, want) {
			t.Errorf("crawl-delay of %s: %v, %v", token, got, ok)
		}
	}
}

func TestSizeLimit(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("user-agent: *\n")
	for b.Len() < MaxSize-20 {
		b.WriteString("#\n")
	}
	fmt.Fprintf(&b, "disallow: /a\ndisallow: /%s\ndisallow: /c\n", strings.Repeat("b", 100))
	f := Parse(b.Bytes())
	for path, want := range map[string]bool{"/a": false, "/b": true, "/" + strings.Repeat("b", 100): true, "/c": true} {
		if f.Allowed("x", path) != want {
			t.Errorf("%.10s: allowed %v", path, !want)
		}
	}
	if f := Parse(bytes.Repeat([]byte("a"), 2*MaxSize)); !f.Allowed("x", "/") {
		t.Error("a file of one endless line forbids something")
	}
}

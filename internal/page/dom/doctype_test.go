package dom

import (
	"io"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"
)

// TestDoctype: outside quirks mode a <table> ends a <p>.
func TestDoctype(t *testing.T) {
	for _, c := range []struct {
		doctype string
		quirks  bool
	}{
		{"", true},
		{"<!doctype html>", false},
		{"<!DOCTYPE HTML>", false},
		{" <!-- c --> <!-- d -->\n<!DOCTYPE HtmL >", false},
		{"<!doctype html5>", true},
		{"<!doctype>", true},
		{"<!doctype x-html>", true},
		{"<!doctypehtml>", false},
		{"<!doctype html public>", true},
		{"<!doctype html public \"x>", true},
		{"<!doctype html x \"y\">", true},
		{"<!doctype html xxxxxx \"y\">", true},
		{`<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">`, false},
		{`<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN">`, false},
		{`<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN" "http://www.w3.org/TR/html4/loose.dtd">`, false},
		{`<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">`, true},
		{`<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Frameset//EN">`, true},
		{`<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">`, true},
		{`<!DOCTYPE HTML PUBLIC '-//IETF//DTD HTML//EN' "x">`, true},
		{`<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">`, false},
		{`<!DOCTYPE html PUBLIC "-//W3O//DTD W3 HTML 2.0//EN">`, false},
		{`<!DOCTYPE html PUBLIC"a"'b' junk>`, false},
		{`<!DOCTYPE html PUBLIC "a" junk>`, true},
		{`<!DOCTYPE HTML SYSTEM "html.dtd">`, false},
		{`<!DOCTYPE HTML SYSTEM "http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd">`, true},
		{`<!DOCTYPE HTML SYSTEM>`, true},
	} {
		got, _ := leaves(mustParse(t, c.doctype+"<p><table><tr><td>A</table>", Settings{}))
		if quirks := got == "|a"; quirks != c.quirks {
			t.Errorf("%s: quirks mode %v (%q)", c.doctype, quirks, got)
		}
	}
}

// TestDoctypeChangesNothingElse: after the doctype the text is the same, and without one the whole.
func TestDoctypeChangesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SampledFrom([]string{"", " ", "<!-- c -->", "<!--", "\n<!-- a\n--> ", "x"}).Draw(t, "before")
		inside := rapid.StringMatching(`( ?(html|HTML|public|system|"a"|'b'|x|>)){0,4}`).Draw(t, "inside")
		behind := rapid.SampledFrom([]string{"", ">", "><p>A", "><!doctype html>"}).Draw(t, "behind")
		text := before + rapid.SampledFrom([]string{"<!doctype", "<!DOCTYPE", "<!doc", ""}).Draw(t, "begin") + inside + behind
		b, err := io.ReadAll(withDoctype([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		begin, end, ok := findDoctype([]byte(text))
		if !ok && string(b) != text || ok && (!strings.HasPrefix(string(b), text[:begin]) || !strings.HasSuffix(string(b), text[end:])) {
			t.Fatalf("%q is read as %q", text, b)
		}
		if !ok {
			return
		}
		z := html.NewTokenizer(strings.NewReader(string(b[begin:])))
		if token := z.Next(); token != html.DoctypeToken || len(b)-begin-len(z.Raw()) != len(text)-end {
			t.Fatalf("%q is read as %q: %v %q", text, b, token, z.Raw())
		}
	})
}

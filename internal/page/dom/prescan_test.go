package dom

import (
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
	"pgregory.net/rapid"
)

// TestPrescan tests the algorithm of the HTML standard, also where it differs from reading tags.
func TestPrescan(t *testing.T) {
	const pragma = "<meta http-equiv=Content-Type content="
	for page, want := range map[string]string{
		"<meta charset=koi8-r>":                                                        "koi8-r",
		"<META/CHARSET = 'KOI8-R'/>":                                                   "koi8-r",
		"<script><meta charset=koi8-r></script>":                                       "koi8-r",
		"<style><meta charset=koi8-r>":                                                 "koi8-r",
		"<title><meta charset=koi8-r></title>":                                         "koi8-r",
		"<script>'<meta charset=koi8-r>'</script>":                                     "koi8-r",
		"<!-- <meta charset=koi8-r> -->":                                               "",
		"<!--><meta charset=koi8-r>":                                                   "koi8-r",
		"<!---><meta charset=koi8-r>":                                                  "koi8-r",
		"<!-- --!><meta charset=koi8-r>":                                               "",
		"<p title='<meta charset=koi8-r>'>":                                            "",
		"<p title=\"><meta charset=koi8-r>":                                            "",
		"<?php '<meta charset=koi8-r>'":                                                "",
		"</ <meta charset=koi8-r><meta charset=big5>":                                  "big5",
		"<metacharset=koi8-r>":                                                         "",
		"<meta charset=koi8-r":                                                         "",
		"<meta charset='koi8-r>":                                                       "",
		"<meta charset='koi8-r><p title='>":                                            "",
		"<meta charset=klingon><meta charset=big5>":                                    "big5",
		"<meta charset=utf-16le>":                                                      "utf-8",
		"<meta charset=x-user-defined>":                                                "windows-1252",
		"<meta charset=koi8-r charset=big5>":                                           "koi8-r",
		pragma + "'text/html; charset=koi8-r'>":                                        "koi8-r",
		pragma + "'text/html; charset = \"koi8-r\" '>":                                 "koi8-r",
		pragma + "'text/html; charset=\"koi8-r'>":                                      "",
		pragma + "text/html;charset=koi8-r>":                                           "koi8-r",
		pragma + "'charset charset=koi8-r;x'>":                                         "koi8-r",
		pragma + "'xcharset=koi8-r x'>":                                                "koi8-r",
		"<meta content='charset=koi8-r'>":                                              "",
		"<meta content='charset=koi8-r' charset=big5>":                                 "big5",
		"<meta name=x http-equiv=refresh content='charset=koi8-r'><meta charset=big5>": "big5",
		"<?xml version='1.0' encoding='koi8-r'?><html>":                                "koi8-r",
		"<?xml version='1.0' encoding='koi8-r'?><meta charset=big5>":                   "big5",
		"<?xml version='1.0' encoding='koi8-r'":                                        "",
		"<?xml encoding = \"utf-16\"?>":                                                "utf-8",
		" <?xml encoding='koi8-r'?>":                                                   "",
		"<\x00?\x00x\x00":                                                              "utf-16le",
		"\x00<\x00?\x00x":                                                              "utf-16be",
		strings.Repeat(" ", 1004) + "<meta charset=big5>":                              "big5",
		strings.Repeat(" ", 1010) + "<meta charset=big5>":                              "",
		"": "", "<": "", "<m": "", "</": "", "<!": "", "<meta ": "", "<a": "", "<a =": "", "<!-": "",
	} {
		if _, name := prescan([]byte(page)); name != want {
			t.Errorf("%.80q: %q, want %q", page, name, want)
		}
	}
}

// TestPrescanOfPlainPages compares with x/net/html, which reads tags: the two agree on pages without markup that hides tags.
func TestPrescanOfPlainPages(t *testing.T) {
	pieces := []string{"<p>", "</p>", "text ", "<a href='x>y'>", "<!-- c -->", "<!doctype html>", "<meta name=a content=b>", "<meta charset=koi8-r>",
		"<meta http-equiv=content-type content='text/html; charset=big5'>", "<meta charset=klingon>", "<br/>", "<META CHARSET=\"utf-16\">"}
	rapid.Check(t, func(t *rapid.T) {
		page := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		_, got := prescan([]byte(page))
		if _, want, _ := charset.DetermineEncoding([]byte(page), ""); got != want && !(got == "" && want == "windows-1252") {
			t.Errorf("%q: %q, x/net/html %q", page, got, want)
		}
	})
}

func FuzzPrescan(f *testing.F) {
	f.Add([]byte("<meta charset='koi8-r'>"))
	f.Add([]byte("<?xml encoding='x'?><!--><p a=b c"))
	f.Fuzz(func(t *testing.T, page []byte) {
		if enc, name := prescan(page); (enc == nil) != (name == "") {
			t.Errorf("encoding %v, name %q", enc, name)
		}
	})
}

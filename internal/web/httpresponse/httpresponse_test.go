package httpresponse

import (
	"net/http"
	"strings"
	"testing"

	"forager/internal/web/weburl"
	"forager/schemas"
)

func TestOf(t *testing.T) {
	const page = "<html><title>x</title>"
	for _, test := range []struct {
		status                      int
		location, contentType, body string
		want                        schemas.Outcome
		redirect                    string
	}{
		{200, "", "text/html", page, schemas.Outcome_OUTCOME_DELIVERED, ""},
		{200, "http://b.test/", "text/html; charset=utf-8", "", schemas.Outcome_OUTCOME_DELIVERED, ""},
		{200, "", "text/css", page, schemas.Outcome_OUTCOME_NOT_HTML, ""},
		{204, "", "text/html", "", schemas.Outcome_OUTCOME_NOT_HTML, ""},
		{206, "", "text/html", page, schemas.Outcome_OUTCOME_NOT_HTML, ""},
		{301, "/x", "", "", schemas.Outcome_OUTCOME_REDIRECTED, "http://a.test/x"},
		{302, "HTTP://B.test:80/%7Ex#f", "", "", schemas.Outcome_OUTCOME_REDIRECTED, "http://b.test/~x"},
		{303, "?q", "", "", schemas.Outcome_OUTCOME_REDIRECTED, "http://a.test/dir/page?q"},
		{307, "../", "", "", schemas.Outcome_OUTCOME_REDIRECTED, "http://a.test/"},
		{308, "//c.test", "", "", schemas.Outcome_OUTCOME_REDIRECTED, "http://c.test/"},
		{300, "x", "", "", schemas.Outcome_OUTCOME_REDIRECTED, "http://a.test/dir/x"},
		{301, "", "", "", schemas.Outcome_OUTCOME_BAD_REDIRECT, ""},
		{301, "mailto:x@a.test", "", "", schemas.Outcome_OUTCOME_BAD_REDIRECT, ""},
		{301, "http://", "", "", schemas.Outcome_OUTCOME_BAD_REDIRECT, ""},
		{301, "/dir/page#top", "", "", schemas.Outcome_OUTCOME_BAD_REDIRECT, ""},
		{304, "/x", "", "", schemas.Outcome_OUTCOME_BAD_REDIRECT, ""},
		{305, "/x", "", "", schemas.Outcome_OUTCOME_BAD_REDIRECT, ""},
		{404, "", "text/html", page, schemas.Outcome_OUTCOME_CLIENT_ERROR, ""},
		{410, "", "text/html", page, schemas.Outcome_OUTCOME_CLIENT_ERROR, ""},
		{429, "", "", "", schemas.Outcome_OUTCOME_DEFERRED, ""},
		{500, "", "", "", schemas.Outcome_OUTCOME_SERVER_ERROR, ""},
		{503, "", "", "", schemas.Outcome_OUTCOME_SERVER_ERROR, ""},
		{999, "", "", "", schemas.Outcome_OUTCOME_CONNECTION_FAILED, ""},
		{101, "", "", "", schemas.Outcome_OUTCOME_CONNECTION_FAILED, ""},
	} {
		url, err := weburl.Parse("http://a.test/dir/page")
		if err != nil {
			t.Fatal(err)
		}
		got := Of(url, test.status, test.location, test.contentType, []byte(test.body))
		if got.Outcome != test.want || got.Redirect != test.redirect {
			t.Errorf("%d %q: %v to %q, want %v to %q", test.status, test.location, got.Outcome, got.Redirect, test.want, test.redirect)
		}
		if (got.Detail == "") != (got.Outcome == schemas.Outcome_OUTCOME_DELIVERED) || strings.Contains(got.Detail, "\n") {
			t.Errorf("%d: detail %q", test.status, got.Detail)
		}
		consequence := schemas.Outcomes[got.Outcome]
		if consequence.Page != (got.Outcome == schemas.Outcome_OUTCOME_DELIVERED) {
			t.Errorf("%d: %+v", test.status, consequence)
		}
	}
}

func TestHTML(t *testing.T) {
	utf16 := "\xff\xfe<\x00h\x00t\x00m\x00l\x00>\x00"
	for _, test := range []struct {
		contentType, body string
		want              bool
	}{
		{"text/html", "", true},
		{"TEXT/HTML; charset=\"unfinished", "plain words", true},
		{"text/html;;;", "x", true},
		{"text/html", "%PDF-1.4", false},
		{"text/html", "\x89PNG\r\n\x1a\n", false},
		{"text/html", "PK\x03\x04", false},
		{"text/html", "\x1f\x8b\x08", false},
		{"text/html", "stray \x01\x00 bytes", true},
		{"text/html", utf16, true},
		{"application/xhtml+xml", "<?xml version='1.0'?><html>", true},
		{"", "  <!DOCTYPE HTML><p>", true},
		{"", "words", false},
		{"text/plain", "<HTML>\n<Head>", true},
		{"text/plain", "<!-- comment -->", true},
		{"text/plain", "# Makefile", false},
		{"application/octet-stream", "<html>", true},
		{"application/octet-stream", "\x00\x01", false},
		{"application/xml", "<?xml version='1.0'?>\n<html xmlns='x'>", true},
		{"text/xml", "<?xml version='1.0'?><rss>", false},
		{"image/png", "<html>", false},
		{"application/json", "<html>", false},
		{"text/html, text/html", "x", false},
	} {
		if got := HTML(test.contentType, []byte(test.body)); got != test.want {
			t.Errorf("%q %q: %v", test.contentType, test.body, got)
		}
		if HTML(test.contentType, []byte(test.body)) && !MayBeHTML(test.contentType) {
			t.Errorf("%q may not be HTML and is", test.contentType)
		}
	}
}

func FuzzHTML(f *testing.F) {
	f.Add("text/html; charset=x", []byte("<html>"))
	f.Add(";", []byte(""))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		if got := HTML(contentType, body); got != HTML(contentType, body[:min(len(body), SniffLength)]) {
			t.Error("bytes behind SniffLength decide")
		}
		if HTML(contentType, body) && !MayBeHTML(contentType) {
			t.Errorf("%q may not be HTML and is", contentType)
		}
		_ = http.DetectContentType(body)
	})
}

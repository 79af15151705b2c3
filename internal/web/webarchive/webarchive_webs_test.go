//go:build webs

package webarchive

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"forager/internal/testkit/frozen"
	"forager/internal/web/httpresponse"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Every response of the frozen webs is there, under one canonical URL each, and the proxy serves what Lookup
// returns.
func TestFrozenWebs(t *testing.T) {
	for name, want := range map[string]Stats{
		// Of 8,275 pages 52 have no web URL ("ftp_//…") and 8 another spelling of one's URL; so
		// have 217 redirects, 205 of them from one spelling to the other.
		"webkb":       {Pages: 8215, Redirects: 1229, Duplicates: 225, Skipped: 53},
		"webplatform": {Pages: 5194, Redirects: 4749, Skipped: 1},
	} {
		a, err := Open(t.Context(), frozen.Path(t, frozen.Webs, name+".warc.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if a.Stats() != want || len(a.Damaged()) != 0 {
			t.Errorf("%s: %+v, damaged %v; want %+v", name, a.Stats(), a.Damaged(), want)
		}
		server := httptest.NewServer(a.Handler(nil))
		defer server.Close()
		address := server.Listener.Addr().String()
		transport := &http.Transport{DisableCompression: true}
		defer transport.CloseIdleConnections()
		outcomes := map[schemas.Outcome]int{}
		for _, u := range a.URLs() {
			page, ok, err := a.Lookup(u)
			if !ok || err != nil {
				t.Fatalf("%s: %v", u, err)
			}
			parsed, err := weburl.Parse(u)
			if err != nil {
				t.Fatal(err)
			}
			meaning := httpresponse.Of(parsed, page.Status, page.Location, page.Header.Get("Content-Type"), page.Body)
			outcomes[meaning.Outcome]++
			if _, ok, _ := a.Lookup(meaning.Redirect); meaning.Redirect != "" && !ok {
				t.Errorf("%s redirects to %s, which is not there", u, meaning.Redirect)
			}
			request := &http.Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: address, Opaque: u}, Host: parsed.Host(), Header: http.Header{}}
			r, err := transport.RoundTrip(request)
			if err != nil {
				t.Fatalf("%s: %v", u, err)
			}
			body, err := io.ReadAll(r.Body)
			r.Body.Close()
			if err != nil || r.StatusCode != page.Status || !bytes.Equal(body, page.Body) || r.Header.Get("Content-Type") != page.Header.Get("Content-Type") {
				t.Errorf("%s: status %d, %d bytes, %v", u, r.StatusCode, len(body), err)
			}
		}
		t.Logf("%s: %v", name, outcomes)
	}
}

package webarchive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forager/internal/web/warc"
)

func record(uri, block string) string {
	return fmt.Sprintf("WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: %s\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", uri, len(block), block)
}

func member(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

const odd = "<p>caf\xe9 \x00 \xff</p>"

func gz(s string) string { return member(s) }

// file is a WARC file with the oddities of existing ones.
func file() string {
	return member("WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n") +
		member(record("http://a.test/", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: CERN/3.0\r\nConnection: close\r\nContent-Length: 999\r\n\r\n"+odd)) +
		member(record("HTTP://A.test:80/again/../%7Eu", "HTTP/1.0 200\nSet-Cookie: a=b\nSet-Cookie: c=d\n\nuser")) +
		member(record("http://a.test/old", "HTTP/1.1 301 Moved Permanently\r\nLocation: new?x#y\r\n\r\n")) +
		member(record("http://a.test/broken", "HTTP/1.1 200 OK\r\nServer: NCSA/1.4.cp: No match.\r\n: text/html\r\nContent-Type: text/html\r\n\r\nbroken header")) +
		member(record("http://a.test/chunked", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")) +
		member(record("http://a.test/gzip", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"+gz("unzipped"))) +
		member(record("http://a.test/", "HTTP/1.1 200 OK\r\n\r\nsecond answer")) +
		member(record("http://a.test/~u", "HTTP/1.1 301 Moved\r\nLocation: /%7eu\r\n\r\n")) +
		member(record("http://loop.test", "HTTP/1.1 301 Moved\r\nLocation: http://loop.test/\r\n\r\n")) +
		member(record("http://loop.test/", "HTTP/1.1 200 OK\r\n\r\nno loop")) +
		"garbage" +
		member(record("https://s.test/x", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nsecure")) +
		member(record("http://a.test/gone", "HTTP/1.1 410 Gone\r\n\r\ngone")+
			record("http://a.test/shared", "HTTP/1.1 200 OK\r\n\r\nshared")+
			record("dns:a.test", "x")) +
		member(record("http://a.test/bytes", "not HTTP")) +
		member(record("http://a.test/cut", "HTTP/1.1 200 OK\r\n\r\ncut"))[:60]
}

func open(t *testing.T, file string) *Archive {
	t.Helper()
	a, err := New(strings.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestArchive(t *testing.T) {
	a := open(t, file())
	for _, test := range []struct {
		url            string
		status         int
		location, body string
	}{
		{"http://a.test/", 200, "", odd},
		{"http://a.test/~u", 200, "", "user"},
		{"http://a.test/old", 301, "new?x#y", ""},
		{"http://a.test/broken", 200, "", "broken header"},
		{"http://a.test/chunked", 200, "", "abc"},
		{"http://a.test/gzip", 200, "", "unzipped"},
		{"https://s.test/x", 200, "", "secure"},
		{"http://loop.test/", 200, "", "no loop"},
		{"http://a.test/gone", 410, "", "gone"},
		{"http://a.test/shared", 200, "", "shared"},
	} {
		for range 2 { // the second time with reused memory
			page, ok, err := a.Lookup(test.url)
			if !ok || err != nil {
				t.Errorf("%s: %v, %v", test.url, ok, err)
				break
			}
			if page.Status != test.status || page.Location != test.location || string(page.Body) != test.body {
				t.Errorf("%s: %d to %q: %q", test.url, page.Status, page.Location, page.Body)
			}
		}
	}
	for _, url := range []string{"http://a.test/cut", "http://s.test/x", "http://a.test/bytes", "", "dns:a.test"} {
		if page, ok, err := a.Lookup(url); ok || err != nil {
			t.Errorf("%s: %+v, %v", url, page, err)
		}
	}
	want := []string{"http://a.test/", "http://a.test/broken", "http://a.test/chunked", "http://a.test/gzip", "http://a.test/old", "http://a.test/shared", "http://a.test/~u", "http://loop.test/", "https://s.test/x"}
	if !slices.Equal(a.URLs(), want) {
		t.Errorf("URLs %q", a.URLs())
	}
	if got, want := a.Stats(), (Stats{Pages: 8, Redirects: 1, Others: 1, Duplicates: 3, Skipped: 2}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
	if len(a.Damaged()) != 3 {
		t.Errorf("damaged: %v", a.Damaged())
	}
	for _, err := range a.Damaged() {
		var damaged *warc.DamagedError
		if !errors.As(err, &damaged) || damaged.Offset == 0 {
			t.Errorf("damaged: %v", err)
		}
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.warc.gz")
	if _, err := Open(t.Context(), path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte("<html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "offset 0") {
		t.Errorf("no WARC: %v", err)
	}
	if err := os.WriteFile(path, []byte(file()), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// ask sends a request line and headers unchanged and reads the response.
func ask(t *testing.T, address, request string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	r, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	return r, string(body)
}

func TestProxy(t *testing.T) {
	var log bytes.Buffer
	server := httptest.NewServer(open(t, file()).Handler(&log))
	address := server.Listener.Addr().String()
	for _, test := range []struct {
		request string
		status  int
		body    string
		header  map[string]string
	}{
		{"GET http://a.test/ HTTP/1.1\r\nHost: a.test", 200, odd, map[string]string{"Server": "CERN/3.0", "Content-Type": "text/html", "Date": "", "Content-Length": fmt.Sprint(len(odd))}},
		{"GET http://a.test/%7eu HTTP/1.1\r\nHost: a.test", 200, "user", map[string]string{"Content-Type": "", "Set-Cookie": "a=b"}},
		{"GET http://a.test/old HTTP/1.1\r\nHost: a.test", 301, "", map[string]string{"Location": "new?x#y"}},
		{"GET http://a.test/broken HTTP/1.1\r\nHost: a.test", 200, "broken header", nil},
		{"GET http://a.test/chunked HTTP/1.1\r\nHost: a.test", 200, "abc", map[string]string{"Transfer-Encoding": ""}},
		{"GET http://a.test/gzip HTTP/1.1\r\nHost: a.test", 200, gz("unzipped"), map[string]string{"Content-Encoding": "gzip"}},
		{"GET https://s.test/x HTTP/1.1\r\nHost: s.test", 200, "secure", nil},
		{"GET http://a.test/gone HTTP/1.1\r\nHost: a.test", 410, "gone", nil},
		{"HEAD http://a.test/ HTTP/1.1\r\nHost: a.test", 200, "", map[string]string{"Content-Length": fmt.Sprint(len(odd))}},
		{"GET / HTTP/1.1\r\nHost: A.test", 200, odd, nil},
		{"GET /x HTTP/1.1\r\nHost: s.test", 200, "secure", nil},
		{"GET http://a.test/robots.txt HTTP/1.1\r\nHost: a.test", 404, "The WARC file holds no answer for http://a.test/robots.txt\n", nil},
		{"GET http://nowhere.test/ HTTP/1.1\r\nHost: nowhere.test", 404, "", nil},
		{"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0", 405, "", nil},
		{"CONNECT s.test:443 HTTP/1.1\r\nHost: s.test:443", 501, "", map[string]string{AbsoluteFormHeader: "https"}},
	} {
		r, body := ask(t, address, test.request+"\r\nConnection: close\r\nUser-Agent: test\r\n\r\n")
		if r.StatusCode != test.status || test.body != "" && body != test.body {
			t.Errorf("%q: status %d, body %q", test.request, r.StatusCode, body)
		}
		for name, want := range test.header {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%q: %s is %q, want %q", test.request, name, got, want)
			}
		}
	}
	server.Close() // after it no line is being written
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 15 {
		t.Fatalf("%d lines in the log", len(lines))
	}
	var first Access
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if first.URL != "http://a.test/" || first.Host != "a.test" || first.Status != 200 || first.Bytes != len(odd) || first.UserAgent != "test" || first.End.Before(first.Begin) {
		t.Errorf("%+v", first)
	}
}

// An ordinary HTTP client with the proxy as its only setting reads the web.
func TestProxyWithOrdinaryClient(t *testing.T) {
	server := httptest.NewServer(open(t, file()).Handler(nil))
	defer server.Close()
	proxy, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	defer client.CloseIdleConnections()
	for url, want := range map[string]string{"http://a.test/gzip": "unzipped", "http://a.test/": odd} {
		r, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || string(body) != want {
			t.Errorf("%s: %q, %v", url, body, err)
		}
	}
	if _, err := client.Get("https://s.test/x"); err == nil || !strings.Contains(err.Error(), "Not Implemented") {
		t.Errorf("https by CONNECT: %v", err)
	}
}

// FuzzNew: for any file, what the index names can be looked up.
func FuzzNew(f *testing.F) {
	f.Add([]byte(file()))
	f.Add([]byte(record("http://a.test/", "HTTP/1.1 200 OK\r\n\r\nx") + record("http://a.test/b", "HTTP/1.1 301 x\r\n\r\n")))
	f.Add([]byte(member(record("http://a.test/", "HTTP/1.1 200 OK\r\n\r\nx") + "rest")))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := New(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for _, url := range a.URLs() {
			page, ok, err := a.Lookup(url)
			if !ok || err != nil || page.URL != url {
				t.Errorf("%s: %v, %v", url, ok, err)
			}
		}
	})
}

package webclient

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"forager/internal/platform/freeport"
	"forager/internal/web/warc"
	"forager/internal/web/webarchive"
	"forager/internal/web/weburl"
)

func parse(t testing.TB, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

var own = Settings{HeaderTimeout: 10 * time.Second, BodyTimeout: 10 * time.Second, AllowPrivate: []string{"127.0.0.0/8", "::1"}, Connections: 4}

func client(t *testing.T, set Settings) *Client {
	t.Helper()
	c, err := New(set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func gzipped(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.Bytes()
}

func TestGet(t *testing.T) {
	text := strings.Repeat("<p>some text</p>", 500)
	var asked http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Clone()
		asked.Set("Uri", r.RequestURI)
		h := w.Header()
		switch r.URL.Path {
		case "/plain":
			h.Set("X-B", "1")
			h.Add("X-A", "2")
			h.Add("X-A", "3")
			io.WriteString(w, text)
		case "/gzip":
			h.Set("Content-Encoding", "gzip")
			w.Write(gzipped(text))
		case "/br":
			h.Set("Content-Encoding", "br")
			b := brotli.NewWriter(w)
			io.WriteString(b, text)
			b.Close()
		case "/zstd":
			h.Set("Content-Encoding", "zstd")
			z, _ := zstd.NewWriter(w)
			io.WriteString(z, text)
			z.Close()
		case "/twice":
			h.Set("Content-Encoding", "gzip, gzip")
			w.Write(gzipped(string(gzipped(text))))
		case "/chunked":
			for i := range 10 {
				io.WriteString(w, text[i*len(text)/10:(i+1)*len(text)/10])
				w.(http.Flusher).Flush()
			}
		case "/empty":
		case "/redirect":
			http.Redirect(w, r, "/plain", http.StatusFound)
		case "/bomb":
			h.Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 1000 { // ends when the client disconnects
				if _, err := z.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
			z.Close()
		case "/unknown-coding":
			h.Set("Content-Encoding", "lzma")
			io.WriteString(w, text)
		case "/broken-coding":
			h.Set("Content-Encoding", "gzip")
			io.WriteString(w, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xff"+text)
		case "/cut", "/cut-late", "/cut-empty":
			h.Set("Content-Length", fmt.Sprint(len(text)))
			io.WriteString(w, text[:map[string]int{"/cut": 100, "/cut-late": 5000}[r.URL.Path]])
		case "/cut-gzip", "/cut-gzip-length":
			h.Set("Content-Encoding", "gzip")
			b := gzipped(text)
			if r.URL.Path == "/cut-gzip-length" {
				h.Set("Content-Length", fmt.Sprint(len(b)))
			}
			w.Write(b[:len(b)-12])
		case "/cut-chunked":
			io.WriteString(w, text[:100])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/reset":
			h.Set("Content-Length", fmt.Sprint(len(text)))
			io.WriteString(w, text[:100])
			w.(http.Flusher).Flush()
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	c := client(t, own)
	get := func(path string, limit int64) (*Response, error) {
		return c.Get(t.Context(), Request{URL: parse(t, server.URL+path), UserAgent: "forager/1 (+mailto:x@a.test)", MaxBody: limit})
	}
	for _, path := range []string{"/plain", "/gzip", "/br", "/zstd", "/twice", "/chunked"} {
		a, err := get(path, 1<<20)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if a.Status != 200 || string(a.Body) != text || a.Truncated != "" || a.Protocol != "http/1.1" || a.IP != "127.0.0.1" || a.Reason != "OK" {
			t.Errorf("%s: %d %s, %d bytes, truncated by %q, %s from %s", path, a.Status, a.Reason, len(a.Body), a.Truncated, a.Protocol, a.IP)
		}
		if asked.Get("User-Agent") != "forager/1 (+mailto:x@a.test)" || !strings.Contains(asked.Get("Accept-Encoding"), "zstd") || asked.Get("Cookie") != "" {
			t.Errorf("%s: asked with %v", path, asked)
		}
		a, err = get(path, 1000)
		if err != nil || string(a.Body) != text[:1000] || a.Truncated != CutByLength {
			t.Errorf("%s with a limit: %v", path, err)
		}
		if a, err = get(path, int64(len(text))); err != nil || len(a.Body) != len(text) || a.Truncated != "" {
			t.Errorf("%s with the very limit: %v", path, err)
		}
	}
	if a, err := get("/bomb", 1<<20); err != nil || len(a.Body) != 1<<20 || a.Truncated != CutByLength {
		t.Errorf("bomb: %v", err)
	}
	if a, err := get("/empty", 100); err != nil || a.Status != 200 || len(a.Body) != 0 || a.Body == nil {
		t.Errorf("empty: %+v, %v", a, err)
	}
	if a, err := get("/redirect", 100); err != nil || a.Status != 302 || a.Header.Get("Location") != "/plain" {
		t.Errorf("redirect: %+v, %v", a, err)
	}
	if a, err := get("/~x/%2F%20?q=%7C", 100); err != nil || a.Status != 404 || asked.Get("Uri") != "/~x/%2F%20?q=%7C" {
		t.Errorf("asked for %s: %v", asked.Get("Uri"), err)
	}
	for _, sniff := range []int{0, 512} {
		for path, want := range map[string]string{"/cut": text[:100], "/cut-late": text[:5000], "/cut-gzip-length": text} {
			a, err := c.Get(t.Context(), Request{URL: parse(t, server.URL+path), MaxBody: 1 << 20, Sniff: sniff, Want: func(*Response, []byte) bool { return true }})
			if err != nil || a.Truncated != CutByDisconnect || len(a.Body) == 0 || !strings.HasPrefix(want, string(a.Body)) || path != "/cut-gzip-length" && string(a.Body) != want {
				t.Errorf("%s: %+v, %v", path, a, err)
			}
		}
	}
	for _, path := range []string{"/unknown-coding", "/broken-coding", "/cut-empty", "/cut-gzip", "/cut-chunked", "/reset"} {
		if a, err := get(path, 1<<20); err == nil || errors.Is(err, ErrTimeout) {
			t.Errorf("%s: %.200v, %v", path, a, err)
		}
	}
	a, err := get("/plain", 100)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range a.Header {
		if strings.HasPrefix(f.Name, "X-") {
			names = append(names, f.Name+f.Value)
		}
	}
	if fmt.Sprint(names) != "[X-A2 X-A3 X-B1]" {
		t.Errorf("header %v", a.Header)
	}
}

func TestWant(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/x")
		io.WriteString(w, strings.Repeat(r.URL.Query().Get("x"), 2000))
	}))
	defer server.Close()
	c := client(t, own)
	for _, test := range []struct {
		name, x    string
		want       func(*Response, []byte) bool
		body, asks int
	}{
		{"no by header", "x", func(a *Response, _ []byte) bool { return a.Header.Get("Content-Type") != "text/x" }, 0, 1},
		{"no by bytes", "x", func(_ *Response, start []byte) bool { return start == nil || start[0] != 'x' }, 0, 2},
		{"yes", "x", func(_ *Response, start []byte) bool { return start == nil || len(start) == 512 }, 2000, 2},
		{"empty body", "", func(_ *Response, start []byte) bool { return len(start) == 0 }, 0, 2},
	} {
		asks := 0
		a, err := c.Get(t.Context(), Request{URL: parse(t, server.URL+"/?x="+test.x), MaxBody: 1 << 20, Sniff: 512, Want: func(a *Response, start []byte) bool {
			asks++
			return test.want(a, start)
		}})
		if err != nil || len(a.Body) != test.body || asks != test.asks {
			t.Errorf("%s: %d bytes, asked %d times, %v", test.name, len(a.Body), asks, err)
		}
	}
}

func TestHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	c := client(t, own)
	if _, err := c.Get(t.Context(), Request{URL: parse(t, server.URL), MaxBody: 100}); err == nil {
		t.Fatal("an unknown certificate was accepted")
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	c = client(t, own)
	c.transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	c.transport.TLSClientConfig.RootCAs = roots
	a, err := c.Get(t.Context(), Request{URL: parse(t, server.URL), MaxBody: 100})
	if err != nil || string(a.Body) != "HTTP/2.0" || a.Protocol != "h2" {
		t.Errorf("%+v, %v", a, err)
	}
}

// slow is a server that sends nothing, a header or half a body, and then waits for the end of the test.
func slow(t *testing.T, expected string) (address string, reached chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	reached = make(chan struct{}, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			go func() {
				conn.Read(make([]byte, 4096))
				io.WriteString(conn, expected)
				reached <- struct{}{}
			}()
		}
	}()
	return "http://" + l.Addr().String(), reached
}

const half = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"

func TestTimeouts(t *testing.T) {
	for _, expected := range []string{"", "HTTP/1.1 200 OK\r\nX:", half} {
		address, _ := slow(t, expected)
		set := own
		set.HeaderTimeout, set.BodyTimeout = 30*time.Millisecond, 60*time.Millisecond
		if a, err := client(t, set).Get(t.Context(), Request{URL: parse(t, address), MaxBody: 1000}); !errors.Is(err, ErrTimeout) {
			t.Errorf("%q: %+v, %v", expected, a, err)
		}
	}
}

// The end of the context ends a request without a header; one with a header goes on.
func TestContextEnds(t *testing.T) {
	address, reached := slow(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	if _, err := client(t, own).Get(ctx, Request{URL: parse(t, address), MaxBody: 1000}); !errors.Is(err, context.Canceled) {
		t.Errorf("without header: %v", err)
	}

	ctx, cancel = context.WithCancel(t.Context())
	rest := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		<-rest
		io.WriteString(w, " whole")
	}))
	defer server.Close()
	a, err := client(t, own).Get(ctx, Request{URL: parse(t, server.URL), MaxBody: 1000, Want: func(*Response, []byte) bool {
		cancel()
		close(rest)
		return true
	}})
	if err != nil || string(a.Body) != "half whole" {
		t.Errorf("with header: %+v, %v", a, err)
	}
}

func TestBadAnswers(t *testing.T) {
	for _, expected := range []string{"garbage\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\n: no name\r\n\r\n", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 300<<10) + "\r\n\r\n"} {
		address, _ := slow(t, expected)
		if a, err := client(t, own).Get(t.Context(), Request{URL: parse(t, address), MaxBody: 1000}); err == nil || errors.Is(err, ErrTimeout) {
			t.Errorf("%.40q: %+v, %v", expected, a, err)
		}
	}
	free, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client(t, own).Get(t.Context(), Request{URL: parse(t, "http://"+free[0]), MaxBody: 1}); err == nil || errors.Is(err, ErrTimeout) {
		t.Errorf("no listener: %v", err)
	}
}

// A server that hangs up before it responds gets one request, also where connections to it had been kept, with a
// proxy between and without. With NewConnection no kept connection is used.
func TestARequestIsSentOnce(t *testing.T) {
	var asked atomic.Int32
	var kept sync.Map // remote addresses of connections that served a whole response
	var reused atomic.Bool
	together := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hangs-up", "/new-connection":
			asked.Add(1)
			_, known := kept.Load(r.RemoteAddr)
			reused.Store(known)
			panic(http.ErrAbortHandler)
		case "/together":
			together <- struct{}{} // together with another one, so that both connections are kept
		}
		kept.Store(r.RemoteAddr, nil)
	}))
	defer server.Close()
	proxied := own
	proxied.Proxy = server.URL
	for name, c := range map[string]*Client{"directly": client(t, own), "by a proxy": client(t, proxied)} {
		get := func(path string) error {
			_, err := c.Get(t.Context(), Request{URL: parse(t, server.URL+path), MaxBody: 1000, NewConnection: path == "/new-connection"})
			return err
		}
		// On a busy machine net/http does not keep every connection.
		for again := true; again; again = !reused.Load() {
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					if err := get("/together"); err != nil {
						t.Error(err)
					}
				})
			}
			<-together
			<-together
			both.Wait()
			asked.Store(0)
			err := get("/hangs-up")
			if err == nil || errors.Is(err, ErrHungUp) != reused.Load() || asked.Load() != 1 {
				t.Fatalf("%s: asked %d times, over a kept connection: %v: %v", name, asked.Load(), reused.Load(), err)
			}
		}
		for range 100 {
			if err := get("/"); err != nil {
				t.Fatalf("%s: afterwards: %v", name, err)
			}
			// There is a kept connection again.
			asked.Store(0)
			if err := get("/new-connection"); err == nil || errors.Is(err, ErrHungUp) || errors.Is(err, ErrTimeout) || asked.Load() != 1 || reused.Load() {
				t.Fatalf("%s: new: asked %d times, over a kept connection: %v: %v", name, asked.Load(), reused.Load(), err)
			}
		}
	}
}

func TestPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "128.84.154.137": true, "2607:f8b0::1": true, "::ffff:8.8.8.8": true,
		"64:ff9b::808:808": true, "2002:808:808::1": true,
		"127.0.0.1": false, "127.9.9.9": false, "10.1.2.3": false, "172.16.0.1": false, "172.32.0.1": true,
		"192.168.1.1": false, "169.254.169.254": false, "0.0.0.0": false, "0.1.2.3": false, "100.64.0.1": false,
		"168.63.129.16": false, "168.63.129.17": true, "100.100.100.200": false, "192.0.0.192": false, "169.254.170.2": false,
		"fd00:ec2::254": false, "fd20:ce::254": false, "fe80::a9fe:a9fe": false, "fd00:42::42": false, "::ffff:168.63.129.16": false,
		"64:ff9b::a83f:8110": false,
		"192.0.2.1":          false, "198.18.0.1": false, "203.0.113.9": false, "224.0.0.1": false, "240.0.0.1": false,
		"255.255.255.255": false,
		"::1":             false, "::": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd12::1": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b::a00:1": false,
		"64:ff9b:1::1": false, "2002:7f00:1::": false, "2002:a00:1::": false, "2001::1": false, "2001:db8::1": false,
		"::127.0.0.1": false, "100::1": false, "fec0::1": false,
	} {
		a, err := netip.ParseAddr(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := public(a); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	reached := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	set := own
	set.AllowPrivate = nil
	c := client(t, set)
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "0", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "[::]", "[64:ff9b::7f00:1]"} {
		_, err := c.Get(t.Context(), Request{URL: parse(t, "http://"+host+":"+port+"/"), MaxBody: 1})
		var refused *RefusedError
		if !errors.As(err, &refused) || reached {
			t.Errorf("%s: %v, reached %v", host, err, reached)
		}
	}
	set.Proxy = server.URL
	c = client(t, set)
	var refused *RefusedError
	if _, err := c.Get(t.Context(), Request{URL: parse(t, "http://10.0.0.1/"), MaxBody: 1}); !errors.As(err, &refused) || reached {
		t.Errorf("through a proxy: %v", err)
	}
	if _, err := c.Get(t.Context(), Request{URL: parse(t, "http://a.test/"), MaxBody: 1}); err != nil || !reached {
		t.Errorf("the proxy's own address: %v", err)
	}
}

// TestNamesAreCheckedBeforeAProxy: an ordinary proxy gets no request for a name that is known to lead to a private address.
func TestNamesAreCheckedBeforeAProxy(t *testing.T) {
	var asked []string
	offline := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			if offline {
				w.Header().Set(webarchive.OfflineHeader, "x")
			}
			return
		}
		asked = append(asked, r.Method+" "+r.RequestURI)
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	silence := &net.DNSError{Err: "no answer", IsTimeout: true}
	lookups := 0
	get := func(c *Client, url string) (refused bool) {
		t.Helper()
		_, err := c.Get(t.Context(), Request{URL: parse(t, url), MaxBody: 1})
		var e *RefusedError
		return errors.As(err, &e)
	}
	make := func(allow ...string) *Client {
		c := client(t, Settings{HeaderTimeout: time.Minute, BodyTimeout: time.Minute, Proxy: server.URL, AllowPrivate: allow, Own: []Service{{Address: "127.0.0.1:" + port}}})
		c.names.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
			lookups++
			switch host {
			case "public.net":
				return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
			case "private.net":
				return []netip.Addr{netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("::ffff:10.0.0.1")}, nil
			case "self.net":
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			case "unknown.net":
				return nil, &net.DNSError{IsNotFound: true}
			}
			return nil, silence
		}
		return c
	}
	c := make()
	for url, want := range map[string]bool{
		"http://public.net/": false, "https://public.net/": false, "http://unknown.net/": false, "http://a.test/": false,
		"http://private.net/": true, "https://private.net/": true, "http://private.net./": true, "http://self.net/": true,
		"http://localhost/": true, "http://x.localhost/": true, "http://silent.net/": false,
	} {
		before := len(asked)
		if refused := get(c, url); refused != want || (len(asked) > before) == want {
			t.Errorf("%s: refused %v, the proxy was asked %q", url, refused, asked[before:])
		}
	}
	if c := make("private.net", "127.0.0.0/8"); get(c, "http://private.net/") || get(c, "http://self.net/") {
		t.Error("an allowed address is refused")
	} else if !get(c, "http://self.net:"+port+"/") {
		t.Error("a service of the pipeline is not refused")
	}
	c, lookups = make(), 0
	get(c, "http://public.net/")
	get(c, "http://public.net/x")
	if lookups != 1 {
		t.Errorf("%d look-ups of one name", lookups)
	}
	for i := range 2 * maxSilent {
		get(c, fmt.Sprintf("http://%d.silent.net/", i))
	}
	if lookups != 1+maxSilent {
		t.Errorf("%d look-ups with a resolver that does not answer", lookups-1)
	}
	offline = true
	c, lookups = make(), 0
	if get(c, "http://private.net/") || lookups != 0 {
		t.Errorf("a proxy that is offline: %d look-ups", lookups)
	}
}

func TestBadPortsAreRefused(t *testing.T) {
	c := client(t, own)
	for _, url := range []string{"http://a.test:25/", "https://a.test:22/", "http://[2607:f8b0::1]:6667/", "http://a.test:0/"} {
		var refused *RefusedError
		if _, err := c.Get(t.Context(), Request{URL: parse(t, url), MaxBody: 1}); !errors.As(err, &refused) {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{"http://a.test/", "http://a.test:8080/", "http://[2607:f8b0::1]/", "http://[2607:f8b0::1]:81/"} {
		if err := checkPort(parse(t, url)); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// Pages of a WARC file, http and https, through the one proxy setting.
func TestWebArchive(t *testing.T) {
	var file bytes.Buffer
	w := warc.NewWriter(&file)
	for i, url := range []string{"http://a.test/x", "https://s.test/x?y=%2F", "https://s.test:8443/"} {
		if _, _, err := w.Response(&warc.Page{ID: [16]byte{byte(i)}, URL: url, Date: time.Now(), Status: 200, Header: warc.Header{{Name: "Content-Type", Value: "text/html"}}, Body: []byte("at " + url)}); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := webarchive.New(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(archive.Handler(nil))
	defer server.Close()
	set := own
	set.AllowPrivate, set.Proxy = nil, server.URL
	c := client(t, set)
	for range 2 {
		for _, url := range []string{"https://s.test/x?y=%2F", "http://a.test/x", "https://s.test:8443/"} {
			a, err := c.Get(t.Context(), Request{URL: parse(t, url), MaxBody: 1000})
			if err != nil || string(a.Body) != "at "+url || a.IP != "" {
				t.Errorf("%s: %+v, %v", url, a, err)
			}
		}
	}
	if a, err := c.Get(t.Context(), Request{URL: parse(t, "https://none.test/"), MaxBody: 1000}); err != nil || a.Status != 404 {
		t.Errorf("not there: %+v, %v", a, err)
	}
}

// A proxy that does not announce absolute forms never gets an https URL.
func TestOrdinaryProxyGetsNoPlainHTTPS(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.RequestURI)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	set := own
	set.Proxy = server.URL
	if _, err := client(t, set).Get(t.Context(), Request{URL: parse(t, "https://s.test/secret"), MaxBody: 1}); err == nil {
		t.Error("no error")
	}
	if fmt.Sprint(seen) != "[CONNECT s.test:443]" {
		t.Errorf("the proxy saw %v", seen)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, proxy := range []string{"127.0.0.1:8080", "socks5://127.0.0.1:1", "http://"} {
		set := own
		set.Proxy = proxy
		if _, err := New(set); err == nil || !strings.Contains(err.Error(), proxy) {
			t.Errorf("%s: %v", proxy, err)
		}
	}
}
